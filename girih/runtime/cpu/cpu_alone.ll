; Where there is no pool of threads, launches run on the calling thread.
define internal i32 @parallel(ptr %description, ptr %arguments, i64 %from, i64 %groups, ptr %check, ptr %context) {
  %kernel_at = getelementptr i8, ptr %description, i64 ${D_KERNEL}
  %pool_at = getelementptr i8, ptr %description, i64 ${D_POOL}
  %untimed_at = getelementptr i8, ptr %description, i64 ${D_UNTIMED_GROUPS}
  %kernel = load ptr, ptr %kernel_at
  %pool = load ptr, ptr %pool_at
  %untimed_groups = load i64, ptr %untimed_at
  %workspace_at = getelementptr i8, ptr %pool, i64 ${WORKSPACE}
  %workspace = load ptr, ptr %workspace_at
  %result = call i32 @serial(ptr %kernel, ptr %arguments, ptr %workspace, i64 %from, i64 %groups, i64 %untimed_groups,
                             ptr %check, ptr %context)
  ret i32 %result
}

; The nanoseconds of work that are not worth other threads.
define internal i64 @worth(ptr %pool) {
  ret i64 0
}

; Memory with large pages, where a system offers that.
define internal void @with_large_pages(ptr %memory, i64 %bytes) {
  ret void
}

define i64 @girih_start(ptr %pool, i64 %count) {
  %workers_at = getelementptr i8, ptr %pool, i64 ${WORKERS}
  store atomic i64 0, ptr %workers_at release, align 8
  ret i64 0
}
