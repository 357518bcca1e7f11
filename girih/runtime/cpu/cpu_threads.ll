; The pool of threads. Chunks of work-groups are claimed one by one by whoever is free.
;
; A system's own file (cpu_linux.ll, cpu_posix.ll) has `prepare`, `sleep`, `wake`, `settle`, `follow_cpus`, `make_way` and
; `with_large_pages`.
;
; CLAIM holds {generation: 32 bits, next chunk: 32 bits}. A launch first makes the claims of the previous generation
; fail, then writes the job, then opens its own generation; a claim whose compare-and-exchange succeeds therefore
; belongs to the job that was read before it. What has been claimed keeps the launch, and so its arguments, alive.

declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_detach(i64)
declare i32 @pthread_sigmask(i32, ptr, ptr)
declare i32 @sigfillset(ptr)

; The nanoseconds of work on one thread that are not worth the others: while they sleep, twice the time from a launch until
; one of them was awake. That time is measured when they are woken, so it fades while they are not.
define internal i64 @worth(ptr %pool) {
entry:
  %sleepers_at = getelementptr i8, ptr %pool, i64 ${SLEEPERS}
  %active_at = getelementptr i8, ptr %pool, i64 ${ACTIVE}
  %delay_at = getelementptr i8, ptr %pool, i64 ${DELAY}
  %sleepers = load atomic i32, ptr %sleepers_at monotonic, align 4
  %active = load i64, ptr %active_at
  %asleep = zext i32 %sleepers to i64
  %twice = shl i64 %asleep, 1
  %most_sleep = icmp ugt i64 %twice, %active
  br i1 %most_sleep, label %sleeping, label %awake
sleeping:
  %delay = load atomic i64, ptr %delay_at monotonic, align 8
  %little = lshr i64 %delay, 6
  %faded = sub i64 %delay, %little
  store atomic i64 %faded, ptr %delay_at monotonic, align 8
  %long = shl i64 %delay, 1
  %worth = call i64 @llvm.umax.i64(i64 %long, i64 ${AWAKE_NANOSECONDS})
  ret i64 %worth
awake:
  ret i64 ${AWAKE_NANOSECONDS}
}

; Claim a chunk; false where nothing was left. What was claimed is written to `job`: the kernel, its arguments, the first
; work-group and the end, and the number of all chunks.
define internal i1 @claim(ptr %pool, i32 %generation, ptr %job) {
entry:
  %claim_at = getelementptr i8, ptr %pool, i64 ${CLAIM}
  %kernel_at = getelementptr i8, ptr %pool, i64 ${KERNEL}
  %arguments_at = getelementptr i8, ptr %pool, i64 ${ARGUMENTS}
  %from_at = getelementptr i8, ptr %pool, i64 ${FROM}
  %groups_at = getelementptr i8, ptr %pool, i64 ${GROUPS}
  %chunk_at = getelementptr i8, ptr %pool, i64 ${CHUNK}
  %chunks_at = getelementptr i8, ptr %pool, i64 ${CHUNKS}
  %wide_generation = zext i32 %generation to i64
  br label %look
look:
  %word = load atomic i64, ptr %claim_at acquire, align 8
  %its = lshr i64 %word, 32
  %current = icmp eq i64 %its, %wide_generation
  br i1 %current, label %read, label %nothing
read:
  %kernel = load atomic ptr, ptr %kernel_at acquire, align 8
  %arguments = load atomic ptr, ptr %arguments_at acquire, align 8
  %from = load atomic i64, ptr %from_at acquire, align 8
  %groups = load atomic i64, ptr %groups_at acquire, align 8
  %chunk = load atomic i64, ptr %chunk_at acquire, align 8
  %chunks = load atomic i64, ptr %chunks_at acquire, align 8
  %number = and i64 %word, 4294967295
  %left = icmp ult i64 %number, %chunks
  br i1 %left, label %try, label %nothing
try:
  %next = add i64 %word, 1
  %exchange = cmpxchg ptr %claim_at, i64 %word, i64 %next acq_rel monotonic
  %won = extractvalue { i64, i1 } %exchange, 1
  br i1 %won, label %tell, label %look
tell:
  %before = mul i64 %number, %chunk
  %first = add i64 %before, %from
  %up = add i64 %first, %chunk
  %end = call i64 @llvm.umin.i64(i64 %up, i64 %groups)
  %job_arguments_at = getelementptr i64, ptr %job, i64 1
  %job_first_at = getelementptr i64, ptr %job, i64 2
  %job_end_at = getelementptr i64, ptr %job, i64 3
  %job_chunks_at = getelementptr i64, ptr %job, i64 4
  store ptr %kernel, ptr %job
  store ptr %arguments, ptr %job_arguments_at
  store i64 %first, ptr %job_first_at
  store i64 %end, ptr %job_end_at
  store i64 %chunks, ptr %job_chunks_at
  ret i1 true
nothing:
  ret i1 false
}

