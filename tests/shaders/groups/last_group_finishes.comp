// 0:0: u32 = arange(256)
// 0:1: u32 = zeros(10)
// grid: 8
// result 0:1: array([int(b0.sum()), 8, *(int(b0[32 * k:32 * k + 32].sum()) for k in range(8))])
#version 450
#extension GL_KHR_memory_scope_semantics : enable
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer A { uint a[]; };
layout(set = 0, binding = 1) coherent buffer B { uint total, done; uint parts[8]; };
shared uint part[32];
void main() {
    uint i = gl_LocalInvocationIndex;
    part[i] = a[gl_GlobalInvocationID.x];
    barrier();
    if (i != 0) return;
    uint sum = 0;
    for (int k = 0; k < 32; ++k) sum += part[k];
    parts[gl_WorkGroupID.x] = sum;
    uint before = atomicAdd(done, 1, gl_ScopeDevice, gl_StorageSemanticsBuffer, gl_SemanticsAcquireRelease);
    if (before == 7) {
        uint all_ = 0;
        for (int k = 0; k < 8; ++k) all_ += parts[k];
        total = all_;
    }
}
