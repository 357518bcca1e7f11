// 0:0: u32 = (arange(32) * 37) % 23
// 0:1: u32 = zeros(128)
// grid: 1
// subgroup: 32
// result 0:1: (lambda m: stack([full(32, sum(m * 2 ** arange(32))), full(32, m.sum()), cumsum(m) - m, full(32, b0[argmax(m)])], axis=1).ravel())((b0 > 11).astype(int))
#version 450
#extension GL_KHR_shader_subgroup_ballot : enable
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer A { uint a[]; };
layout(set = 0, binding = 1) buffer B { uvec4 b[]; };
void main() {
    uint x = a[gl_LocalInvocationIndex];
    uvec4 votes = subgroupBallot(x > 11);
    uint first = subgroupBroadcast(x, subgroupBallotFindLSB(votes));
    b[gl_LocalInvocationIndex] = uvec4(votes.x, subgroupBallotBitCount(votes), subgroupBallotExclusiveBitCount(votes), first);
}
