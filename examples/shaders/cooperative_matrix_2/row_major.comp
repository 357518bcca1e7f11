// 001, Examples: load from a row-major matrix.
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
    coopmat<float16_t, gl_ScopeWorkgroup, M, N, gl_MatrixUseA> mat;

    tensorLayoutNV<2> t = createTensorLayoutNV(2);
    t = setTensorLayoutDimensionNV(t, NumRows, NumCols);
    t = sliceTensorLayoutNV(t, row, M, col, N);

    coopMatLoadTensorNV(mat, source.buf, 0, t);
    coopMatStore(mat, result.buf, 0, N, gl_CooperativeMatrixLayoutRowMajor);
}
