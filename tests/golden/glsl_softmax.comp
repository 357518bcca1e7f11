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
    int v13 = floatBitsToInt(v11);
    int v14 = v13 & 2147483647;
    int v15 = int(uint(v14) >> 23);
    bool v16 = v15 == 0;
    int v17 = v13 & 8388607;
    int v18 = v16 ? 31 - findMSB(uint(v17)) - 8 & 31 : 0;
    bool v19 = v14 > 0 && v14 < 2139095040;
    int v20 = v19 ? (v16 ? v17 << (v18 & 31) : v17 | 8388608) : 8388608;
    int v21 = floatBitsToInt(v12);
    int v22 = v21 & 2147483647;
    int v23 = int(uint(v22) >> 23);
    bool v24 = v23 == 0;
    int v25 = v21 & 8388607;
    int v26 = v24 ? 31 - findMSB(uint(v25)) - 8 & 31 : 0;
    bool v27 = v22 > 0 && v22 < 2139095040;
    int v28 = v27 ? (v24 ? v25 << (v26 & 31) : v25 | 8388608) : 8388608;
    int v29 = int(float(v20) / float(v28) * 33554432.0);
    int v30 = (v20 << 25) - v28 * v29;
    int v31 = v30 / v28;
    int v32 = v29 + v31;
    int v33 = v30 - v28 * v31;
    int v34 = (v33 < 0 ? v32 - 1 : v32) << 1 | int(v33 != 0);
    int v35 = (v15 > 1 ? v15 : 1) - 127 - v18 - ((v23 > 1 ? v23 : 1) - 127 - v26);
    bool v36 = v34 < 67108864;
    int v37 = v36 ? v34 << 1 : v34;
    int v38 = (v36 ? v35 - 1 : v35) + 127;
    int v39 = v38 > 1 ? v38 : 1;
    int v40 = v39 - v38 + 3;
    int v41 = v40 < 29 ? v40 : 29;
    int v42 = v41 & 31;
    int v43 = int(uint(v37) >> v42);
    int v44 = 1 << (v41 - 1 & 31);
    int v45 = v43 + int(v37 - (v43 << v42) >= ((v43 & 1) == 0 ? v44 + 1 : v44)) + (v39 - 1 << 23);
    float v46 = intBitsToFloat(v13 & 0x80000000 ^ v21 & 0x80000000 | (v39 > 254 ? 2139095040 : v45));
    return v19 && v27 ? v46 : v11 / v12;
}

void main() {
    // func @softmax(%A: memref<$type x ? x ?>, %B: memref<$type x ? x ?>)
    int lane = int(gl_SubgroupInvocationID);
    int group_x = int(gl_WorkGroupID.x);
    // %a = load %A[%i, %column] : $type
    int v47 = group_x * A_stride1;
    // %mine = for %i = %first, %length, %lanes init (%m=%lowest) -> ($accumulator) {
    float v48 = -1.0 / 0.0;
    for (int i = lane; i < A_size0; i += 32) {
        float v49 = A[i + v47];
        // %larger = max %m, %x : $accumulator
        v48 = v49 > v48 || isnan(v48) ? v49 : v48;
    }
    // %maximum = subgroup_reduce_max %mine : $accumulator
    int v50 = lane ^ 16;
    float v51 = subgroupShuffle(v48, uint(v50));
    bool v52 = (lane & 16) != 0;
    float v53 = v52 ? v51 : v48;
    float v54 = v52 ? v48 : v51;
    float v55 = v54 > v53 || isnan(v53) ? v54 : v53;
    int v56 = lane ^ 8;
    float v57 = subgroupShuffle(v55, uint(v56));
    bool v58 = (lane & 8) != 0;
    float v59 = v58 ? v57 : v55;
    float v60 = v58 ? v55 : v57;
    float v61 = v60 > v59 || isnan(v59) ? v60 : v59;
    int v62 = lane ^ 4;
    float v63 = subgroupShuffle(v61, uint(v62));
    bool v64 = (lane & 4) != 0;
    float v65 = v64 ? v63 : v61;
    float v66 = v64 ? v61 : v63;
    float v67 = v66 > v65 || isnan(v65) ? v66 : v65;
    int v68 = lane ^ 2;
    float v69 = subgroupShuffle(v67, uint(v68));
    bool v70 = (lane & 2) != 0;
    float v71 = v70 ? v69 : v67;
    float v72 = v70 ? v67 : v69;
    float v73 = v72 > v71 || isnan(v71) ? v72 : v71;
    int v74 = lane ^ 1;
    float v75 = subgroupShuffle(v73, uint(v74));
    bool v76 = (lane & 1) != 0;
    float v77 = v76 ? v75 : v73;
    float v78 = v76 ? v73 : v75;
    float v79 = v78 > v77 || isnan(v77) ? v78 : v77;
    // %blank = equal %maximum, %lowest : bool
    // %shift = if %blank -> ($accumulator) {
    float v80 = v79 == -1.0 / 0.0 ? 0.0 : v79;
    // store %b, %B[%i, %column]
    int v81 = B_stride1 * group_x;
    // %part = for %i = %first, %length, %lanes init (%s=%zero) -> ($accumulator) {
    precise float v82 = 0.0;
    for (int i = lane; i < A_size0; i += 32) {
        // %a = load %A[%i, %column] : $type
        // %below = sub %x, %shift : $accumulator
        // %e = exp %below : $accumulator
        float v83 = girih_exp_f32(A[i + v47] - v80);
        B[v81 + i] = v83;
        // %sum = add %s, %e : $accumulator
        v82 += v83;
    }
    // %weight = subgroup_reduce_add %part : $accumulator
    float v84 = subgroupShuffle(v82, uint(v50));
    precise float v85 = (v52 ? v84 : v82) + (v52 ? v82 : v84);
    float v86 = subgroupShuffle(v85, uint(v56));
    precise float v87 = (v58 ? v86 : v85) + (v58 ? v85 : v86);
    float v88 = subgroupShuffle(v87, uint(v62));
    precise float v89 = (v64 ? v88 : v87) + (v64 ? v87 : v88);
    float v90 = subgroupShuffle(v89, uint(v68));
    precise float v91 = (v70 ? v90 : v89) + (v70 ? v89 : v90);
    float v92 = subgroupShuffle(v91, uint(v74));
    precise float v93 = (v76 ? v92 : v91) + (v76 ? v91 : v92);
    // %nothing = equal %weight, %zero : bool
    // %total = if %nothing -> ($accumulator) {
    // %share = div %one, %total : $accumulator
    float v94 = divide(1.0, v93 == 0.0 ? 1.0 : v93);
    // for %i = %first, %length, %lanes {
    for (int i = lane; i < A_size0; i += 32) {
        // %kept = load %B[%i, %column] : $type
        int v95 = i + v81;
        // %y = mul %e, %share : $accumulator
        // store %b, %B[%i, %column]
        B[v95] = v94 * B[v95];
    }
}
