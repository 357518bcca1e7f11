// 0:0: i32 = arange(32)
// 0:1: i32 = zeros(32)
// grid: 1
// result 0:1: where(arange(32) < 16, arange(32) + 1, 0)
// finding: undef
#version 450
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer A { int a[]; };
layout(set = 0, binding = 1) buffer B { int b[]; };
void main() {
    int i = int(gl_LocalInvocationIndex), at;
#ifndef FAULT
    at = -1;
#endif
    if (i < 16) at = i + 1;
#ifndef FAULT
    if (at < 0) return;
#endif
    b[i] = a[at]; // here
}
