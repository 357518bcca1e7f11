// 0:0: f32 = arange(16 * 16) % 7 - 3
// 0:1: f32 = zeros(16 * 16)
// grid: 1
// result 0:1: where(b0 > 0, b0 * 10, b0 + 2)
#version 450
#extension GL_KHR_cooperative_matrix : enable
#extension GL_NV_cooperative_matrix2 : enable
#extension GL_KHR_memory_scope_semantics : enable
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer A { float a[]; };
layout(set = 0, binding = 1) buffer B { float b[]; };
float two(const in uint row, const in uint column, const in float x) { return 2.0; }
void main() {
    coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> m, never_stored;
    tensorLayoutNV<2> rows = setTensorLayoutDimensionNV(createTensorLayoutNV(2), 16, 16);
    coopMatLoadTensorNV(m, a, 0, rows);
    coopMatPerElementNV(never_stored, never_stored, two);
    for (int i = 0; i < m.length(); i++) {
        if (m[i] > 0.0) {
            m[i] *= 10.0;
        } else {
            m[i] += never_stored[i];
        }
    }
    coopMatStoreTensorNV(m, b, 0, rows);
}
