; What Python calls: arguments become slots (girih/back/llvm/lower/launch/slots.py), Python's lock is let go, the kernel runs.
;
; Each function is of CPython's METH_FASTCALL kind; `self` is a tuple whose first member, bytes, is the description of a
; kernel, written by girih/runtime/cpu/entry.py, which also says what the results mean. The first argument is the grid, a
; tuple of three.

@_Py_NoneStruct = external global i8
@_Py_NotImplementedStruct = external global i8
@_Py_EllipsisObject = external global i8
@_Py_FalseStruct = external global i8
@_Py_TrueStruct = external global i8
@PyLong_Type = external global i8
@PyFloat_Type = external global i8
@PyComplex_Type = external global i8
@PyList_Type = external global i8
@PyTuple_Type = external global i8

declare ptr @PyBytes_AsString(ptr)
declare ptr @PyTuple_GetItem(ptr, i64)
declare i64 @PyTuple_Size(ptr)
declare ptr @PyList_AsTuple(ptr)
declare i64 @PyLong_AsLongLong(ptr)
declare i64 @PyLong_AsLongLongAndOverflow(ptr, ptr)
declare double @PyLong_AsDouble(ptr)
declare ptr @PyLong_AsVoidPtr(ptr)
declare double @PyFloat_AsDouble(ptr)
declare double @PyComplex_RealAsDouble(ptr)
declare double @PyComplex_ImagAsDouble(ptr)
declare ptr @PyBytes_FromStringAndSize(ptr, i64)
declare ptr @PyErr_Occurred()
declare void @PyErr_Clear()
declare i32 @PyErr_CheckSignals()
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare void @Py_IncRef(ptr)
declare void @Py_DecRef(ptr)
declare ptr @malloc(i64)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare { i64, i1 } @llvm.smul.with.overflow.i64(i64, i64)
declare i64 @llvm.umax.i64(i64, i64)
declare double @llvm.fabs.f64(double)
declare float @llvm.fabs.f32(float)

; Asked during a launch: Python's signal handlers may run now. `context` holds the state of the thread.
define internal i32 @check_signals(ptr %context) {
  %state = load ptr, ptr %context
  call void @PyEval_RestoreThread(ptr %state)
  %answer = call i32 @PyErr_CheckSignals()
  %saved = call ptr @PyEval_SaveThread()
  store ptr %saved, ptr %context
  ret i32 %answer
}

define internal ptr @description(ptr %self) {
  %held = call ptr @PyTuple_GetItem(ptr %self, i64 0)
  %description = call ptr @PyBytes_AsString(ptr %held)
  ret ptr %description
}

define internal ptr @returned(ptr %object) {
  call void @Py_IncRef(ptr %object)
  ret ptr %object
}

; Run the kernel of a description. None: finished. Bytes: the failure record. False: no memory. True: forked meanwhile.
; Ellipsis: the pool is to be started first. NotImplemented: too many work-groups to count. Null: a handler raised.
define internal ptr @run(ptr %description, ptr %grid, ptr %slots) {
entry:
  %record = alloca [${RECORD_BYTES} x i8], align 64
  %context = alloca ptr
  %object_x = call ptr @PyTuple_GetItem(ptr %grid, i64 0)
  %object_y = call ptr @PyTuple_GetItem(ptr %grid, i64 1)
  %object_z = call ptr @PyTuple_GetItem(ptr %grid, i64 2)
  %x = call i64 @PyLong_AsLongLong(ptr %object_x)
  %y = call i64 @PyLong_AsLongLong(ptr %object_y)
  %z = call i64 @PyLong_AsLongLong(ptr %object_z)
  %plane = mul i64 %x, %y
  %pair = call { i64, i1 } @llvm.smul.with.overflow.i64(i64 %plane, i64 %z)
  %groups = extractvalue { i64, i1 } %pair, 0
  %strange = extractvalue { i64, i1 } %pair, 1
  br i1 %strange, label %uncountable, label %count
uncountable:
  %not_implemented = call ptr @returned(ptr @_Py_NotImplementedStruct)
  ret ptr %not_implemented
count:
  %empty = icmp eq i64 %groups, 0
  br i1 %empty, label %none, label %prepare
none:
  %nothing = call ptr @returned(ptr @_Py_NoneStruct)
  ret ptr %nothing
prepare:
  call void @llvm.memset.p0.i64(ptr %record, i8 0, i64 ${RECORD_BYTES}, i1 false)
  %y_at = getelementptr i8, ptr %slots, i64 8
  %z_at = getelementptr i8, ptr %slots, i64 16
  %record_at = getelementptr i8, ptr %slots, i64 ${RECORD_ARGUMENT}
  store i64 %x, ptr %slots
  store i64 %y, ptr %y_at
  store i64 %z, ptr %z_at
  store ptr %record, ptr %record_at
  %state = call ptr @PyEval_SaveThread()
  store ptr %state, ptr %context
  %result = call i32 @launch(ptr %description, ptr %slots, i64 %groups, ptr @check_signals, ptr %context)
  %saved = load ptr, ptr %context
  call void @PyEval_RestoreThread(ptr %saved)
  switch i32 %result, label %finished [ i32 ${NO_MEMORY}, label %no_memory
                                        i32 ${INTERRUPTED}, label %interrupted
                                        i32 ${FORKED}, label %forked
                                        i32 ${NOT_STARTED}, label %not_started ]
no_memory:
  %false = call ptr @returned(ptr @_Py_FalseStruct)
  ret ptr %false
forked:
  %error = call ptr @PyErr_Occurred()
  %quiet = icmp eq ptr %error, null
  br i1 %quiet, label %lost, label %interrupted
lost:
  %true = call ptr @returned(ptr @_Py_TrueStruct)
  ret ptr %true
interrupted:
  ret ptr null
not_started:
  %ellipsis = call ptr @returned(ptr @_Py_EllipsisObject)
  ret ptr %ellipsis
finished:
  %failed = load atomic i32, ptr %record acquire, align 4
  %fine = icmp eq i32 %failed, 0
  br i1 %fine, label %none, label %failure
failure:
  %bytes_object = call ptr @PyBytes_FromStringAndSize(ptr %record, i64 ${RECORD_BYTES})
  ret ptr %bytes_object
}

