; Numbers of Python for parameters of bf16 and f16, as both entries take them; narrow_floats.py writes the limits.

declare double @llvm.fabs.f64(double)

; A double in a slot is rounded to bf16 or f16, to nearest, ties to even, and becomes a float.
; False for what would be subnormal or infinite there, and for NaN. The limits are the least normal number and the largest
; one, as doubles, and the number of digits of a double that are too many.
define internal i1 @girih_round(ptr %limits, ptr %slot) {
entry:
  %most_at = getelementptr double, ptr %limits, i64 1
  %shift_at = getelementptr i64, ptr %limits, i64 2
  %shift = load i64, ptr %shift_at
  %least = load double, ptr %limits
  %most = load double, ptr %most_at
  %value = load double, ptr %slot
  %bits = load i64, ptr %slot
  %unit = shl i64 1, %shift
  %shifted = lshr i64 %bits, %shift
  %odd = and i64 %shifted, 1
  %half = lshr i64 %unit, 1
  %below = sub i64 %half, 1
  %bias = add i64 %below, %odd
  %sum = add i64 %bits, %bias
  %mask = sub i64 0, %unit
  %rounded_bits = and i64 %sum, %mask
  %rounded = bitcast i64 %rounded_bits to double
  %size = call double @llvm.fabs.f64(double %value)
  %rounded_size = call double @llvm.fabs.f64(double %rounded)
  %zero = fcmp oeq double %value, 0.0
  %normal = fcmp oge double %size, %least
  %large = or i1 %zero, %normal
  %small = fcmp ole double %rounded_size, %most
  %fits = and i1 %large, %small
  %short = fptrunc double %rounded to float
  store i64 0, ptr %slot
  store float %short, ptr %slot
  ret i1 %fits
}
