// 0:0: f16 = arange(256)
// 0:1: f16 = zeros(256)
// grid: 1
// result 0:1: arange(256)
// finding: divergent
#version 450
#extension GL_KHR_cooperative_matrix : enable
#extension GL_KHR_memory_scope_semantics : enable
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : enable
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer A { float16_t a[]; };
layout(set = 0, binding = 1) buffer B { float16_t b[]; };
void main() {
    coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA> m = coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA>(0.0);
#ifdef FAULT
    if (gl_LocalInvocationIndex < 20) // here
#endif
        coopMatLoad(m, a, 0, 16, gl_CooperativeMatrixLayoutRowMajor); // here
    coopMatStore(m, b, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
}