; (grid, address of slots whose parameters are filled)
define ptr @girih_run(ptr %self, ptr %given, i64 %count) {
  %description = call ptr @description(ptr %self)
  %address_at = getelementptr ptr, ptr %given, i64 1
  %grid = load ptr, ptr %given
  %address = load ptr, ptr %address_at
  %slots = call ptr @PyLong_AsVoidPtr(ptr %address)
  %result = call ptr @run(ptr %description, ptr %grid, ptr %slots)
  ret ptr %result
}

; (grid, the arguments of the launch...); NotImplemented for arguments that this code does not know.
define ptr @girih_call(ptr %self, ptr %given, i64 %count) {
entry:
  %tables = alloca ptr
  store ptr null, ptr %tables
  %description = call ptr @description(ptr %self)
  %count_at = getelementptr i8, ptr %description, i64 ${D_PARAMETERS}
  %slot_bytes_at = getelementptr i8, ptr %description, i64 ${D_SLOT_BYTES}
  %parameters = load i64, ptr %count_at
  %slot_bytes = load i64, ptr %slot_bytes_at
  %expected = add i64 %parameters, 1
  %right = icmp eq i64 %expected, %count
  br i1 %right, label %begin, label %unknown
begin:
  %slots = alloca i8, i64 %slot_bytes, align 16
  %first = getelementptr i8, ptr %description, i64 ${D_BYTES}
  br label %next
next:
  %number = phi i64 [ 1, %begin ], [ %following, %fits ]
  %parameter = phi ptr [ %first, %begin ], [ %after, %fits ]
  %more = icmp ult i64 %number, %count
  br i1 %more, label %bind, label %execute
bind:
  %object_at = getelementptr ptr, ptr %given, i64 %number
  %object = load ptr, ptr %object_at
  %slot_at = getelementptr i8, ptr %parameter, i64 ${P_SLOT}
  %bytes_at = getelementptr i8, ptr %parameter, i64 ${P_BYTES}
  %slot_offset = load i64, ptr %slot_at
  %bytes = load i64, ptr %bytes_at
  %slot = getelementptr i8, ptr %slots, i64 %slot_offset
  %bound = call i1 @bind(ptr %description, ptr %parameter, ptr %object, ptr %slot, ptr %tables)
  %following = add i64 %number, 1
  %after = getelementptr i8, ptr %parameter, i64 %bytes
  br i1 %bound, label %fits, label %refuse
fits:
  br label %next
refuse:
  call void @release(ptr %tables)
  br label %unknown
unknown:
  %not_implemented = call ptr @returned(ptr @_Py_NotImplementedStruct)
  ret ptr %not_implemented
execute:
  %apart_at = getelementptr i8, ptr %description, i64 ${D_APART}
  %asked = load i64, ptr %apart_at
  %unasked = icmp eq i64 %asked, 0
  br i1 %unasked, label %start, label %look
look:
  %held = load ptr, ptr %tables
  %fine = call i1 @members_apart(ptr %description, ptr %given, ptr %held)
  br i1 %fine, label %start, label %refuse
start:
  %grid = load ptr, ptr %given
  %result = call ptr @run(ptr %description, ptr %grid, ptr %slots)
  call void @release(ptr %tables)
  ret ptr %result
}

; Let go of the tables of groups: {next, tuple that holds the members, description of their memrefs, records...}.
define internal void @release(ptr %tables) {
entry:
  %head = load ptr, ptr %tables
  br label %next
next:
  %table = phi ptr [ %head, %entry ], [ %following, %one ]
  %end = icmp eq ptr %table, null
  br i1 %end, label %done, label %one
one:
  %members_at = getelementptr i8, ptr %table, i64 8
  %following = load ptr, ptr %table
  %members = load ptr, ptr %members_at
  call void @free(ptr %table)
  call void @Py_DecRef(ptr %members)
  br label %next
done:
  ret void
}

