// 0:0: f32 = arange(1024)
// 0:1: f32 = zeros(1024)
// grid: 2,2
// result 0:1: b0.reshape(32, 32).T.ravel()
#version 450
layout(local_size_x = 16, local_size_y = 16) in;
layout(set = 0, binding = 0) readonly buffer A { float a[]; };
layout(set = 0, binding = 1) buffer B { float b[]; };
shared float tile[16][17];
void main() {
    uvec2 l = gl_LocalInvocationID.xy, g = gl_WorkGroupID.xy * 16;
    tile[l.y][l.x] = a[(g.y + l.y) * 32 + g.x + l.x];
    barrier();
    b[(g.x + l.y) * 32 + g.y + l.x] = tile[l.x][l.y];
}
