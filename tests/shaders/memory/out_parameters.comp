// 0:0: f32 = arange(32) * 0.5 - 4
// 0:1: f32 = zeros(64)
// grid: 1
// result 0:1: stack([b0 * 2, b0 * b0 + 1], axis=1).ravel()
#version 450
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer A { float a[]; };
layout(set = 0, binding = 1) buffer B { vec2 b[]; };
void both(float x, out float twice, inout float square) { twice = x + x; square += x * x; }
void main() {
    vec2 r = vec2(0.0, 1.0);
    both(a[gl_LocalInvocationIndex], r.x, r.y);
    b[gl_LocalInvocationIndex] = r;
}
