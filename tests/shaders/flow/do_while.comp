// 0:0: u32 = arange(32) * 37 + 1
// 0:1: u32 = zeros(32)
// grid: 1
// result 0:1: array([int(x).bit_length() for x in b0])
#version 450
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer A { uint a[]; };
layout(set = 0, binding = 1) buffer B { uint b[]; };
void main() {
    uint x = a[gl_LocalInvocationIndex], n = 0;
    do { x >>= 1; ++n; } while (x != 0);
    b[gl_LocalInvocationIndex] = n;
}
