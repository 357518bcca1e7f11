#version 460
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_shader_subgroup_basic : require

// C = A B with matrices of subgroups: A is M x K, B is K x N, both of f16; C is M x N, of f32, as sums are. All are row
// by row. M and N are multiples of 64, K is one of 32.
layout(local_size_x = 128) in;
layout(constant_id = 0) const bool STAGED = true;

layout(push_constant) uniform Sizes { uint M, N, K; };
layout(binding = 0, std430) readonly buffer Left { f16vec4 a[]; };
layout(binding = 1, std430) readonly buffer Right { f16vec4 b[]; };
layout(binding = 2, std430) writeonly buffer Product { float c[]; };

// A work-group computes 64 x 64 numbers, each of its four subgroups 32 x 32, as 2 x 2 matrices.
const uint TILE = 64;
const uint DEPTH = 32;
const uint SIZE = 16;
const uint COUNT = 2;

// Rows of tiles in shared memory are padded by 16 bytes, so that they begin in different banks.
const uint A_PITCH = DEPTH + 8;
const uint B_PITCH = TILE + 8;
shared f16vec4 a_tile[TILE * A_PITCH / 4];
shared f16vec4 b_tile[DEPTH * B_PITCH / 4];

// Copies the tiles of A and B at depth k to shared memory, four numbers at a time.
void stage(uint row, uint column, uint k) {
    for (uint place = 4 * gl_LocalInvocationIndex; place < TILE * DEPTH; place += 4 * gl_WorkGroupSize.x) {
        const uint a_row = place / DEPTH, a_column = place % DEPTH;
        a_tile[(a_row * A_PITCH + a_column) / 4] = a[((row + a_row) * K + k + a_column) / 4];
        const uint b_row = place / TILE, b_column = place % TILE;
        b_tile[(b_row * B_PITCH + b_column) / 4] = b[((k + b_row) * N + column + b_column) / 4];
    }
}

void main() {
    const uint row = TILE * gl_WorkGroupID.y, column = TILE * gl_WorkGroupID.x;
    const uint row_inside = SIZE * COUNT * (gl_SubgroupID / 2), column_inside = SIZE * COUNT * (gl_SubgroupID % 2);

    coopmat<float, gl_ScopeSubgroup, SIZE, SIZE, gl_MatrixUseAccumulator> sums[COUNT * COUNT];
    for (uint i = 0; i < COUNT * COUNT; ++i) {
        sums[i] = coopmat<float, gl_ScopeSubgroup, SIZE, SIZE, gl_MatrixUseAccumulator>(0.0);
    }

    for (uint k = 0; k < K; k += DEPTH) {
        if (STAGED) {
            barrier();
            stage(row, column, k);
            barrier();
        }
        for (uint inner = 0; inner < DEPTH; inner += SIZE) {
            coopmat<float16_t, gl_ScopeSubgroup, SIZE, SIZE, gl_MatrixUseA> left[COUNT];
            for (uint i = 0; i < COUNT; ++i) {
                const uint a_row = row_inside + SIZE * i;
                if (STAGED) {
                    coopMatLoad(left[i], a_tile, (a_row * A_PITCH + inner) / 4, A_PITCH / 4,
                                gl_CooperativeMatrixLayoutRowMajor);
                } else {
                    coopMatLoad(left[i], a, ((row + a_row) * K + k + inner) / 4, K / 4,
                                gl_CooperativeMatrixLayoutRowMajor);
                }
            }
            for (uint j = 0; j < COUNT; ++j) {
                coopmat<float16_t, gl_ScopeSubgroup, SIZE, SIZE, gl_MatrixUseB> right;
                const uint b_column = column_inside + SIZE * j;
                if (STAGED) {
                    coopMatLoad(right, b_tile, (inner * B_PITCH + b_column) / 4, B_PITCH / 4,
                                gl_CooperativeMatrixLayoutRowMajor);
                } else {
                    coopMatLoad(right, b, ((k + inner) * N + column + b_column) / 4, N / 4,
                                gl_CooperativeMatrixLayoutRowMajor);
                }
                for (uint i = 0; i < COUNT; ++i) {
                    sums[i * COUNT + j] = coopMatMulAdd(left[i], right, sums[i * COUNT + j]);
                }
            }
        }
    }

    for (uint i = 0; i < COUNT; ++i) {
        for (uint j = 0; j < COUNT; ++j) {
            const uint to = (row + row_inside + SIZE * i) * N + column + column_inside + SIZE * j;
            coopMatStore(sums[i * COUNT + j], c, to, N, gl_CooperativeMatrixLayoutRowMajor);
        }
    }
}
