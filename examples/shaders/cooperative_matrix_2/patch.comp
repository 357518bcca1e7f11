// 001, Examples: load an 8x8 patch, where each element of the patch has 32 channels.
#version 460
#extension GL_KHR_cooperative_matrix : require
#extension GL_NV_cooperative_matrix2 : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_shader_explicit_arithmetic_types : require

const uint NumRows = 40, NumCols = 50;
layout(local_size_x = 64) in;
layout(push_constant) uniform Place { uint row, col; };
layout(set = 0, binding = 0) readonly buffer Input { float16_t buf[]; } source;
layout(set = 0, binding = 1) buffer Output { float16_t buf[]; } result;

void main() {
    coopmat<float16_t, gl_ScopeWorkgroup, (8 * 8), 32, gl_MatrixUseA> mat;

    // Rows, columns, channels.
    tensorLayoutNV<3> t = createTensorLayoutNV(3);
    t = setTensorLayoutDimensionNV(t, NumRows, NumCols, 32);
    // An 8x8 region with all 32 channels.
    t = sliceTensorLayoutNV(t, row, 8, col, 8, 0, 32);

    coopMatLoadTensorNV(mat, source.buf, 0, t);
    coopMatStore(mat, result.buf, 0, 32, gl_CooperativeMatrixLayoutRowMajor);
}
