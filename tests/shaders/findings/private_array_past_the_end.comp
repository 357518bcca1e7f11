// 0:0: u32 = arange(32)
// 0:1: u32 = zeros(32)
// grid: 1
// result 0:1: (arange(32) % 8) * (arange(32) % 8)
// finding: out_of_bounds
#version 450
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer A { uint a[]; };
layout(set = 0, binding = 1) buffer B { uint b[]; };
void main() {
    uint squares[8];
    for (uint k = 0; k < 8; ++k) squares[k] = k * k;
#ifdef FAULT
    b[gl_LocalInvocationIndex] = squares[a[gl_LocalInvocationIndex]]; // here
#else
    b[gl_LocalInvocationIndex] = squares[a[gl_LocalInvocationIndex] % 8];
#endif
}
