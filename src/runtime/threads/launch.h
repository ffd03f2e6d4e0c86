/* One parallel loop while it runs: its tasks, its error, its barrier. */
#ifndef TN_RUNTIME_THREADS_LAUNCH_H_
#define TN_RUNTIME_THREADS_LAUNCH_H_

#include <stdatomic.h>

#include "base/error.h"
#include "tenon/runtime.h"

typedef struct tn_barrier tn_barrier;

/* Lives on the stack of the thread that launched. */
typedef struct {
  tn_task fn;
  void *data;
  tn_parallel_env env; /* env.sync points here */
  int nthread;         /* threads that share the tasks: thread i runs i, i + nthread, ... */
  _Atomic int rest;    /* what became of the tasks from nthread on */
  _Atomic int failed;  /* set once, by the task whose error is kept */
  _Atomic(tn_barrier *) barrier; /* made by the first task that asks */
  uint32_t forks;                /* tn_fork_count() at the start */
  tn_error error;                /* of the first failure; valid when failed */
} tn_launch;

/** Prepares l (its error stays uninitialised). */
void tn_launch_init(tn_launch *l, tn_task fn, void *data, int num_task, int nthread);
/** Runs the tasks of thread `id`. */
void tn_launch_run(tn_launch *l, int id);
/** After all threads have run their tasks: frees what the launch holds and hands its error to the
 * calling thread. @return 0 or -1 */
int tn_launch_end(tn_launch *l);
/** Is the calling thread inside a task? */
bool tn_inside_task(void);

#endif /* TN_RUNTIME_THREADS_LAUNCH_H_ */
