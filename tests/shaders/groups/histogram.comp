// 0:0: u32 = (arange(512) * 37) % 61 % 16
// 0:1: u32 = zeros(16)
// grid: 8
// result 0:1: bincount(b0, minlength=16)
#version 450
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer A { uint a[]; };
layout(set = 0, binding = 1) buffer B { uint counts[16]; };
shared uint part[16];
void main() {
    uint i = gl_LocalInvocationIndex;
    if (i < 16) part[i] = 0;
    barrier();
    atomicAdd(part[a[gl_GlobalInvocationID.x]], 1);
    barrier();
    if (i < 16) atomicAdd(counts[i], part[i]);
}
