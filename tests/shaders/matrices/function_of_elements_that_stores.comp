// 0:0: f32 = arange(256)
// 0:1: f32 = zeros(256)
// push: f32:0.5
// grid: 1
// subgroup: 32
// result 0:1: (lambda m: (m * 0.5 + arange(16)[:, None] - arange(16)[None, :]).T.ravel())(b0.reshape(16, 16))
#version 450
#extension GL_KHR_cooperative_matrix : enable
#extension GL_NV_cooperative_matrix2 : enable
#extension GL_KHR_memory_scope_semantics : enable
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer A { float a[]; };
layout(set = 0, binding = 1) buffer B { float b[]; };
layout(push_constant) uniform Push { float scale; };
float put(const in uint row, const in uint column, const in float x, const in float factor) {
    b[column * 16 + row] = x * factor + float(row) - float(column);
    return x;
}
void main() {
    coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> m;
    coopMatLoad(m, a, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
    coopMatPerElementNV(m, m, put, scale);
}
