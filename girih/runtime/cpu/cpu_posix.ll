; What the pool (cpu_threads.ll) asks of macOS, by what every POSIX system has: threads sleep on a condition variable, and
; run where the system puts them.
;
; A word changes before @wake is called, without the mutex. A thread that is about to sleep looks at the word while it
; holds the mutex, so it either sees the change, or waits before @wake gets the mutex, and is woken.

declare i32 @clock_gettime(i32, ptr)
declare i32 @pthread_mutex_init(ptr, ptr)
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_init(ptr, ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_timedwait(ptr, ptr, ptr)
declare i32 @pthread_cond_broadcast(ptr)

; Before the first thread starts.
define internal void @prepare(ptr %pool) {
  %mutex = getelementptr i8, ptr %pool, i64 ${MUTEX}
  %condition = getelementptr i8, ptr %pool, i64 ${CONDITION}
  %ignored_mutex = call i32 @pthread_mutex_init(ptr %mutex, ptr null)
  %ignored_condition = call i32 @pthread_cond_init(ptr %condition, ptr null)
  ret void
}

; Sleep while a word has a value, at most for so many nanoseconds, less than a second; -1 is for ever.
define internal void @sleep(ptr %pool, ptr %word, i32 %value, i64 %nanoseconds) {
entry:
  %time = alloca [2 x i64]
  %mutex = getelementptr i8, ptr %pool, i64 ${MUTEX}
  %condition = getelementptr i8, ptr %pool, i64 ${CONDITION}
  %forever = icmp slt i64 %nanoseconds, 0
  br i1 %forever, label %begin, label %limit
; A condition variable waits until a time of the clock 0, CLOCK_REALTIME.
limit:
  %ok = call i32 @clock_gettime(i32 0, ptr %time)
  %rest_at = getelementptr i8, ptr %time, i64 8
  %seconds = load i64, ptr %time
  %rest = load i64, ptr %rest_at
  %sum = add i64 %rest, %nanoseconds
  %carries = icmp uge i64 %sum, 1000000000
  %carry = zext i1 %carries to i64
  %less = sub i64 %sum, 1000000000
  %until_rest = select i1 %carries, i64 %less, i64 %sum
  %until = add i64 %seconds, %carry
  store i64 %until, ptr %time
  store i64 %until_rest, ptr %rest_at
  br label %begin
begin:
  %locked = call i32 @pthread_mutex_lock(ptr %mutex)
  %now = load atomic i32, ptr %word seq_cst, align 4
  %same = icmp eq i32 %now, %value
  br i1 %same, label %wait, label %done
wait:
  br i1 %forever, label %wait_forever, label %wait_limited
wait_forever:
  %woken = call i32 @pthread_cond_wait(ptr %condition, ptr %mutex)
  br label %done
wait_limited:
  %ended = call i32 @pthread_cond_timedwait(ptr %condition, ptr %mutex, ptr %time)
  br label %done
done:
  %unlocked = call i32 @pthread_mutex_unlock(ptr %mutex)
  ret void
}

; Wake the threads that sleep on a word, which has another value by now. Those on another word look, and sleep again.
define internal void @wake(ptr %pool, ptr %word, i64 %count) {
  %mutex = getelementptr i8, ptr %pool, i64 ${MUTEX}
  %condition = getelementptr i8, ptr %pool, i64 ${CONDITION}
  %locked = call i32 @pthread_mutex_lock(ptr %mutex)
  %called = call i32 @pthread_cond_broadcast(ptr %condition)
  %unlocked = call i32 @pthread_mutex_unlock(ptr %mutex)
  ret void
}

; A thread of the pool begins.
define internal void @settle(ptr %slot) {
  ret void
}

; A worker on the caller's CPU would wait for the caller; where it runs is up to the system.
define internal void @make_way(ptr %pool) {
  ret void
}

; The same where CPUs change.
define internal void @follow_cpus(ptr %pool) {
  ret void
}

; Large pages are up to the system, too.
define internal void @with_large_pages(ptr %memory, i64 %bytes) {
  ret void
}
