// 0:0: u8 = (arange(512) * 37) % 256
// 0:1: i8 = (arange(512) * 91) % 256 - 128
// 0:2: i32 = zeros(256)
// grid: 1
// subgroup: 32
// result 0:2: (b0.reshape(16, 32).astype(int) @ b1.reshape(32, 16).astype(int)).ravel()
#version 450
#extension GL_KHR_cooperative_matrix : enable
#extension GL_KHR_memory_scope_semantics : enable
#extension GL_EXT_shader_explicit_arithmetic_types : enable
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer A { uint8_t a[]; };
layout(set = 0, binding = 1) readonly buffer B { int8_t b[]; };
layout(set = 0, binding = 2) buffer C { int c[]; };
void main() {
    coopmat<uint8_t, gl_ScopeSubgroup, 16, 32, gl_MatrixUseA> ma;
    coopmat<int8_t, gl_ScopeSubgroup, 32, 16, gl_MatrixUseB> mb;
    coopmat<int, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> mc = coopmat<int, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator>(0);
    coopMatLoad(ma, a, 0, 32, gl_CooperativeMatrixLayoutRowMajor);
    coopMatLoad(mb, b, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
    mc = coopMatMulAdd(ma, mb, mc);
    coopMatStore(mc, c, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
}
