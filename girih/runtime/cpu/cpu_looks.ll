; How the arguments of a call look, as bytes: what decides how a function of arrays computes (girih/functions/plans.py).
;
; `girih_look(arguments, options, out, target)` is of CPython's METH_FASTCALL kind; the first member of `self`, bytes, is
; the description that girih/runtime/cpu/looks.py writes. It returns
;
;     bytes   equal for calls that look the same, and for no others: number types, writeability of `out`, sizes and
;             strides of arrays; of options their types and values
;     None    something is neither an array of NumPy, None, nor a plain bool, int, float or short str; or `out` may share
;             memory with an argument without being the first one: Python decides
;
; Objects are told apart by a first word: the element type of an array, which is never that small, or one of the T_ numbers.

@_Py_NoneStruct = external global i8
@_Py_FalseStruct = external global i8
@_Py_TrueStruct = external global i8
@PyLong_Type = external global i8
@PyFloat_Type = external global i8
@PyUnicode_Type = external global i8

declare ptr @PyBytes_AsString(ptr)
declare ptr @PyBytes_FromStringAndSize(ptr, i64)
declare ptr @PyTuple_GetItem(ptr, i64)
declare i64 @PyTuple_Size(ptr)
declare i64 @PyLong_AsLongLongAndOverflow(ptr, ptr)
declare double @PyFloat_AsDouble(ptr)
declare ptr @PyUnicode_AsUTF8AndSize(ptr, ptr)
declare void @PyErr_Clear()
declare void @Py_IncRef(ptr)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

define ptr @girih_look(ptr %self, ptr %given, i64 %count) {
entry:
  %words = alloca [${LOOK_WORDS} x i64]
  %right = icmp eq i64 %count, 4
  br i1 %right, label %begin, label %unknown
begin:
  %held = call ptr @PyTuple_GetItem(ptr %self, i64 0)
  %description = call ptr @PyBytes_AsString(ptr %held)
  %options_at = getelementptr ptr, ptr %given, i64 1
  %out_at = getelementptr ptr, ptr %given, i64 2
  %target_at = getelementptr ptr, ptr %given, i64 3
  %arguments = load ptr, ptr %given
  %options = load ptr, ptr %options_at
  %out = load ptr, ptr %out_at
  %target = load ptr, ptr %target_at
  %numbers = call i64 @PyTuple_Size(ptr %options)
  %arrays = call i64 @PyTuple_Size(ptr %arguments)
  %after_target = call i64 @look_at_option(ptr %target, ptr %words, i64 0)
  br label %next_option
next_option:
  %option_number = phi i64 [ 0, %begin ], [ %option_following, %option ]
  %option_place = phi i64 [ %after_target, %begin ], [ %after_option, %option ]
  %known_option = icmp sge i64 %option_place, 0
  br i1 %known_option, label %some_options, label %unknown
some_options:
  %more_options = icmp slt i64 %option_number, %numbers
  br i1 %more_options, label %option, label %result
option:
  %value = call ptr @PyTuple_GetItem(ptr %options, i64 %option_number)
  %after_option = call i64 @look_at_option(ptr %value, ptr %words, i64 %option_place)
  %option_following = add i64 %option_number, 1
  br label %next_option
result:
  %is_new = icmp eq ptr %out, @_Py_NoneStruct
  br i1 %is_new, label %new, label %given_out
new:
  %after_none = call i64 @look_at_option(ptr %out, ptr %words, i64 %option_place)
  br label %next
given_out:
  %after_out = call i64 @look_at_array(ptr %description, ptr %out, ptr %words, i64 %option_place)
  br label %next
next:
  %number = phi i64 [ 0, %new ], [ 0, %given_out ], [ %following, %looked ]
  %place = phi i64 [ %after_none, %new ], [ %after_out, %given_out ], [ %after, %looked ]
  %known = icmp sge i64 %place, 0
  br i1 %known, label %some, label %unknown
some:
  %more = icmp slt i64 %number, %arrays
  br i1 %more, label %argument, label %made
argument:
  %object = call ptr @PyTuple_GetItem(ptr %arguments, i64 %number)
  %is_none = icmp eq ptr %object, @_Py_NoneStruct
  br i1 %is_none, label %left_out, label %there
left_out:
  %after_left_out = call i64 @look_at_option(ptr %object, ptr %words, i64 %place)
  br label %looked
there:
  %is_out = icmp eq ptr %object, %out
  br i1 %is_out, label %in_place, label %other
in_place:
  %is_first = icmp eq i64 %number, 0
  br i1 %is_first, label %first, label %unknown
first:
  ; True is no array, so that it stands for nothing else here.
  %after_first = call i64 @look_at_option(ptr @_Py_TrueStruct, ptr %words, i64 %place)
  br label %looked
other:
  %after_array = call i64 @look_at_array(ptr %description, ptr %object, ptr %words, i64 %place)
  %is_array = icmp sge i64 %after_array, 0
  %compares = xor i1 %is_new, true
  %both = and i1 %is_array, %compares
  br i1 %both, label %compare, label %looked
compare:
  %apart = call i1 @look_apart(ptr %description, ptr %object, ptr %out)
  br i1 %apart, label %looked, label %unknown
looked:
  %after = phi i64 [ %after_left_out, %left_out ], [ %after_first, %first ], [ %after_array, %other ],
                   [ %after_array, %compare ]
  %following = add i64 %number, 1
  br label %next
made:
  %bytes = shl i64 %place, 3
  %look = call ptr @PyBytes_FromStringAndSize(ptr %words, i64 %bytes)
  ret ptr %look
unknown:
  call void @Py_IncRef(ptr @_Py_NoneStruct)
  ret ptr @_Py_NoneStruct
}

