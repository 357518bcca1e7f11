#version 460

layout(local_size_x = 128) in;

layout(binding = 0, std430) readonly buffer Scores { float scores[]; };
layout(binding = 1, std430) writeonly buffer Weights { float weights[]; };
layout(push_constant) uniform Sizes { uint columns; };

shared float partial[128];

// The softmax of each row of a matrix; a work-group has one row.
void main() {
    uint row = gl_WorkGroupID.x * columns;
    uint lane = gl_LocalInvocationID.x;

    float most = uintBitsToFloat(0xff800000);
    for (uint i = lane; i < columns; i += 128)
        most = max(most, scores[row + i]);
    partial[lane] = most;
    barrier();
    for (uint step = 64; step > 0; step /= 2) {
        if (lane < step)
            partial[lane] = max(partial[lane], partial[lane + step]);
        barrier();
    }
    most = partial[0];
    barrier();

    float total = 0;
    for (uint i = lane; i < columns; i += 128)
        total += exp(scores[row + i] - most);
    partial[lane] = total;
    barrier();
    for (uint step = 64; step > 0; step /= 2) {
        if (lane < step)
            partial[lane] += partial[lane + step];
        barrier();
    }
    total = partial[0];

    for (uint i = lane; i < columns; i += 128)
        weights[row + i] = exp(scores[row + i] - most) / total;
}
