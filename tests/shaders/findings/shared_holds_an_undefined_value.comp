// 0:0: f32 = arange(32) * 0.5
// 0:1: f32 = zeros(32)
// grid: 1
// result 0:1: where(arange(32) < 20, arange(32) * 0.5, 0)
// finding: uninitialized
#version 450
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer A { float a[]; };
layout(set = 0, binding = 1) buffer B { float b[]; };
shared float tile[32];
void main() {
    uint i = gl_LocalInvocationIndex;
    float x;
    if (i < 20) x = a[i];
    tile[i] = x;
    barrier();
#ifdef FAULT
    b[i] = i < 21 ? tile[i] : 0.0; // here
#else
    b[i] = i < 20 ? tile[i] : 0.0;
#endif
}
