// 0:0: u32 = zeros(4 * 6 * 10)
// grid: 2,3,5
// result 0:0: array([x + 100 * y + 10000 * z for z in range(10) for y in range(6) for x in range(4)])
#version 450
layout(local_size_x = 2, local_size_y = 2, local_size_z = 2) in;
layout(set = 0, binding = 0) buffer A { uint a[]; };
void main() {
    uvec3 g = gl_GlobalInvocationID, n = gl_NumWorkGroups * gl_WorkGroupSize;
    a[g.x + n.x * (g.y + n.y * g.z)] = g.x + 100 * g.y + 10000 * g.z;
}
