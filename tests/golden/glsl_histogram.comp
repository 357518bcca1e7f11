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
shared int local0[256];

void work_group_barrier() {
    controlBarrier(gl_ScopeWorkgroup, gl_ScopeWorkgroup, gl_StorageSemanticsBuffer | gl_StorageSemanticsShared,
                   gl_SemanticsAcquireRelease | gl_SemanticsMakeAvailable | gl_SemanticsMakeVisible);
}

void main() {
    // func @histogram(%X: memref<$type x ?>, %H: memref<i32 x $bins>)
    int thread = int(gl_SubgroupInvocationID + gl_SubgroupID * 32u);
    // %first = mul %group, %block : index
    int64_t v1 = int64_t(gl_WorkGroupID.x) * 4096l;
    // %left = sub %length, %first : index
    int64_t v2 = int64_t(X_size0) - v1;
    // %count = min %left, %block : index
    // %end = add %first, %count : index
    // foreach (%b) = (%zero), (%bins) {
    for (int i = thread; i < 256; i += 128) {
        // store %none, %counts[%b]
        local0[i] = 0;
    }
    work_group_barrier();
    // foreach (%i) = (%first), (%end) {
    for (int64_t i = v1 + int64_t(uint(thread)); i < v1 + (v2 < 4096l ? v2 : 4096l); i += 128l) {
        // %x = load %X[%i] : $type
        int v3 = X[int(i)];
        // %not_negative = greater_than_equal %bin, %zero : bool
        // %not_large = less_than %bin, %bins : bool
        // %counted = and %not_negative, %not_large : bool
        // if %counted {
        if (v3 >= 0 && v3 < 256) {
            // %old = atomic_add.work_group %one, %counts[%bin] : i32
            atomicAdd(local0[v3], 1);
        }
    }
    work_group_barrier();
    // foreach (%b) = (%zero), (%bins) {
    for (int i = thread; i < 256; i += 128) {
        // %n = load %counts[%b] : i32
        // %old = atomic_add.device %n, %H[%b] : i32
        atomicAdd(H[i], local0[i]);
    }
}
