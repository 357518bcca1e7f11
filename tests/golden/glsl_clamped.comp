#version 460
// The kernel @clamped: a work-group of 32 work-items for each of the grid's.
// Made for nvidia-hopper: NVIDIA H100 and H200.
// Its pipeline has full subgroups of 32 work-items, which it has to require.
//
// binding 0: a, read
// binding 1: b, read
// binding 2: c, written
// push constants: a_size0 at 0, row at 4

#pragma use_vulkan_memory_model
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_NV_cooperative_matrix2 : require

layout(local_size_x = 32) in;

layout(set = 0, binding = 0, std430) readonly buffer a_block { int8_t a[]; };
layout(set = 0, binding = 1, std430) readonly buffer b_block { int8_t b[]; };
layout(set = 0, binding = 2, std430) nonprivate buffer c_block { int c[]; };
layout(push_constant, std430) uniform Parameters {
    int a_size0;
    int row;
};

void main() {
    // %x = cooperative_matrix_load_tensor %before, %a[%zero], %l3, %v : coopmatrix<i8x32x32,ma...
    tensorLayoutNV<2, gl_CooperativeMatrixClampModeConstantNV> a_layout = createTensorLayoutNV(2, gl_CooperativeMatrixClampModeConstantNV);
    a_layout = setTensorLayoutDimensionNV(a_layout, 20, 32);
    a_layout = setTensorLayoutStrideNV(a_layout, 32, 1);
    tensorLayoutNV<2, gl_CooperativeMatrixClampModeConstantNV> a_tile = setTensorLayoutClampValueNV(sliceTensorLayoutNV(a_layout, row, 32, 0, 32), 7);
    coopmat<int8_t, gl_ScopeSubgroup, 32, 32, gl_MatrixUseA> x;
    coopMatLoadTensorNV(x, a, 0, a_tile, createTensorViewNV(2, false, 1, 0));
    // %y = cooperative_matrix_load %b[%zero,%zero] : coopmatrix<i8x32x16,matrix_b>
    coopmat<int8_t, gl_ScopeSubgroup, 32, 16, gl_MatrixUseB> y;
    coopMatLoad(y, b, 0, 32, gl_CooperativeMatrixLayoutColumnMajor);
    // cooperative_matrix_store %o, %c[%zero,%zero]
    coopmat<int, gl_ScopeSubgroup, 32, 16, gl_MatrixUseAccumulator> o = coopMatMulAdd(x, y, coopmat<int, gl_ScopeSubgroup, 32, 16, gl_MatrixUseAccumulator>(1));
    coopMatStore(o, c, 0, 32, gl_CooperativeMatrixLayoutColumnMajor);
}
