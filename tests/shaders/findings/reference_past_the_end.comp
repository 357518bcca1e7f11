// 0:0: u32 = zeros(32)
// 0:1: u32 = arange(32) * 7
// 0:1 fault: u32 = arange(31) * 7
// address: push 0 0:1
// push: u64:0
// grid: 1
// result 0:0: arange(32) * 7
// finding: address out_of_bounds
#version 450
#extension GL_EXT_buffer_reference : enable
layout(local_size_x = 32) in;
layout(buffer_reference, std430) readonly buffer Values { uint values[]; };
layout(set = 0, binding = 0) buffer A { uint a[]; };
layout(push_constant) uniform Push { Values given; };
void main() {
    uint i = gl_LocalInvocationIndex;
    a[i] = given.values[i]; // here
}
