// 0:0: f16 = (arange(1024) * 7) % 13 - 6
// 0:1: f16 = (arange(1024) * 5) % 11 - 5
// 0:2: f32 = zeros(1024)
// grid: 1
// subgroup: 32
// result 0:2: (b0.reshape(32, 32).astype(float) @ b1.reshape(32, 32).astype(float)).ravel()
#version 450
#extension GL_KHR_cooperative_matrix : enable
#extension GL_NV_cooperative_matrix2 : enable
#extension GL_KHR_memory_scope_semantics : enable
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : enable
layout(local_size_x = 128) in;
layout(set = 0, binding = 0) readonly buffer A { float16_t a[]; };
layout(set = 0, binding = 1) readonly buffer B { float16_t b[]; };
layout(set = 0, binding = 2) buffer C { float c[]; };
void main() {
    tensorLayoutNV<2> square = createTensorLayoutNV(2);
    square = setTensorLayoutDimensionNV(square, 32, 32);
    coopmat<float16_t, gl_ScopeWorkgroup, 32, 32, gl_MatrixUseA> ma;
    coopmat<float16_t, gl_ScopeWorkgroup, 32, 32, gl_MatrixUseB> mb;
    coopmat<float, gl_ScopeWorkgroup, 32, 32, gl_MatrixUseAccumulator> mc = coopmat<float, gl_ScopeWorkgroup, 32, 32, gl_MatrixUseAccumulator>(0.0);
    coopMatLoadTensorNV(ma, a, 0, square);
    coopMatLoadTensorNV(mb, b, 0, square);
    mc = coopMatMulAdd(ma, mb, mc);
    coopMatStoreTensorNV(mc, c, 0, square);
}
