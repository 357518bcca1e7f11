// 0:0: u32 = zeros(32)
// grid: 1
// result 0:0: (31 - arange(32)) * 2
// finding: out_of_bounds
#version 450
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) buffer A { uint a[]; };
shared uint tile[32];
void main() {
    uint i = gl_LocalInvocationIndex;
#ifdef FAULT
    tile[32 - i] = i * 2; // here
#else
    tile[31 - i] = i * 2;
#endif
    barrier();
    a[i] = tile[i];
}
