// 0:0: u32 = arange(32)
// 0:1: u32 = zeros(32)
// grid: 1
// finding: undef
#version 450
#extension GL_KHR_shader_subgroup_shuffle : enable
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer A { uint a[]; };
layout(set = 0, binding = 1) buffer B { uint b[]; };
void main() {
    uint i = gl_LocalInvocationIndex, x = a[i];
    if (i % 2 == 0) {
#ifdef FAULT
        b[i] = subgroupShuffleXor(x, 1); // here
#else
        b[i] = subgroupShuffleXor(x, 2);
#endif
    }
}
