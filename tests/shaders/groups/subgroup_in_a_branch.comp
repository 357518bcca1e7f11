// 0:0: u32 = arange(32)
// 0:1: u32 = zeros(32)
// grid: 1
// subgroup: 32
// result 0:1: where(b0 % 3 == 0, b0[b0 % 3 == 0].sum(), where(b0 % 3 == 1, b0[b0 % 3 == 1].max(), 2))
#version 450
#extension GL_KHR_shader_subgroup_arithmetic : enable
#extension GL_KHR_shader_subgroup_ballot : enable
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer A { uint a[]; };
layout(set = 0, binding = 1) buffer B { uint b[]; };
void main() {
    uint i = gl_LocalInvocationIndex, x = a[i];
    if (x % 3 == 0) b[i] = subgroupAdd(x);
    else if (x % 3 == 1) b[i] = subgroupMax(x);
    else b[i] = subgroupBroadcastFirst(x);
}
