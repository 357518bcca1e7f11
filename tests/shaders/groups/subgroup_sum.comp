// 0:0: u32 = arange(128)
// 0:1: u32 = zeros(128)
// grid: 2
// subgroup: 32
// result 0:1: repeat(b0.reshape(4, 32).sum(axis=1), 32)
#version 450
#extension GL_KHR_shader_subgroup_arithmetic : enable
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer A { uint a[]; };
layout(set = 0, binding = 1) buffer B { uint b[]; };
void main() {
    b[gl_GlobalInvocationID.x] = subgroupAdd(a[gl_GlobalInvocationID.x]);
}
