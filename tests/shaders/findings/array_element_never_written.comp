// 0:0: u32 = arange(32)
// 0:1: u32 = zeros(32)
// grid: 1
// result 0:1: (arange(32) % 4) * 10
// finding: undef
#version 450
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer A { uint a[]; };
layout(set = 0, binding = 1) buffer B { uint b[]; };
void main() {
    uint values[5];
#ifdef FAULT
    for (uint k = 0; k < 3; ++k) values[k] = k * 10;
#else
    for (uint k = 0; k < 5; ++k) values[k] = k * 10;
#endif
    b[gl_LocalInvocationIndex] = values[a[gl_LocalInvocationIndex] % 4]; // here
}
