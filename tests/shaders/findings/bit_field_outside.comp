// 0:0: u32 = arange(32)
// 0:1: u32 = zeros(32)
// push: i32:1
// push fault: i32:4
// grid: 1
// result 0:1: 0xdeadbeef >> arange(32) & 1
// finding: undefined_operation
#version 450
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer A { uint a[]; };
layout(set = 0, binding = 1) buffer B { uint b[]; };
layout(push_constant) uniform Push { int bits; };
void main() {
    uint i = gl_LocalInvocationIndex;
    b[i] = bitfieldExtract(0xdeadbeefu, int(a[i]), bits); // here
}
