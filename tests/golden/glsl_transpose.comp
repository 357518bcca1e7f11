#version 460
// The kernel @transpose: a work-group of 128 work-items for each of the grid's.
// Its pipeline has full subgroups of 32 work-items, which it has to require.
//
// binding 0: A, read
// binding 1: B, written
// push constants: A_size0 at 0, A_size1 at 4, A_stride1 at 8, B_size0 at 12, B_size1 at 16, B_stride1 at 20

#pragma use_vulkan_memory_model
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require

layout(local_size_x = 128) in;

layout(set = 0, binding = 0, std430) readonly buffer A_block { float A[]; };
layout(set = 0, binding = 1, std430) nonprivate buffer B_block { float B[]; };
layout(push_constant, std430) uniform Parameters {
    int A_size0;
    int A_size1;
    int A_stride1;
    int B_size0;
    int B_size1;
    int B_stride1;
};
shared float local0[1055];

void work_group_barrier() {
    controlBarrier(gl_ScopeWorkgroup, gl_ScopeWorkgroup, gl_StorageSemanticsBuffer | gl_StorageSemanticsShared,
                   gl_SemanticsAcquireRelease | gl_SemanticsMakeAvailable | gl_SemanticsMakeVisible);
}

void main() {
    // func @transpose(%A: memref<$type x ? x ?, strided<1, ?>>, %B: memref<$type x ? x ?, strided<1, ?>>)
    int thread = int(gl_SubgroupInvocationID + gl_SubgroupID * 32u);
    // %row = mul %i, %size : index
    int v1 = int(gl_WorkGroupID.x * 32u);
    // %column = mul %j, %size : index
    int v2 = int(gl_WorkGroupID.y * 32u);
    // %rows_left = sub %rows, %row : index
    int v3 = A_size0 - v1;
    // %columns_left = sub %columns, %column : index
    int v4 = A_size1 - v2;
    // %height = min %rows_left, %size : index
    int v5 = v3 < 32 ? v3 : 32;
    // %width = min %columns_left, %size : index
    int v6 = v4 < 32 ? v4 : 32;
    // foreach (%m, %n) = (%zero, %zero), (%height, %width) {
    for (int i = 0; i < v6; i++) {
        // %from_column = add %column, %n : index
        // %x = load %A[%from_row, %from_column] : $type
        int v7 = (v2 + i) * A_stride1;
        // store %x, %tile[%m, %n]
        int v8 = i * 33;
        for (int j = thread; j < v5; j += 128) {
            // %from_row = add %row, %m : index
            local0[j + v8] = A[v1 + j + v7];
        }
    }
    work_group_barrier();
    // foreach (%n, %m) = (%zero, %zero), (%width, %height) {
    for (int i = 0; i < v5; i++) {
        // %to_column = add %row, %m : index
        // store %x, %B[%to_row, %to_column]
        int v9 = B_stride1 * (v1 + i);
        for (int j = thread; j < v6; j += 128) {
            // %x = load %tile[%m, %n] : $type
            // %to_row = add %column, %n : index
            B[v2 + j + v9] = local0[i + j * 33];
        }
    }
}