; A chunk that was claimed has been executed, or is not to be.
define internal void @account(ptr %pool, ptr %job) {
entry:
  %claim_at = getelementptr i8, ptr %pool, i64 ${CLAIM}
  %done_at = getelementptr i8, ptr %pool, i64 ${DONE}
  %waiting_at = getelementptr i8, ptr %pool, i64 ${WAITING}
  %job_arguments_at = getelementptr i64, ptr %job, i64 1
  %job_chunks_at = getelementptr i64, ptr %job, i64 4
  %arguments = load ptr, ptr %job_arguments_at
  %chunks = load i64, ptr %job_chunks_at
  %record_at = getelementptr i8, ptr %arguments, i64 ${RECORD_ARGUMENT}
  %record = load ptr, ptr %record_at
  %state = load atomic i32, ptr %record monotonic, align 4
  %ended = icmp ne i32 %state, 0
  br i1 %ended, label %rest, label %count
; The launch is to end: claim all that is left, and do not execute it.
rest:
  %again = load atomic i64, ptr %claim_at monotonic, align 8
  %reached = and i64 %again, 4294967295
  %some = icmp ult i64 %reached, %chunks
  br i1 %some, label %take, label %count
take:
  %difference = sub i64 %chunks, %reached
  %final = add i64 %again, %difference
  %taking = cmpxchg ptr %claim_at, i64 %again, i64 %final acq_rel monotonic
  %took = extractvalue { i64, i1 } %taking, 1
  br i1 %took, label %count, label %rest
count:
  %extra = phi i64 [ 0, %entry ], [ 0, %rest ], [ %difference, %take ]
  %executed = add i64 %extra, 1
  %small_count = trunc i64 %executed to i32
  %small_chunks = trunc i64 %chunks to i32
  %before = atomicrmw add ptr %done_at, i32 %small_count seq_cst
  %now_done = add i32 %before, %small_count
  %all = icmp eq i32 %now_done, %small_chunks
  br i1 %all, label %tell, label %over
tell:
  %waiting = load atomic i32, ptr %waiting_at seq_cst, align 4
  %sleeps = icmp ne i32 %waiting, 0
  br i1 %sleeps, label %call, label %over
call:
  call void @wake(ptr %pool, ptr %done_at, i64 1)
  br label %over
over:
  ret void
}

; Wake threads that sleep, if there is something left to claim for them. Each wakes others in turn, so that the last is
; awake soon and the calling thread begins early.
define internal void @rouse(ptr %pool, i32 %generation) {
entry:
  %claim_at = getelementptr i8, ptr %pool, i64 ${CLAIM}
  %generation_at = getelementptr i8, ptr %pool, i64 ${GENERATION}
  %sleepers_at = getelementptr i8, ptr %pool, i64 ${SLEEPERS}
  %chunks_at = getelementptr i8, ptr %pool, i64 ${CHUNKS}
  %sleepers = load atomic i32, ptr %sleepers_at seq_cst, align 4
  %asleep = icmp ne i32 %sleepers, 0
  br i1 %asleep, label %look, label %done
look:
  %word = load atomic i64, ptr %claim_at acquire, align 8
  %chunks = load atomic i64, ptr %chunks_at acquire, align 8
  %its = lshr i64 %word, 32
  %wide_generation = zext i32 %generation to i64
  %current = icmp eq i64 %its, %wide_generation
  %number = and i64 %word, 4294967295
  %left = icmp ult i64 %number, %chunks
  %useful = and i1 %current, %left
  br i1 %useful, label %call, label %done
call:
  %rest = sub i64 %chunks, %number
  %count = call i64 @llvm.umin.i64(i64 %rest, i64 ${WOKEN_AT_ONCE})
  call void @wake(ptr %pool, ptr %generation_at, i64 %count)
  br label %done
done:
  ret void
}

