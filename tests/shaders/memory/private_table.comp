// 0:0: u32 = arange(32) * 7
// 0:1: f32 = zeros(32)
// grid: 1
// result 0:1: array([[1.5, -2, 0.25, 8, 9, -0.125, 7, 3][int(x) % 8] for x in b0])
#version 450
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer A { uint a[]; };
layout(set = 0, binding = 1) buffer B { float b[]; };
const float table[8] = float[8](1.5, -2.0, 0.25, 8.0, 9.0, -0.125, 7.0, 3.0);
void main() {
    b[gl_LocalInvocationIndex] = table[a[gl_LocalInvocationIndex] % 8];
}
