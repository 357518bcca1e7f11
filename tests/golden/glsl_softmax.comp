#version 460
// The kernel @softmax: a work-group of 32 work-items for each of the grid's.
// Its pipeline has full subgroups of 32 work-items, which it has to require.
//
// binding 0: A, read
// binding 1: B, written
// push constants: A_size0 at 0, A_size1 at 4, A_stride1 at 8, B_size0 at 12, B_size1 at 16, B_stride1 at 20

#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require

layout(local_size_x = 32) in;

layout(set = 0, binding = 0, std430) readonly buffer A_block { float A[]; };
layout(set = 0, binding = 1, std430) buffer B_block { float B[]; };
layout(push_constant, std430) uniform Parameters {
    int A_size0;
    int A_size1;
    int A_stride1;
    int B_size0;
    int B_size1;
    int B_stride1;
};

float larger(float a, float b) {
    return b > a || isnan(a) ? b : a;
}

float girih_exp_f32(float v1) {
    float v2 = -176.05939 > v1 ? -176.05939 : v1;
    float v3 = 89.0 < v2 ? 89.0 : v2;
    float v4 = fma(v3, 1.442695, 12583166.0);
    precise float v5 = v4 - 12583166.0;
    float v6 = fma(v5, 1.9046542e-09, fma(v5, -0.6931472, v3));
    float v7 = fma(fma(fma(fma(0.008290151, v6, 0.04189885), v6, 0.16667643), v6, 0.49999142), v6, 0.9999997);
    int v8 = floatBitsToInt(v4);
    int v9 = int(uint(v8) >> 1);
    precise float v10 = intBitsToFloat(v9 << 23) * fma(v7, v6, 1.0) * intBitsToFloat(v8 - v9 << 23);
    return v10;
}

void main() {
    int lane = int(gl_SubgroupInvocationID);
    int group_x = int(gl_WorkGroupID.x);
    int v1 = group_x * A_stride1;
    // %mine = for %i = %first, %length, %lanes init (%m=%lowest) -> ($accumulator) {
    float m = -1.0 / 0.0;
    for (int i = lane; i < A_size0; i += 32) {
        m = larger(m, A[i + v1]);
    }
    int v2 = lane ^ 16;
    // %maximum = subgroup_reduce_max %mine : $accumulator
    float v3 = subgroupShuffle(m, uint(v2));
    bool v4 = (lane & 16) != 0;
    float v5 = larger(v4 ? v3 : m, v4 ? m : v3);
    int v6 = lane ^ 8;
    float v7 = subgroupShuffle(v5, uint(v6));
    bool v8 = (lane & 8) != 0;
    float v9 = larger(v8 ? v7 : v5, v8 ? v5 : v7);
    int v10 = lane ^ 4;
    float v11 = subgroupShuffle(v9, uint(v10));
    bool v12 = (lane & 4) != 0;
    float v13 = larger(v12 ? v11 : v9, v12 ? v9 : v11);
    int v14 = lane ^ 2;
    float v15 = subgroupShuffle(v13, uint(v14));
    bool v16 = (lane & 2) != 0;
    float v17 = larger(v16 ? v15 : v13, v16 ? v13 : v15);
    int v18 = lane ^ 1;
    float v19 = subgroupShuffle(v17, uint(v18));
    bool v20 = (lane & 1) != 0;
    float maximum = larger(v20 ? v19 : v17, v20 ? v17 : v19);
    float shift = maximum == -1.0 / 0.0 ? 0.0 : maximum;
    int v21 = B_stride1 * group_x;
    // %part = for %i = %first, %length, %lanes init (%s=%zero) -> ($accumulator) {
    precise float s = 0.0;
    for (int i = lane; i < A_size0; i += 32) {
        // %e = exp %below : $accumulator
        float e = girih_exp_f32(A[i + v1] - shift);
        // store %b, %B[%i, %column]
        B[v21 + i] = e;
        s += e;
    }
    // %weight = subgroup_reduce_add %part : $accumulator
    float v22 = subgroupShuffle(s, uint(v2));
    precise float v23 = v22 + s;
    float v24 = subgroupShuffle(v23, uint(v6));
    precise float v25 = v23 + v24;
    float v26 = subgroupShuffle(v25, uint(v10));
    precise float v27 = v25 + v26;
    float v28 = subgroupShuffle(v27, uint(v14));
    precise float v29 = v27 + v28;
    float v30 = subgroupShuffle(v29, uint(v18));
    precise float weight = v29 + v30;
    float share = 1.0 / (weight == 0.0 ? 1.0 : weight);
    // for %i = %first, %length, %lanes {
    for (int i = lane; i < A_size0; i += 32) {
        int v31 = i + v21;
        // store %b, %B[%i, %column]
        B[v31] = share * B[v31];
    }
}
