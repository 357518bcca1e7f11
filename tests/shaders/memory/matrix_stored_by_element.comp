// 0:0: f32 = zeros(32)
// grid: 1
// result 0:0: concatenate([array([[r * 10 + c for r in range(4)] for c in range(4)]).ravel(), array([[r * 10 + c for c in range(4)] for r in range(4)]).ravel()])
#version 450
layout(local_size_x = 16) in;
layout(set = 0, binding = 0, std430) buffer A { mat4 columns; layout(row_major) mat4 rows; };
void main() {
    uint c = gl_LocalInvocationIndex / 4, r = gl_LocalInvocationIndex % 4;
    columns[c][r] = float(r * 10 + c);
    rows[c][r] = float(r * 10 + c);
}
