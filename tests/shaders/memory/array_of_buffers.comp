// 0:0: u32 = [arange(8) + 10, arange(8) + 20, arange(8) + 30]
// 0:1: u32 = zeros(24)
// grid: 3
// result 0:1: concatenate([arange(8) + 10, arange(8) + 20, arange(8) + 30])
#version 450
layout(local_size_x = 8) in;
layout(set = 0, binding = 0) readonly buffer A { uint a[]; } buffers[3];
layout(set = 0, binding = 1) buffer B { uint b[]; };
void main() {
    b[gl_GlobalInvocationID.x] = buffers[gl_WorkGroupID.x].a[gl_LocalInvocationIndex];
}
