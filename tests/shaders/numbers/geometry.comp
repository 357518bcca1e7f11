// 0:0: f32 = arange(96) * 0.125 - 3
// 0:1: f32 = zeros(128)
// grid: 1
// close 0:1: 1e-5
// result 0:1: (lambda v: concatenate([cross(v, [1.0, 2.0, 3.0]), (v @ array([1.0, 2.0, 3.0]))[:, None] / sqrt((v * v).sum(axis=1))[:, None]], axis=1).ravel())(b0.reshape(32, 3).astype(float))
#version 450
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer A { float a[]; };
layout(set = 0, binding = 1) buffer B { vec4 b[]; };
void main() {
    uint i = gl_LocalInvocationIndex;
    vec3 v = vec3(a[3 * i], a[3 * i + 1], a[3 * i + 2]), w = vec3(1.0, 2.0, 3.0);
    b[i] = vec4(cross(v, w), dot(normalize(v), w));
}
