#version 460
#extension GL_EXT_bfloat16 : require

layout(local_size_x = 32) in;

layout(binding = 0, std430) readonly buffer Wide { float wide[]; };
layout(binding = 1, std430) writeonly buffer Narrow { bfloat16_t narrow[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    narrow[i] = bfloat16_t(wide[i]);
}
