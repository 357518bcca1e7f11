// 0:0: i32 = arange(32) - 16
// 0:1: i32 = zeros(32)
// grid: 1
// result 0:1: array([(-100 if x < -8 else (x * 2 if x < 0 else (0 if x == 0 else x * x))) for x in (int(v) for v in b0)])
#version 450
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer A { int a[]; };
layout(set = 0, binding = 1) buffer B { int b[]; };
int f(int x) {
    if (x < 0) {
        if (x < -8) return -100;
        return x * 2;
    }
    for (int k = 0; k < 100; ++k) {
        if (k == x) return k * x;
    }
    return -1;
}
void main() {
    b[gl_LocalInvocationIndex] = f(a[gl_LocalInvocationIndex]);
}
