; A launch on a GPU from Python, where it is like an earlier one: the same kinds, shapes and strides of arrays, on the same
; device and stream. What Python found out then is a plan; this compares the arguments with plans, puts addresses and numbers
; into a copy of the slots, and asks the driver. Arrays tell about themselves by DLPack's table of functions (dlpack.h 1.3,
; `DLPackExchangeAPI`), which torch's tensors have, or by a capsule that their method `__dlpack__` makes.
;
; Functions are of CPython's METH_FASTCALL kind; `self` is a tuple whose first member, bytes, is the description: the
; address of the table of plans. girih/runtime/cuda/quick.py writes both, and says what the results mean.

@_Py_NoneStruct = external global i8
@_Py_NotImplementedStruct = external global i8
@_Py_FalseStruct = external global i8
@_Py_TrueStruct = external global i8
@PyLong_Type = external global i8
@PyFloat_Type = external global i8
@PyComplex_Type = external global i8

declare ptr @PyBytes_AsString(ptr)
declare ptr @PyTuple_GetItem(ptr, i64)
declare i64 @PyLong_AsLongLong(ptr)
declare i64 @PyLong_AsLongLongAndOverflow(ptr, ptr)
declare double @PyFloat_AsDouble(ptr)
declare ptr @PyObject_GetAttr(ptr, ptr)
declare ptr @PyObject_CallMethodObjArgs(ptr, ptr, ...)
declare ptr @PyObject_CallNoArgs(ptr)
declare ptr @PyObject_Vectorcall(ptr, ptr, i64, ptr)
declare ptr @PyObject_VectorcallMethod(ptr, ptr, i64, ptr)
declare ptr @PyCapsule_GetPointer(ptr, ptr)
declare i32 @PyObject_RichCompareBool(ptr, ptr, i32)
declare i64 @PyObject_Size(ptr)
declare ptr @PySequence_GetItem(ptr, i64)
declare double @PyComplex_RealAsDouble(ptr)
declare double @PyComplex_ImagAsDouble(ptr)
declare void @PyErr_Clear()
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare void @Py_IncRef(ptr)
declare void @Py_DecRef(ptr)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare float @llvm.fabs.f32(float)

; (grid, the arguments of the launch...): None where it was asked for, NotImplemented where no plan suits.
define ptr @girih_cuda_call(ptr %self, ptr %given, i64 %count) {
  %grid = load ptr, ptr %given
  %arguments = getelementptr ptr, ptr %given, i64 1
  %less = sub i64 %count, 1
  %done = call i1 @launched(ptr %self, ptr %grid, ptr %arguments, i64 %less)
  %result = select i1 %done, ptr @_Py_NoneStruct, ptr @_Py_NotImplementedStruct
  call void @Py_IncRef(ptr %result)
  ret ptr %result
}

; (the arguments of the launch..., keywords too): what a kernel on a grid is when it is called. The third member of `self` is
; the grid, or None for the kernel's own, and the fourth what is called in place of this where no plan suits.
define ptr @girih_cuda_kernel(ptr %self, ptr %given, i64 %count, ptr %words) {
entry:
  %plain = icmp eq ptr %words, null
  br i1 %plain, label %try, label %otherwise
try:
  %asked = call ptr @PyTuple_GetItem(ptr %self, i64 2)
  %own = icmp eq ptr %asked, @_Py_NoneStruct
  %grid = select i1 %own, ptr null, ptr %asked
  %done = call i1 @launched(ptr %self, ptr %grid, ptr %given, i64 %count)
  br i1 %done, label %none, label %otherwise
none:
  call void @Py_IncRef(ptr @_Py_NoneStruct)
  ret ptr @_Py_NoneStruct
otherwise:
  %call = call ptr @PyTuple_GetItem(ptr %self, i64 3)
  %result = call ptr @PyObject_Vectorcall(ptr %call, ptr %given, i64 %count, ptr %words)
  ret ptr %result
}

; Whether some plan suits a launch and the driver took it; no exception is left. Without a grid it is the plan's own.
define internal i1 @launched(ptr %self, ptr %grid, ptr %given, i64 %count) {
entry:
  %held = call ptr @PyTuple_GetItem(ptr %self, i64 0)
  %description = call ptr @PyBytes_AsString(ptr %held)
  %words = getelementptr i8, ptr %description, i64 ${D_FIRST}
  %table = load ptr, ptr %words
  %plans = load i64, ptr %table
  br label %next
next:
  %number = phi i64 [ 0, %entry ], [ %following, %look ]
  %more = icmp ult i64 %number, %plans
  br i1 %more, label %look, label %unknown
look:
  %following = add i64 %number, 1
  %plan_at = getelementptr ptr, ptr %table, i64 %following
  %plan = load ptr, ptr %plan_at
  %done = call i1 @launch(ptr %plan, ptr %grid, ptr %given, i64 %count)
  br i1 %done, label %good, label %next
good:
  ret i1 true
unknown:
  ret i1 false
}