; A thread of the pool: spin a while for the next launch, then sleep.
define internal ptr @worker(ptr %slot) {
entry:
  %job = alloca [5 x i64], align 8
  %index_at = getelementptr i8, ptr %slot, i64 ${SLOT_INDEX}
  %pool = load ptr, ptr %slot
  %index = load i64, ptr %index_at
  call void @settle(ptr %slot)
  %generation_at = getelementptr i8, ptr %pool, i64 ${GENERATION}
  %sleepers_at = getelementptr i8, ptr %pool, i64 ${SLEEPERS}
  %workspace_at = getelementptr i8, ptr %pool, i64 ${WORKSPACE}
  %stride_at = getelementptr i8, ptr %pool, i64 ${STRIDE}
  %spin_at = getelementptr i8, ptr %pool, i64 ${SPIN}
  %active_at = getelementptr i8, ptr %pool, i64 ${ACTIVE}
  %epoch_at = getelementptr i8, ptr %pool, i64 ${EPOCH}
  %opened_at = getelementptr i8, ptr %pool, i64 ${OPENED}
  %delay_at = getelementptr i8, ptr %pool, i64 ${DELAY}
  br label %idle
idle:
  %seen = phi i32 [ 0, %entry ], [ %generation, %work ], [ %seen, %retire ], [ %seen, %look_about ]
  %epoch = load atomic i32, ptr %epoch_at acquire, align 4
  %active = load atomic i64, ptr %active_at acquire, align 8
  %needed = icmp ule i64 %index, %active
  br i1 %needed, label %listen, label %retire
; There are fewer CPUs than threads: it sleeps until that changes.
retire:
  call void @sleep(ptr %pool, ptr %epoch_at, i32 %epoch, i64 -1)
  br label %idle
listen:
  %started = call i64 @now()
  %spin_time = load i64, ptr %spin_at
  %deadline = add i64 %started, %spin_time
  br label %spin
spin:
  %turns = phi i64 [ 0, %listen ], [ %turn, %pause ], [ 0, %look_at_clock ]
  %spun = load atomic i32, ptr %generation_at acquire, align 4
  %called = icmp ne i32 %spun, %seen
  br i1 %called, label %join, label %pause
pause:
  ${PAUSE}
  %turn = add i64 %turns, 1
  %often = icmp ult i64 %turn, 64
  br i1 %often, label %spin, label %look_at_clock
look_at_clock:
  %time = call i64 @now()
  %early = icmp ult i64 %time, %deadline
  br i1 %early, label %spin, label %rest
rest:
  %more = atomicrmw add ptr %sleepers_at, i32 1 seq_cst
  call void @sleep(ptr %pool, ptr %generation_at, i32 %seen, i64 -1)
  %less = atomicrmw sub ptr %sleepers_at, i32 1 seq_cst
  %woken = load atomic i32, ptr %generation_at acquire, align 4
  %new = icmp ne i32 %woken, %seen
  br i1 %new, label %wake_others, label %look_about
; Only where threads have other CPUs is it woken for nothing to claim; elsewhere it sleeps on.
look_about:
  %epoch_now = load atomic i32, ptr %epoch_at acquire, align 4
  %unchanged = icmp eq i32 %epoch_now, %epoch
  br i1 %unchanged, label %rest, label %idle
wake_others:
  %opened = load atomic i64, ptr %opened_at monotonic, align 8
  %risen = call i64 @now()
  %delay = sub i64 %risen, %opened
  %plausible = call i64 @llvm.umin.i64(i64 %delay, i64 ${MOST_DELAY_NANOSECONDS})
  %usual = load atomic i64, ptr %delay_at monotonic, align 8
  %sixteenth = lshr i64 %usual, 4
  %little_more = add i64 %usual, %sixteenth
  %next_delay = call i64 @llvm.umin.i64(i64 %plausible, i64 %little_more)
  store atomic i64 %next_delay, ptr %delay_at monotonic, align 8
  call void @rouse(ptr %pool, i32 %woken)
  br label %join
join:
  %generation = phi i32 [ %spun, %spin ], [ %woken, %wake_others ]
  br label %work
work:
  %base = load atomic ptr, ptr %workspace_at monotonic, align 8
  %stride = load atomic i64, ptr %stride_at monotonic, align 8
  %offset = mul i64 %index, %stride
  %workspace = getelementptr i8, ptr %base, i64 %offset
  %claimed = call i1 @claim(ptr %pool, i32 %generation, ptr %job)
  br i1 %claimed, label %run, label %idle
run:
  %arguments_at = getelementptr i64, ptr %job, i64 1
  %first_at = getelementptr i64, ptr %job, i64 2
  %end_at = getelementptr i64, ptr %job, i64 3
  %kernel = load ptr, ptr %job
  %arguments = load ptr, ptr %arguments_at
  %first = load i64, ptr %first_at
  %end = load i64, ptr %end_at
  call void %kernel(ptr %arguments, ptr %workspace, i64 %first, i64 %end)
  call void @account(ptr %pool, ptr %job)
  br label %work
}

