; Launches: a kernel is executed on the calling thread, or with the pool of threads (cpu_threads.ll).
;
; `check` is asked at most every 50 ms, between work-groups and by long loops in them, whether to go on; a result other
; than 0 ends the launch.
; What it runs may fork, and go on in the child too: there the pool has been cleared, and FORKS counts one more.
; Names in braces are offsets and numbers from girih/runtime/cpu/pool.py. All code here runs without Python's lock.

declare i32 @clock_gettime(i32, ptr)
declare i32 @posix_memalign(ptr, i64, i64)
declare void @free(ptr)
declare i64 @pthread_self()
${PAUSE_DECLARATION}

define internal i64 @now() {
  %time = alloca [2 x i64]
  %ok = call i32 @clock_gettime(i32 ${CLOCK}, ptr %time)
  %nanoseconds_at = getelementptr i8, ptr %time, i64 8
  %seconds = load i64, ptr %time
  %nanoseconds = load i64, ptr %nanoseconds_at
  %scaled = mul i64 %seconds, 1000000000
  %sum = add i64 %scaled, %nanoseconds
  ret i64 %sum
}

; How a launch ended: ${FINISHED}, ${NO_MEMORY}, ${INTERRUPTED}, ${FORKED} in a child whose other threads are gone, or
; ${NOT_STARTED} where the pool must be started first.
define internal i32 @launch(ptr %description, ptr %arguments, i64 %groups, ptr %check, ptr %context) {
entry:
  %own = alloca ptr
  %pace = alloca [${PACE_WORDS} x i64], align 8
  %kernel_at = getelementptr i8, ptr %description, i64 ${D_KERNEL}
  %pool_at = getelementptr i8, ptr %description, i64 ${D_POOL}
  %bytes_at = getelementptr i8, ptr %description, i64 ${D_WORKSPACE_BYTES}
  %serial_at = getelementptr i8, ptr %description, i64 ${D_SERIAL_GROUPS}
  %untimed_at = getelementptr i8, ptr %description, i64 ${D_UNTIMED_GROUPS}
  %learned_at = getelementptr i8, ptr %description, i64 ${D_LEARNED}
  %wall_at = getelementptr i8, ptr %description, i64 ${D_WALL}
  %turns_at = getelementptr i8, ptr %description, i64 ${D_TURNS}
  %kernel = load ptr, ptr %kernel_at
  %pool = load ptr, ptr %pool_at
  %workspace_bytes = load i64, ptr %bytes_at
  %serial_groups = load i64, ptr %serial_at
  %untimed_groups = load i64, ptr %untimed_at
  store ptr null, ptr %own
  %small = icmp ule i64 %groups, %serial_groups
  %workers_at = getelementptr i8, ptr %pool, i64 ${WORKERS}
  %workers = load atomic i64, ptr %workers_at acquire, align 8
  %asleep = icmp slt i64 %workers, 0
  %large = xor i1 %small, true
  %unready = and i1 %asleep, %large
  br i1 %unready, label %not_started, label %lock
not_started:
  ret i32 ${NOT_STARTED}
lock:
  %busy_at = getelementptr i8, ptr %pool, i64 ${BUSY}
  %exchange = cmpxchg ptr %busy_at, i32 0, i32 1 acquire monotonic
  %mine = extractvalue { i32, i1 } %exchange, 1
  br i1 %mine, label %grow, label %beside
; Another thread holds the pool: this launch runs on its own thread with a workspace of its own.
beside:
  %needs = icmp ne i64 %workspace_bytes, 0
  br i1 %needs, label %beside_allocate, label %beside_run
beside_allocate:
  %refused = call i32 @posix_memalign(ptr %own, i64 ${WORKSPACE_ALIGNMENT}, i64 %workspace_bytes)
  %lacks = icmp ne i32 %refused, 0
  br i1 %lacks, label %no_memory, label %beside_run
no_memory:
  ret i32 ${NO_MEMORY}
beside_run:
  %own_workspace = load ptr, ptr %own
  %beside_result = call i32 @serial(ptr %kernel, ptr %arguments, ptr %own_workspace, i64 0, i64 %groups,
                                    i64 %untimed_groups, ptr %check, ptr %context)
  call void @free(ptr %own_workspace)
  ret i32 %beside_result
grow:
  %room = call i1 @grow(ptr %pool, i64 %workspace_bytes)
  br i1 %room, label %choose, label %release_poor
release_poor:
  store atomic i32 0, ptr %busy_at release, align 4
  ret i32 ${NO_MEMORY}
choose:
  %forks_at = getelementptr i8, ptr %pool, i64 ${FORKS}
  %forks = load i64, ptr %forks_at
  %alone = icmp sle i64 %workers, 0
  %serially = or i1 %alone, %small
  %workspace_at = getelementptr i8, ptr %pool, i64 ${WORKSPACE}
  %workspace = load ptr, ptr %workspace_at
  br i1 %serially, label %serial, label %weigh
; What earlier launches took says whether this one is worth the other threads: `learned` for a work-group on one thread,
; `wall` for one of all threads.
weigh:
  %learned = load atomic i64, ptr %learned_at monotonic, align 8
  %wall = load atomic i64, ptr %wall_at monotonic, align 8
  %worth = call i64 @worth(ptr %pool)
  %limit = shl i64 %worth, ${LEARNED_SHIFT}
  %doubtful = call i64 @llvm.umax.i64(i64 %limit, i64 ${DOUBTFUL_TIME})
  %product = call { i64, i1 } @llvm.umul.with.overflow.i64(i64 %learned, i64 %groups)
  %estimate = extractvalue { i64, i1 } %product, 0
  %endless = extractvalue { i64, i1 } %product, 1
  %much = icmp uge i64 %estimate, %doubtful
  %unknown = icmp eq i64 %learned, 0
  %worthy = or i1 %much, %endless
  %threads = or i1 %worthy, %unknown
  br i1 %threads, label %parallel, label %compare
compare:
  %little = icmp ult i64 %estimate, %limit
  br i1 %little, label %try, label %measured
; All threads together were slower than one, as where all write to the same cache line. That fades, so as to be measured
; again.
measured:
  %slower = icmp ult i64 %learned, %wall
  br i1 %slower, label %fade, label %wait
fade:
  %some_of_wall = lshr i64 %wall, 6
  %faded = sub i64 %wall, %some_of_wall
  store atomic i64 %faded, ptr %wall_at monotonic, align 8
  br label %try
; Now and then one thread is given a try, because what it takes alone is less than what it takes beside others.
wait:
  %turns = load atomic i64, ptr %turns_at monotonic, align 8
  %next_turn = add i64 %turns, 1
  store atomic i64 %next_turn, ptr %turns_at monotonic, align 8
  %young = icmp ult i64 %turns, ${TRIAL_TURNS}
  %of_power = and i64 %turns, %next_turn
  %of_many = and i64 %turns, ${TRIAL_MASK}
  %when = select i1 %young, i64 %of_power, i64 %of_many
  %due = icmp eq i64 %when, 0
  br i1 %due, label %try, label %parallel
; It begins on this thread; what is left when twice the time has passed goes to all threads after all.
try:
  %size = call i64 @llvm.umax.i64(i64 %untimed_groups, i64 1)
  call void @begin(ptr %pace, i64 %size, ptr null)
  call void @let_ask(ptr %arguments, ptr %pace, ptr %check, ptr %context)
  %ended_at = getelementptr i64, ptr %pace, i64 1
  %until_at = getelementptr i64, ptr %pace, i64 9
  %begun = load i64, ptr %ended_at
  %wall_scaled = mul i64 %wall, %groups
  %together = lshr i64 %wall_scaled, ${LEARNED_SHIFT}
  %bounded = call i64 @llvm.umin.i64(i64 %together, i64 ${DOUBTFUL_NANOSECONDS})
  %patience = call i64 @llvm.umax.i64(i64 %worth, i64 %bounded)
  %twice = shl i64 %patience, 1
  %until = add i64 %begun, %twice
  store i64 %until, ptr %until_at
  %try_result = call i32 @pieces(ptr %kernel, ptr %arguments, ptr %workspace, i64 0, i64 %groups, ptr %pace,
                                 ptr %check, ptr %context)
  %reached_at = getelementptr i64, ptr %pace, i64 10
  %reached = load i64, ptr %reached_at
  %ended = load i64, ptr %ended_at
  %tried = sub i64 %ended, %begun
  ; More counts at once, less little by little.
  %quarter = lshr i64 %learned, 2
  %least = sub i64 %learned, %quarter
  call void @learn(ptr %learned_at, i64 %tried, i64 %reached, i64 %least, i64 -1)
  %rest = icmp ult i64 %reached, %groups
  br i1 %rest, label %see_forks, label %release
see_forks:
  %forks_tried = load i64, ptr %forks_at
  %forked = icmp ne i64 %forks_tried, %forks
  br i1 %forked, label %serial, label %parallel
serial:
  %serial_from = phi i64 [ 0, %choose ], [ %reached, %see_forks ]
  %serial_result = call i32 @serial(ptr %kernel, ptr %arguments, ptr %workspace, i64 %serial_from, i64 %groups,
                                    i64 %untimed_groups, ptr %check, ptr %context)
  br label %release
parallel:
  %from = phi i64 [ 0, %weigh ], [ 0, %wait ], [ %reached, %see_forks ]
  %parallel_result = call i32 @parallel(ptr %description, ptr %arguments, i64 %from, i64 %groups, ptr %check,
                                        ptr %context)
  br label %release
release:
  %result = phi i32 [ %serial_result, %serial ], [ %try_result, %try ], [ %parallel_result, %parallel ]
  ; In a forked child the pool is nobody's, or another's by now.
  %forks_now = load i64, ptr %forks_at
  %same = icmp eq i64 %forks, %forks_now
  br i1 %same, label %give_back, label %leave
give_back:
  store atomic i32 0, ptr %busy_at release, align 4
  br label %leave
leave:
  ret i32 %result
}

