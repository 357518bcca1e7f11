// 0:0: f32 = zeros(50)
// grid: 2
// result 0:0: arange(50) * 0.5
// finding: out_of_bounds
#version 450
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) buffer A { float a[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
#ifndef FAULT
    if (i < a.length())
#endif
        a[i] = float(i) * 0.5; // here
}
