// 0:0: i8 = arange(64) * 5 - 128
// 0:1: u16 = zeros(64)
// 0:2: i64 = zeros(64)
// grid: 2
// result 0:1: (b0.astype(int) & 0xffff)
// result 0:2: b0.astype(int) * 10000000000
#version 450
#extension GL_EXT_shader_8bit_storage : enable
#extension GL_EXT_shader_16bit_storage : enable
#extension GL_EXT_shader_explicit_arithmetic_types : enable
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer A { int8_t a[]; };
layout(set = 0, binding = 1) buffer B { uint16_t b[]; };
layout(set = 0, binding = 2) buffer C { int64_t c[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    b[i] = uint16_t(int(a[i]));
    c[i] = int64_t(a[i]) * 10000000000l;
}
