// 0:0: f32 = arange(256)
// 0:1: f32 = zeros(256)
// grid: 1
// result 0:1: arange(256)
// finding: race
#version 450
#extension GL_KHR_cooperative_matrix : enable
#extension GL_KHR_shader_subgroup_basic : enable
#extension GL_KHR_memory_scope_semantics : enable
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer A { float a[]; };
layout(set = 0, binding = 1) buffer B { float b[]; };
shared float tile[256];
void main() {
    for (uint k = gl_LocalInvocationIndex; k < 256; k += 64) tile[k] = a[k]; // here
#ifndef FAULT
    barrier();
#endif
    coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> m;
    coopMatLoad(m, tile, 0, 16, gl_CooperativeMatrixLayoutRowMajor); // here
    if (gl_SubgroupID == 0) coopMatStore(m, b, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
}