; One argument into its slots; false where the slow path has to decide.
define internal i1 @bind(ptr %description, ptr %parameter, ptr %object, ptr %slot, ptr %tables) {
entry:
  %imaginary_slot = getelementptr i8, ptr %slot, i64 8
  %type_at = getelementptr i8, ptr %object, i64 8
  %type = load ptr, ptr %type_at
  %kind = load i64, ptr %parameter
  switch i64 %kind, label %bad [ i64 ${K_BOOL}, label %bool
                                 i64 ${K_INTEGER}, label %integer
                                 i64 ${K_NARROW}, label %narrow
                                 i64 ${K_F32}, label %f32
                                 i64 ${K_F64}, label %f64
                                 i64 ${K_C32}, label %c32
                                 i64 ${K_C64}, label %c64
                                 i64 ${K_MEMREF}, label %memref
                                 i64 ${K_GROUP}, label %group ]
bad:
  ret i1 false
good:
  ret i1 true
bool:
  %true = icmp eq ptr %object, @_Py_TrueStruct
  %false = icmp eq ptr %object, @_Py_FalseStruct
  %truth = zext i1 %true to i64
  store i64 %truth, ptr %slot
  %boolean = or i1 %true, %false
  ret i1 %boolean
integer:
  %overflow = alloca i32
  %is_int = icmp eq ptr %type, @PyLong_Type
  br i1 %is_int, label %plain, label %foreign
plain:
  %plain_value = call i64 @PyLong_AsLongLongAndOverflow(ptr %object, ptr %overflow)
  store i64 %plain_value, ptr %slot
  %over = load i32, ptr %overflow
  %held = icmp eq i32 %over, 0
  br i1 %held, label %whole, label %bad
foreign:
  %is_scalar = call i1 @integer_scalar(ptr %description, ptr %object, ptr %type, ptr %slot)
  br i1 %is_scalar, label %whole, label %bad
whole:
  %least_at = getelementptr i8, ptr %parameter, i64 ${P_LEAST}
  %most_at = getelementptr i8, ptr %parameter, i64 ${P_MOST}
  %least = load i64, ptr %least_at
  %most = load i64, ptr %most_at
  %value = load i64, ptr %slot
  %above = icmp sge i64 %value, %least
  %below = icmp sle i64 %value, %most
  %between = and i1 %above, %below
  ret i1 %between
narrow:
  %narrow_real = call i1 @real(ptr %description, ptr %object, ptr %type, ptr %slot)
  br i1 %narrow_real, label %narrowed, label %bad
narrowed:
  %limits = getelementptr i8, ptr %parameter, i64 ${P_LEAST}
  %narrow_fits = call i1 @girih_round(ptr %limits, ptr %slot)
  ret i1 %narrow_fits
f32:
  %single_real = call i1 @real(ptr %description, ptr %object, ptr %type, ptr %slot)
  br i1 %single_real, label %single, label %bad
single:
  %single_fits = call i1 @shorten(ptr %slot)
  ret i1 %single_fits
f64:
  %double_real = call i1 @real(ptr %description, ptr %object, ptr %type, ptr %slot)
  ret i1 %double_real
c32:
  %c32_parts = call i1 @parts(ptr %description, ptr %object, ptr %type, ptr %slot)
  br i1 %c32_parts, label %single_parts, label %bad
single_parts:
  %real_fits = call i1 @shorten(ptr %slot)
  %imaginary_fits = call i1 @shorten(ptr %imaginary_slot)
  %both_fit = and i1 %real_fits, %imaginary_fits
  ret i1 %both_fit
c64:
  %c64_parts = call i1 @parts(ptr %description, ptr %object, ptr %type, ptr %slot)
  ret i1 %c64_parts
memref:
  %memref_fits = call i1 @bind_memref(ptr %parameter, ptr %object, ptr %slot, i64 8)
  ret i1 %memref_fits
group:
  %group_fits = call i1 @bind_group(ptr %parameter, ptr %object, ptr %slot, ptr %tables)
  ret i1 %group_fits
}

; A NumPy scalar that is a whole number, and fits 63 bits and a sign.
define internal i1 @integer_scalar(ptr %description, ptr %object, ptr %type, ptr %slot) {
entry:
  %types = getelementptr i8, ptr %description, i64 ${D_INTEGERS}
  %value_at = getelementptr i8, ptr %object, i64 ${S_VALUE}
  br label %look
look:
  %number = phi i64 [ 0, %entry ], [ %following, %other ]
  %more = icmp ult i64 %number, ${INTEGERS}
  br i1 %more, label %compare, label %bad
compare:
  %its_at = getelementptr ptr, ptr %types, i64 %number
  %its = load ptr, ptr %its_at
  %same = icmp eq ptr %type, %its
  br i1 %same, label %found, label %other
other:
  %following = add i64 %number, 1
  br label %look
found:
  switch i64 %number, label %bad [ i64 0, label %int64
                                   i64 1, label %int32
                                   i64 2, label %uint8
                                   i64 3, label %int8
                                   i64 4, label %int16
                                   i64 5, label %uint16
                                   i64 6, label %uint32
                                   i64 7, label %uint64 ]
int64:
  %i64 = load i64, ptr %value_at
  br label %good
int32:
  %i32 = load i32, ptr %value_at
  %i32_wide = sext i32 %i32 to i64
  br label %good
uint8:
  %u8 = load i8, ptr %value_at
  %u8_wide = zext i8 %u8 to i64
  br label %good
int8:
  %i8 = load i8, ptr %value_at
  %i8_wide = sext i8 %i8 to i64
  br label %good
int16:
  %i16 = load i16, ptr %value_at
  %i16_wide = sext i16 %i16 to i64
  br label %good
uint16:
  %u16 = load i16, ptr %value_at
  %u16_wide = zext i16 %u16 to i64
  br label %good
uint32:
  %u32 = load i32, ptr %value_at
  %u32_wide = zext i32 %u32 to i64
  br label %good
uint64:
  %u64 = load i64, ptr %value_at
  %small = icmp sge i64 %u64, 0
  br i1 %small, label %good, label %bad
good:
  %value = phi i64 [ %i64, %int64 ], [ %i32_wide, %int32 ], [ %u8_wide, %uint8 ], [ %i8_wide, %int8 ],
                   [ %i16_wide, %int16 ], [ %u16_wide, %uint16 ], [ %u32_wide, %uint32 ], [ %u64, %uint64 ]
  store i64 %value, ptr %slot
  ret i1 true
bad:
  ret i1 false
}