; Whether a plan suits and the driver took the launch; no exception is left.
define internal i1 @launch(ptr %plan, ptr %grid, ptr %given, i64 %count) {
entry:
  %context_out = alloca ptr
  %parameters_at = getelementptr i8, ptr %plan, i64 ${P_PARAMETERS}
  %parameters = load i64, ptr %parameters_at
  %right = icmp eq i64 %parameters, %count
  br i1 %right, label %ask_context, label %bad
bad:
  ret i1 false
ask_context:
  %context_at = getelementptr i8, ptr %plan, i64 ${P_CONTEXT}
  %current_at = getelementptr i8, ptr %plan, i64 ${P_GET_CURRENT}
  %context = load ptr, ptr %context_at
  %get_current = load ptr, ptr %current_at
  %asked = call i32 %get_current(ptr %context_out)
  %answered = icmp eq i32 %asked, 0
  %here = load ptr, ptr %context_out
  %same_context = icmp eq ptr %here, %context
  %in_context = and i1 %answered, %same_context
  br i1 %in_context, label %ask_stream, label %bad
ask_stream:
  %quiet = call i1 @quiet_stream(ptr %plan)
  br i1 %quiet, label %begin, label %bad
begin:
  %slot_bytes_at = getelementptr i8, ptr %plan, i64 ${P_SLOT_BYTES}
  %template_at = getelementptr i8, ptr %plan, i64 ${P_SLOTS}
  %slot_bytes = load i64, ptr %slot_bytes_at
  %template = load ptr, ptr %template_at
  %slots = alloca i8, i64 %slot_bytes, align 128
  call void @llvm.memcpy.p0.p0.i64(ptr %slots, ptr %template, i64 %slot_bytes, i1 false)
  %own = icmp eq ptr %grid, null
  br i1 %own, label %own_grid, label %its_grid
own_grid:
  %known = call i1 @own_grid(ptr %plan, ptr %slots)
  br i1 %known, label %bind_first, label %bad
its_grid:
  %has_grid = call i1 @grid(ptr %grid, ptr %slots)
  br i1 %has_grid, label %bind_first, label %bad
bind_first:
  %most_at = getelementptr i8, ptr %plan, i64 ${P_RANGES}
  %most = load i64, ptr %most_at
  %range_bytes = mul i64 %most, ${RANGE_BYTES}
  %ranges = alloca i8, i64 %range_bytes, align 16
  %first = getelementptr i8, ptr %plan, i64 ${P_BYTES}
  br label %next
next:
  %number = phi i64 [ 0, %bind_first ], [ %following, %bound ]
  %parameter = phi ptr [ %first, %bind_first ], [ %after, %bound ]
  %range = phi ptr [ %ranges, %bind_first ], [ %range_after, %bound ]
  %more = icmp ult i64 %number, %parameters
  br i1 %more, label %bind, label %compare
bind:
  %following = add i64 %number, 1
  %object_at = getelementptr ptr, ptr %given, i64 %number
  %object = load ptr, ptr %object_at
  %range_after = call ptr @bind(ptr %parameter, ptr %object, ptr %slots, ptr %range)
  %fits = icmp ne ptr %range_after, null
  %bytes_at = getelementptr i8, ptr %parameter, i64 ${Q_BYTES}
  %bytes = load i64, ptr %bytes_at
  %after = getelementptr i8, ptr %parameter, i64 %bytes
  br i1 %fits, label %bound, label %bad
bound:
  br label %next
compare:
  %among = call i1 @apart(ptr %ranges, ptr %range)
  br i1 %among, label %compare_staying, label %bad
compare_staying:
  %staying_at = getelementptr i8, ptr %plan, i64 ${P_STAYING}
  %staying_bytes_at = getelementptr i8, ptr %plan, i64 ${P_STAYING_BYTES}
  %staying = load ptr, ptr %staying_at
  %staying_bytes = load i64, ptr %staying_bytes_at
  %staying_end = getelementptr i8, ptr %staying, i64 %staying_bytes
  %apart = call i1 @apart_from(ptr %ranges, ptr %range, ptr %staying, ptr %staying_end)
  br i1 %apart, label %place_maps, label %bad
place_maps:
  %placed = call i1 @place_maps(ptr %plan, ptr %slots)
  br i1 %placed, label %ask, label %bad
ask:
  %done = call i1 @ask_driver(ptr %plan, ptr %slots)
  ret i1 %done
}

; Whether the current stream is the plan's, and no kernel has found anything there.
define internal i1 @quiet_stream(ptr %plan) {
entry:
  %stream_out = alloca ptr
  %device_at = getelementptr i8, ptr %plan, i64 ${P_DEVICE}
  %function_at = getelementptr i8, ptr %plan, i64 ${P_STREAM_OF}
  %stream_at = getelementptr i8, ptr %plan, i64 ${P_STREAM}
  %watch_at = getelementptr i8, ptr %plan, i64 ${P_WATCH}
  %device = load i32, ptr %device_at
  %function = load ptr, ptr %function_at
  %stream = load ptr, ptr %stream_at
  %watch = load ptr, ptr %watch_at
  %has_table = icmp ne ptr %function, null
  br i1 %has_table, label %by_table, label %without_table
without_table:
  %now_at = getelementptr i8, ptr %plan, i64 ${P_STREAM_NOW}
  %now = load ptr, ptr %now_at
  %has_function = icmp ne ptr %now, null
  br i1 %has_function, label %by_function, label %by_python
by_function:
  %told_now = call i64 %now()
  store i64 %told_now, ptr %stream_out
  br label %compare
by_table:
  %result = call i32 %function(i32 ${CUDA}, i32 %device, ptr %stream_out)
  %told = icmp eq i32 %result, 0
  br i1 %told, label %compare, label %failed
by_python:
  %asker_at = getelementptr i8, ptr %plan, i64 ${P_ASK_STREAM}
  %asker = load ptr, ptr %asker_at
  %answer = call ptr @PyObject_CallNoArgs(ptr %asker)
  %answered = icmp ne ptr %answer, null
  br i1 %answered, label %number_of_stream, label %failed
number_of_stream:
  %handle = call i64 @PyLong_AsLongLong(ptr %answer)
  store i64 %handle, ptr %stream_out
  call void @Py_DecRef(ptr %answer)
  br label %compare
failed:
  call void @PyErr_Clear()
  ret i1 false
compare:
  %current = load ptr, ptr %stream_out
  %same = icmp eq ptr %current, %stream
  br i1 %same, label %count, label %bad
bad:
  ret i1 false
count:
  %records = load i64, ptr %watch
  %known = icmp sge i64 %records, 0
  br i1 %known, label %next, label %bad
next:
  %number = phi i64 [ 0, %count ], [ %following, %look ]
  %more = icmp slt i64 %number, %records
  br i1 %more, label %look, label %good
look:
  %following = add i64 %number, 1
  %record_at = getelementptr ptr, ptr %watch, i64 %following
  %record = load ptr, ptr %record_at
  %state = load atomic i32, ptr %record acquire, align 4
  %empty = icmp eq i32 %state, 0
  br i1 %empty, label %next, label %bad
good:
  ret i1 true
}

