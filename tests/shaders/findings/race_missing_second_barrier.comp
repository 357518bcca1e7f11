// 0:0: u32 = zeros(64)
// grid: 1
// result 0:0: 64 + 63 - arange(64)
// finding: race
#version 450
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer A { uint a[]; };
shared uint tile[64];
void main() {
    uint i = gl_LocalInvocationIndex, last = 0;
    for (uint k = 0; k < 2; ++k) {
        tile[i] = i + k * 64; // here
        barrier();
        last = tile[63 - i]; // here
#ifndef FAULT
        barrier();
#endif
    }
    a[i] = last;
}
