#version 460
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_buffer_reference : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_NV_cooperative_matrix2 : require

// C = X W^T with weights of four bits, decoded while they are loaded: W is N x K, row by row in blocks of 32 weights, X is
// M x K, of f16, C is M x N, of f32, as sums are; both row by row. M and N are of any size, K is a multiple of 32.
layout(local_size_x = 128) in;
layout(constant_id = 0) const uint ROWS = 64;
layout(constant_id = 1) const uint COLUMNS = 64;
layout(constant_id = 2) const uint DEPTH = 32;

// A scale d; then byte p has weight p in its low half, weight p + 16 in its high half. A weight is (q - 8) d.
struct Block {
    float16_t d;
    uint8_t q[16];
};
const uint WEIGHTS = 32;

layout(push_constant) uniform Sizes { uint M, N, K; };
layout(binding = 0, std430) readonly buffer Weights { Block w[]; };
layout(binding = 1, std430) readonly buffer Inputs { float16_t x[]; };
layout(binding = 2, std430) writeonly buffer Product { float c[]; };

layout(buffer_reference, std430, buffer_reference_align = 2) buffer BlockReference { Block block; };

float16_t decode(const in BlockReference at, const in uint blockCoords[2], const in uint coordInBlock[2]) {
    const uint place = coordInBlock[1];
    const uint pair = at.block.q[place & 15];
    const uint number = (pair >> (4 * (place >> 4))) & 15;
    return float16_t(int(number) - 8) * at.block.d;
}

void main() {
    const uint row = ROWS * gl_WorkGroupID.y, column = COLUMNS * gl_WorkGroupID.x;
    tensorLayoutNV<2, gl_CooperativeMatrixClampModeConstantNV> of_x =
        createTensorLayoutNV(2, gl_CooperativeMatrixClampModeConstantNV);
    tensorLayoutNV<2, gl_CooperativeMatrixClampModeConstantNV> of_w =
        createTensorLayoutNV(2, gl_CooperativeMatrixClampModeConstantNV);
    tensorLayoutNV<2, gl_CooperativeMatrixClampModeConstantNV> of_c =
        createTensorLayoutNV(2, gl_CooperativeMatrixClampModeConstantNV);
    tensorViewNV<2, false, 1, 0> turned = createTensorViewNV(2, false, 1, 0);
    of_x = setTensorLayoutDimensionNV(of_x, M, K);
    of_w = setTensorLayoutBlockSizeNV(of_w, 1, WEIGHTS);
    of_w = setTensorLayoutDimensionNV(of_w, N, K);
    of_c = setTensorLayoutDimensionNV(of_c, M, N);

    coopmat<float, gl_ScopeWorkgroup, ROWS, COLUMNS, gl_MatrixUseAccumulator> sum =
        coopmat<float, gl_ScopeWorkgroup, ROWS, COLUMNS, gl_MatrixUseAccumulator>(0.0);
    for (uint k = 0; k < K; k += DEPTH) {
        coopmat<float16_t, gl_ScopeWorkgroup, ROWS, DEPTH, gl_MatrixUseA> left;
        coopmat<float16_t, gl_ScopeWorkgroup, DEPTH, COLUMNS, gl_MatrixUseB> right;
        coopMatLoadTensorNV(left, x, 0, sliceTensorLayoutNV(of_x, row, ROWS, k, DEPTH));
        coopMatLoadTensorNV(right, w, 0, sliceTensorLayoutNV(of_w, column, COLUMNS, k, DEPTH), turned, decode);
        sum = coopMatMulAdd(left, right, sum);
    }
    coopMatStoreTensorNV(sum, c, 0, sliceTensorLayoutNV(of_c, row, ROWS, column, COLUMNS));
}
