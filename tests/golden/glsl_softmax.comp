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

float girih_exp_f32(float v1) {
    // %e = exp %below : $accumulator
    float v2 = -105.0 > v1 ? -105.0 : v1;
    float v3 = 89.0 < v2 ? 89.0 : v2;
    float v4 = fma(v3, 1.442695, 12583166.0);
    precise float v5 = v4 - 12583166.0;
    float v6 = fma(v5, 1.9046542e-09, fma(v5, -0.6931472, v3));
    float v7 = fma(fma(fma(fma(0.008290151, v6, 0.04189885), v6, 0.16667643), v6, 0.49999142), v6, 0.9999997);
    int v8 = floatBitsToInt(v4);
    int v9 = int(uint(v8) >> 1);
    precise float v10 = fma(v7, v6, 1.0) * intBitsToFloat(v9 << 23) * intBitsToFloat(v8 - v9 << 23);
    return v10;
}

float divide(float v11, float v12) {
    // %share = div %one, %total : $accumulator
    return float(double(v11) / double(v12));
}

void main() {
    // func @softmax(%A: memref<$type x ? x ?>, %B: memref<$type x ? x ?>)
    int lane = int(gl_SubgroupInvocationID);
    int group_x = int(gl_WorkGroupID.x);
    // %mine = for %i = %first, %length, %lanes init (%m=%lowest) -> ($accumulator) {
    float v13 = -1.0 / 0.0;
    for (int i = lane; i < A_size0; i += 32) {
        // %a = load %A[%i, %column] : $type
        float v14 = A[i + group_x * A_stride1];
        // %larger = max %m, %x : $accumulator
        v13 = v14 > v13 || isnan(v13) ? v14 : v13;
    }
    // %maximum = subgroup_reduce_max %mine : $accumulator
    int v15 = lane ^ 16;
    float v16 = subgroupShuffle(v13, uint(v15));
    bool v17 = (lane & 16) != 0;
    float v18 = v17 ? v16 : v13;
    float v19 = v17 ? v13 : v16;
    float v20 = v19 > v18 || isnan(v18) ? v19 : v18;
    int v21 = lane ^ 8;
    float v22 = subgroupShuffle(v20, uint(v21));
    bool v23 = (lane & 8) != 0;
    float v24 = v23 ? v22 : v20;
    float v25 = v23 ? v20 : v22;
    float v26 = v25 > v24 || isnan(v24) ? v25 : v24;
    int v27 = lane ^ 4;
    float v28 = subgroupShuffle(v26, uint(v27));
    bool v29 = (lane & 4) != 0;
    float v30 = v29 ? v28 : v26;
    float v31 = v29 ? v26 : v28;
    float v32 = v31 > v30 || isnan(v30) ? v31 : v30;
    int v33 = lane ^ 2;
    float v34 = subgroupShuffle(v32, uint(v33));
    bool v35 = (lane & 2) != 0;
    float v36 = v35 ? v34 : v32;
    float v37 = v35 ? v32 : v34;
    float v38 = v37 > v36 || isnan(v36) ? v37 : v36;
    int v39 = lane ^ 1;
    float v40 = subgroupShuffle(v38, uint(v39));
    bool v41 = (lane & 1) != 0;
    float v42 = v41 ? v40 : v38;
    float v43 = v41 ? v38 : v40;
    float v44 = v43 > v42 || isnan(v42) ? v43 : v42;
    // %blank = equal %maximum, %lowest : bool
    // %shift = if %blank -> ($accumulator) {
    float v45 = v44 == -1.0 / 0.0 ? 0.0 : v44;
    // %part = for %i = %first, %length, %lanes init (%s=%zero) -> ($accumulator) {
    precise float v46 = 0.0;
    for (int i = lane; i < A_size0; i += 32) {
        // %a = load %A[%i, %column] : $type
        // %below = sub %x, %shift : $accumulator
        // %e = exp %below : $accumulator
        float v47 = girih_exp_f32(A[i + group_x * A_stride1] - v45);
        // store %b, %B[%i, %column]
        B[B_stride1 * group_x + i] = v47;
        // %sum = add %s, %e : $accumulator
        v46 += v47;
    }
    // %weight = subgroup_reduce_add %part : $accumulator
    float v48 = subgroupShuffle(v46, uint(v15));
    precise float v49 = (v17 ? v48 : v46) + (v17 ? v46 : v48);
    float v50 = subgroupShuffle(v49, uint(v21));
    precise float v51 = (v23 ? v50 : v49) + (v23 ? v49 : v50);
    float v52 = subgroupShuffle(v51, uint(v27));
    precise float v53 = (v29 ? v52 : v51) + (v29 ? v51 : v52);
    float v54 = subgroupShuffle(v53, uint(v33));
    precise float v55 = (v35 ? v54 : v53) + (v35 ? v53 : v54);
    float v56 = subgroupShuffle(v55, uint(v39));
    precise float v57 = (v41 ? v56 : v55) + (v41 ? v55 : v56);
    // %nothing = equal %weight, %zero : bool
    // %total = if %nothing -> ($accumulator) {
    // %share = div %one, %total : $accumulator
    float v58 = divide(1.0, v57 == 0.0 ? 1.0 : v57);
    // for %i = %first, %length, %lanes {
    for (int i = lane; i < A_size0; i += 32) {
        // %kept = load %B[%i, %column] : $type
        int v59 = i + B_stride1 * group_x;
        // %y = mul %e, %share : $accumulator
        // store %b, %B[%i, %column]
        B[v59] = v58 * B[v59];
    }
}
