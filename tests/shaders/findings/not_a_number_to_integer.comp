// 0:0: f32 = arange(32)
// 0:0 fault: f32 = arange(32) - 1
// 0:1: i32 = zeros(32)
// grid: 1
// result 0:1: sqrt(arange(32)).astype(int)
// finding: undefined_operation
#version 450
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer A { float a[]; };
layout(set = 0, binding = 1) buffer B { int b[]; };
void main() {
    uint i = gl_LocalInvocationIndex;
    b[i] = int(sqrt(a[i])); // here
}
