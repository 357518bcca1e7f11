#version 460
layout(local_size_x_id = 3) in;
layout(local_size_x = 32) in;
layout(constant_id = 4) const float BIAS = 0.0;
layout(set = 0, binding = 0) readonly buffer Source { float values[]; } a;
layout(set = 0, binding = 1) buffer Result { float values[]; } d;
layout(push_constant) uniform Parameters { int n; float alpha; } p;

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i < p.n) {
        d.values[i] = p.alpha * a.values[i] + BIAS;
    }
}