; The words of an option from a place on; the place behind them, or -1 for another kind of object.
define internal i64 @look_at_option(ptr %object, ptr %words, i64 %place) {
entry:
  %overflow = alloca i32
  %length_at = alloca i64
  %last = add i64 %place, ${LOOK_OPTION_WORDS}
  %fits = icmp sle i64 %last, ${LOOK_WORDS}
  br i1 %fits, label %begin, label %unknown
begin:
  %first = getelementptr i64, ptr %words, i64 %place
  %second = getelementptr i64, ptr %first, i64 1
  %one_word = add i64 %place, 1
  %two_words = add i64 %place, 2
  %is_none = icmp eq ptr %object, @_Py_NoneStruct
  br i1 %is_none, label %single, label %maybe_true
maybe_true:
  %is_true = icmp eq ptr %object, @_Py_TrueStruct
  br i1 %is_true, label %single, label %maybe_false
maybe_false:
  %is_false = icmp eq ptr %object, @_Py_FalseStruct
  br i1 %is_false, label %single, label %typed
single:
  %tag = phi i64 [ ${T_NONE}, %begin ], [ ${T_TRUE}, %maybe_true ], [ ${T_FALSE}, %maybe_false ]
  store i64 %tag, ptr %first
  ret i64 %one_word
typed:
  %type_at = getelementptr i8, ptr %object, i64 8
  %type = load ptr, ptr %type_at
  %is_int = icmp eq ptr %type, @PyLong_Type
  br i1 %is_int, label %int, label %maybe_float
int:
  %value = call i64 @PyLong_AsLongLongAndOverflow(ptr %object, ptr %overflow)
  %over = load i32, ptr %overflow
  %whole = icmp eq i32 %over, 0
  br i1 %whole, label %integer, label %unknown
integer:
  store i64 ${T_INT}, ptr %first
  store i64 %value, ptr %second
  ret i64 %two_words
maybe_float:
  %is_float = icmp eq ptr %type, @PyFloat_Type
  br i1 %is_float, label %float, label %maybe_text
float:
  %real = call double @PyFloat_AsDouble(ptr %object)
  store i64 ${T_FLOAT}, ptr %first
  store double %real, ptr %second
  ret i64 %two_words
maybe_text:
  %is_text = icmp eq ptr %type, @PyUnicode_Type
  br i1 %is_text, label %text, label %unknown
text:
  %letters = call ptr @PyUnicode_AsUTF8AndSize(ptr %object, ptr %length_at)
  %is_whole = icmp ne ptr %letters, null
  br i1 %is_whole, label %measure, label %no_letters
no_letters:
  call void @PyErr_Clear()
  br label %unknown
measure:
  %length = load i64, ptr %length_at
  %is_short = icmp sle i64 %length, ${LOOK_TEXT_BYTES}
  br i1 %is_short, label %copy, label %unknown
copy:
  %start = getelementptr i64, ptr %first, i64 2
  %up = add i64 %length, 7
  %used = lshr i64 %up, 3
  %behind = add i64 %two_words, %used
  %is_empty = icmp eq i64 %used, 0
  br i1 %is_empty, label %copied, label %clear
clear:
  %last_used = sub i64 %used, 1
  %last_at = getelementptr i64, ptr %start, i64 %last_used
  store i64 0, ptr %last_at
  br label %copied
copied:
  store i64 ${T_TEXT}, ptr %first
  store i64 %length, ptr %second
  call void @llvm.memcpy.p0.p0.i64(ptr %start, ptr %letters, i64 %length, i1 false)
  ret i64 %behind
unknown:
  ret i64 -1
}

