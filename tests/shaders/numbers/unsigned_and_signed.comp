// 0:0: u32 = (arange(32) * 2654435761) % 4294967296
// 0:1: u32 = zeros(128)
// grid: 1
// result 0:1: array([v & 0xffffffff for x in (int(y) for y in b0) for s in [x - 2**32 if x >= 2**31 else x] for v in (x // 10, int(s / 10) if abs(s) < 2**52 else 0, x >> 5, s >> 5)])
#version 450
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer A { uint a[]; };
layout(set = 0, binding = 1) buffer B { uvec4 b[]; };
void main() {
    uint x = a[gl_LocalInvocationIndex];
    int s = int(x);
    b[gl_LocalInvocationIndex] = uvec4(x / 10u, uint(s / 10), x >> 5, uint(s >> 5));
}
