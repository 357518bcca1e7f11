// 0:0: f16 = arange(300)
// 0:1: f16 = zeros(256)
// push: u32:8
// push fault: u32:4
// grid: 1
// result 0:1: arange(256) + 8
// finding: misaligned
#version 450
#extension GL_KHR_cooperative_matrix : enable
#extension GL_NV_cooperative_matrix2 : enable
#extension GL_KHR_memory_scope_semantics : enable
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : enable
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer A { float16_t a[]; };
layout(set = 0, binding = 1) buffer B { float16_t b[]; };
layout(push_constant) uniform Push { uint first; };
void main() {
    coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA> m;
    tensorLayoutNV<2> layout_a = createTensorLayoutNV(2);
    layout_a = setTensorLayoutDimensionNV(layout_a, 16, 16);
    coopMatLoadTensorNV(m, a, first, layout_a); // here
    coopMatStore(m, b, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
}
