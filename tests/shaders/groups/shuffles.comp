// 0:0: u32 = arange(32) * 3
// 0:1: u32 = zeros(128)
// grid: 1
// subgroup: 32
// result 0:1: stack([b0[arange(32) ^ 5], b0[(arange(32) * 7) % 32], b0[arange(32) // 4 * 4 + (arange(32) + 1) % 4 * 0 + 2], b0[arange(32) ^ 1]], axis=1).ravel()
#version 450
#extension GL_KHR_shader_subgroup_shuffle : enable
#extension GL_KHR_shader_subgroup_quad : enable
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer A { uint a[]; };
layout(set = 0, binding = 1) buffer B { uvec4 b[]; };
void main() {
    uint i = gl_LocalInvocationIndex, x = a[i];
    b[i] = uvec4(subgroupShuffleXor(x, 5), subgroupShuffle(x, (gl_SubgroupInvocationID * 7) % 32), subgroupQuadBroadcast(x, 2), subgroupQuadSwapHorizontal(x));
}