; Start up to so many threads, whose slots are filled; how many there are.
define i64 @girih_start(ptr %pool, i64 %count) {
entry:
  %thread = alloca i64
  %every = alloca [128 x i8], align 8
  %before = alloca [128 x i8], align 8
  %workers_at = getelementptr i8, ptr %pool, i64 ${WORKERS}
  %active_at = getelementptr i8, ptr %pool, i64 ${ACTIVE}
  store i64 %count, ptr %active_at
  call void @prepare(ptr %pool)
  ; Signals are for the threads of Python.
  %filled = call i32 @sigfillset(ptr %every)
  %blocked = call i32 @pthread_sigmask(i32 ${SET_MASK}, ptr %every, ptr %before)
  br label %next
next:
  %number = phi i64 [ 0, %entry ], [ %following, %made ]
  %wanted = icmp ult i64 %number, %count
  br i1 %wanted, label %make, label %done
make:
  %offset = mul i64 %number, ${SLOT_BYTES}
  %from = add i64 %offset, ${SLOTS}
  %slot = getelementptr i8, ptr %pool, i64 %from
  %refused = call i32 @pthread_create(ptr %thread, ptr null, ptr @worker, ptr %slot)
  %failed = icmp ne i32 %refused, 0
  br i1 %failed, label %done, label %made
made:
  %handle = load i64, ptr %thread
  %ignored = call i32 @pthread_detach(i64 %handle)
  %following = add i64 %number, 1
  br label %next
done:
  %restored = call i32 @pthread_sigmask(i32 ${SET_MASK}, ptr %before, ptr null)
  %active = load i64, ptr %active_at
  %started = call i64 @llvm.umin.i64(i64 %active, i64 %number)
  store atomic i64 %started, ptr %active_at release, align 8
  store atomic i64 %number, ptr %workers_at release, align 8
  ret i64 %number
}

