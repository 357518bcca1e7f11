// 0:0: u32 = (arange(32) * 2654435761) % 4294967296
// 0:1: u32 = zeros(128)
// grid: 1
// result 0:1: array([v for x in (int(y) for y in b0) for y in [x ^ 0x9e3779b9] for v in ((x + y) & 0xffffffff, (x + y) >> 32, (x * y) >> 32, (x * y) & 0xffffffff)])
#version 450
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer A { uint a[]; };
layout(set = 0, binding = 1) buffer B { uvec4 b[]; };
void main() {
    uint x = a[gl_LocalInvocationIndex], y = x ^ 0x9e3779b9u, carry, high, low;
    uint sum = uaddCarry(x, y, carry);
    umulExtended(x, y, high, low);
    b[gl_LocalInvocationIndex] = uvec4(sum, carry, high, low);
}
