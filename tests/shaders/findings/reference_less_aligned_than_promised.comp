// 0:0: f32 = zeros(32)
// 0:1: f32 = arange(132)
// address: push 0 0:1 0
// address fault: push 0 0:1 8
// push: u64:0
// grid: 1
// result 0:0: arange(32) * 4
// finding: misaligned
#version 450
#extension GL_EXT_buffer_reference : enable
layout(local_size_x = 32) in;
layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Values { vec4 values[]; };
layout(set = 0, binding = 0) buffer A { float a[]; };
layout(push_constant) uniform Push { Values given; };
void main() {
    uint i = gl_LocalInvocationIndex;
    vec4 v = given.values[i]; // here
    a[i] = v.x;
}
