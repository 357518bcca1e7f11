// 0:0: u32 = zeros(16)
// grid: 1
// finding: race
#version 450
#extension GL_EXT_shader_8bit_storage : enable
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : enable
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) buffer Words { uint words[]; };
layout(set = 0, binding = 0) buffer Bytes { uint8_t bytes[]; };
void main() {
    uint i = gl_LocalInvocationIndex;
#ifdef FAULT
    if (i == 3) words[3] = 1; // here
    if (i == 4) bytes[13] = uint8_t(2); // here
#else
    if (i == 3) words[3] = 1;
    if (i == 4) bytes[16] = uint8_t(2);
#endif
}