; A real number of Python or NumPy as a double.
define internal i1 @real(ptr %description, ptr %object, ptr %type, ptr %slot) {
entry:
  %is_float = icmp eq ptr %type, @PyFloat_Type
  br i1 %is_float, label %float, label %other
float:
  %value = call double @PyFloat_AsDouble(ptr %object)
  store double %value, ptr %slot
  ret i1 true
other:
  %is_int = icmp eq ptr %type, @PyLong_Type
  br i1 %is_int, label %int, label %foreign
foreign:
  %float32_at = getelementptr i8, ptr %description, i64 ${D_FLOAT32}
  %float64_at = getelementptr i8, ptr %description, i64 ${D_FLOAT64}
  %value_at = getelementptr i8, ptr %object, i64 ${S_VALUE}
  %float32_type = load ptr, ptr %float32_at
  %float64_type = load ptr, ptr %float64_at
  %is_float32 = icmp eq ptr %type, %float32_type
  br i1 %is_float32, label %float32, label %wider
float32:
  %single = load float, ptr %value_at
  %extended = fpext float %single to double
  store double %extended, ptr %slot
  ret i1 true
wider:
  %is_float64 = icmp eq ptr %type, %float64_type
  br i1 %is_float64, label %float64, label %scalar
float64:
  %double = load double, ptr %value_at
  store double %double, ptr %slot
  ret i1 true
scalar:
  %is_scalar = call i1 @integer_scalar(ptr %description, ptr %object, ptr %type, ptr %slot)
  br i1 %is_scalar, label %convert, label %bad
convert:
  %whole = load i64, ptr %slot
  %converted = sitofp i64 %whole to double
  store double %converted, ptr %slot
  ret i1 true
int:
  %number = call double @PyLong_AsDouble(ptr %object)
  store double %number, ptr %slot
  %suspicious = fcmp oeq double %number, -1.0
  br i1 %suspicious, label %doubt, label %good
doubt:
  %error = call ptr @PyErr_Occurred()
  %none = icmp eq ptr %error, null
  br i1 %none, label %good, label %clear
clear:
  call void @PyErr_Clear()
  br label %bad
good:
  ret i1 true
bad:
  ret i1 false
}

; A Python complex, or a real number of Python or NumPy, as two doubles.
define internal i1 @parts(ptr %description, ptr %object, ptr %type, ptr %slot) {
entry:
  %imaginary_slot = getelementptr i8, ptr %slot, i64 8
  %is_complex = icmp eq ptr %type, @PyComplex_Type
  br i1 %is_complex, label %complex, label %other
complex:
  %real = call double @PyComplex_RealAsDouble(ptr %object)
  %imaginary = call double @PyComplex_ImagAsDouble(ptr %object)
  store double %real, ptr %slot
  store double %imaginary, ptr %imaginary_slot
  ret i1 true
other:
  store double 0.0, ptr %imaginary_slot
  %is_real = call i1 @real(ptr %description, ptr %object, ptr %type, ptr %slot)
  ret i1 %is_real
}

; A double in a slot becomes a float; false where a finite one would become infinite.
define internal i1 @shorten(ptr %slot) {
  %value = load double, ptr %slot
  %short = fptrunc double %value to float
  store i64 0, ptr %slot
  store float %short, ptr %slot
  %size = call double @llvm.fabs.f64(double %value)
  %short_size = call float @llvm.fabs.f32(float %short)
  %infinite = fcmp oeq double %size, 0x7FF0000000000000
  %short_infinite = fcmp oeq float %short_size, 0x7FF0000000000000
  %same = icmp eq i1 %infinite, %short_infinite
  ret i1 %same
}

