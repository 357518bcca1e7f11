#version 460
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_KHR_shader_subgroup_arithmetic : require

// y = W x with weights of four bits: W is rows x columns, row by row in blocks of 32 weights; columns is a multiple of 32.
// A work-group has one row, and each of its work-items two weights of a block: those of a byte.
layout(local_size_x = 32) in;

// A scale d; then byte p has weight p in its low half, weight p + 16 in its high half. A weight is (q - 8) d.
struct Block {
    float16_t d;
    uint8_t q[16];
};

layout(binding = 0, std430) readonly buffer Weights { Block w[]; };
layout(binding = 1, std430) readonly buffer Inputs { float x[]; };
layout(binding = 2, std430) writeonly buffer Outputs { float y[]; };
layout(push_constant) uniform Sizes { uint columns; };

shared float partial[32];

void main() {
    const uint row = gl_WorkGroupID.x;
    const uint lane = gl_LocalInvocationID.x;
    const uint blocks = columns / 32;
    const uint place = lane % 16;

    float sum = 0;
    for (uint block = lane / 16; block < blocks; block += 2) {
        const uint pair = w[row * blocks + block].q[place];
        const float low = float(int(pair & 15) - 8), high = float(int(pair >> 4) - 8);
        const uint at = 32 * block + place;
        sum += float(w[row * blocks + block].d) * (low * x[at] + high * x[at + 16]);
    }

    // The first work-item of each subgroup hands over the sum of its subgroup.
    sum = subgroupAdd(sum);
    if (gl_SubgroupInvocationID == 0)
        partial[gl_SubgroupID] = sum;
    barrier();
    if (lane == 0) {
        float total = 0;
        for (uint i = 0; i < gl_NumSubgroups; ++i)
            total += partial[i];
        y[row] = total;
    }
}
