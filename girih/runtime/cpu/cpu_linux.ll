; What the pool (cpu_threads.ll) asks of Linux: to sleep on a word and to wake who sleeps, CPUs for its threads, large pages.

declare i64 @syscall(i64, ...)
declare i32 @sched_getcpu()
declare i32 @sched_getaffinity(i32, i64, ptr)
declare i32 @sched_setaffinity(i32, i64, ptr)
declare i32 @madvise(ptr, i64, i32)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)

; Before the first thread starts.
define internal void @prepare(ptr %pool) {
  call void @place(ptr %pool)
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

; Ask for large pages for memory that begins with one; the system may have none.
define internal void @with_large_pages(ptr %memory, i64 %bytes) {
  %ignored = call i32 @madvise(ptr %memory, i64 %bytes, i32 ${HUGE_PAGES})
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

; The CPUs that the calling thread may run on are those of its launches; they are looked at again after 50 ms, because a
; control group, or whoever else may, changes them.
define internal void @follow_cpus(ptr %pool) {
entry:
  %mask = alloca [${MASK_BYTES} x i8], align 8
  %mask_at = getelementptr i8, ptr %pool, i64 ${MASK}
  %looked_at = getelementptr i8, ptr %pool, i64 ${LOOKED}
  %now = call i64 @now()
  %looked = load i64, ptr %looked_at
  %since = sub i64 %now, %looked
  %due = icmp uge i64 %since, ${CHECK_NANOSECONDS}
  br i1 %due, label %look, label %done
look:
  store i64 %now, ptr %looked_at
  call void @llvm.memset.p0.i64(ptr %mask, i8 0, i64 ${MASK_BYTES}, i1 false)
  %refused = call i32 @sched_getaffinity(i32 0, i64 ${MASK_BYTES}, ptr %mask)
  %known = icmp eq i32 %refused, 0
  br i1 %known, label %word, label %done
word:
  %at = phi i64 [ 0, %look ], [ %next, %equal ]
  %old_at = getelementptr i8, ptr %mask_at, i64 %at
  %new_at = getelementptr i8, ptr %mask, i64 %at
  %old = load i64, ptr %old_at
  %new = load i64, ptr %new_at
  %same = icmp eq i64 %old, %new
  br i1 %same, label %equal, label %changed
equal:
  %next = add i64 %at, 8
  %more = icmp ult i64 %next, ${MASK_BYTES}
  br i1 %more, label %word, label %done
changed:
  call void @place(ptr %pool)
  br label %done
done:
  ret void
}

; Give each thread a CPU of its own out of those that the calling thread may use, but nobody the one that it is on. Threads
; for which there is no CPU have a rest, unless the user said how many there are: then they run on any of these CPUs.
define internal void @place(ptr %pool) {
entry:
  %mask_at = getelementptr i8, ptr %pool, i64 ${MASK}
  %free_at = getelementptr i8, ptr %pool, i64 ${FREE_CPU}
  %caller_at = getelementptr i8, ptr %pool, i64 ${CALLER_CPU}
  %workers_at = getelementptr i8, ptr %pool, i64 ${WORKERS}
  %threads_at = getelementptr i8, ptr %pool, i64 ${THREADS}
  %asked_at = getelementptr i8, ptr %pool, i64 ${ASKED}
  %active_at = getelementptr i8, ptr %pool, i64 ${ACTIVE}
  %epoch_at = getelementptr i8, ptr %pool, i64 ${EPOCH}
  %generation_at = getelementptr i8, ptr %pool, i64 ${GENERATION}
  call void @llvm.memset.p0.i64(ptr %mask_at, i8 0, i64 ${MASK_BYTES}, i1 false)
  %refused = call i32 @sched_getaffinity(i32 0, i64 ${MASK_BYTES}, ptr %mask_at)
  %here = call i32 @sched_getcpu()
  store i32 %here, ptr %free_at
  store i32 %here, ptr %caller_at
  %threads = load i64, ptr %threads_at
  %others = sub i64 %threads, 1
  br label %look
look:
  %cpu = phi i32 [ -1, %entry ], [ %cpu_after, %given ]
  %number = phi i64 [ 0, %entry ], [ %following, %given ]
  %left = icmp ult i64 %number, %others
  br i1 %left, label %find, label %placed
find:
  %before = phi i32 [ %cpu, %look ], [ %candidate, %other ]
  %candidate = add i32 %before, 1
  %in_mask = icmp slt i32 %candidate, ${MASK_CPUS}
  br i1 %in_mask, label %test, label %give
test:
  %byte = lshr i32 %candidate, 3
  %low = and i32 %candidate, 7
  %bit = trunc i32 %low to i8
  %bits_at = getelementptr i8, ptr %mask_at, i32 %byte
  %bits = load i8, ptr %bits_at
  %shifted = lshr i8 %bits, %bit
  %set = trunc i8 %shifted to i1
  %mine = icmp eq i32 %candidate, %here
  %not_mine = xor i1 %mine, true
  %free = and i1 %set, %not_mine
  br i1 %free, label %give, label %other
other:
  br label %find
give:
  %chosen = phi i32 [ %candidate, %test ], [ -1, %find ]
  %cpu_after = phi i32 [ %candidate, %test ], [ ${MASK_CPUS}, %find ]
  %offset = mul i64 %number, ${SLOT_BYTES}
  %from = add i64 %offset, ${SLOTS}
  %slot = getelementptr i8, ptr %pool, i64 %from
  %cpu_at = getelementptr i8, ptr %slot, i64 ${SLOT_CPU}
  %thread_at = getelementptr i8, ptr %slot, i64 ${SLOT_THREAD}
  store atomic i32 %chosen, ptr %cpu_at seq_cst, align 4
  %thread = load atomic i32, ptr %thread_at seq_cst, align 4
  %running = icmp ne i32 %thread, 0
  br i1 %running, label %move, label %given
move:
  %bound = icmp sge i32 %chosen, 0
  br i1 %bound, label %bind, label %loosen
bind:
  call void @pin(i32 %thread, i32 %chosen)
  br label %given
loosen:
  %ignored = call i32 @sched_setaffinity(i32 %thread, i64 ${MASK_BYTES}, ptr %mask_at)
  br label %given
given:
  %following = add i64 %number, 1
  br label %look
placed:
  %asked = load i64, ptr %asked_at
  %said = icmp ne i64 %asked, 0
  ; A system with more CPUs than the mask has does not tell: threads run where it puts them.
  %untold = icmp ne i32 %refused, 0
  %fixed = or i1 %said, %untold
  br i1 %fixed, label %all, label %count
; Threads have CPUs in order: those without one are the last.
count:
  %having = phi i64 [ 0, %placed ], [ %one_more, %next ]
  %some = icmp ult i64 %having, %others
  br i1 %some, label %next, label %all
next:
  %its_offset = mul i64 %having, ${SLOT_BYTES}
  %its_from = add i64 %its_offset, ${SLOTS}
  %its_slot = getelementptr i8, ptr %pool, i64 %its_from
  %its_cpu_at = getelementptr i8, ptr %its_slot, i64 ${SLOT_CPU}
  %its_cpu = load atomic i32, ptr %its_cpu_at monotonic, align 4
  %has = icmp sge i32 %its_cpu, 0
  %one_more = add i64 %having, 1
  br i1 %has, label %count, label %all
all:
  %useful = phi i64 [ %others, %placed ], [ %having, %count ], [ %having, %next ]
  ; Not all may have started; -1, the largest number, where none has been started yet.
  %workers = load atomic i64, ptr %workers_at acquire, align 8
  %active = call i64 @llvm.umin.i64(i64 %useful, i64 %workers)
  store atomic i64 %active, ptr %active_at release, align 8
  %epoch = load i32, ptr %epoch_at
  %epoch_after = add i32 %epoch, 1
  store atomic i32 %epoch_after, ptr %epoch_at seq_cst, align 4
  call void @wake(ptr %pool, ptr %epoch_at, i64 2147483647)
  call void @wake(ptr %pool, ptr %generation_at, i64 2147483647)
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