; An ndarray: its address at `out`, its sizes and strides that are `?` from `sizes` bytes later on.
define internal i1 @bind_memref(ptr %parameter, ptr %object, ptr %out, i64 %sizes) {
entry:
  %type_at = getelementptr i8, ptr %object, i64 8
  %array_type_at = getelementptr i8, ptr %parameter, i64 ${M_TYPE}
  %type = load ptr, ptr %type_at
  %array_type = load ptr, ptr %array_type_at
  %is_array = icmp eq ptr %type, %array_type
  br i1 %is_array, label %array, label %bad
array:
  %data_at = getelementptr i8, ptr %object, i64 ${A_DATA}
  %order_at = getelementptr i8, ptr %object, i64 ${A_ORDER}
  %dims_at = getelementptr i8, ptr %object, i64 ${A_SIZES}
  %strides_at = getelementptr i8, ptr %object, i64 ${A_STRIDES}
  %dtype_at = getelementptr i8, ptr %object, i64 ${A_DTYPE}
  %flags_at = getelementptr i8, ptr %object, i64 ${A_FLAGS}
  %m_element_at = getelementptr i8, ptr %parameter, i64 ${M_ELEMENT}
  %m_shift_at = getelementptr i8, ptr %parameter, i64 ${M_SHIFT}
  %m_alignment_at = getelementptr i8, ptr %parameter, i64 ${M_ALIGNMENT}
  %m_flags_at = getelementptr i8, ptr %parameter, i64 ${M_FLAGS}
  %m_order_at = getelementptr i8, ptr %parameter, i64 ${M_ORDER}
  %m_first_at = getelementptr i8, ptr %parameter, i64 ${M_FIRST_AXIS}
  %m_step_at = getelementptr i8, ptr %parameter, i64 ${M_AXIS_STEP}
  %m_dynamic_at = getelementptr i8, ptr %parameter, i64 ${M_DYNAMIC_SIZES}
  %first_mode = getelementptr i8, ptr %parameter, i64 ${M_MODES}
  %data = load ptr, ptr %data_at
  %order = load i32, ptr %order_at
  %dims = load ptr, ptr %dims_at
  %strides = load ptr, ptr %strides_at
  %dtype = load ptr, ptr %dtype_at
  %element_at = getelementptr i8, ptr %dtype, i64 ${E_WORD}
  %element = load i64, ptr %element_at
  %flags = load i32, ptr %flags_at
  %m_element = load i64, ptr %m_element_at
  %shift = load i64, ptr %m_shift_at
  %alignment = load i64, ptr %m_alignment_at
  %m_flags = load i32, ptr %m_flags_at
  %m_order = load i32, ptr %m_order_at
  %first_axis = load i64, ptr %m_first_at
  %axis_step = load i64, ptr %m_step_at
  %dynamic = load i64, ptr %m_dynamic_at
  %same_element = icmp eq i64 %element, %m_element
  %same_order = icmp eq i32 %order, %m_order
  %have = and i32 %flags, %m_flags
  %writeable = icmp eq i32 %have, %m_flags
  %address = ptrtoint ptr %data to i64
  %phase = urem i64 %address, %alignment
  %aligned = icmp eq i64 %phase, 0
  %one = and i1 %same_element, %same_order
  %two = and i1 %writeable, %aligned
  %fine = and i1 %one, %two
  br i1 %fine, label %begin, label %bad
begin:
  store ptr %data, ptr %out
  %first_size_out = getelementptr i8, ptr %out, i64 %sizes
  %first_stride_out = getelementptr i64, ptr %first_size_out, i64 %dynamic
  %unit = shl i64 1, %shift
  %part = sub i64 %unit, 1
  %modes = zext i32 %order to i64
  br label %next
next:
  %number = phi i64 [ 0, %begin ], [ %following, %stored ]
  %axis = phi i64 [ %first_axis, %begin ], [ %next_axis, %stored ]
  %mode = phi ptr [ %first_mode, %begin ], [ %mode_after, %stored ]
  %size_out = phi ptr [ %first_size_out, %begin ], [ %size_after, %stored ]
  %stride_out = phi ptr [ %first_stride_out, %begin ], [ %stride_after, %stored ]
  %packed = phi i64 [ 1, %begin ], [ %extent, %stored ]
  %occupied = phi i64 [ 1, %begin ], [ %occupied_now, %stored ]
  %more = icmp ult i64 %number, %modes
  br i1 %more, label %sized, label %good
sized:
  %dim_at = getelementptr i64, ptr %dims, i64 %axis
  %bytes_at = getelementptr i64, ptr %strides, i64 %axis
  %m_stride_at = getelementptr i8, ptr %mode, i64 8
  %size_divisor_at = getelementptr i8, ptr %mode, i64 16
  %stride_divisor_at = getelementptr i8, ptr %mode, i64 24
  %size = load i64, ptr %dim_at
  %bytes = load i64, ptr %bytes_at
  %m_size = load i64, ptr %mode
  %m_stride = load i64, ptr %m_stride_at
  %size_divisor = load i64, ptr %size_divisor_at
  %stride_divisor = load i64, ptr %stride_divisor_at
  %free_size = icmp slt i64 %m_size, 0
  %free_stride = icmp slt i64 %m_stride, 0
  %equal_size = icmp eq i64 %size, %m_size
  %right_size = or i1 %free_size, %equal_size
  %filled = icmp ne i64 %size, 0
  %usual = and i1 %right_size, %filled
  br i1 %usual, label %size_promise, label %bad
size_promise:
  %promised_size = icmp ugt i64 %size_divisor, 1
  br i1 %promised_size, label %size_divides, label %stretched
size_divides:
  %size_rest = urem i64 %size, %size_divisor
  %size_whole = icmp eq i64 %size_rest, 0
  br i1 %size_whole, label %stretched, label %bad
stretched:
  %several = icmp sgt i64 %size, 1
  br i1 %several, label %strided, label %single
; The stride of a mode with one element is that of the type, or as if packed.
single:
  %assumed = select i1 %free_stride, i64 %packed, i64 %m_stride
  br label %store
strided:
  %positive = icmp sgt i64 %bytes, 0
  %inside = and i64 %bytes, %part
  %whole = icmp eq i64 %inside, 0
  %stride = ashr i64 %bytes, %shift
  %equal_stride = icmp eq i64 %stride, %m_stride
  %right_stride = or i1 %free_stride, %equal_stride
  %apart = icmp sle i64 %occupied, %stride
  %three = and i1 %positive, %whole
  %four = and i1 %right_stride, %apart
  %sound = and i1 %three, %four
  br i1 %sound, label %stride_promise, label %bad
stride_promise:
  %ending = mul i64 %stride, %size
  %promised_stride = icmp ugt i64 %stride_divisor, 1
  br i1 %promised_stride, label %stride_divides, label %store
stride_divides:
  %stride_rest = urem i64 %stride, %stride_divisor
  %stride_whole = icmp eq i64 %stride_rest, 0
  br i1 %stride_whole, label %store, label %bad
store:
  %held_stride = phi i64 [ %assumed, %single ], [ %stride, %stride_promise ], [ %stride, %stride_divides ]
  %occupied_now = phi i64 [ %occupied, %single ], [ %ending, %stride_promise ], [ %ending, %stride_divides ]
  br i1 %free_size, label %store_size, label %sized_already
store_size:
  store i64 %size, ptr %size_out
  br label %sized_already
sized_already:
  br i1 %free_stride, label %store_stride, label %stored
store_stride:
  store i64 %held_stride, ptr %stride_out
  br label %stored
stored:
  %size_step = zext i1 %free_size to i64
  %stride_step = zext i1 %free_stride to i64
  %size_after = getelementptr i64, ptr %size_out, i64 %size_step
  %stride_after = getelementptr i64, ptr %stride_out, i64 %stride_step
  %extent = mul i64 %held_stride, %size
  %mode_after = getelementptr i8, ptr %mode, i64 ${MODE_BYTES}
  %following = add i64 %number, 1
  %next_axis = add i64 %axis, %axis_step
  br label %next
good:
  ret i1 true
bad:
  ret i1 false
}

