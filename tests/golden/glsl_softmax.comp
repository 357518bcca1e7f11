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
    // %a = load %A[%i, %column] : $type
    int v13 = group_x * A_stride1;
    // %mine = for %i = %first, %length, %lanes init (%m=%lowest) -> ($accumulator) {
    float v14 = -1.0 / 0.0;
    for (int i = lane; i < A_size0; i += 32) {
        float v15 = A[i + v13];
        // %larger = max %m, %x : $accumulator
        v14 = v15 > v14 || isnan(v14) ? v15 : v14;
    }
    // %maximum = subgroup_reduce_max %mine : $accumulator
    int v16 = lane ^ 16;
    float v17 = subgroupShuffle(v14, uint(v16));
    bool v18 = (lane & 16) != 0;
    float v19 = v18 ? v17 : v14;
    float v20 = v18 ? v14 : v17;
    float v21 = v20 > v19 || isnan(v19) ? v20 : v19;
    int v22 = lane ^ 8;
    float v23 = subgroupShuffle(v21, uint(v22));
    bool v24 = (lane & 8) != 0;
    float v25 = v24 ? v23 : v21;
    float v26 = v24 ? v21 : v23;
    float v27 = v26 > v25 || isnan(v25) ? v26 : v25;
    int v28 = lane ^ 4;
    float v29 = subgroupShuffle(v27, uint(v28));
    bool v30 = (lane & 4) != 0;
    float v31 = v30 ? v29 : v27;
    float v32 = v30 ? v27 : v29;
    float v33 = v32 > v31 || isnan(v31) ? v32 : v31;
    int v34 = lane ^ 2;
    float v35 = subgroupShuffle(v33, uint(v34));
    bool v36 = (lane & 2) != 0;
    float v37 = v36 ? v35 : v33;
    float v38 = v36 ? v33 : v35;
    float v39 = v38 > v37 || isnan(v37) ? v38 : v37;
    int v40 = lane ^ 1;
    float v41 = subgroupShuffle(v39, uint(v40));
    bool v42 = (lane & 1) != 0;
    float v43 = v42 ? v41 : v39;
    float v44 = v42 ? v39 : v41;
    float v45 = v44 > v43 || isnan(v43) ? v44 : v43;
    // %blank = equal %maximum, %lowest : bool
    // %shift = if %blank -> ($accumulator) {
    float v46 = v45 == -1.0 / 0.0 ? 0.0 : v45;
    // store %b, %B[%i, %column]
    int v47 = B_stride1 * group_x;
    // %part = for %i = %first, %length, %lanes init (%s=%zero) -> ($accumulator) {
    precise float v48 = 0.0;
    for (int i = lane; i < A_size0; i += 32) {
        // %a = load %A[%i, %column] : $type
        // %below = sub %x, %shift : $accumulator
        // %e = exp %below : $accumulator
        float v49 = girih_exp_f32(A[i + v13] - v46);
        B[v47 + i] = v49;
        // %sum = add %s, %e : $accumulator
        v48 += v49;
    }
    // %weight = subgroup_reduce_add %part : $accumulator
    float v50 = subgroupShuffle(v48, uint(v16));
    precise float v51 = (v18 ? v50 : v48) + (v18 ? v48 : v50);
    float v52 = subgroupShuffle(v51, uint(v22));
    precise float v53 = (v24 ? v52 : v51) + (v24 ? v51 : v52);
    float v54 = subgroupShuffle(v53, uint(v28));
    precise float v55 = (v30 ? v54 : v53) + (v30 ? v53 : v54);
    float v56 = subgroupShuffle(v55, uint(v34));
    precise float v57 = (v36 ? v56 : v55) + (v36 ? v55 : v56);
    float v58 = subgroupShuffle(v57, uint(v40));
    precise float v59 = (v42 ? v58 : v57) + (v42 ? v57 : v58);
    // %nothing = equal %weight, %zero : bool
    // %total = if %nothing -> ($accumulator) {
    // %share = div %one, %total : $accumulator
    float v60 = divide(1.0, v59 == 0.0 ? 1.0 : v59);
    // for %i = %first, %length, %lanes {
    for (int i = lane; i < A_size0; i += 32) {
        // %kept = load %B[%i, %column] : $type
        int v61 = i + v47;
        // %y = mul %e, %share : $accumulator
        // store %b, %B[%i, %column]
        B[v61] = v60 * B[v61];
    }
}