; The work-groups on all threads of the pool, the calling one among them. Whoever calls holds the pool.
;
; The other threads execute a chunk as a whole: the kernel itself looks before each work-group whether the launch has been
; ended. The calling thread, which has to ask for that, executes its chunks in pieces.
define internal i32 @parallel(ptr %description, ptr %arguments, i64 %from, i64 %groups, ptr %check, ptr %context) {
entry:
  %job = alloca [5 x i64], align 8
  %pace = alloca [${PACE_WORDS} x i64], align 8
  %description_kernel_at = getelementptr i8, ptr %description, i64 ${D_KERNEL}
  %pool_at = getelementptr i8, ptr %description, i64 ${D_POOL}
  %serial_at = getelementptr i8, ptr %description, i64 ${D_SERIAL_GROUPS}
  %untimed_at = getelementptr i8, ptr %description, i64 ${D_UNTIMED_GROUPS}
  %learned_at = getelementptr i8, ptr %description, i64 ${D_LEARNED}
  %wall_at = getelementptr i8, ptr %description, i64 ${D_WALL}
  %kernel = load ptr, ptr %description_kernel_at
  %pool = load ptr, ptr %pool_at
  %serial_groups = load i64, ptr %serial_at
  %untimed_groups = load i64, ptr %untimed_at
  %claim_at = getelementptr i8, ptr %pool, i64 ${CLAIM}
  %generation_at = getelementptr i8, ptr %pool, i64 ${GENERATION}
  %kernel_at = getelementptr i8, ptr %pool, i64 ${KERNEL}
  %arguments_at = getelementptr i8, ptr %pool, i64 ${ARGUMENTS}
  %from_at = getelementptr i8, ptr %pool, i64 ${FROM}
  %opened_at = getelementptr i8, ptr %pool, i64 ${OPENED}
  %groups_at = getelementptr i8, ptr %pool, i64 ${GROUPS}
  %chunk_at = getelementptr i8, ptr %pool, i64 ${CHUNK}
  %chunks_at = getelementptr i8, ptr %pool, i64 ${CHUNKS}
  %done_at = getelementptr i8, ptr %pool, i64 ${DONE}
  %waiting_at = getelementptr i8, ptr %pool, i64 ${WAITING}
  %forks_at = getelementptr i8, ptr %pool, i64 ${FORKS}
  %active_at = getelementptr i8, ptr %pool, i64 ${ACTIVE}
  %workspace_at = getelementptr i8, ptr %pool, i64 ${WORKSPACE}
  ; Sixteen chunks for each thread, but none so small that all threads would wait for the word that they claim from, and
  ; none so large that the others would wait for the last; at most 2^30 of them.
  call void @follow_cpus(ptr %pool)
  %active = load i64, ptr %active_at
  %threads = add i64 %active, 1
  %parts = shl i64 %threads, 4
  %all = sub i64 %groups, %from
  %even = udiv i64 %all, %parts
  %eighth = lshr i64 %serial_groups, 3
  %part = udiv i64 %all, %threads
  %claims = mul i64 %threads, ${CLAIM_NANOSECONDS}
  %claims_time = shl i64 %claims, ${LEARNED_SHIFT}
  %learned = load atomic i64, ptr %learned_at monotonic, align 8
  %some_time = call i64 @llvm.umax.i64(i64 %learned, i64 1)
  %in_time = udiv i64 %claims_time, %some_time
  %shared = call i64 @llvm.umin.i64(i64 %in_time, i64 %part)
  %unknown = icmp eq i64 %learned, 0
  %least = select i1 %unknown, i64 %eighth, i64 %shared
  %several = shl i64 %serial_groups, 4
  %most = call i64 @llvm.umax.i64(i64 %several, i64 64)
  %bounded = call i64 @llvm.umin.i64(i64 %even, i64 %most)
  %worthy = call i64 @llvm.umax.i64(i64 %bounded, i64 %least)
  %needed = lshr i64 %all, 30
  %enough = add i64 %needed, 1
  %chunk = call i64 @llvm.umax.i64(i64 %worthy, i64 %enough)
  %less = sub i64 %chunk, 1
  %up = add i64 %all, %less
  %chunks = udiv i64 %up, %chunk
  call void @make_way(ptr %pool)
  call void @let_ask(ptr %arguments, ptr %pace, ptr %check, ptr %context)
  %old = load atomic i32, ptr %generation_at monotonic, align 4
  %generation = add i32 %old, 1
  %wide_generation = zext i32 %generation to i64
  %open = shl i64 %wide_generation, 32
  %closed = or i64 %open, 4294967295
  store atomic i64 %closed, ptr %claim_at seq_cst, align 8
  store atomic ptr %kernel, ptr %kernel_at release, align 8
  store atomic ptr %arguments, ptr %arguments_at release, align 8
  store atomic i64 %from, ptr %from_at release, align 8
  store atomic i64 %groups, ptr %groups_at release, align 8
  store atomic i64 %chunk, ptr %chunk_at release, align 8
  store atomic i64 %chunks, ptr %chunks_at release, align 8
  store atomic i32 0, ptr %done_at monotonic, align 4
  store atomic i32 0, ptr %waiting_at monotonic, align 4
  %opened = call i64 @now()
  store atomic i64 %opened, ptr %opened_at monotonic, align 8
  store atomic i64 %open, ptr %claim_at release, align 8
  store atomic i32 %generation, ptr %generation_at seq_cst, align 4
  call void @rouse(ptr %pool, i32 %generation)
  %workspace = load ptr, ptr %workspace_at
  %final = trunc i64 %chunks to i32
  %eighth_untimed = lshr i64 %untimed_groups, 3
  %piece = call i64 @llvm.umax.i64(i64 %eighth_untimed, i64 1)
  call void @begin(ptr %pace, i64 %piece, ptr %forks_at)
  %ended_at = getelementptr i64, ptr %pace, i64 1
  %begun = load i64, ptr %ended_at
  br label %work
work:
  %result = phi i32 [ ${FINISHED}, %entry ], [ %result, %ran ], [ %answer, %stop ]
  %own = phi i64 [ 0, %entry ], [ %more_own, %ran ], [ %own, %stop ]
  %claimed = call i1 @claim(ptr %pool, i32 %generation, ptr %job)
  br i1 %claimed, label %run, label %left
run:
  %first_at = getelementptr i64, ptr %job, i64 2
  %end_at = getelementptr i64, ptr %job, i64 3
  %first = load i64, ptr %first_at
  %end = load i64, ptr %end_at
  %executed = sub i64 %end, %first
  %more_own = add i64 %own, %executed
  %answer = call i32 @pieces(ptr %kernel, ptr %arguments, ptr %workspace, i64 %first, i64 %end, ptr %pace,
                             ptr %check, ptr %context)
  switch i32 %answer, label %stop [ i32 ${FINISHED}, label %ran
                                    i32 ${FORKED}, label %forked ]
ran:
  call void @account(ptr %pool, ptr %job)
  br label %work
stop:
  call void @end_launch(ptr %arguments)
  call void @account(ptr %pool, ptr %job)
  br label %work
; In a child that was forked meanwhile nobody executes what others had claimed, and the pool has been cleared.
forked:
  ret i32 ${FORKED}
; Nothing is left to claim: wait for what others execute.
left:
  %ended = load i64, ptr %ended_at
  ; What it takes beside others is at least what it would take alone.
  %took = sub i64 %ended, %begun
  %quarter = lshr i64 %learned, 2
  %least_alone = sub i64 %learned, %quarter
  call void @learn(ptr %learned_at, i64 %took, i64 %own, i64 %least_alone, i64 %learned)
  br label %idle
idle:
  %turns = phi i64 [ 0, %left ], [ %turn, %pause ]
  %spun = load atomic i32, ptr %done_at acquire, align 4
  %finished = icmp eq i32 %spun, %final
  br i1 %finished, label %over, label %pause
pause:
  ${PAUSE}
  %turn = add i64 %turns, 1
  %soon = icmp ult i64 %turn, 4096
  br i1 %soon, label %idle, label %wait
wait:
  %outcome = phi i32 [ %result, %pause ], [ %outcome, %doze ], [ %answer_idle, %asked ]
  store atomic i32 1, ptr %waiting_at seq_cst, align 4
  %done = load atomic i32, ptr %done_at seq_cst, align 4
  %complete = icmp eq i32 %done, %final
  br i1 %complete, label %over, label %doze
doze:
  call void @sleep(ptr %pool, ptr %done_at, i32 %done, i64 ${CHECK_NANOSECONDS})
  %after = load atomic i32, ptr %done_at acquire, align 4
  %came = icmp eq i32 %after, %final
  %told = icmp ne i32 %outcome, ${FINISHED}
  %quiet = or i1 %came, %told
  br i1 %quiet, label %wait, label %ask_idle
ask_idle:
  %answer_idle = call i32 @ask(ptr %pace, ptr %check, ptr %context)
  switch i32 %answer_idle, label %stop_idle [ i32 ${FINISHED}, label %asked
                                              i32 ${FORKED}, label %forked ]
stop_idle:
  call void @end_launch(ptr %arguments)
  br label %asked
asked:
  br label %wait
over:
  %final_result = phi i32 [ %result, %idle ], [ %outcome, %wait ]
  ; One launch that has to wait for a thread says little; where many wait, as on a busy machine, the time grows soon.
  %closed_time = call i64 @now()
  %whole = sub i64 %closed_time, %opened
  %wall = load atomic i64, ptr %wall_at monotonic, align 8
  %quarter_wall = lshr i64 %wall, 2
  %least_wall = sub i64 %wall, %quarter_wall
  %most_wall = shl i64 %wall, 1
  call void @learn(ptr %wall_at, i64 %whole, i64 %all, i64 %least_wall, i64 %most_wall)
  ret i32 %final_result
}

; No thread begins another work-group of this launch; what a check has found meanwhile stays.
define internal void @end_launch(ptr %arguments) {
  %record_at = getelementptr i8, ptr %arguments, i64 ${RECORD_ARGUMENT}
  %record = load ptr, ptr %record_at
  %ignored = cmpxchg ptr %record, i32 0, i32 ${STOPPED} monotonic monotonic
  ret void
}