; The grid that the kernel has for arrays of the plan's shapes into the first slots, if it depends on nothing else.
define internal i1 @own_grid(ptr %plan, ptr %slots) {
  %own = getelementptr i8, ptr %plan, i64 ${P_OWN_GRID}
  call void @llvm.memcpy.p0.p0.i64(ptr %slots, ptr %own, i64 24, i1 false)
  %x = load i64, ptr %slots
  %known = icmp ne i64 %x, 0
  ret i1 %known
}

; Three sizes into the first slots, if CUDA has such a grid.
define internal i1 @grid(ptr %grid, ptr %slots) {
  %object_x = call ptr @PyTuple_GetItem(ptr %grid, i64 0)
  %object_y = call ptr @PyTuple_GetItem(ptr %grid, i64 1)
  %object_z = call ptr @PyTuple_GetItem(ptr %grid, i64 2)
  %x = call i64 @PyLong_AsLongLong(ptr %object_x)
  %y = call i64 @PyLong_AsLongLong(ptr %object_y)
  %z = call i64 @PyLong_AsLongLong(ptr %object_z)
  %y_at = getelementptr i64, ptr %slots, i64 1
  %z_at = getelementptr i64, ptr %slots, i64 2
  store i64 %x, ptr %slots
  store i64 %y, ptr %y_at
  store i64 %z, ptr %z_at
  %less_x = sub i64 %x, 1
  %less_y = sub i64 %y, 1
  %less_z = sub i64 %z, 1
  %has_x = icmp ult i64 %less_x, ${MOST_X}
  %has_y = icmp ult i64 %less_y, ${MOST_YZ}
  %has_z = icmp ult i64 %less_z, ${MOST_YZ}
  %two = and i1 %has_x, %has_y
  %all = and i1 %two, %has_z
  ret i1 %all
}

; One argument into its slots, and the range of its addresses behind those of the arguments before; the place behind that,
; or null where the argument does not suit.
define internal ptr @bind(ptr %parameter, ptr %object, ptr %slots, ptr %range) {
entry:
  %overflow = alloca i32
  %slot_at = getelementptr i8, ptr %parameter, i64 ${Q_SLOT}
  %least_at = getelementptr i8, ptr %parameter, i64 ${Q_LEAST}
  %most_at = getelementptr i8, ptr %parameter, i64 ${Q_MOST}
  %type_at = getelementptr i8, ptr %object, i64 8
  %kind = load i64, ptr %parameter
  %offset = load i64, ptr %slot_at
  %slot = getelementptr i8, ptr %slots, i64 %offset
  %type = load ptr, ptr %type_at
  switch i64 %kind, label %bad [ i64 ${K_BOOL}, label %bool
                                 i64 ${K_INTEGER}, label %integer
                                 i64 ${K_NARROW}, label %narrow
                                 i64 ${K_F32}, label %f32
                                 i64 ${K_F64}, label %f64
                                 i64 ${K_C32}, label %c32
                                 i64 ${K_C64}, label %c64
                                 i64 ${K_NULL}, label %nothing
                                 i64 ${K_ARRAY}, label %array
                                 i64 ${K_EXPORTED}, label %exported
                                 i64 ${K_LIST}, label %list
                                 i64 ${K_GROUP}, label %group ]
bad:
  ret ptr null
good:
  ret ptr %range
bool:
  %true = icmp eq ptr %object, @_Py_TrueStruct
  %false = icmp eq ptr %object, @_Py_FalseStruct
  %truth = zext i1 %true to i64
  store i64 %truth, ptr %slot
  %boolean = or i1 %true, %false
  br i1 %boolean, label %good, label %bad
integer:
  %is_int = icmp eq ptr %type, @PyLong_Type
  br i1 %is_int, label %whole, label %bad
whole:
  %value = call i64 @PyLong_AsLongLongAndOverflow(ptr %object, ptr %overflow)
  store i64 %value, ptr %slot
  %over = load i32, ptr %overflow
  %least = load i64, ptr %least_at
  %most = load i64, ptr %most_at
  %held = icmp eq i32 %over, 0
  %above = icmp sge i64 %value, %least
  %below = icmp sle i64 %value, %most
  %between = and i1 %above, %below
  %fits = and i1 %held, %between
  br i1 %fits, label %good, label %bad
narrow:
  %is_narrow = icmp eq ptr %type, @PyFloat_Type
  br i1 %is_narrow, label %rounded, label %bad
rounded:
  %exact = call double @PyFloat_AsDouble(ptr %object)
  store double %exact, ptr %slot
  %narrow_fits = call i1 @girih_round(ptr %least_at, ptr %slot)
  br i1 %narrow_fits, label %good, label %bad
f32:
  %is_single = icmp eq ptr %type, @PyFloat_Type
  br i1 %is_single, label %single, label %bad
single:
  %wide = call double @PyFloat_AsDouble(ptr %object)
  %finite = call i1 @single(double %wide, ptr %slot)
  br i1 %finite, label %good, label %bad
f64:
  %is_double = icmp eq ptr %type, @PyFloat_Type
  br i1 %is_double, label %double, label %bad
double:
  %number = call double @PyFloat_AsDouble(ptr %object)
  store double %number, ptr %slot
  br label %good
c32:
  %is_short_pair = icmp eq ptr %type, @PyComplex_Type
  br i1 %is_short_pair, label %short_pair, label %bad
short_pair:
  %second_at = getelementptr i64, ptr %slot, i64 1
  %short_real = call double @PyComplex_RealAsDouble(ptr %object)
  %short_imaginary = call double @PyComplex_ImagAsDouble(ptr %object)
  %finite_real = call i1 @single(double %short_real, ptr %slot)
  %finite_imaginary = call i1 @single(double %short_imaginary, ptr %second_at)
  %finite_pair = and i1 %finite_real, %finite_imaginary
  br i1 %finite_pair, label %good, label %bad
c64:
  %is_pair = icmp eq ptr %type, @PyComplex_Type
  br i1 %is_pair, label %pair, label %bad
pair:
  %imaginary_at = getelementptr i64, ptr %slot, i64 1
  %real = call double @PyComplex_RealAsDouble(ptr %object)
  %imaginary = call double @PyComplex_ImagAsDouble(ptr %object)
  store double %real, ptr %slot
  store double %imaginary, ptr %imaginary_at
  br label %good
nothing:
  %is_none = icmp eq ptr %object, @_Py_NoneStruct
  br i1 %is_none, label %good, label %bad
array:
  %behind = call ptr @bind_array(ptr %parameter, ptr %object, ptr %type, ptr %slot, ptr %range)
  ret ptr %behind
exported:
  %behind_exported = call ptr @bind_exported(ptr %parameter, ptr %object, ptr %type, ptr %slot, ptr %range)
  ret ptr %behind_exported
list:
  %behind_list = call ptr @bind_list(ptr %parameter, ptr %object, ptr %type, ptr %range)
  ret ptr %behind_list
group:
  %cell_at = getelementptr i8, ptr %parameter, i64 ${G_CELL}
  %cell = load ptr, ptr %cell_at
  %known = load ptr, ptr %cell
  %same_group = icmp eq ptr %object, %known
  br i1 %same_group, label %good, label %bad
}

