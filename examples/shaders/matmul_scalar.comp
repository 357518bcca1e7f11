#version 460

// C = A B without matrices of subgroups: A is M x K, B is K x N, C is M x N, of f32, row by row. M and N are multiples of
// 64, K is one of 16.
layout(local_size_x = 256) in;

layout(push_constant) uniform Sizes { uint M, N, K; };
layout(binding = 0, std430) readonly buffer Left { float a[]; };
layout(binding = 1, std430) readonly buffer Right { float b[]; };
layout(binding = 2, std430) writeonly buffer Product { float c[]; };

// A work-group computes 64 x 64 numbers, each of its work-items 4 x 4.
const uint TILE = 64;
const uint DEPTH = 16;
const uint SIZE = 4;

shared float a_tile[TILE][DEPTH + 1];
shared float b_tile[DEPTH][TILE];

void main() {
    const uint row = TILE * gl_WorkGroupID.y, column = TILE * gl_WorkGroupID.x;
    const uint item = gl_LocalInvocationIndex;
    const uint row_inside = SIZE * (item / 16), column_inside = item % 16;

    float sums[SIZE][SIZE];
    for (uint i = 0; i < SIZE; ++i)
        for (uint j = 0; j < SIZE; ++j)
            sums[i][j] = 0;

    for (uint k = 0; k < K; k += DEPTH) {
        barrier();
        for (uint place = item; place < TILE * DEPTH; place += 256) {
            a_tile[place / DEPTH][place % DEPTH] = a[(row + place / DEPTH) * K + k + place % DEPTH];
            b_tile[place / TILE][place % TILE] = b[(k + place / TILE) * N + column + place % TILE];
        }
        barrier();
        for (uint inner = 0; inner < DEPTH; ++inner) {
            float right[SIZE];
            for (uint j = 0; j < SIZE; ++j)
                right[j] = b_tile[inner][column_inside + 16 * j];
            for (uint i = 0; i < SIZE; ++i) {
                const float left = a_tile[row_inside + i][inner];
                for (uint j = 0; j < SIZE; ++j)
                    sums[i][j] += left * right[j];
            }
        }
    }

    for (uint i = 0; i < SIZE; ++i)
        for (uint j = 0; j < SIZE; ++j)
            c[(row + row_inside + i) * N + column + column_inside + 16 * j] = sums[i][j];
}
