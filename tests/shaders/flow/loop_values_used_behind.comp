// 0:0: i32 = arange(32) * 5 + 3
// 0:1: i32 = zeros(64)
// grid: 1
// result 0:1: expected.loop_values(b0)
#version 450
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer A { int a[]; };
layout(set = 0, binding = 1) buffer B { int b[]; };
void main() {
    uint i = gl_LocalInvocationIndex;
    int x = a[i], n = 1;
    while (x % 10 != 7 && n < 21) { x = x * 3 % 101; ++n; }
    b[2 * i] = n;
    b[2 * i + 1] = x;
}
