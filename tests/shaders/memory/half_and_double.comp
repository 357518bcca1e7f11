// 0:0: f16 = arange(32) * 0.25 - 4
// 0:1: f64 = zeros(32)
// 0:2: f16 = zeros(32)
// grid: 1
// close 0:1: 1e-15
// result 0:1: b0.astype(float) * b0.astype(float) / 3
// result 0:2: b0 * b0 + b0
#version 450
#extension GL_EXT_shader_16bit_storage : enable
#extension GL_EXT_shader_explicit_arithmetic_types : enable
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer A { float16_t a[]; };
layout(set = 0, binding = 1) buffer B { double b[]; };
layout(set = 0, binding = 2) buffer C { float16_t c[]; };
void main() {
    uint i = gl_LocalInvocationIndex;
    double x = double(a[i]);
    b[i] = x * x / 3.0lf;
    precise float16_t y = a[i] * a[i];
    c[i] = y + a[i];
}
