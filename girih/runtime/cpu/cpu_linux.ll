; What the pool (cpu_threads.ll) asks of Linux: to sleep on a word and to wake who sleeps, and CPUs for its threads.

declare i64 @syscall(i64, ...)
declare i32 @sched_getcpu()
declare i32 @sched_setaffinity(i32, i64, ptr)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)

; Before the first thread starts.
define internal void @prepare(ptr %pool) {
  ret void
}

; Sleep while a word has a value, at most for so many nanoseconds, less than a second; -1 is for ever.
define internal void @sleep(ptr %pool, ptr %word, i32 %value, i64 %nanoseconds) {
  %time = alloca [2 x i64]
  %nanoseconds_at = getelementptr i8, ptr %time, i64 8
  store i64 0, ptr %time
  store i64 %nanoseconds, ptr %nanoseconds_at
  %forever = icmp slt i64 %nanoseconds, 0
  %limit = select i1 %forever, ptr null, ptr %time
  %ignored = call i64 (i64, ...) @syscall(i64 ${FUTEX}, ptr %word, i64 128, i32 %value, ptr %limit, ptr null, i64 0)
  ret void
}

; Wake so many of the threads that sleep on a word, which has another value by now.
define internal void @wake(ptr %pool, ptr %word, i64 %count) {
  %ignored = call i64 (i64, ...) @syscall(i64 ${FUTEX}, ptr %word, i64 129, i64 %count, ptr null, ptr null, i64 0)
  ret void
}

; Bind a thread to a CPU; nothing for a CPU of -1 or beyond the mask.
define internal void @pin(i32 %thread, i32 %cpu) {
entry:
  %mask = alloca [128 x i8], align 8
  %known = icmp ult i32 %cpu, 1024
  br i1 %known, label %set, label %done
set:
  call void @llvm.memset.p0.i64(ptr %mask, i8 0, i64 128, i1 false)
  %byte = lshr i32 %cpu, 3
  %low = and i32 %cpu, 7
  %bit = trunc i32 %low to i8
  %held = shl i8 1, %bit
  %at = getelementptr i8, ptr %mask, i32 %byte
  store i8 %held, ptr %at
  %ignored = call i32 @sched_setaffinity(i32 %thread, i64 128, ptr %mask)
  br label %done
done:
  ret void
}

; A thread of the pool begins: it says who it is, and goes to its CPU.
define internal void @settle(ptr %slot) {
entry:
  %cpu_at = getelementptr i8, ptr %slot, i64 ${SLOT_CPU}
  %thread_at = getelementptr i8, ptr %slot, i64 ${SLOT_THREAD}
  %id = call i64 (i64, ...) @syscall(i64 ${GETTID})
  %thread = trunc i64 %id to i32
  store atomic i32 %thread, ptr %thread_at seq_cst, align 4
  br label %bind
; @make_way may give it another CPU meanwhile.
bind:
  %cpu = load atomic i32, ptr %cpu_at seq_cst, align 4
  call void @pin(i32 0, i32 %cpu)
  %wanted = load atomic i32, ptr %cpu_at seq_cst, align 4
  %bound = icmp eq i32 %cpu, %wanted
  br i1 %bound, label %done, label %bind
done:
  ret void
}

; A worker on the caller's CPU would wait for the caller: it moves to the CPU that is free.
define internal void @make_way(ptr %pool) {
entry:
  %last_at = getelementptr i8, ptr %pool, i64 ${CALLER_CPU}
  %free_at = getelementptr i8, ptr %pool, i64 ${FREE_CPU}
  %workers_at = getelementptr i8, ptr %pool, i64 ${WORKERS}
  %cpu = call i32 @sched_getcpu()
  %last = load i32, ptr %last_at
  %same = icmp eq i32 %cpu, %last
  br i1 %same, label %done, label %moved
moved:
  store i32 %cpu, ptr %last_at
  %free = load i32, ptr %free_at
  %none = icmp slt i32 %free, 0
  br i1 %none, label %done, label %search
search:
  %workers = load i64, ptr %workers_at
  br label %look
look:
  %number = phi i64 [ 0, %search ], [ %following, %other ]
  %more = icmp ult i64 %number, %workers
  br i1 %more, label %compare, label %done
compare:
  %offset = mul i64 %number, ${SLOT_BYTES}
  %from = add i64 %offset, ${SLOTS}
  %slot = getelementptr i8, ptr %pool, i64 %from
  %cpu_at = getelementptr i8, ptr %slot, i64 ${SLOT_CPU}
  %thread_at = getelementptr i8, ptr %slot, i64 ${SLOT_THREAD}
  %its = load atomic i32, ptr %cpu_at acquire, align 4
  %found = icmp eq i32 %its, %cpu
  br i1 %found, label %move, label %other
other:
  %following = add i64 %number, 1
  br label %look
move:
  store atomic i32 %free, ptr %cpu_at seq_cst, align 4
  store i32 %cpu, ptr %free_at
  %thread = load atomic i32, ptr %thread_at seq_cst, align 4
  %running = icmp ne i32 %thread, 0
  br i1 %running, label %pin, label %done
pin:
  call void @pin(i32 %thread, i32 %free)
  br label %done
done:
  ret void
}
