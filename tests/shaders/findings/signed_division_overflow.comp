// 0:0: i32 = arange(32) - 2147483647
// 0:0 fault: i32 = arange(32) - 2147483648
// 0:1: i32 = zeros(32)
// grid: 1
// push: i32:-1
// result 0:1: 2147483647 - arange(32)
// finding: undefined_operation
#version 450
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer A { int a[]; };
layout(set = 0, binding = 1) buffer B { int b[]; };
layout(push_constant) uniform Push { int divisor; };
void main() {
    uint i = gl_LocalInvocationIndex;
    b[i] = a[i] / divisor; // here
}
