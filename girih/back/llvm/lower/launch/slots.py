"""The arguments of a launch in memory, for every target: slots of 8 bytes, all integers signed.

    0, 1, 2      the sizes of the grid
    3            address of the failure record
    4 ...        the parameters in order
      bool                 0 or 1
      integers, index      the value, sign-extended
      f8e4m3, f8e5m2       the bits, in the lowest byte
      f16, bf16, f32       an f32 in the low 4 bytes
      f64                  the value
      c32                  two slots, an f32 in the low 4 bytes of each: real, imaginary
      c64                  two slots, f64 each
      memref               address (0 for None), then each size that is `?`, then each stride that is `?`, in elements
      tensor map           address of its descriptor (`girih.back.llvm.lower.launch.descriptor`)
      group                address of its table (0 for None), then its size where that is `?`

After them, in a kernel that prints, the address of the memory for its records.

The table of a group has one record per member, of 8-byte fields:

    address      0 for None, otherwise already moved by the offset of the group
    sizes        those that are `?`
    strides      those that are `?`, in elements
"""

from __future__ import annotations

RECORD_SLOT = 3
"""The slot with the address of the failure record (`girih.back.llvm.lower.launch.record`)."""
FIRST_PARAMETER = 4
"""The slot of the first parameter."""
PRINT_HEADER_BYTES = 64
"""The bytes before the records of prints; the first 8 count the records that were asked for."""
