; Where there is no pool of threads, launches run on the calling thread.
define internal i32 @parallel(ptr %pool, ptr %kernel, ptr %arguments, i64 %groups, i64 %serial_groups,
                              i64 %untimed_groups, ptr %check, ptr %context) {
  %workspace_at = getelementptr i8, ptr %pool, i64 ${WORKSPACE}
  %workspace = load ptr, ptr %workspace_at
  %result = call i32 @serial(ptr %kernel, ptr %arguments, ptr %workspace, i64 %groups, i64 %untimed_groups,
                             ptr %check, ptr %context)
  ret i32 %result
}
define i64 @girih_start(ptr %pool, i64 %count) {
  %workers_at = getelementptr i8, ptr %pool, i64 ${WORKERS}
  store atomic i64 0, ptr %workers_at release, align 8
  ret i64 0
}
