#version 460
// The kernel @histogram: a work-group of 128 work-items for each of the grid's.
// Its pipeline has full subgroups of 32 work-items, which it has to require.
//
// binding 0: X, read
// binding 1: H, read and written, atomically, too
// push constants: X_size0 at 0

#pragma use_vulkan_memory_model
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require

layout(local_size_x = 128) in;

layout(set = 0, binding = 0, std430) readonly buffer X_block { int X[]; };
layout(set = 0, binding = 1, std430) nonprivate buffer H_block { int H[]; };
layout(push_constant, std430) uniform Parameters {
    int X_size0;
};
shared int counts[256];

void work_group_barrier() {
    controlBarrier(gl_ScopeWorkgroup, gl_ScopeWorkgroup, gl_StorageSemanticsBuffer | gl_StorageSemanticsShared,
                   gl_SemanticsAcquireRelease | gl_SemanticsMakeAvailable | gl_SemanticsMakeVisible);
}

void main() {
    int thread = int(gl_SubgroupInvocationID + gl_SubgroupID * 32u);
    int64_t first = int64_t(gl_WorkGroupID.x) * 4096l;
    int64_t left = int64_t(X_size0) - first;
    // foreach (%b) = (%zero), (%bins) {
    for (int b = thread; b < 256; b += 128) {
        // store %none, %counts[%b]
        counts[b] = 0;
    }
    work_group_barrier();
    // foreach (%i) = (%first), (%end) {
    for (int64_t i = first + int64_t(uint(thread)); i < first + min(left, 4096l); i += 128l) {
        int x = X[int(i)];
        // if %counted {
        if (x >= 0 && x < 256) {
            // %old = atomic_add.work_group %one, %counts[%bin] : i32
            atomicAdd(counts[x], 1);
        }
    }
    work_group_barrier();
    // foreach (%b) = (%zero), (%bins) {
    for (int b = thread; b < 256; b += 128) {
        // %old = atomic_add.device %n, %H[%b] : i32
        atomicAdd(H[b], counts[b]);
    }
}
