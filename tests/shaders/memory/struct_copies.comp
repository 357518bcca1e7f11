// 0:0: u32 = arange(64)
// 0:1: u32 = zeros(64)
// grid: 1
// result 0:1: concatenate([b0[k * 4:k * 4 + 4] for k in range(15, -1, -1)])
#version 450
layout(local_size_x = 16) in;
struct Inner { uvec2 v; };
struct Outer { Inner first; uint x, y; };
layout(set = 0, binding = 0, std430) readonly buffer A { Outer a[]; };
layout(set = 0, binding = 1, std430) buffer B { Outer b[]; };
shared Outer tile[16];
void main() {
    uint i = gl_LocalInvocationIndex;
    tile[i] = a[i];
    barrier();
    Outer one = tile[15 - i];
    b[i] = one;
}