; A list or tuple of ndarrays: a table, which `tables` then holds, and its size where that is `?`.
define internal i1 @bind_group(ptr %parameter, ptr %object, ptr %slot, ptr %tables) {
entry:
  %type_at = getelementptr i8, ptr %object, i64 8
  %type = load ptr, ptr %type_at
  %is_list = icmp eq ptr %type, @PyList_Type
  br i1 %is_list, label %list, label %other
list:
  %copied = call ptr @PyList_AsTuple(ptr %object)
  %lacks = icmp eq ptr %copied, null
  br i1 %lacks, label %clear, label %count
clear:
  call void @PyErr_Clear()
  ret i1 false
other:
  %is_tuple = icmp eq ptr %type, @PyTuple_Type
  br i1 %is_tuple, label %tuple, label %bad
bad:
  ret i1 false
tuple:
  call void @Py_IncRef(ptr %object)
  br label %count
count:
  %members = phi ptr [ %copied, %list ], [ %object, %tuple ]
  %record_at = getelementptr i8, ptr %parameter, i64 ${G_RECORD_BYTES}
  %wanted_at = getelementptr i8, ptr %parameter, i64 ${G_SIZE}
  %memref = getelementptr i8, ptr %parameter, i64 ${G_MEMREF}
  %record_bytes = load i64, ptr %record_at
  %wanted = load i64, ptr %wanted_at
  %size = call i64 @PyTuple_Size(ptr %members)
  %free_size = icmp slt i64 %wanted, 0
  %equal = icmp eq i64 %size, %wanted
  %right = or i1 %free_size, %equal
  br i1 %right, label %allocate, label %drop
drop:
  call void @Py_DecRef(ptr %members)
  ret i1 false
allocate:
  %all = mul i64 %size, %record_bytes
  %bytes = add i64 %all, 24
  %table = call ptr @malloc(i64 %bytes)
  %poor = icmp eq ptr %table, null
  br i1 %poor, label %drop, label %hold
hold:
  %earlier = load ptr, ptr %tables
  %members_at = getelementptr i8, ptr %table, i64 8
  %memref_at = getelementptr i8, ptr %table, i64 16
  %records = getelementptr i8, ptr %table, i64 24
  store ptr %earlier, ptr %table
  store ptr %members, ptr %members_at
  store ptr %memref, ptr %memref_at
  store ptr %table, ptr %tables
  store ptr %records, ptr %slot
  br i1 %free_size, label %store_size, label %next
store_size:
  %size_at = getelementptr i8, ptr %slot, i64 8
  store i64 %size, ptr %size_at
  br label %next
next:
  %number = phi i64 [ 0, %hold ], [ 0, %store_size ], [ %following, %one ]
  %record = phi ptr [ %records, %hold ], [ %records, %store_size ], [ %after, %one ]
  %more = icmp ult i64 %number, %size
  br i1 %more, label %one, label %good
one:
  %member = call ptr @PyTuple_GetItem(ptr %members, i64 %number)
  %bound = call i1 @bind_memref(ptr %memref, ptr %member, ptr %record, i64 8)
  %after = getelementptr i8, ptr %record, i64 %record_bytes
  %following = add i64 %number, 1
  br i1 %bound, label %next, label %bad
good:
  ret i1 true
}