; Keep what a work-group takes, out of the time of some of them, within bounds; 0 is kept where nothing is known.
define internal void @learn(ptr %kept_at, i64 %time, i64 %groups, i64 %least, i64 %most) {
entry:
  %some = icmp ne i64 %groups, 0
  br i1 %some, label %measure, label %done
measure:
  %scaled = shl i64 %time, ${LEARNED_SHIFT}
  %each = udiv i64 %scaled, %groups
  %measured = call i64 @llvm.umax.i64(i64 %each, i64 1)
  %kept = load atomic i64, ptr %kept_at monotonic, align 8
  %new = icmp eq i64 %kept, 0
  %low = call i64 @llvm.umax.i64(i64 %measured, i64 %least)
  %bounded = call i64 @llvm.umin.i64(i64 %low, i64 %most)
  %value = select i1 %new, i64 %measured, i64 %bounded
  store atomic i64 %value, ptr %kept_at monotonic, align 8
  br label %done
done:
  ret void
}

; Workspaces of so many bytes for all threads of the pool; false where there is no memory.
define internal i1 @grow(ptr %pool, i64 %bytes) {
entry:
  %stride_at = getelementptr i8, ptr %pool, i64 ${STRIDE}
  %stride = load i64, ptr %stride_at
  %enough = icmp ule i64 %bytes, %stride
  br i1 %enough, label %good, label %allocate
good:
  ret i1 true
allocate:
  %workspace_at = getelementptr i8, ptr %pool, i64 ${WORKSPACE}
  %old = load ptr, ptr %workspace_at
  call void @free(ptr %old)
  store ptr null, ptr %workspace_at
  store i64 0, ptr %stride_at
  ; A little more than whole pages, so that the same offset in two workspaces falls into different cache sets.
  %up = add i64 %bytes, 4095
  %pages = and i64 %up, -4096
  %wanted = add i64 %pages, ${WORKSPACE_ALIGNMENT}
  %threads_at = getelementptr i8, ptr %pool, i64 ${THREADS}
  %threads = load i64, ptr %threads_at
  %pair = call { i64, i1 } @llvm.umul.with.overflow.i64(i64 %wanted, i64 %threads)
  %all = extractvalue { i64, i1 } %pair, 0
  %huge = extractvalue { i64, i1 } %pair, 1
  br i1 %huge, label %bad, label %ask
ask:
  %large = icmp uge i64 %all, ${LARGE_PAGE}
  %alignment = select i1 %large, i64 ${LARGE_PAGE}, i64 ${WORKSPACE_ALIGNMENT}
  %refused = call i32 @posix_memalign(ptr %workspace_at, i64 %alignment, i64 %all)
  %lacks = icmp ne i32 %refused, 0
  br i1 %lacks, label %bad, label %keep
keep:
  %memory = load ptr, ptr %workspace_at
  br i1 %large, label %enlarge, label %tell
enlarge:
  call void @with_large_pages(ptr %memory, i64 %all)
  br label %tell
tell:
  store i64 %wanted, ptr %stride_at
  ret i1 true
bad:
  store ptr null, ptr %workspace_at
  ret i1 false
}
declare { i64, i1 } @llvm.umul.with.overflow.i64(i64, i64)