; A number rounded to f32 into a slot, whether it is finite.
define internal i1 @single(double %wide, ptr %slot) {
  %short = fptrunc double %wide to float
  %size = call float @llvm.fabs.f32(float %short)
  %bits = bitcast float %short to i32
  %extended = zext i32 %bits to i64
  store i64 %extended, ptr %slot
  %finite = fcmp olt float %size, 0x7FF0000000000000
  ret i1 %finite
}

; The arrays of a list or tuple, like those of the plan and at the same addresses: the table in the slots is theirs, and their
; ranges are among those that stay.
define internal ptr @bind_list(ptr %parameter, ptr %object, ptr %type, ptr %range) {
entry:
  %scratch = alloca i64
  %here = alloca [3 x i64]
  %wanted_type_at = getelementptr i8, ptr %parameter, i64 ${L_TYPE}
  %count_at = getelementptr i8, ptr %parameter, i64 ${L_COUNT}
  %first = getelementptr i8, ptr %parameter, i64 ${L_FIRST}
  %wanted_type = load ptr, ptr %wanted_type_at
  %wanted_count = load i64, ptr %count_at
  %same_type = icmp eq ptr %type, %wanted_type
  br i1 %same_type, label %size, label %bad
bad:
  ret ptr null
size:
  %count = call i64 @PyObject_Size(ptr %object)
  %same_count = icmp eq i64 %count, %wanted_count
  br i1 %same_count, label %next, label %bad
next:
  %number = phi i64 [ 0, %size ], [ %following, %fine ]
  %member = phi ptr [ %first, %size ], [ %member_after, %fine ]
  %more = icmp ult i64 %number, %wanted_count
  br i1 %more, label %take, label %good
good:
  ret ptr %range
take:
  %following = add i64 %number, 1
  %array = call ptr @PySequence_GetItem(ptr %object, i64 %number)
  %taken = icmp ne ptr %array, null
  br i1 %taken, label %bind, label %failed
failed:
  call void @PyErr_Clear()
  ret ptr null
bind:
  %inner = getelementptr i64, ptr %member, i64 1
  %bytes_at = getelementptr i8, ptr %inner, i64 ${Q_BYTES}
  %wanted = load i64, ptr %member
  %bytes = load i64, ptr %bytes_at
  %member_after = getelementptr i8, ptr %inner, i64 %bytes
  store i64 0, ptr %scratch
  %behind = call ptr @bind(ptr %inner, ptr %array, ptr %scratch, ptr %here)
  call void @Py_DecRef(ptr %array)
  %address = load i64, ptr %scratch
  %bound = icmp ne ptr %behind, null
  %same = icmp eq i64 %address, %wanted
  %suits = and i1 %bound, %same
  br i1 %suits, label %fine, label %bad
fine:
  br label %next
}

; An array that exports DLPack: one that is known again, or a capsule for the plan's stream, of which only the tensor's
; description is read.
define internal ptr @bind_exported(ptr %parameter, ptr %object, ptr %type, ptr %slot, ptr %range) {
entry:
  %tell_here = getelementptr i8, ptr %parameter, i64 ${A_TELL}
  %told = load ptr, ptr %tell_here
  %array_at = getelementptr i8, ptr %told, i64 ${E_ARRAY}
  %array = load ptr, ptr %array_at
  %same = icmp eq ptr %object, %array
  br i1 %same, label %again, label %export
again:
  %is_there = call i1 @is_there(ptr %told, ptr %object)
  br i1 %is_there, label %place, label %export
place:
  %begin_at = getelementptr i8, ptr %told, i64 ${E_BEGIN}
  %begin = load i64, ptr %begin_at
  %behind = call ptr @put(ptr %parameter, i64 %begin, ptr %slot, ptr %range)
  ret ptr %behind
export:
  %exported = call ptr @bind_capsule(ptr %parameter, ptr %object, ptr %type, ptr %slot, ptr %range)
  ret ptr %exported
}

