// 0:0: u32 = zeros(32)
// grid: 1
// steps: 20000
// result 0:0: arange(32) * 3
// finding: budget
#version 450
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) buffer A { uint a[]; };
void main() {
    uint i = gl_LocalInvocationIndex, x = 0;
#ifdef FAULT
    while (x != i * 3 + 1) x += 3; // here
#else
    while (x != i * 3) x += 3;
#endif
    a[i] = x;
}