; Work-groups on the calling thread: few at once, more in pieces.
define internal i32 @serial(ptr %kernel, ptr %arguments, ptr %workspace, i64 %from, i64 %groups, i64 %untimed_groups,
                            ptr %check, ptr %context) {
entry:
  %pace = alloca [${PACE_WORDS} x i64], align 8
  %left = sub i64 %groups, %from
  %few = icmp ule i64 %left, %untimed_groups
  br i1 %few, label %whole, label %begin
whole:
  call void %kernel(ptr %arguments, ptr %workspace, i64 %from, i64 %groups)
  ret i32 ${FINISHED}
begin:
  ; What runs on this thread alone goes on in a forked child as if nothing had happened.
  %size = call i64 @llvm.umax.i64(i64 %untimed_groups, i64 1)
  call void @begin(ptr %pace, i64 %size, ptr null)
  call void @let_ask(ptr %arguments, ptr %pace, ptr %check, ptr %context)
  %result = call i32 @pieces(ptr %kernel, ptr %arguments, ptr %workspace, i64 %from, i64 %groups, ptr %pace,
                             ptr %check, ptr %context)
  ret i32 %result
}

; A pace holds: the work-groups of the next piece, when the piece before ended, when `check` was last asked, where the
; count of forks is (null: it does not matter), and what it was; then the answer that a loop got, and for loops the calling
; thread, `check` and its context; then the time at which pieces are to stop, and the work-group that they stopped at.
define internal void @begin(ptr %pace, i64 %size, ptr %forks_at) {
entry:
  %ended_at = getelementptr i64, ptr %pace, i64 1
  %asked_at = getelementptr i64, ptr %pace, i64 2
  %where_at = getelementptr i64, ptr %pace, i64 3
  %count_at = getelementptr i64, ptr %pace, i64 4
  %now = call i64 @now()
  store i64 %size, ptr %pace
  store i64 %now, ptr %ended_at
  store i64 %now, ptr %asked_at
  store ptr %forks_at, ptr %where_at
  %answer_at = getelementptr i64, ptr %pace, i64 5
  store i64 ${FINISHED}, ptr %answer_at
  %until_at = getelementptr i64, ptr %pace, i64 9
  store i64 -1, ptr %until_at
  %counts = icmp ne ptr %forks_at, null
  br i1 %counts, label %count, label %done
count:
  %forks = load i64, ptr %forks_at
  store i64 %forks, ptr %count_at
  br label %done
done:
  ret void
}

