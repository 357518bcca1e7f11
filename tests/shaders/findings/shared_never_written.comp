// 0:0: u32 = zeros(32)
// grid: 1
// result 0:0: arange(32)
// finding: uninitialized
#version 450
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) buffer A { uint a[]; };
shared uint tile[32];
void main() {
    uint i = gl_LocalInvocationIndex;
#ifdef FAULT
    if (i != 7)
#endif
        tile[i] = i;
    barrier();
    a[i] = tile[i]; // here
}