; Whether members of groups lie apart from other arguments, as far as one of them is written. What lies between each
; other's elements counts as if it did not: then the slow path looks at every byte (girih/arguments/sharing.py).
define internal i1 @members_apart(ptr %description, ptr %given, ptr %tables) {
entry:
  %count_at = getelementptr i8, ptr %description, i64 ${D_PARAMETERS}
  %first = getelementptr i8, ptr %description, i64 ${D_BYTES}
  %parameters = load i64, ptr %count_at
  br label %count
count:
  %table = phi ptr [ %tables, %entry ], [ %later, %counted ]
  %ranges = phi i64 [ %parameters, %entry ], [ %sum, %counted ]
  %end = icmp eq ptr %table, null
  br i1 %end, label %allocate, label %counted
counted:
  %tuple_at = getelementptr i8, ptr %table, i64 8
  %tuple = load ptr, ptr %tuple_at
  %size = call i64 @PyTuple_Size(ptr %tuple)
  %sum = add i64 %ranges, %size
  %later = load ptr, ptr %table
  br label %count
allocate:
  ; Twice: they are sorted from one half into the other and back.
  %half = mul i64 %ranges, ${RANGE_BYTES}
  %both = mul i64 %half, 2
  %room = call ptr @malloc(i64 %both)
  %poor = icmp eq ptr %room, null
  br i1 %poor, label %unknown, label %next
unknown:
  ret i1 false
next:
  %number = phi i64 [ 0, %allocate ], [ %following, %stepped ]
  %parameter = phi ptr [ %first, %allocate ], [ %after, %stepped ]
  %out = phi ptr [ %room, %allocate ], [ %out_now, %stepped ]
  %more = icmp ult i64 %number, %parameters
  br i1 %more, label %one, label %groups
one:
  %bytes_at = getelementptr i8, ptr %parameter, i64 ${P_BYTES}
  %kind = load i64, ptr %parameter
  %bytes = load i64, ptr %bytes_at
  %following = add i64 %number, 1
  %after = getelementptr i8, ptr %parameter, i64 %bytes
  %is_memref = icmp eq i64 %kind, ${K_MEMREF}
  br i1 %is_memref, label %memref, label %stepped
memref:
  %object_at = getelementptr ptr, ptr %given, i64 %following
  %object = load ptr, ptr %object_at
  %out_after = call ptr @store_range(ptr %out, ptr %object, ptr %parameter, i64 0)
  br label %stepped
stepped:
  %out_now = phi ptr [ %out, %one ], [ %out_after, %memref ]
  br label %next
groups:
  %group = phi ptr [ %tables, %next ], [ %later_group, %members ]
  %group_out = phi ptr [ %out, %next ], [ %member_out, %members ]
  %last = icmp eq ptr %group, null
  br i1 %last, label %filled, label %open
open:
  %members_at = getelementptr i8, ptr %group, i64 8
  %memref_at = getelementptr i8, ptr %group, i64 16
  %held = load ptr, ptr %members_at
  %described = load ptr, ptr %memref_at
  %length = call i64 @PyTuple_Size(ptr %held)
  %later_group = load ptr, ptr %group
  br label %members
members:
  %index = phi i64 [ 0, %open ], [ %index_after, %member ]
  %member_out = phi ptr [ %group_out, %open ], [ %member_after, %member ]
  %remains = icmp ult i64 %index, %length
  br i1 %remains, label %member, label %groups
member:
  %array = call ptr @PyTuple_GetItem(ptr %held, i64 %index)
  %member_after = call ptr @store_range(ptr %member_out, ptr %array, ptr %described, i64 2)
  %index_after = add i64 %index, 1
  br label %members
filled:
  %start = ptrtoint ptr %room to i64
  %stop = ptrtoint ptr %group_out to i64
  %used = sub i64 %stop, %start
  %second = getelementptr i8, ptr %room, i64 %half
  %sorted = call ptr @sort_ranges(ptr %room, ptr %second, i64 %used)
  %apart = call i1 @ranges_apart(ptr %sorted, i64 %used)
  call void @free(ptr %room)
  ret i1 %apart
}

; The addresses of an array from the first element to behind the last, and its use: 1 where it is written, and `member`, 2
; for a member of a group. Returns the place of the next range.
define internal ptr @store_range(ptr %out, ptr %array, ptr %memref, i64 %member) {
entry:
  %data_at = getelementptr i8, ptr %array, i64 ${A_DATA}
  %order_at = getelementptr i8, ptr %array, i64 ${A_ORDER}
  %sizes_at = getelementptr i8, ptr %array, i64 ${A_SIZES}
  %strides_at = getelementptr i8, ptr %array, i64 ${A_STRIDES}
  %shift_at = getelementptr i8, ptr %memref, i64 ${M_SHIFT}
  %flags_at = getelementptr i8, ptr %memref, i64 ${M_FLAGS}
  %data = load i64, ptr %data_at
  %order = load i32, ptr %order_at
  %sizes = load ptr, ptr %sizes_at
  %strides = load ptr, ptr %strides_at
  %shift = load i64, ptr %shift_at
  %flags = load i64, ptr %flags_at
  %modes = zext i32 %order to i64
  %element = shl i64 1, %shift
  %near = add i64 %data, %element
  br label %next
next:
  %number = phi i64 [ 0, %entry ], [ %following, %mode ]
  %end = phi i64 [ %near, %entry ], [ %further, %mode ]
  %more = icmp ult i64 %number, %modes
  br i1 %more, label %mode, label %done
mode:
  %size_at = getelementptr i64, ptr %sizes, i64 %number
  %stride_at = getelementptr i64, ptr %strides, i64 %number
  %size = load i64, ptr %size_at
  %stride = load i64, ptr %stride_at
  %steps = sub i64 %size, 1
  %reach = mul i64 %steps, %stride
  %further = add i64 %end, %reach
  %following = add i64 %number, 1
  br label %next
done:
  %written = icmp ne i64 %flags, 0
  %write = zext i1 %written to i64
  %use = or i64 %member, %write
  %end_at = getelementptr i8, ptr %out, i64 8
  %use_at = getelementptr i8, ptr %out, i64 16
  %after = getelementptr i8, ptr %out, i64 ${RANGE_BYTES}
  store i64 %data, ptr %out
  store i64 %end, ptr %end_at
  store i64 %use, ptr %use_at
  ret ptr %after
}

; Sort ranges by their starts: runs that are sorted already, as those of arrays that were made one after the other, are
; merged in pairs, from one place into the other and back. Returns where they are then.
define internal ptr @sort_ranges(ptr %first, ptr %second, i64 %bytes) {
entry:
  br label %pass
pass:
  %from = phi ptr [ %first, %entry ], [ %to, %passed ]
  %to = phi ptr [ %second, %entry ], [ %from, %passed ]
  br label %pair
pair:
  %begin = phi i64 [ 0, %pass ], [ %end, %merge ]
  %pairs = phi i64 [ 0, %pass ], [ %pairs_now, %merge ]
  %more = icmp ult i64 %begin, %bytes
  br i1 %more, label %merge, label %passed
merge:
  %middle = call i64 @run_end(ptr %from, i64 %begin, i64 %bytes)
  %end = call i64 @run_end(ptr %from, i64 %middle, i64 %bytes)
  call void @merge_runs(ptr %from, i64 %begin, i64 %middle, i64 %end, ptr %to)
  %pairs_now = add i64 %pairs, 1
  br label %pair
passed:
  %sorted = icmp ule i64 %pairs, 1
  br i1 %sorted, label %done, label %pass
done:
  ret ptr %to
}

