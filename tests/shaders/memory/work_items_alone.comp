// 0:0: u32 = arange(10)
// 0:1: u32 = zeros(30)
// grid: 2
// result 0:1: where(arange(30) % 3 == 1, arange(30) // 15 * 5 + 4 - arange(30) // 3 % 5, 0) + where(arange(30) % 3 == 2, arange(30) // 3, 0)
#version 450
layout(local_size_x = 5) in;
struct Pair { float x; uint number; };
struct Triple { uint zero, other, own; };
layout(set = 0, binding = 0) readonly buffer A { uint a[]; };
layout(set = 0, binding = 1) buffer B { Triple b[]; };
shared Pair pairs[5];
void main() {
    uint item = gl_LocalInvocationIndex, at = gl_GlobalInvocationID.x;
    pairs[item].number = a[at];
    barrier();
    b[at].other = pairs[4 - item].number;
    b[at].own = pairs[item].number;
}