; Whether an array that is known answers as it did: nothing of it has changed.
define internal i1 @is_there(ptr %tell, ptr %object) {
entry:
  %values = alloca ptr
  %asked_at = getelementptr i8, ptr %tell, i64 ${E_ASKED}
  %called_at = getelementptr i8, ptr %tell, i64 ${E_CALLED}
  %answer_at = getelementptr i8, ptr %tell, i64 ${E_ANSWER}
  %asked = load ptr, ptr %asked_at
  %called = load i64, ptr %called_at
  %answer = load ptr, ptr %answer_at
  store ptr %object, ptr %values
  %is_method = icmp ne i64 %called, 0
  br i1 %is_method, label %method, label %attribute
method:
  %returned = call ptr @PyObject_VectorcallMethod(ptr %asked, ptr %values, i64 1, ptr null)
  br label %judge
attribute:
  %got = call ptr @PyObject_GetAttr(ptr %object, ptr %asked)
  br label %judge
judge:
  %found = phi ptr [ %returned, %method ], [ %got, %attribute ]
  %answered = icmp ne ptr %found, null
  br i1 %answered, label %compare, label %failed
failed:
  call void @PyErr_Clear()
  ret i1 false
compare:
  ; 2 is Py_EQ.
  %equal = call i32 @PyObject_RichCompareBool(ptr %found, ptr %answer, i32 2)
  call void @Py_DecRef(ptr %found)
  %decided = icmp sge i32 %equal, 0
  br i1 %decided, label %tell_it, label %failed
tell_it:
  %same = icmp eq i32 %equal, 1
  ret i1 %same
}

; A capsule for the plan's stream, made by the method or the function of the plan.
define internal ptr @bind_capsule(ptr %parameter, ptr %object, ptr %type, ptr %slot, ptr %range) {
entry:
  %values = alloca [3 x ptr]
  %wanted_type_at = getelementptr i8, ptr %parameter, i64 ${A_TYPE}
  %tell_at = getelementptr i8, ptr %parameter, i64 ${A_TELL}
  %wanted_type = load ptr, ptr %wanted_type_at
  %tell = load ptr, ptr %tell_at
  %same_type = icmp eq ptr %type, %wanted_type
  br i1 %same_type, label %ask, label %bad
bad:
  ret ptr null
ask:
  %stream_at = getelementptr i8, ptr %tell, i64 ${E_STREAM}
  %version_at = getelementptr i8, ptr %tell, i64 ${E_VERSION}
  %words_at = getelementptr i8, ptr %tell, i64 ${E_WORDS}
  %capsule_name_at = getelementptr i8, ptr %tell, i64 ${E_CAPSULE}
  %method = load ptr, ptr %tell
  %stream = load ptr, ptr %stream_at
  %version = load ptr, ptr %version_at
  %words = load ptr, ptr %words_at
  %capsule_name = load ptr, ptr %capsule_name_at
  %second = getelementptr ptr, ptr %values, i64 1
  %third = getelementptr ptr, ptr %values, i64 2
  store ptr %object, ptr %values
  store ptr %stream, ptr %second
  store ptr %version, ptr %third
  %function_at = getelementptr i8, ptr %tell, i64 ${E_FUNCTION}
  %function = load ptr, ptr %function_at
  %by_function = icmp ne ptr %function, null
  br i1 %by_function, label %ask_function, label %ask_method
ask_function:
  %from_function = call ptr @PyObject_Vectorcall(ptr %function, ptr %values, i64 1, ptr %words)
  br label %asked
ask_method:
  %from_method = call ptr @PyObject_VectorcallMethod(ptr %method, ptr %values, i64 1, ptr %words)
  br label %asked
asked:
  %capsule = phi ptr [ %from_function, %ask_function ], [ %from_method, %ask_method ]
  %made = icmp ne ptr %capsule, null
  br i1 %made, label %open, label %failed
failed:
  call void @PyErr_Clear()
  ret ptr null
open:
  %held = call ptr @PyCapsule_GetPointer(ptr %capsule, ptr %capsule_name)
  %known = icmp ne ptr %held, null
  br i1 %known, label %look, label %other
other:
  call void @PyErr_Clear()
  br label %release
look:
  %offset_at = getelementptr i8, ptr %tell, i64 ${E_TENSOR}
  %flags_at = getelementptr i8, ptr %tell, i64 ${E_FLAGS}
  %offset = load i64, ptr %offset_at
  %flags_offset = load i64, ptr %flags_at
  %tensor = getelementptr i8, ptr %held, i64 %offset
  %has_flags = icmp ne i64 %flags_offset, 0
  br i1 %has_flags, label %flags, label %compare
flags:
  %written_at = getelementptr i8, ptr %parameter, i64 ${A_WRITTEN}
  %place_of_flags = getelementptr i8, ptr %held, i64 %flags_offset
  %written = load i64, ptr %written_at
  %set = load i64, ptr %place_of_flags
  %conflict = and i64 %written, %set
  %may = icmp eq i64 %conflict, 0
  br i1 %may, label %compare, label %release
compare:
  %suits = call ptr @bind_told(ptr %parameter, ptr %tensor, ptr %slot, ptr %range)
  br label %release
release:
  %behind = phi ptr [ null, %other ], [ null, %flags ], [ %suits, %compare ]
  call void @Py_DecRef(ptr %capsule)
  ret ptr %behind
}

