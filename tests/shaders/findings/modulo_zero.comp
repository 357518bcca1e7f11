// 0:0: i32 = arange(32) - 40
// 0:0 fault: i32 = arange(32) - 16
// 0:1: i32 = zeros(32)
// grid: 1
// finding: undefined_operation
#version 450
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer A { int a[]; };
layout(set = 0, binding = 1) buffer B { int b[]; };
void main() {
    uint i = gl_LocalInvocationIndex;
    b[i] = 7 % a[i]; // here
}
