// 0:0: i32 = (arange(32) * 37) % 23 - 11
// 0:1: i32 = zeros(128)
// grid: 1
// subgroup: 32
// result 0:1: stack([cumsum(b0), cumsum(b0) - b0, maximum.accumulate(b0), full(32, b0.min())], axis=1).ravel()
#version 450
#extension GL_KHR_shader_subgroup_arithmetic : enable
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer A { int a[]; };
layout(set = 0, binding = 1) buffer B { ivec4 b[]; };
void main() {
    int x = a[gl_LocalInvocationIndex];
    b[gl_LocalInvocationIndex] = ivec4(subgroupInclusiveAdd(x), subgroupExclusiveAdd(x), subgroupInclusiveMax(x), subgroupMin(x));
}
