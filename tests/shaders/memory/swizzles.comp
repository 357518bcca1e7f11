// 0:0: f32 = arange(128)
// 0:1: f32 = zeros(128)
// grid: 1
// result 0:1: (lambda v: stack([v[:, 3] + v[:, 0], v[:, 2] + v[:, 0], v[:, 1], v[:, 0]], axis=1).ravel())(b0.reshape(32, 4))
#version 450
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer A { vec4 a[]; };
layout(set = 0, binding = 1) buffer B { vec4 b[]; };
void main() {
    uint i = gl_LocalInvocationIndex;
    vec4 v = a[i].wzyx;
    v.xy += v.ww;
    b[i].zw = v.zw;
    b[i].xy = v.xy;
}
