// 0:0: u32 = arange(64)
// 0:1: u32 = zeros(64)
// grid: 2
// result 0:1: where(arange(64) < 63, roll(b0, -1), 0)
// finding: out_of_bounds
#version 450
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer A { uint a[]; };
layout(set = 0, binding = 1) writeonly buffer B { uint b[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
#ifndef FAULT
    if (i + 1 >= a.length()) return;
#endif
    b[i] = a[i + 1]; // here
}