; Let loops of the kernel ask whether to go on.
define internal void @let_ask(ptr %arguments, ptr %pace, ptr %check, ptr %context) {
  %record_at = getelementptr i8, ptr %arguments, i64 ${RECORD_ARGUMENT}
  %record = load ptr, ptr %record_at
  %asking_at = getelementptr i8, ptr %record, i64 ${RECORD_ASKING}
  %kept_at = getelementptr i8, ptr %asking_at, i64 8
  %self_at = getelementptr i64, ptr %pace, i64 6
  %check_at = getelementptr i64, ptr %pace, i64 7
  %context_at = getelementptr i64, ptr %pace, i64 8
  %self = call i64 @pthread_self()
  store i64 %self, ptr %self_at
  store ptr %check, ptr %check_at
  store ptr %context, ptr %context_at
  store ptr %pace, ptr %kept_at
  store ptr @asked_by_loop, ptr %asking_at
  ret void
}

; Whether the launch has been ended: asked by loops that may take long, on every thread. The calling one asks `check`.
define internal i32 @asked_by_loop(i64 %number) {
  %record = inttoptr i64 %number to ptr
  %state = load atomic i32, ptr %record monotonic, align 4
  %ended = icmp ne i32 %state, 0
  br i1 %ended, label %end, label %look
look:
  %asking_at = getelementptr i8, ptr %record, i64 ${RECORD_ASKING}
  %kept_at = getelementptr i8, ptr %asking_at, i64 8
  %pace = load ptr, ptr %kept_at
  %self_at = getelementptr i64, ptr %pace, i64 6
  %caller = load i64, ptr %self_at
  %self = call i64 @pthread_self()
  %mine = icmp eq i64 %caller, %self
  br i1 %mine, label %measure, label %on
measure:
  %asked_at = getelementptr i64, ptr %pace, i64 2
  %asked = load i64, ptr %asked_at
  %now = call i64 @now()
  %since = sub i64 %now, %asked
  %due = icmp uge i64 %since, ${CHECK_NANOSECONDS}
  br i1 %due, label %ask, label %on
ask:
  store i64 %now, ptr %asked_at
  %check_at = getelementptr i64, ptr %pace, i64 7
  %context_at = getelementptr i64, ptr %pace, i64 8
  %check = load ptr, ptr %check_at
  %context = load ptr, ptr %context_at
  %answer = call i32 @ask(ptr %pace, ptr %check, ptr %context)
  %wide = zext i32 %answer to i64
  %answer_at = getelementptr i64, ptr %pace, i64 5
  store i64 %wide, ptr %answer_at
  %go_on = icmp eq i32 %answer, ${FINISHED}
  br i1 %go_on, label %on, label %end
on:
  ret i32 0
end:
  ret i32 1
}

