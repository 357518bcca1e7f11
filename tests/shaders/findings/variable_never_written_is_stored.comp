// 0:0: f32 = arange(32) * 0.5
// 0:1: f32 = zeros(32)
// grid: 1
// result 0:1: where(arange(32) > 20, arange(32) * 0.5, 1)
// finding: undef
#version 450
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer A { float a[]; };
layout(set = 0, binding = 1) buffer B { float b[]; };
void main() {
    float x;
#ifndef FAULT
    x = 1.0;
#endif
    uint i = gl_LocalInvocationIndex;
    if (i > 20) x = a[i];
    b[i] = x * 1.0; // here
}
