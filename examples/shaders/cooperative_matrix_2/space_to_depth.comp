// 001, Examples: a 2x2 space-to-depth transform while loading from memory.
#version 460
#extension GL_KHR_cooperative_matrix : require
#extension GL_NV_cooperative_matrix2 : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_shader_explicit_arithmetic_types : require

const uint H = 16, W = 8, NumCh = 4;
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer Input { float16_t buf[]; } source;
layout(set = 0, binding = 1) buffer Output { float16_t buf[]; } result;

void main() {
    coopmat<float16_t, gl_ScopeWorkgroup, (H / 2 * W / 2), (4 * NumCh), gl_MatrixUseAccumulator> mat;

    // Rows, columns, channels; the whole tensor.
    tensorLayoutNV<3> t = createTensorLayoutNV(3);
    t = setTensorLayoutDimensionNV(t, H, W, NumCh);

    // The view of the tensor is H/2 x 2 x W/2 x 2 x NumCh, permuted to H/2 x W/2 x 2 x 2 x NumCh.
    tensorViewNV<5, true, 0, 2, 1, 3, 4> v = createTensorViewNV(5, true, 0, 2, 1, 3, 4);
    v = setTensorViewDimensionsNV(v, H / 2, 2, W / 2, 2, NumCh);

    coopMatLoadTensorNV(mat, source.buf, 0, t, v);
    coopMatStore(mat, result.buf, 0, 4 * NumCh, gl_CooperativeMatrixLayoutRowMajor);
}
