// 0:0: f32 = arange(24)
// 0:1: f32 = zeros(12)
// grid: 1
// result 0:1: concatenate([b0[0:12].reshape(3, 4)[:, :3].sum(axis=1), b0[12:24].reshape(3, 4)[:, :3].sum(axis=0), zeros(6)])
#version 450
layout(local_size_x = 1) in;
layout(set = 0, binding = 0, std430) readonly buffer A { mat3 columns; layout(row_major) mat3 rows; };
layout(set = 0, binding = 1, std430) buffer B { float b[]; };
void main() {
    for (int c = 0; c < 3; ++c) {
        float s = 0, t = 0;
        for (int r = 0; r < 3; ++r) { s += columns[c][r]; t += rows[c][r]; }
        b[c] = s;
        b[3 + c] = t;
    }
}
