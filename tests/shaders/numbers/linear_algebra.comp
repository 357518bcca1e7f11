// 0:0: f32 = (arange(9 * 8) * 7 % 11) + 1
// 0:1: f32 = zeros(16 * 8)
// grid: 1
// close 0:1: 1e-4
// result 0:1: expected.matrices(b0)
#version 450
layout(local_size_x = 8) in;
layout(set = 0, binding = 0) readonly buffer A { float a[]; };
layout(set = 0, binding = 1) buffer B { float b[]; };
void main() {
    uint i = gl_LocalInvocationIndex;
    mat3 m = mat3(5.0);
    for (int c = 0; c < 3; ++c) for (int r = 0; r < 3; ++r) m[c][r] += a[9 * i + 3 * c + r];
    mat3 p = inverse(m) * m * m;
    for (int c = 0; c < 3; ++c) for (int r = 0; r < 3; ++r) b[16 * i + 3 * c + r] = p[c][r];
    b[16 * i + 9] = determinant(m);
    vec3 x = m * vec3(1.0, 2.0, 3.0), y = vec3(1.0, 2.0, 3.0) * m;
    for (int r = 0; r < 3; ++r) { b[16 * i + 10 + r] = x[r]; b[16 * i + 13 + r] = y[r]; }
}
