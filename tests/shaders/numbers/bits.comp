// 0:0: u32 = (arange(32) * 2654435761) % 4294967296
// 0:1: i32 = zeros(128)
// grid: 1
// result 0:1: array([v - 2**32 if v >= 2**31 else v for x in (int(y) for y in b0) for v in (bin(x).count('1'), int(format(x, '032b')[::-1], 2), (x & -x).bit_length() - 1 if x else 2**32 - 1, x.bit_length() - 1 if x else 2**32 - 1)])
#version 450
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer A { uint a[]; };
layout(set = 0, binding = 1) buffer B { ivec4 b[]; };
void main() {
    uint x = a[gl_LocalInvocationIndex];
    b[gl_LocalInvocationIndex] = ivec4(bitCount(x), int(bitfieldReverse(x)), findLSB(x), findMSB(x));
}
