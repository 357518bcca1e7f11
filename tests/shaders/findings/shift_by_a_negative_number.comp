// 0:0: i32 = arange(32)
// 0:0 fault: i32 = arange(32) - 1
// 0:1: i32 = zeros(32)
// grid: 1
// result 0:1: -1000000 >> arange(32)
// finding: undefined_operation
#version 450
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer A { int a[]; };
layout(set = 0, binding = 1) buffer B { int b[]; };
void main() {
    uint i = gl_LocalInvocationIndex;
    b[i] = -1000000 >> a[i]; // here
}
