#version 460
layout(local_size_x = 1) in;
layout(set = 0, binding = 0) buffer D { uint n; } d;

void main() {
    while (d.n != 5u) {
        d.n = d.n * 2u;
    }
}
