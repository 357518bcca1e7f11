// 0:0: f32 = arange(64)
// 0:1: f32 = zeros(64)
// grid: 1
// result 0:1: expected.std140_to_std430(b0)
#version 450
layout(local_size_x = 1) in;
layout(set = 0, binding = 0, std140) uniform U { vec3 v; float f; float spread[4]; mat2 m; } u;
layout(set = 0, binding = 1, std430) buffer B { vec3 v; float f; float tight[4]; mat2 m; } b;
void main() {
    b.v = u.v;
    b.f = u.f;
    for (int i = 0; i < 4; ++i) b.tight[i] = u.spread[i];
    b.m = u.m;
}
