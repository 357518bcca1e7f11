// 0:0: u32 = arange(32)
// 0:1: u32 = zeros(32)
// grid: 1
// result 0:1: array([1 if i != 0 and 100 // i > 7 or i == 31 else 0 for i in range(32)])
#version 450
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer A { uint a[]; };
layout(set = 0, binding = 1) buffer B { uint b[]; };
void main() {
    uint x = a[gl_LocalInvocationIndex];
    b[gl_LocalInvocationIndex] = (x != 0 && 100 / x > 7) || x == 31 ? 1 : 0;
}
