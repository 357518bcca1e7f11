// 0:0: f16 = arange(512)
// 0:1: f16 = zeros(512)
// grid: 1
// subgroup: 32
// result 0:1: b0.reshape(32, 16).T.ravel()
#version 450
#extension GL_KHR_cooperative_matrix : enable
#extension GL_NV_cooperative_matrix2 : enable
#extension GL_KHR_memory_scope_semantics : enable
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : enable
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer A { float16_t a[]; };
layout(set = 0, binding = 1) buffer B { float16_t b[]; };
void main() {
    tensorLayoutNV<2> tall = createTensorLayoutNV(2);
    tall = setTensorLayoutDimensionNV(tall, 32, 16);
    tensorViewNV<2, false, 1, 0> swapped = createTensorViewNV(2, false, 1, 0);
    coopmat<float16_t, gl_ScopeSubgroup, 16, 32, gl_MatrixUseA> m;
    coopMatLoadTensorNV(m, a, 0, tall, swapped);
    coopMatStore(m, b, 0, 32, gl_CooperativeMatrixLayoutRowMajor);
}
