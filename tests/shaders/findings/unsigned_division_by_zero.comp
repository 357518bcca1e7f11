// 0:0: u32 = arange(32) + 1
// 0:0 fault: u32 = arange(32)
// 0:1: u32 = zeros(32)
// grid: 1
// result 0:1: 1000 // (arange(32) + 1)
// finding: undefined_operation
#version 450
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer A { uint a[]; };
layout(set = 0, binding = 1) buffer B { uint b[]; };
void main() {
    uint i = gl_LocalInvocationIndex;
    b[i] = 1000u / a[i]; // here
}
