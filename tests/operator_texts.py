"""Kernels that the tests of operators in PyTorch and JAX have in common."""

AXPBY = """
func @axpby(%alpha: f32, %A: memref<f32x?>, %beta: f32, %B: memref<f32x?>) {
    axpby %alpha, %A, %beta, %B
}
"""
GROUPS = """
func @totals(%G: group<memref<f32x?>x?>, %totals: memref<f32x?>) {
    %one = constant 1.0 : f32
    %zero = constant 0.0 : f32
    %i = group_id.x : index
    %member = load %G[%i] : memref<f32x?>
    %total = subview %totals[%i] : memref<f32>
    sum %one, %member, %zero, %total
}
func @spread(%A: memref<f32x?>, %G: group<memref<f32x?>x?>) {
    %one = constant 1.0 : f32
    %i = group_id.x : index
    %member = load %G[%i] : memref<f32x?>
    %there = associated %member : bool
    if %there {
        axpby %one, %A, %one, %member
    }
}
"""
FILL = """
func @fill(%x: TYPE, %n: index, %really: bool, %A: memref<TYPEx?>)
        attributes {subgroup_size=32, work_group_size=[32,1]} {
    %zero = constant 0 : index
    if %really {
        foreach (%i) = (%zero), (%n) {
            store %x, %A[%i]
        }
    }
}
"""
