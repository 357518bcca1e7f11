// 0:0: u32 = arange(32)
// 0:1: u32 = zeros(32)
// grid: 1
// finding: not_uniform
#version 450
#extension GL_KHR_shader_subgroup_ballot : enable
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer A { uint a[]; };
layout(set = 0, binding = 1) buffer B { uint b[]; };
void main() {
    uint i = gl_LocalInvocationIndex;
#ifdef FAULT
    uint lane = a[i] % 2;
#else
    uint lane = a[0];
#endif
    b[i] = subgroupBroadcast(i, lane); // here
}
