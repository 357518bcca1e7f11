// 0:0: u32 = zeros(64)
// grid: 1
// result 0:0: full(64, 4)
// finding: divergent
#version 450
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer A { uint a[]; };
void main() {
    uint i = gl_LocalInvocationIndex, turns = 0;
#ifdef FAULT
    for (uint k = 0; k < i; ++k) {
#else
    for (uint k = 0; k < 4; ++k) {
#endif
        barrier(); // here
        ++turns;
    }
    a[i] = turns;
}
