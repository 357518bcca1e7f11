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
shared float tile[1055];

void work_group_barrier() {
    controlBarrier(gl_ScopeWorkgroup, gl_ScopeWorkgroup, gl_StorageSemanticsBuffer | gl_StorageSemanticsShared,
                   gl_SemanticsAcquireRelease | gl_SemanticsMakeAvailable | gl_SemanticsMakeVisible);
}

void main() {
    int thread = int(gl_SubgroupInvocationID + gl_SubgroupID * 32u);
    int row = int(gl_WorkGroupID.x * 32u);
    int column = int(gl_WorkGroupID.y * 32u);
    int rows_left = A_size0 - row;
    int columns_left = A_size1 - column;
    int height = min(rows_left, 32);
    int width = min(columns_left, 32);
    // foreach (%m, %n) = (%zero, %zero), (%height, %width) {
    for (int n = 0; n < width; n++) {
        int v1 = (column + n) * A_stride1;
        int v2 = n * 33;
        for (int m = thread; m < height; m += 128) {
            // store %x, %tile[%m, %n]
            tile[m + v2] = A[row + m + v1];
        }
    }
    work_group_barrier();
    // foreach (%n, %m) = (%zero, %zero), (%width, %height) {
    for (int m = 0; m < height; m++) {
        int v3 = B_stride1 * (row + m);
        for (int n = thread; n < width; n += 128) {
            // store %x, %B[%to_row, %to_column]
            B[column + n + v3] = tile[m + n * 33];
        }
    }
}
