#version 460
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_NV_cooperative_matrix2 : require

layout(local_size_x = 32) in;
layout(constant_id = 0) const uint ROWS = 64;
layout(constant_id = 1) const uint COLUMNS = 100;
layout(constant_id = 2) const uint PITCH = 96;

layout(binding = 0, std430) readonly buffer Source { float16_t a[]; };
layout(binding = 1, std430) writeonly buffer Target { float16_t b[]; };

// Copies a tile of 16 x 16 of a matrix whose rows lie PITCH elements apart.
void main() {
    tensorLayoutNV<2, gl_CooperativeMatrixClampModeConstantNV> layout_ =
        createTensorLayoutNV(2, gl_CooperativeMatrixClampModeConstantNV);
    layout_ = setTensorLayoutDimensionNV(layout_, ROWS, COLUMNS);
    layout_ = setTensorLayoutStrideNV(layout_, PITCH, 1);
    layout_ = sliceTensorLayoutNV(layout_, 16 * gl_WorkGroupID.y, 16, 16 * gl_WorkGroupID.x, 16);
    coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> tile;
    coopMatLoadTensorNV(tile, a, 0, layout_);
    coopMatStoreTensorNV(tile, b, 0, layout_);
}
