// 0:0: u32 = zeros(4)
// grid: 4
// finding: race
#version 450
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) buffer A { uint a[]; };
void main() {
#ifdef FAULT
    if (gl_LocalInvocationIndex == 0) a[0] = a[0] + 1; // here
#else
    if (gl_LocalInvocationIndex == 0) a[gl_WorkGroupID.x] = 1;
#endif
}
