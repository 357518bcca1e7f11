// 0:0: u32 = zeros(4)
// push: u32:1,2,3,4,9
// grid: 1
// result 0:0: arange(4) + 1
// finding: out_of_bounds
#version 450
layout(local_size_x = 4) in;
layout(set = 0, binding = 0) buffer A { uint a[]; };
layout(push_constant) uniform Push { uint values[4]; uint last; };
void main() {
    uint i = gl_LocalInvocationIndex;
#ifdef FAULT
    a[i] = values[i * 2]; // here
#else
    a[i] = values[i];
#endif
}
