// 0:0: f32 = arange(1024)
// 0:1: f32 = zeros(1024)
// push: u32:4
// grid: 1
// subgroup: 32
// result 0:1: concatenate([b0[256 * k:256 * k + 256] * (k + 1) for k in (3, 2, 1, 0)])
#version 450
#extension GL_KHR_cooperative_matrix : enable
#extension GL_KHR_memory_scope_semantics : enable
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer A { float a[]; };
layout(set = 0, binding = 1) buffer B { float b[]; };
layout(push_constant) uniform Push { uint count; };
void main() {
    coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> m[4];
    for (uint k = 0; k < count; ++k) {
        coopMatLoad(m[k], a, k * 256, 16, gl_CooperativeMatrixLayoutRowMajor);
        m[k] = m[k] * float(k + 1);
    }
    for (uint k = 0; k < count; ++k)
        coopMatStore(m[count - 1 - k], b, k * 256, 16, gl_CooperativeMatrixLayoutRowMajor);
}
