// 001, Examples: load from a column-major matrix, through a view that exchanges the dimensions.
#version 460
#extension GL_KHR_cooperative_matrix : require
#extension GL_NV_cooperative_matrix2 : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_shader_explicit_arithmetic_types : require

const uint M = 32, N = 16, NumRows = 100, NumCols = 70;
layout(local_size_x = 64) in;
layout(push_constant) uniform Place { uint row, col; };
layout(set = 0, binding = 0) readonly buffer Input { float16_t buf[]; } source;
layout(set = 0, binding = 1) buffer Output { float16_t buf[]; } result;

void main() {
    coopmat<float16_t, gl_ScopeWorkgroup, M, N, gl_MatrixUseB> mat;

    tensorLayoutNV<2> t = createTensorLayoutNV(2);
    // Columns are the outermost dimension.
    t = setTensorLayoutDimensionNV(t, NumCols, NumRows);
    t = sliceTensorLayoutNV(t, col, N, row, M);

    coopMatLoadTensorNV(mat, source.buf, 0, t, createTensorViewNV(2, false, 1, 0));
    coopMatStore(mat, result.buf, 0, N, gl_CooperativeMatrixLayoutRowMajor);
}
