// 0:0: i32 = zeros(32)
// grid: 1
// result 0:0: array([(lambda i: next(n for n in range(99) if (n % 4 == 3 and n >= i)) * 10)(i) for i in range(32)])
#version 450
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) buffer A { int a[]; };
void main() {
    int i = int(gl_LocalInvocationIndex), n = 0;
    for (;; ++n) {
        switch (n % 4) {
            case 0: case 1: continue;
            case 3: if (n >= i) { a[i] = n * 10; return; } break;
            default: break;
        }
        if (n > 90) break;
    }
    a[i] = -1;
}
