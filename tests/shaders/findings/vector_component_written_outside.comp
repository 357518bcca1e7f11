// 0:0: u32 = arange(32) % 3
// 0:0 fault: u32 = arange(32) % 4
// 0:1: u32 = zeros(32)
// grid: 1
// result 0:1: (b0 == 1) * 6 + 1
// finding: undefined_operation
#version 450
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer A { uint a[]; };
layout(set = 0, binding = 1) buffer B { uint b[]; };
void main() {
    uvec3 v = uvec3(1);
    v[a[gl_LocalInvocationIndex]] = 7; // here
    b[gl_LocalInvocationIndex] = v.y;
}