; The words of an array from a place on: element type, axes and writeability, sizes and strides in bytes; the place behind
; them, or -1 for what is no array of NumPy, has too many axes, or comes behind -1.
define internal i64 @look_at_array(ptr %description, ptr %object, ptr %words, i64 %place) {
entry:
  %array_type_at = getelementptr i8, ptr %description, i64 ${L_ARRAY}
  %array_type = load ptr, ptr %array_type_at
  %type_at = getelementptr i8, ptr %object, i64 8
  %type = load ptr, ptr %type_at
  %is_array = icmp eq ptr %type, %array_type
  %follows = icmp sge i64 %place, 0
  %fine = and i1 %is_array, %follows
  br i1 %fine, label %array, label %unknown
array:
  %axes_at = getelementptr i8, ptr %object, i64 ${A_ORDER}
  %axes = load i32, ptr %axes_at
  %count = zext i32 %axes to i64
  %twice = shl i64 %count, 1
  %own = add i64 %twice, 2
  %behind = add i64 %place, %own
  %fits = icmp sle i64 %behind, ${LOOK_WORDS}
  br i1 %fits, label %write, label %unknown
write:
  %sizes_at = getelementptr i8, ptr %object, i64 ${A_SIZES}
  %strides_at = getelementptr i8, ptr %object, i64 ${A_STRIDES}
  %dtype_at = getelementptr i8, ptr %object, i64 ${A_DTYPE}
  %flags_at = getelementptr i8, ptr %object, i64 ${A_FLAGS}
  %sizes = load ptr, ptr %sizes_at
  %strides = load ptr, ptr %strides_at
  %dtype = load ptr, ptr %dtype_at
  %flags = load i32, ptr %flags_at
  %element_at = getelementptr i8, ptr %dtype, i64 ${E_WORD}
  %element = load i64, ptr %element_at
  %writeable = and i32 %flags, ${WRITEABLE}
  %writeable_wide = zext i32 %writeable to i64
  %high = shl i64 %writeable_wide, 32
  %form = or i64 %high, %count
  %first = getelementptr i64, ptr %words, i64 %place
  %second = getelementptr i64, ptr %first, i64 1
  %sizes_out = getelementptr i64, ptr %first, i64 2
  %strides_out = getelementptr i64, ptr %sizes_out, i64 %count
  store i64 %element, ptr %first
  store i64 %form, ptr %second
  br label %next
next:
  %axis = phi i64 [ 0, %write ], [ %following, %one ]
  %more = icmp ult i64 %axis, %count
  br i1 %more, label %one, label %done
one:
  %size_at = getelementptr i64, ptr %sizes, i64 %axis
  %stride_at = getelementptr i64, ptr %strides, i64 %axis
  %size_out = getelementptr i64, ptr %sizes_out, i64 %axis
  %stride_out = getelementptr i64, ptr %strides_out, i64 %axis
  %size = load i64, ptr %size_at
  %stride = load i64, ptr %stride_at
  store i64 %size, ptr %size_out
  store i64 %stride, ptr %stride_out
  %following = add i64 %axis, 1
  br label %next
done:
  ret i64 %behind
unknown:
  ret i64 -1
}

