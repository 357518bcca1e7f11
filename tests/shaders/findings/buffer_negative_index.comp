// 0:0: i32 = arange(64)
// 0:1: i32 = zeros(64)
// grid: 2
// result 0:1: where(arange(64) >= 3, arange(64) - 3, 0)
// finding: out_of_bounds
#version 450
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer A { int a[]; };
layout(set = 0, binding = 1) buffer B { int b[]; };
void main() {
    int i = int(gl_GlobalInvocationID.x);
#ifdef FAULT
    b[i] = a[i - 3]; // here
#else
    b[i] = i >= 3 ? a[max(i - 3, 0)] : 0;
#endif
}