; Where the run ends that begins at an offset: behind the last range that does not start before the one in front of it.
define internal i64 @run_end(ptr %ranges, i64 %begin, i64 %bytes) {
entry:
  br label %next
next:
  %at = phi i64 [ %begin, %entry ], [ %after, %compare ]
  %after = add i64 %at, ${RANGE_BYTES}
  %more = icmp ult i64 %after, %bytes
  br i1 %more, label %compare, label %last
compare:
  %here_at = getelementptr i8, ptr %ranges, i64 %at
  %there_at = getelementptr i8, ptr %ranges, i64 %after
  %here = load i64, ptr %here_at
  %there = load i64, ptr %there_at
  %follows = icmp ule i64 %here, %there
  br i1 %follows, label %next, label %ended
ended:
  ret i64 %after
last:
  ret i64 %bytes
}

; Merge the runs from `begin` to `middle` and from there to `end`.
define internal void @merge_runs(ptr %from, i64 %begin, i64 %middle, i64 %end, ptr %to) {
entry:
  br label %next
next:
  %left = phi i64 [ %begin, %entry ], [ %left_now, %taken ]
  %right = phi i64 [ %middle, %entry ], [ %right_now, %taken ]
  %out = phi i64 [ %begin, %entry ], [ %out_now, %taken ]
  %has_left = icmp ult i64 %left, %middle
  %has_right = icmp ult i64 %right, %end
  %left_at = getelementptr i8, ptr %from, i64 %left
  %right_at = getelementptr i8, ptr %from, i64 %right
  br i1 %has_left, label %look_right, label %only_right
only_right:
  br i1 %has_right, label %take_right, label %done
look_right:
  br i1 %has_right, label %compare, label %take_left
compare:
  %left_start = load i64, ptr %left_at
  %right_start = load i64, ptr %right_at
  %earlier = icmp ule i64 %left_start, %right_start
  br i1 %earlier, label %take_left, label %take_right
take_left:
  %left_after = add i64 %left, ${RANGE_BYTES}
  br label %taken
take_right:
  %right_after = add i64 %right, ${RANGE_BYTES}
  br label %taken
taken:
  %chosen = phi ptr [ %left_at, %take_left ], [ %right_at, %take_right ]
  %left_now = phi i64 [ %left_after, %take_left ], [ %left, %take_right ]
  %right_now = phi i64 [ %right, %take_left ], [ %right_after, %take_right ]
  %out_at = getelementptr i8, ptr %to, i64 %out
  %range = load i192, ptr %chosen, align 8
  store i192 %range, ptr %out_at, align 8
  %out_now = add i64 %out, ${RANGE_BYTES}
  br label %next
done:
  ret void
}

; Whether sorted ranges overlap only where neither is written or neither is a member: of each use, the furthest end so far.
define internal i1 @ranges_apart(ptr %ranges, i64 %bytes) {
entry:
  br label %next
next:
  %at = phi i64 [ 0, %entry ], [ %after, %fine ]
  %end_0 = phi i64 [ 0, %entry ], [ %now_0, %fine ]
  %end_1 = phi i64 [ 0, %entry ], [ %now_1, %fine ]
  %end_2 = phi i64 [ 0, %entry ], [ %now_2, %fine ]
  %end_3 = phi i64 [ 0, %entry ], [ %now_3, %fine ]
  %more = icmp ult i64 %at, %bytes
  br i1 %more, label %look, label %apart
look:
  %start_at = getelementptr i8, ptr %ranges, i64 %at
  %end_at = getelementptr i8, ptr %start_at, i64 8
  %use_at = getelementptr i8, ptr %start_at, i64 16
  %start = load i64, ptr %start_at
  %end = load i64, ptr %end_at
  %use = load i64, ptr %use_at
  %write = and i64 %use, 1
  %written = icmp ne i64 %write, 0
  %member = icmp uge i64 %use, 2
  %both = and i1 %written, %member
  %over_0 = icmp ugt i64 %end_0, %start
  %over_1 = icmp ugt i64 %end_1, %start
  %over_2 = icmp ugt i64 %end_2, %start
  %over_3 = icmp ugt i64 %end_3, %start
  %bad_0 = and i1 %over_0, %both
  %bad_1 = and i1 %over_1, %member
  %bad_2 = and i1 %over_2, %written
  %bad_01 = or i1 %bad_0, %bad_1
  %bad_23 = or i1 %bad_2, %over_3
  %bad = or i1 %bad_01, %bad_23
  br i1 %bad, label %shared, label %fine
fine:
  %further_0 = call i64 @llvm.umax.i64(i64 %end_0, i64 %end)
  %further_1 = call i64 @llvm.umax.i64(i64 %end_1, i64 %end)
  %further_2 = call i64 @llvm.umax.i64(i64 %end_2, i64 %end)
  %further_3 = call i64 @llvm.umax.i64(i64 %end_3, i64 %end)
  %is_0 = icmp eq i64 %use, 0
  %is_1 = icmp eq i64 %use, 1
  %is_2 = icmp eq i64 %use, 2
  %is_3 = icmp eq i64 %use, 3
  %now_0 = select i1 %is_0, i64 %further_0, i64 %end_0
  %now_1 = select i1 %is_1, i64 %further_1, i64 %end_1
  %now_2 = select i1 %is_2, i64 %further_2, i64 %end_2
  %now_3 = select i1 %is_3, i64 %further_3, i64 %end_3
  %after = add i64 %at, ${RANGE_BYTES}
  br label %next
shared:
  ret i1 false
apart:
  ret i1 true
}
