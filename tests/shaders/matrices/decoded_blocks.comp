// 0:0: u8 = (arange(16 * 18) * 37) % 251
// 0:1: f16 = zeros(256)
// grid: 1
// subgroup: 32
// result 0:1: array([(int(b0[18 * r + 2 + c]) - 8) * 0.5 for r in range(16) for c in range(16)])
#version 450
#extension GL_KHR_cooperative_matrix : enable
#extension GL_NV_cooperative_matrix2 : enable
#extension GL_KHR_memory_scope_semantics : enable
#extension GL_EXT_buffer_reference : enable
#extension GL_EXT_shader_8bit_storage : enable
#extension GL_EXT_shader_16bit_storage : enable
#extension GL_EXT_shader_explicit_arithmetic_types : enable
layout(local_size_x = 32) in;
struct Block { uint8_t scale[2]; uint8_t values[16]; };
layout(set = 0, binding = 0, std430) readonly buffer A { uint8_t a[]; };
layout(set = 0, binding = 1) buffer B { float16_t b[]; };
layout(buffer_reference, std430, buffer_reference_align = 2) buffer BlockReference { Block block; };
float16_t decode(const in BlockReference at, const in uint where[2], const in uint inside[2]) {
    return float16_t(int(at.block.values[inside[1]]) - 8) * float16_t(0.5);
}
void main() {
    tensorLayoutNV<2> rows = createTensorLayoutNV(2);
    rows = setTensorLayoutBlockSizeNV(rows, 1, 16);
    rows = setTensorLayoutDimensionNV(rows, 16, 16);
    coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA> m;
    coopMatLoadTensorNV(m, a, 0, rows, decode);
    coopMatStore(m, b, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
}
