// 0:0: u32 = zeros(32)
// grid: 1
// result 0:0: (arange(32) + 1) % 32 * 2
// finding: out_of_bounds
#version 450
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) buffer A { uint a[]; };
shared uint tile[32];
void main() {
    uint i = gl_LocalInvocationIndex;
    tile[i] = i * 2;
    barrier();
#ifdef FAULT
    a[i] = tile[i + 1]; // here
#else
    a[i] = tile[(i + 1) % 32];
#endif
}
