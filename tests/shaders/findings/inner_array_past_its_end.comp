// 0:0: u32 = arange(80)
// 0:1: u32 = zeros(16)
// grid: 1
// result 0:1: arange(16) * 5 + 3
// warning: out_of_bounds
#version 450
layout(local_size_x = 16) in;
struct Row { uint values[4]; uint last; };
layout(set = 0, binding = 0, std430) readonly buffer A { Row rows[]; };
layout(set = 0, binding = 1, std430) buffer B { uint b[]; };
layout(push_constant) uniform Push { uint column; };
// push: u32:3
// push fault: u32:4
void main() {
    uint i = gl_LocalInvocationIndex;
    b[i] = rows[i].values[column]; // here
}
