// 0:0: i32 = arange(32) - 16
// 0:1: i32 = zeros(32)
// grid: 1
// result 0:1: sign(arange(32) - 16)
// finding: undef
#version 450
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer A { int a[]; };
layout(set = 0, binding = 1) buffer B { int b[]; };
int sign_of(int x) {
    if (x < 0) return -1;
    if (x > 0) return 1;
#ifndef FAULT
    return 0;
#endif
} // here
void main() {
    b[gl_LocalInvocationIndex] = sign_of(a[gl_LocalInvocationIndex]); // here
}
