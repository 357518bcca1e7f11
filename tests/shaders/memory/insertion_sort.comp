// 0:0: i32 = (arange(64) * 37) % 101
// 0:1: i32 = zeros(64)
// grid: 1
// result 0:1: sort(b0.reshape(8, 8), axis=1).ravel()
#version 450
layout(local_size_x = 8) in;
layout(set = 0, binding = 0) readonly buffer A { int a[]; };
layout(set = 0, binding = 1) buffer B { int b[]; };
void main() {
    uint base = gl_LocalInvocationIndex * 8;
    int v[8];
    for (int k = 0; k < 8; ++k) {
        int x = a[base + k], at = k;
        while (at > 0 && v[at - 1] > x) { v[at] = v[at - 1]; --at; }
        v[at] = x;
    }
    for (int k = 0; k < 8; ++k) b[base + k] = v[k];
}