; An array of the plan's type whose type has DLPack's table of functions.
define internal ptr @bind_array(ptr %parameter, ptr %object, ptr %type, ptr %slot, ptr %range) {
entry:
  %tensor = alloca [48 x i8], align 8
  %wanted_type_at = getelementptr i8, ptr %parameter, i64 ${A_TYPE}
  %tell_at = getelementptr i8, ptr %parameter, i64 ${A_TELL}
  %wanted_type = load ptr, ptr %wanted_type_at
  %tell = load ptr, ptr %tell_at
  %same_type = icmp eq ptr %type, %wanted_type
  br i1 %same_type, label %ask, label %bad
bad:
  ret ptr null
ask:
  %plain = call i1 @plain(ptr %parameter, ptr %object)
  br i1 %plain, label %told, label %bad
told:
  %result = call i32 %tell(ptr %object, ptr %tensor)
  %fine = icmp eq i32 %result, 0
  br i1 %fine, label %compare, label %failed
failed:
  call void @PyErr_Clear()
  ret ptr null
compare:
  %behind = call ptr @bind_told(ptr %parameter, ptr %tensor, ptr %slot, ptr %range)
  ret ptr %behind
}

; An array by its description, of the plan's shape, strides and device: its address into the slot, the range of its
; addresses.
define internal ptr @bind_told(ptr %parameter, ptr %tensor, ptr %slot, ptr %range) {
entry:
  ; DLTensor: data, device (two i32), number of modes (i32), element type (i32), shape, strides, offset in bytes.
  %device_at = getelementptr i8, ptr %tensor, i64 8
  %kind_at = getelementptr i8, ptr %tensor, i64 16
  %shape_at = getelementptr i8, ptr %tensor, i64 24
  %strides_at = getelementptr i8, ptr %tensor, i64 32
  %place_at = getelementptr i8, ptr %parameter, i64 ${A_DEVICE}
  %element_at = getelementptr i8, ptr %parameter, i64 ${A_ELEMENT}
  %offset_at = getelementptr i8, ptr %tensor, i64 40
  %data = load i64, ptr %tensor
  %device = load i64, ptr %device_at
  %kind = load i64, ptr %kind_at
  %shape = load ptr, ptr %shape_at
  %strides = load ptr, ptr %strides_at
  %offset = load i64, ptr %offset_at
  %wanted_device = load i64, ptr %place_at
  %wanted_kind = load i64, ptr %element_at
  %same_device = icmp eq i64 %device, %wanted_device
  %same_kind = icmp eq i64 %kind, %wanted_kind
  %strided_at = getelementptr i8, ptr %parameter, i64 ${A_STRIDED}
  %wanted_strided = load i64, ptr %strided_at
  %has_strides = icmp ne ptr %strides, null
  %strided = zext i1 %has_strides to i64
  %same_way = icmp eq i64 %strided, %wanted_strided
  %steps = select i1 %has_strides, ptr %strides, ptr %shape
  %alike = and i1 %same_device, %same_kind
  %whole = and i1 %alike, %same_way
  br i1 %whole, label %modes, label %bad
bad:
  ret ptr null
modes:
  %count_at = getelementptr i8, ptr %parameter, i64 ${A_MODES}
  %first = getelementptr i8, ptr %parameter, i64 ${A_FIRST}
  %count = load i64, ptr %count_at
  br label %next
next:
  %number = phi i64 [ 0, %modes ], [ %following, %equal ]
  %more = icmp ult i64 %number, %count
  br i1 %more, label %mode, label %address
mode:
  %following = add i64 %number, 1
  %twice = mul i64 %number, 2
  %wanted_size_at = getelementptr i64, ptr %first, i64 %twice
  %wanted_stride_at = getelementptr i64, ptr %wanted_size_at, i64 1
  %size_at = getelementptr i64, ptr %shape, i64 %number
  %stride_at = getelementptr i64, ptr %steps, i64 %number
  %wanted_size = load i64, ptr %wanted_size_at
  %wanted_stride = load i64, ptr %wanted_stride_at
  %size = load i64, ptr %size_at
  %stride = load i64, ptr %stride_at
  %same_size = icmp eq i64 %size, %wanted_size
  %same_stride = icmp eq i64 %stride, %wanted_stride
  %any_stride = icmp slt i64 %wanted_stride, 0
  %stride_fits = or i1 %same_stride, %any_stride
  %mode_fits = and i1 %same_size, %stride_fits
  br i1 %mode_fits, label %equal, label %bad
equal:
  br label %next
address:
  %mask_at = getelementptr i8, ptr %parameter, i64 ${A_ALIGNMENT}
  %mask = load i64, ptr %mask_at
  %begin = add i64 %data, %offset
  %rest = and i64 %begin, %mask
  %aligned = icmp eq i64 %rest, 0
  %there = icmp ne i64 %data, 0
  %sound = and i1 %aligned, %there
  br i1 %sound, label %store, label %bad
store:
  %behind = call ptr @put(ptr %parameter, i64 %begin, ptr %slot, ptr %range)
  ret ptr %behind
}

; The address of an array into its slot, the range of its addresses; the place behind that.
define internal ptr @put(ptr %parameter, i64 %begin, ptr %slot, ptr %range) {
  %extent_at = getelementptr i8, ptr %parameter, i64 ${A_EXTENT}
  %written_at = getelementptr i8, ptr %parameter, i64 ${A_WRITTEN}
  %extent = load i64, ptr %extent_at
  %written = load i64, ptr %written_at
  %end = add i64 %begin, %extent
  %end_at = getelementptr i64, ptr %range, i64 1
  %use_at = getelementptr i64, ptr %range, i64 2
  %after = getelementptr i64, ptr %range, i64 3
  store i64 %begin, ptr %slot
  store i64 %begin, ptr %range
  store i64 %end, ptr %end_at
  store i64 %written, ptr %use_at
  ret ptr %after
}

