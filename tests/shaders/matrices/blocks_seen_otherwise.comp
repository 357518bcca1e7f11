// 0:0: u32 = arange(16 * 6) * 2654435761 % 2**32
// 0:1: f16 = zeros(256)
// grid: 1
// subgroup: 32
// result 0:1: ((b0.view("u1").reshape(16, 24)[:, 8:] + b0.view("u1").reshape(16, 24)[:, :1].astype(int)) % 64).reshape(-1)
#version 450
#extension GL_KHR_cooperative_matrix : enable
#extension GL_NV_cooperative_matrix2 : enable
#extension GL_KHR_memory_scope_semantics : enable
#extension GL_EXT_buffer_reference : enable
#extension GL_EXT_shader_8bit_storage : enable
#extension GL_EXT_shader_16bit_storage : enable
#extension GL_EXT_shader_explicit_arithmetic_types : enable
layout(local_size_x = 32) in;
struct Block { uint8_t scale; uint8_t unused[7]; uint8_t values[16]; };
struct Words { uint scale; uint unused; uint values[4]; };
layout(set = 0, binding = 0, std430) readonly buffer A { uint a[]; };
layout(set = 0, binding = 1) buffer B { float16_t b[]; };
layout(buffer_reference, std430, buffer_reference_align = 4) buffer BlockReference { Block block; };
layout(buffer_reference, std430, buffer_reference_align = 4) buffer WordsReference { Words block; };
uint of_words(WordsReference words, uint inside) {
    WordsReference held = words;
    uint found = 0;
    for (uint k = 0; k < 4; k++) {
        if (k == inside / 4) found = held.block.values[k] >> (inside % 4 * 8);
    }
    return found;
}
float16_t decode(const in BlockReference at, const in uint where[2], const in uint inside[2]) {
    WordsReference words = WordsReference(at);
    uint scale = uint(at.block.scale);
    return float16_t(((of_words(words, inside[1]) & 255) + scale) & 63);
}
void main() {
    tensorLayoutNV<2> rows = createTensorLayoutNV(2);
    rows = setTensorLayoutBlockSizeNV(rows, 1, 16);
    rows = setTensorLayoutDimensionNV(rows, 16, 16);
    coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA> m;
    coopMatLoadTensorNV(m, a, 0, rows, decode);
    coopMatStore(m, b, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
}
