// 0:0: u32 = arange(128) % 17
// 0:1: u32 = zeros(2)
// grid: 2
// result 0:1: array([b0[:64].sum(), b0[64:].sum()])
#version 450
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer A { uint a[]; };
layout(set = 0, binding = 1) buffer B { uint b[]; };
shared uint part[64];
void main() {
    uint i = gl_LocalInvocationIndex;
    part[i] = a[gl_GlobalInvocationID.x];
    barrier();
    for (uint half_ = 32; half_ > 0; half_ /= 2) {
        if (i < half_) part[i] += part[i + half_];
        barrier();
    }
    if (i == 0) b[gl_WorkGroupID.x] = part[0];
}
