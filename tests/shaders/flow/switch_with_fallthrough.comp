// 0:0: i32 = zeros(32)
// grid: 1
// result 0:0: array([{0: 111, 1: 110, 2: 100, 3: 7, 4: 20, 5: 20}.get(i % 8, -5) for i in range(32)])
#version 450
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) buffer A { int a[]; };
void main() {
    int i = int(gl_LocalInvocationIndex), x = 0;
    switch (i % 8) {
        case 0: x += 1;
        case 1: x += 10;
        case 2: x += 100; break;
        case 3: x = 7; break;
        case 4:
        case 5: x = 20; break;
        default: x = -5;
    }
    a[i] = x;
}
