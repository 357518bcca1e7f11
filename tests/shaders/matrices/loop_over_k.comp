// 0:0: f16 = (arange(32 * 64) * 7) % 13 - 6
// 0:1: f16 = (arange(64 * 32) * 5) % 11 - 5
// 0:2: f32 = zeros(1024)
// push: u32:64
// grid: 2,2
// subgroup: 32
// result 0:2: (b0.reshape(32, 64).astype(float) @ b1.reshape(64, 32).astype(float)).ravel()
#version 450
#extension GL_KHR_cooperative_matrix : enable
#extension GL_KHR_memory_scope_semantics : enable
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : enable
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer A { float16_t a[]; };
layout(set = 0, binding = 1) readonly buffer B { float16_t b[]; };
layout(set = 0, binding = 2) buffer C { float c[]; };
layout(push_constant) uniform Push { uint depth; };
void main() {
    uint row = gl_WorkGroupID.y * 16, column = gl_WorkGroupID.x * 16;
    coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> sum = coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator>(0.0);
    for (uint k = 0; k < depth; k += 16) {
        coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA> ma;
        coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseB> mb;
        coopMatLoad(ma, a, row * depth + k, depth, gl_CooperativeMatrixLayoutRowMajor);
        coopMatLoad(mb, b, k * 32 + column, 32, gl_CooperativeMatrixLayoutRowMajor);
        sum = coopMatMulAdd(ma, mb, sum);
    }
    coopMatStore(sum, c, row * 32 + column, 32, gl_CooperativeMatrixLayoutRowMajor);
}
