// 0:0: f32 = (arange(32) - 16) * 1.2345
// 0:1: u16 = zeros(32)
// 0:2: f32 = zeros(32)
// grid: 1
// result 0:1: ((b0.view(uint32) + 0x7fff + (b0.view(uint32) >> 16 & 1)) >> 16)
// result 0:2: (((b0.view(uint32) + 0x7fff + (b0.view(uint32) >> 16 & 1)) >> 16 << 16).view(float32) * 2)
#version 450
#extension GL_EXT_bfloat16 : enable
#extension GL_EXT_shader_16bit_storage : enable
#extension GL_EXT_shader_explicit_arithmetic_types : enable
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer A { float a[]; };
layout(set = 0, binding = 1) buffer B { uint16_t b[]; };
layout(set = 0, binding = 2) buffer C { float c[]; };
void main() {
    uint i = gl_LocalInvocationIndex;
    bfloat16_t x = bfloat16_t(a[i]);
    b[i] = bfloat16BitsToUintEXT(x);
    c[i] = float(x) * 2.0;
}
