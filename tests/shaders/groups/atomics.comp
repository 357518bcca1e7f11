// 0:0: i32 = (arange(64) * 37) % 101 - 50
// 0:1: i32 = array([0, 1000, -1000, -1, 0, 0, 7, 0])
// grid: 2
// result 0:1: array([b0.sum(), b0.min(), b0.max(), bitwise_and.reduce(b0), bitwise_or.reduce(b0), bitwise_xor.reduce(b0), 8, 64])
#version 450
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer A { int a[]; };
layout(set = 0, binding = 1) buffer B { int b[8]; };
void main() {
    int x = a[gl_GlobalInvocationID.x];
    atomicAdd(b[0], x);
    atomicMin(b[1], x);
    atomicMax(b[2], x);
    atomicAnd(b[3], x);
    atomicOr(b[4], x);
    atomicXor(b[5], x);
    atomicCompSwap(b[6], 7, 8);
    atomicAdd(b[7], 1);
}
