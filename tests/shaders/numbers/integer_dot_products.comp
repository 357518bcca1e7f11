// 0:0: u32 = (arange(64) * 2654435761) % 4294967296
// 0:1: i32 = zeros(32)
// grid: 1
// result 0:1: array([sum(int(x) * int(y) for x, y in zip(p[:4], p[4:])) for p in b0.view(int8).reshape(32, 8)])
#version 450
#extension GL_EXT_integer_dot_product : enable
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer A { uvec2 a[]; };
layout(set = 0, binding = 1) buffer B { int b[]; };
void main() {
    uvec2 p = a[gl_LocalInvocationIndex];
    b[gl_LocalInvocationIndex] = dotPacked4x8EXT(int(p.x), int(p.y));
}