; Whether a tensor asks for no gradient, and its elements are as they lie: what DLPack's table does not tell.
define internal i1 @plain(ptr %parameter, ptr %object) {
entry:
  %gradient_at = getelementptr i8, ptr %parameter, i64 ${A_GRADIENT}
  %turned_at = getelementptr i8, ptr %parameter, i64 ${A_TURNED}
  %getter_at = getelementptr i8, ptr %parameter, i64 ${A_GETTER}
  %closure_at = getelementptr i8, ptr %parameter, i64 ${A_CLOSURE}
  %gradient = load ptr, ptr %gradient_at
  %method = load ptr, ptr %turned_at
  %getter = load ptr, ptr %getter_at
  %closure = load ptr, ptr %closure_at
  %unasked = icmp eq ptr %gradient, null
  br i1 %unasked, label %good, label %ask
good:
  ret i1 true
ask:
  %in_c = icmp ne ptr %getter, null
  br i1 %in_c, label %get, label %look_up
get:
  %got = call ptr %getter(ptr %object, ptr %closure)
  br label %judge
look_up:
  %found = call ptr @PyObject_GetAttr(ptr %object, ptr %gradient)
  br label %judge
judge:
  %needed = phi ptr [ %got, %get ], [ %found, %look_up ]
  %free = call i1 @is_false(ptr %needed)
  br i1 %free, label %more, label %bad
more:
  %possible = icmp ne ptr %method, null
  br i1 %possible, label %turn, label %good
turn:
  %turned = call ptr (ptr, ptr, ...) @PyObject_CallMethodObjArgs(ptr %object, ptr %method, ptr null)
  %straight = call i1 @is_false(ptr %turned)
  ret i1 %straight
bad:
  ret i1 false
}

; Whether a new reference is to False; it is given back, and an error is cleared.
define internal i1 @is_false(ptr %object) {
entry:
  %failed = icmp eq ptr %object, null
  br i1 %failed, label %clear, label %compare
clear:
  call void @PyErr_Clear()
  ret i1 false
compare:
  %false = icmp eq ptr %object, @_Py_FalseStruct
  call void @Py_DecRef(ptr %object)
  ret i1 %false
}

; Whether no array shares addresses with one that is written.
define internal i1 @apart(ptr %ranges, ptr %behind) {
entry:
  br label %outer
outer:
  %one = phi ptr [ %ranges, %entry ], [ %one_after, %look ]
  %more = icmp ult ptr %one, %behind
  br i1 %more, label %look, label %good
good:
  ret i1 true
look:
  %one_after = getelementptr i64, ptr %one, i64 3
  %fine = call i1 @apart_from(ptr %one, ptr %one_after, ptr %one_after, ptr %behind)
  br i1 %fine, label %outer, label %bad
bad:
  ret i1 false
}

; The same for arrays of two lists, one of each.
define internal i1 @apart_from(ptr %ranges, ptr %behind, ptr %others, ptr %others_end) {
entry:
  br label %outer
outer:
  %one = phi ptr [ %ranges, %entry ], [ %one_after, %done ]
  %more = icmp ult ptr %one, %behind
  br i1 %more, label %look, label %good
good:
  ret i1 true
look:
  %one_after = getelementptr i64, ptr %one, i64 3
  %one_end_at = getelementptr i64, ptr %one, i64 1
  %one_use_at = getelementptr i64, ptr %one, i64 2
  %begin = load i64, ptr %one
  %end = load i64, ptr %one_end_at
  %use = load i64, ptr %one_use_at
  br label %inner
inner:
  %other = phi ptr [ %others, %look ], [ %other_after, %fine ]
  %left = icmp ult ptr %other, %others_end
  br i1 %left, label %compare, label %done
done:
  br label %outer
compare:
  %other_after = getelementptr i64, ptr %other, i64 3
  %other_end_at = getelementptr i64, ptr %other, i64 1
  %other_use_at = getelementptr i64, ptr %other, i64 2
  %other_begin = load i64, ptr %other
  %other_end = load i64, ptr %other_end_at
  %other_use = load i64, ptr %other_use_at
  %before = icmp ult i64 %begin, %other_end
  %after = icmp ult i64 %other_begin, %end
  %meet = and i1 %before, %after
  %either = or i64 %use, %other_use
  %writes = icmp ne i64 %either, 0
  %conflict = and i1 %meet, %writes
  br i1 %conflict, label %bad, label %fine
fine:
  br label %inner
bad:
  ret i1 false
}

; The maps that the plan has encoded, for the addresses that are in the slots now.
define internal i1 @place_maps(ptr %plan, ptr %slots) {
entry:
  %count_at = getelementptr i8, ptr %plan, i64 ${P_MAPS}
  %list_at = getelementptr i8, ptr %plan, i64 ${P_MAP_LIST}
  %replace_at = getelementptr i8, ptr %plan, i64 ${P_REPLACE}
  %count = load i64, ptr %count_at
  %list = load ptr, ptr %list_at
  %replace = load ptr, ptr %replace_at
  br label %next
next:
  %number = phi i64 [ 0, %entry ], [ %following, %one ]
  %words = phi ptr [ %list, %entry ], [ %words_after, %one ]
  %more = icmp ult i64 %number, %count
  br i1 %more, label %one, label %good
good:
  ret i1 true
one:
  %following = add i64 %number, 1
  %slot_at = getelementptr i64, ptr %words, i64 1
  %begin_at = getelementptr i64, ptr %words, i64 2
  %words_after = getelementptr i64, ptr %words, i64 3
  %map_offset = load i64, ptr %words
  %slot_offset = load i64, ptr %slot_at
  %begin = load i64, ptr %begin_at
  %map = getelementptr i8, ptr %slots, i64 %map_offset
  %slot = getelementptr i8, ptr %slots, i64 %slot_offset
  %array = load i64, ptr %slot
  %address = add i64 %array, %begin
  %result = call i32 %replace(ptr %map, i64 %address)
  %fine = icmp eq i32 %result, 0
  br i1 %fine, label %next, label %bad
bad:
  ret i1 false
}

