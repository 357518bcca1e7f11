// 0:0: u32 = arange(64)
// 0:1: u32 = zeros(64)
// spec: 0=16 1=4
// grid: 4
// result 0:1: array([b0[(g * 16 + i // 4 * 4 + (3 - i % 4))] for g in range(4) for i in range(16)])
#version 450
layout(local_size_x_id = 0) in;
layout(constant_id = 1) const uint WIDTH = 2;
layout(set = 0, binding = 0) readonly buffer A { uint a[]; };
layout(set = 0, binding = 1) buffer B { uint b[]; };
shared uint tile[gl_WorkGroupSize.x];
void main() {
    uint i = gl_LocalInvocationIndex;
    tile[i] = a[gl_GlobalInvocationID.x];
    barrier();
    b[gl_GlobalInvocationID.x] = tile[i / WIDTH * WIDTH + (WIDTH - 1 - i % WIDTH)];
}
