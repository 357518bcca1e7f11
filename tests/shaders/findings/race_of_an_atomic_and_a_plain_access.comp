// 0:0: u32 = zeros(1)
// 0:1: u32 = zeros(32)
// grid: 1
// finding: race
#version 450
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) buffer A { uint count; };
layout(set = 0, binding = 1) buffer B { uint b[]; };
void main() {
    uint i = gl_LocalInvocationIndex;
    atomicAdd(count, 1); // here
#ifdef FAULT
    b[i] = count; // here
#else
    b[i] = atomicAdd(count, 0) > 0 ? 1 : 0;
#endif
}
