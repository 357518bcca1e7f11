// 0:0: u32 = zeros(64)
// grid: 1
// result 0:0: (arange(64) + 1) % 64
// finding: race
#version 450
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer A { uint a[]; };
shared uint tile[64];
void main() {
    uint i = gl_LocalInvocationIndex;
    tile[i] = i; // here
#ifndef FAULT
    barrier();
#endif
    a[i] = tile[(i + 1) % 64]; // here
}
