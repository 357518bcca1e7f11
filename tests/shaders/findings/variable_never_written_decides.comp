// 0:0: i32 = arange(32)
// 0:1: i32 = zeros(32)
// grid: 1
// result 0:1: where(arange(32) > 10, 1, 2)
// finding: undef
#version 450
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer A { int a[]; };
layout(set = 0, binding = 1) buffer B { int b[]; };
void main() {
    int i = int(gl_LocalInvocationIndex);
    bool large;
#ifndef FAULT
    large = false;
#endif
    if (a[i] > 10) large = true;
    if (large) // here
        b[i] = 1;
    else
        b[i] = 2;
}
