// 0:0: f32 = arange(32) * 0.1 + 0.05
// 0:1: f32 = zeros(256)
// grid: 1
// close 0:1: 3e-6
// result 0:1: stack([sin(b0), cos(b0), exp(b0), log(b0), sqrt(b0), 1 / sqrt(b0), tanh(b0), b0 ** 1.7], axis=1).ravel()
#version 450
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer A { float a[]; };
layout(set = 0, binding = 1) buffer B { vec4 b[]; };
void main() {
    uint i = gl_LocalInvocationIndex;
    float x = a[i];
    b[2 * i] = vec4(sin(x), cos(x), exp(x), log(x));
    b[2 * i + 1] = vec4(sqrt(x), inversesqrt(x), tanh(x), pow(x, 1.7));
}
