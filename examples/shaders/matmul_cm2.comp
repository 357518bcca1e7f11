#version 460
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_NV_cooperative_matrix2 : require

// C = A B with matrices of the work-group: A is M x K, B is K x N, both of f16; C is M x N, of f32, as sums are. All are
// row by row and of any size: what lies outside of A and B counts as zero, and is not written to C.
layout(local_size_x = 128) in;
layout(constant_id = 0) const uint ROWS = 64;
layout(constant_id = 1) const uint COLUMNS = 64;
layout(constant_id = 2) const uint DEPTH = 32;

layout(push_constant) uniform Sizes { uint M, N, K; };
layout(binding = 0, std430) readonly buffer Left { float16_t a[]; };
layout(binding = 1, std430) readonly buffer Right { float16_t b[]; };
layout(binding = 2, std430) writeonly buffer Product { float c[]; };

void main() {
    const uint row = ROWS * gl_WorkGroupID.y, column = COLUMNS * gl_WorkGroupID.x;
    tensorLayoutNV<2, gl_CooperativeMatrixClampModeConstantNV> of_a =
        createTensorLayoutNV(2, gl_CooperativeMatrixClampModeConstantNV);
    tensorLayoutNV<2, gl_CooperativeMatrixClampModeConstantNV> of_b =
        createTensorLayoutNV(2, gl_CooperativeMatrixClampModeConstantNV);
    tensorLayoutNV<2, gl_CooperativeMatrixClampModeConstantNV> of_c =
        createTensorLayoutNV(2, gl_CooperativeMatrixClampModeConstantNV);
    of_a = setTensorLayoutDimensionNV(of_a, M, K);
    of_b = setTensorLayoutDimensionNV(of_b, K, N);
    of_c = setTensorLayoutDimensionNV(of_c, M, N);

    coopmat<float, gl_ScopeWorkgroup, ROWS, COLUMNS, gl_MatrixUseAccumulator> sum =
        coopmat<float, gl_ScopeWorkgroup, ROWS, COLUMNS, gl_MatrixUseAccumulator>(0.0);
    for (uint k = 0; k < K; k += DEPTH) {
        coopmat<float16_t, gl_ScopeWorkgroup, ROWS, DEPTH, gl_MatrixUseA> left;
        coopmat<float16_t, gl_ScopeWorkgroup, DEPTH, COLUMNS, gl_MatrixUseB> right;
        coopMatLoadTensorNV(left, a, 0, sliceTensorLayoutNV(of_a, row, ROWS, k, DEPTH));
        coopMatLoadTensorNV(right, b, 0, sliceTensorLayoutNV(of_b, k, DEPTH, column, COLUMNS));
        sum = coopMatMulAdd(left, right, sum);
    }
    coopMatStoreTensorNV(sum, c, 0, sliceTensorLayoutNV(of_c, row, ROWS, column, COLUMNS));
}