; The first address of an array, and the one behind the last.
define internal { i64, i64 } @look_extent(ptr %description, ptr %object) {
entry:
  %data_at = getelementptr i8, ptr %object, i64 ${A_DATA}
  %axes_at = getelementptr i8, ptr %object, i64 ${A_ORDER}
  %sizes_at = getelementptr i8, ptr %object, i64 ${A_SIZES}
  %strides_at = getelementptr i8, ptr %object, i64 ${A_STRIDES}
  %dtype_at = getelementptr i8, ptr %object, i64 ${A_DTYPE}
  %item_offset_at = getelementptr i8, ptr %description, i64 ${L_ITEM_SIZE}
  %data = load i64, ptr %data_at
  %axes = load i32, ptr %axes_at
  %sizes = load ptr, ptr %sizes_at
  %strides = load ptr, ptr %strides_at
  %dtype = load ptr, ptr %dtype_at
  %item_offset = load i64, ptr %item_offset_at
  %item_at = getelementptr i8, ptr %dtype, i64 %item_offset
  %item = load i32, ptr %item_at
  %item_wide = zext i32 %item to i64
  %behind_first = add i64 %data, %item_wide
  %count = zext i32 %axes to i64
  br label %next
next:
  %axis = phi i64 [ 0, %entry ], [ %following, %one ]
  %low = phi i64 [ %data, %entry ], [ %lower, %one ]
  %high = phi i64 [ %behind_first, %entry ], [ %higher, %one ]
  %more = icmp ult i64 %axis, %count
  br i1 %more, label %one, label %done
one:
  %size_at = getelementptr i64, ptr %sizes, i64 %axis
  %stride_at = getelementptr i64, ptr %strides, i64 %axis
  %size = load i64, ptr %size_at
  %stride = load i64, ptr %stride_at
  %is_empty = icmp eq i64 %size, 0
  %less = sub i64 %size, 1
  %steps = select i1 %is_empty, i64 0, i64 %less
  %reach = mul i64 %steps, %stride
  %is_back = icmp slt i64 %reach, 0
  %down = select i1 %is_back, i64 %reach, i64 0
  %up = select i1 %is_back, i64 0, i64 %reach
  %lower = add i64 %low, %down
  %higher = add i64 %high, %up
  %following = add i64 %axis, 1
  br label %next
done:
  %begun = insertvalue { i64, i64 } undef, i64 %low, 0
  %extent = insertvalue { i64, i64 } %begun, i64 %high, 1
  ret { i64, i64 } %extent
}

; Whether the memory of two arrays lies apart.
define internal i1 @look_apart(ptr %description, ptr %a, ptr %b) {
  %extent_a = call { i64, i64 } @look_extent(ptr %description, ptr %a)
  %extent_b = call { i64, i64 } @look_extent(ptr %description, ptr %b)
  %low_a = extractvalue { i64, i64 } %extent_a, 0
  %high_a = extractvalue { i64, i64 } %extent_a, 1
  %low_b = extractvalue { i64, i64 } %extent_b, 0
  %high_b = extractvalue { i64, i64 } %extent_b, 1
  %before = icmp ule i64 %high_a, %low_b
  %behind = icmp ule i64 %high_b, %low_a
  %apart = or i1 %before, %behind
  ret i1 %apart
}
