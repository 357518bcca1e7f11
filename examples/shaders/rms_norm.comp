#version 460

layout(local_size_x = 256) in;

layout(binding = 0, std430) readonly buffer Inputs { float inputs[]; };
layout(binding = 1, std430) writeonly buffer Outputs { float outputs[]; };
layout(push_constant) uniform Sizes { uint columns; float epsilon; };

shared float partial[256];

// Each row of a matrix over the root of the mean of its squares; a work-group has one row.
void main() {
    const uint row = gl_WorkGroupID.x * columns;
    const uint lane = gl_LocalInvocationID.x;

    float squares = 0;
    for (uint i = lane; i < columns; i += 256)
        squares += inputs[row + i] * inputs[row + i];
    partial[lane] = squares;
    barrier();
    for (uint step = 128; step > 0; step /= 2) {
        if (lane < step)
            partial[lane] += partial[lane + step];
        barrier();
    }
    const float scale = inversesqrt(partial[0] / columns + epsilon);

    for (uint i = lane; i < columns; i += 256)
        outputs[row + i] = inputs[row + i] * scale;
}
