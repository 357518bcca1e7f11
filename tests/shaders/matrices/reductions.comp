// 0:0: f32 = (arange(256) * 37) % 101
// 0:1: f32 = zeros(768)
// grid: 1
// subgroup: 32
// result 0:1: (lambda m: concatenate([repeat(m.sum(axis=1), 16), tile(m.max(axis=0), 16), full(256, m.min())]))(b0.reshape(16, 16))
#version 450
#extension GL_KHR_cooperative_matrix : enable
#extension GL_NV_cooperative_matrix2 : enable
#extension GL_KHR_memory_scope_semantics : enable
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer A { float a[]; };
layout(set = 0, binding = 1) buffer B { float b[]; };
float plus(const in float x, const in float y) { return x + y; }
float larger(const in float x, const in float y) { return max(x, y); }
float smaller(const in float x, const in float y) { return min(x, y); }
void main() {
    coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> m, r;
    coopMatLoad(m, a, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
    coopMatReduceNV(r, m, gl_CooperativeMatrixReduceRowNV, plus);
    coopMatStore(r, b, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
    coopMatReduceNV(r, m, gl_CooperativeMatrixReduceColumnNV, larger);
    coopMatStore(r, b, 256, 16, gl_CooperativeMatrixLayoutRowMajor);
    coopMatReduceNV(r, m, gl_CooperativeMatrixReduceRowAndColumnNV, smaller);
    coopMatStore(r, b, 512, 16, gl_CooperativeMatrixLayoutRowMajor);
}
