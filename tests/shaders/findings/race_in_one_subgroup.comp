// 0:0: u32 = zeros(8)
// grid: 1
// result 0:0: 7 - arange(8)
// finding: race
#version 450
layout(local_size_x = 8) in;
layout(set = 0, binding = 0) buffer A { uint a[]; };
shared uint tile[8];
void main() {
    uint i = gl_LocalInvocationIndex;
    tile[i] = i; // here
#ifndef FAULT
    barrier();
#endif
    a[i] = tile[7 - i]; // here
}
