// 0:0: u32 = zeros(33 * 3)
// grid: 3
// result 0:0: array([g * 1000 + (i * 2 if i < 20 else i) for g in range(3) for i in range(33)])
#version 450
layout(local_size_x = 33) in;
layout(set = 0, binding = 0) buffer A { uint a[]; };
shared uint tile[33];
void main() {
    uint i = gl_LocalInvocationID.x;
    tile[32 - i] = 32 - i < 20 ? (32 - i) * 2 : 32 - i;
    barrier();
    a[gl_GlobalInvocationID.x] = gl_WorkGroupID.x * 1000 + tile[i];
}
