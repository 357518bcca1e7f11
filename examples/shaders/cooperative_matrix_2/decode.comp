// 001, Issue (4): load from a matrix that is encoded in blocks, which a function decodes.
#version 460
#extension GL_KHR_cooperative_matrix : require
#extension GL_NV_cooperative_matrix2 : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_buffer_reference : require

const uint M = 32, N = 64, NumRows = 128, NumCols = 256, BlockRows = 1, BlockCols = 32;
layout(local_size_x = 64) in;
struct S { float16_t scale; int8_t values[32]; };
layout(push_constant) uniform Place { uint row, col; };
layout(set = 0, binding = 0) readonly buffer Input { S buf[]; } source;
layout(set = 0, binding = 1) buffer Output { float16_t buf[]; } result;
layout(buffer_reference, std430, buffer_reference_align = 2) buffer Sref { S block; };

float16_t myDecodeFunc(const in Sref s, const in uint32_t blockCoord[2], const in uint32_t coordInBlock[2]) {
    return s.block.scale * float16_t(s.block.values[coordInBlock[1]]);
}

void main() {
    coopmat<float16_t, gl_ScopeWorkgroup, M, N, gl_MatrixUseA> mat;

    tensorLayoutNV<2> t = createTensorLayoutNV(2);
    t = setTensorLayoutBlockSizeNV(t, BlockRows, BlockCols);
    t = setTensorLayoutDimensionNV(t, NumRows, NumCols);
    t = sliceTensorLayoutNV(t, row, M, col, N);

    coopMatLoadTensorNV(mat, source.buf, 0, t, myDecodeFunc);
    coopMatStore(mat, result.buf, 0, N, gl_CooperativeMatrixLayoutRowMajor);
}
