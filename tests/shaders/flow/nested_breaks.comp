// 0:0: i32 = zeros(32)
// grid: 1
// result 0:0: array([sum(j for k in range(i) for j in range(6) if j <= k and j != 4) if i < 20 else -1 for i in range(32)])
#version 450
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) buffer A { int a[]; };
void main() {
    int i = int(gl_LocalInvocationIndex), sum = 0;
    if (i >= 20) { a[i] = -1; return; }
    for (int k = 0; k < 100; ++k) {
        if (k == i) break;
        for (int j = 0; j < 6; ++j) {
            if (j > k) break;
            if (j == 4) continue;
            sum += j;
        }
    }
    a[i] = sum;
}
