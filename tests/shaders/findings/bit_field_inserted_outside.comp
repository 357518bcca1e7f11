// 0:0: u32 = arange(24)
// 0:0 fault: u32 = arange(24) + 4
// 0:1: u32 = zeros(24)
// grid: 1
// result 0:1: 0x55 << arange(24)
// finding: undefined_operation
#version 450
layout(local_size_x = 8) in;
layout(set = 0, binding = 0) readonly buffer A { uint a[]; };
layout(set = 0, binding = 1) buffer B { uint b[]; };
void main() {
    for (uint i = gl_LocalInvocationIndex; i < 24; i += 8)
        b[i] = bitfieldInsert(0u, 0x55u, int(a[i]), 8); // here
}
