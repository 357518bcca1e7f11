// 0:0: u32 = arange(32)
// 0:1: u32 = zeros(32)
// grid: 1
// result 0:1: where(arange(32) % 4 == 2, 7, 0)
// finding: out_of_bounds
#version 450
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer A { uint a[]; };
layout(set = 0, binding = 1) buffer B { uint b[]; };
void main() {
    uint kept[4] = uint[4](0, 0, 0, 0);
    uint at = a[gl_LocalInvocationIndex];
#ifndef FAULT
    at %= 4;
#endif
    kept[at] = 7; // here
    b[gl_LocalInvocationIndex] = kept[2];
}
