#version 460

layout(local_size_x = 256) in;

layout(binding = 0, std430) readonly buffer First { float first[]; };
layout(binding = 1, std430) readonly buffer Second { float second[]; };
layout(binding = 2, std430) writeonly buffer Sums { float sums[]; };
layout(push_constant) uniform Sizes { uint count; };

void main() {
    const uint i = gl_GlobalInvocationID.x;
    if (i < count)
        sums[i] = first[i] + second[i];
}
