// 0:0: f32 = (arange(64) - 32) / 24
// 0:1: u32 = zeros(32)
// 0:2: f32 = zeros(64)
// grid: 1
// result 0:1: array([int(h[0]) | int(h[1]) << 16 for h in b0.astype(float16).view(uint16).reshape(32, 2)])
// result 0:2: b0.astype(float16).astype(float32)
#version 450
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer A { vec2 a[]; };
layout(set = 0, binding = 1) buffer B { uint b[]; };
layout(set = 0, binding = 2) buffer C { vec2 c[]; };
void main() {
    uint i = gl_LocalInvocationIndex, p = packHalf2x16(a[i]);
    b[i] = p;
    c[i] = unpackHalf2x16(p);
}