; The CTAs of a launch along x, y and z (PtxKernel.ctas): packed work-groups along x, or, where there is a number of them
; at most, a row of CTAs for all work-groups, no more than that; whether CUDA has such a grid.
define internal i1 @ctas(ptr %plan, ptr %slots, ptr %out) {
entry:
  %most_at = getelementptr i8, ptr %plan, i64 ${P_MOST_CTAS}
  %packed_at = getelementptr i8, ptr %plan, i64 ${P_PACKED}
  %y_at = getelementptr i64, ptr %slots, i64 1
  %z_at = getelementptr i64, ptr %slots, i64 2
  %out_y = getelementptr i64, ptr %out, i64 1
  %out_z = getelementptr i64, ptr %out, i64 2
  %most = load i64, ptr %most_at
  %packed = load i64, ptr %packed_at
  %x = load i64, ptr %slots
  %y = load i64, ptr %y_at
  %z = load i64, ptr %z_at
  %in_a_row = icmp ne i64 %most, 0
  br i1 %in_a_row, label %row, label %as_they_are
as_they_are:
  %past = add i64 %x, %packed
  %last = sub i64 %past, 1
  %wide = udiv i64 %last, %packed
  store i64 %wide, ptr %out
  store i64 %y, ptr %out_y
  store i64 %z, ptr %out_z
  ret i1 true
row:
  %parts_at = getelementptr i8, ptr %plan, i64 ${P_PARTS}
  %parts = load i64, ptr %parts_at
  %plane = mul i64 %x, %y
  %groups = mul i64 %plane, %z
  %all = mul i64 %groups, %parts
  %few = icmp ult i64 %all, %most
  %count = select i1 %few, i64 %all, i64 %most
  store i64 %count, ptr %out
  store i64 1, ptr %out_y
  store i64 1, ptr %out_z
  %most_all_at = getelementptr i8, ptr %plan, i64 ${P_MOST_ALL}
  %most_all = load i64, ptr %most_all_at
  %counted = icmp ule i64 %all, %most_all
  ret i1 %counted
}

; cuLaunchKernel with the slots, and with the addresses in them that are parameters of their own.
define internal i1 @ask_driver(ptr %plan, ptr %slots) {
entry:
  %count_at = getelementptr i8, ptr %plan, i64 ${P_POINTERS}
  %list_at = getelementptr i8, ptr %plan, i64 ${P_POINTER_LIST}
  %function_at = getelementptr i8, ptr %plan, i64 ${P_FUNCTION}
  %threads_at = getelementptr i8, ptr %plan, i64 ${P_THREADS}
  %shared_at = getelementptr i8, ptr %plan, i64 ${P_SHARED}
  %stream_at = getelementptr i8, ptr %plan, i64 ${P_STREAM}
  %launch_at = getelementptr i8, ptr %plan, i64 ${P_LAUNCH}
  %count = load i64, ptr %count_at
  %list = load ptr, ptr %list_at
  %function = load ptr, ptr %function_at
  %threads = load i32, ptr %threads_at
  %shared = load i32, ptr %shared_at
  %stream = load ptr, ptr %stream_at
  %launch = load ptr, ptr %launch_at
  %all = add i64 %count, 1
  %values = alloca ptr, i64 %all, align 16
  store ptr %slots, ptr %values
  br label %next
next:
  %number = phi i64 [ 0, %entry ], [ %following, %one ]
  %more = icmp ult i64 %number, %count
  br i1 %more, label %one, label %ready
one:
  %following = add i64 %number, 1
  %offset_at = getelementptr i64, ptr %list, i64 %number
  %value_at = getelementptr ptr, ptr %values, i64 %following
  %offset = load i64, ptr %offset_at
  %value = getelementptr i8, ptr %slots, i64 %offset
  store ptr %value, ptr %value_at
  br label %next
ready:
  %ctas = alloca [3 x i64]
  %y_at = getelementptr i64, ptr %ctas, i64 1
  %z_at = getelementptr i64, ptr %ctas, i64 2
  %has_grid = call i1 @ctas(ptr %plan, ptr %slots, ptr %ctas)
  br i1 %has_grid, label %ask_capture, label %bad
bad:
  ret i1 false
ask_capture:
  %capturing_at = getelementptr i8, ptr %plan, i64 ${P_IS_CAPTURING}
  %capturing = load ptr, ptr %capturing_at
  %must_not = icmp ne ptr %capturing, null
  br i1 %must_not, label %look_at_stream, label %start
look_at_stream:
  %status_out = alloca i32
  %told = call i32 %capturing(ptr %stream, ptr %status_out)
  %status = load i32, ptr %status_out
  %either = or i32 %told, %status
  %free = icmp eq i32 %either, 0
  br i1 %free, label %start, label %bad
start:
  %x = load i32, ptr %ctas
  %y = load i32, ptr %y_at
  %z = load i32, ptr %z_at
  %state = call ptr @PyEval_SaveThread()
  %result = call i32 %launch(ptr %function, i32 %x, i32 %y, i32 %z, i32 %threads, i32 1, i32 1, i32 %shared,
                             ptr %stream, ptr %values, ptr null)
  call void @PyEval_RestoreThread(ptr %state)
  %fine = icmp eq i32 %result, 0
  ret i1 %fine
}
