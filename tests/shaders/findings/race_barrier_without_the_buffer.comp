// 0:0: u32 = zeros(64)
// 0:1: u32 = zeros(64)
// grid: 1
// result 0:1: roll(arange(64), -1)
// finding: race
#version 450
#extension GL_KHR_memory_scope_semantics : enable
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer A { uint a[]; };
layout(set = 0, binding = 1) buffer B { uint b[]; };
void main() {
    uint i = gl_LocalInvocationIndex;
    a[i] = i; // here
#ifdef FAULT
    controlBarrier(gl_ScopeWorkgroup, gl_ScopeWorkgroup, gl_StorageSemanticsShared, gl_SemanticsAcquireRelease);
#else
    controlBarrier(gl_ScopeWorkgroup, gl_ScopeWorkgroup, gl_StorageSemanticsBuffer, gl_SemanticsAcquireRelease);
#endif
    b[i] = a[(i + 1) % 64]; // here
}