; Work-groups in pieces that take between 0.1 and 10 ms, or are one work-group; in between `check` is asked. Where they
; stop because of the time, the pace says at which work-group; otherwise it says the end.
define internal i32 @pieces(ptr %kernel, ptr %arguments, ptr %workspace, i64 %start, i64 %end, ptr %pace,
                            ptr %check, ptr %context) {
entry:
  %record_at = getelementptr i8, ptr %arguments, i64 ${RECORD_ARGUMENT}
  %record = load ptr, ptr %record_at
  %ended_at = getelementptr i64, ptr %pace, i64 1
  %asked_at = getelementptr i64, ptr %pace, i64 2
  %until_at = getelementptr i64, ptr %pace, i64 9
  %reached_at = getelementptr i64, ptr %pace, i64 10
  %until = load i64, ptr %until_at
  store i64 %end, ptr %reached_at
  br label %piece
piece:
  %first = phi i64 [ %start, %entry ], [ %last, %on ]
  %size = load i64, ptr %pace
  %rest = sub i64 %end, %first
  %some = call i64 @llvm.umin.i64(i64 %size, i64 %rest)
  %last = add i64 %first, %some
  call void %kernel(ptr %arguments, ptr %workspace, i64 %first, i64 %last)
  %answer_at = getelementptr i64, ptr %pace, i64 5
  %wide = load i64, ptr %answer_at
  %given = trunc i64 %wide to i32
  %unasked = icmp eq i32 %given, ${FINISHED}
  br i1 %unasked, label %look, label %told
told:
  ret i32 %given
look:
  %state = load atomic i32, ptr %record acquire, align 4
  %failed = icmp ne i32 %state, 0
  br i1 %failed, label %finished, label %measure
measure:
  %before = load i64, ptr %ended_at
  %asked = load i64, ptr %asked_at
  %after = call i64 @now()
  store i64 %after, ptr %ended_at
  %took = sub i64 %after, %before
  %short = icmp ult i64 %took, 100000
  %long = icmp ugt i64 %took, 10000000
  %double = shl i64 %some, 1
  %larger = call i64 @llvm.umax.i64(i64 %double, i64 %size)
  %halved = lshr i64 %size, 1
  %half = call i64 @llvm.umax.i64(i64 %halved, i64 1)
  %shrunk = select i1 %long, i64 %half, i64 %size
  %next_size = select i1 %short, i64 %larger, i64 %shrunk
  store i64 %next_size, ptr %pace
  %since = sub i64 %after, %asked
  %due = icmp uge i64 %since, ${CHECK_NANOSECONDS}
  br i1 %due, label %ask, label %going
ask:
  store i64 %after, ptr %asked_at
  %answer = call i32 @ask(ptr %pace, ptr %check, ptr %context)
  %go_on = icmp eq i32 %answer, ${FINISHED}
  br i1 %go_on, label %going, label %stopped
stopped:
  ret i32 %answer
going:
  %complete = icmp eq i64 %last, %end
  br i1 %complete, label %finished, label %on
on:
  %enough = icmp uge i64 %after, %until
  br i1 %enough, label %leave, label %piece
leave:
  store i64 %last, ptr %reached_at
  ret i32 ${FINISHED}
finished:
  ret i32 ${FINISHED}
}
declare i64 @llvm.umin.i64(i64, i64)
declare i64 @llvm.umax.i64(i64, i64)

; Whether to go on: ${FINISHED}, ${INTERRUPTED}, or ${FORKED}, whatever else there is then.
define internal i32 @ask(ptr %pace, ptr %check, ptr %context) {
entry:
  %where_at = getelementptr i64, ptr %pace, i64 3
  %count_at = getelementptr i64, ptr %pace, i64 4
  %answer = call i32 %check(ptr %context)
  %stop = icmp ne i32 %answer, 0
  %told = select i1 %stop, i32 ${INTERRUPTED}, i32 ${FINISHED}
  %forks_at = load ptr, ptr %where_at
  %alone = icmp eq ptr %forks_at, null
  br i1 %alone, label %tell, label %compare
compare:
  %count = load i64, ptr %count_at
  %forks = load i64, ptr %forks_at
  %same = icmp eq i64 %count, %forks
  br i1 %same, label %tell, label %forked
forked:
  ret i32 ${FORKED}
tell:
  ret i32 %told
}
