// 0:0: u32 = zeros(64)
// grid: 1
// result 0:0: where(arange(64) < 50, roll(arange(64), -1), 0)
// finding: divergent
#version 450
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer A { uint a[]; };
shared uint tile[64];
void main() {
    uint i = gl_LocalInvocationIndex;
    tile[i] = i;
#ifdef FAULT
    if (i >= 50) return;
#endif
    barrier(); // here
    if (i < 50) a[i] = tile[i + 1];
}
