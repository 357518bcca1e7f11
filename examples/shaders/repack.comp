#version 460
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_cooperative_matrix : require

layout(local_size_x = 32) in;
layout(constant_id = 0) const uint STRIDE = 2;

layout(binding = 0, std430) readonly buffer Rows { float16_t rows[]; };
layout(binding = 1, std430) writeonly buffer Blocks { float16_t blocks[]; };

// Repacks a matrix of 8 x 16 elements from rows to interleaved blocks.
void main() {
    coopmat<float16_t, gl_ScopeSubgroup, 8, 16, gl_MatrixUseA> matrix;
    coopMatLoad(matrix, rows, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
    coopMatStore(matrix, blocks, 0, STRIDE, gl_CooperativeMatrixLayoutRowBlockedInterleavedARM);
}
