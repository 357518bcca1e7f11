// 0:0: f32 = arange(256)
// 0:1: f32 = zeros(256)
// push: u32:16
// push fault: u32:8
// grid: 1
// result 0:1: arange(256)
// finding: aliasing
#version 450
#extension GL_KHR_cooperative_matrix : enable
#extension GL_NV_cooperative_matrix2 : enable
#extension GL_KHR_memory_scope_semantics : enable
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer A { float a[]; };
layout(set = 0, binding = 1) buffer B { float b[]; };
layout(push_constant) uniform Push { uint rows; };
void main() {
    coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> m;
    coopMatLoad(m, a, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
    tensorLayoutNV<2, gl_CooperativeMatrixClampModeConstantNV> layout_b = createTensorLayoutNV(2, gl_CooperativeMatrixClampModeConstantNV);
    layout_b = setTensorLayoutDimensionNV(layout_b, 16, 16);
    layout_b = sliceTensorLayoutNV(layout_b, 0, rows, 0, 16);
    coopMatStoreTensorNV(m, b, 0, layout_b); // here
}
