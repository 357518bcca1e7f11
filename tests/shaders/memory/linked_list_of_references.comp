// 0:0: u32 = array([0, 0, 5, 0, 0, 0, 7, 0, 0, 0, 9, 0])
// 0:1: u32 = zeros(4)
// address: 0 0 0:0 16
// address: 0 16 0:0 32
// address: push 0 0:0 0
// push: u64:0
// grid: 1
// result 0:1: array([21, 3, 0, 0])
#version 450
#extension GL_EXT_buffer_reference : enable
#extension GL_EXT_buffer_reference_uvec2 : enable
layout(local_size_x = 1) in;
layout(buffer_reference) buffer Node;
layout(buffer_reference, std430, buffer_reference_align = 8) buffer Node { Node next; uint value; };
layout(set = 0, binding = 0) buffer Nodes { uint nodes[]; };
layout(set = 0, binding = 1) buffer B { uint b[]; };
layout(push_constant) uniform Push { Node head; };
void main() {
    Node at = head;
    uint sum = 0, count = 0;
    while (any(notEqual(uvec2(at), uvec2(0)))) { sum += at.value; ++count; at = at.next; }
    b[0] = sum;
    b[1] = count;
}
