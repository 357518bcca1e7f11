#version 460
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_NV_cooperative_matrix2 : require

layout(local_size_x = 32) in;
layout(constant_id = 0) const uint CLAMP = gl_CooperativeMatrixClampModeConstantNV;
layout(constant_id = 1) const uint SPAN = 16;

layout(binding = 0, std430) readonly buffer Image { float16_t image[]; };
layout(binding = 1, std430) writeonly buffer Window { float16_t window[]; };
layout(push_constant) uniform Corner { int row, column; };

// Copies 16 x 16 elements of an image of 20 rows and 24 columns, from a corner on that may lie outside.
void main() {
    tensorLayoutNV<2, CLAMP> source = createTensorLayoutNV(2, CLAMP);
    source = setTensorLayoutDimensionNV(source, 20, 24);
    source = setTensorLayoutClampValueNV(source, 0xbc00);
    source = sliceTensorLayoutNV(source, row, SPAN, column, SPAN);

    tensorLayoutNV<2> target = createTensorLayoutNV(2);
    target = setTensorLayoutDimensionNV(target, 16, 16);

    coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> tile;
    coopMatLoadTensorNV(tile, image, 0, source);
    coopMatStoreTensorNV(tile, window, 0, target);
}
