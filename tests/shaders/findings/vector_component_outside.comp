// 0:0: u32 = arange(32) % 4
// 0:0 fault: u32 = arange(32) % 5
// 0:1: f32 = zeros(32)
// grid: 1
// result 0:1: (arange(32) % 4 + 1) * 0.25
// finding: undefined_operation
#version 450
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer A { uint a[]; };
layout(set = 0, binding = 1) buffer B { float b[]; };
void main() {
    vec4 v = vec4(0.25, 0.5, 0.75, 1.0) * float(gl_LocalInvocationIndex < 99);
    uint at = a[gl_LocalInvocationIndex];
    b[gl_LocalInvocationIndex] = v[at]; // here
}
