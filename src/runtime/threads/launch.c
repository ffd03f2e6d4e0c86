/* Running the tasks of one launch, and the barrier between them. The pool (threads.c) decides which
   threads take part; a thread runs its tasks one after the other, so tasks that meet at a barrier
   need a thread each. Tasks that have none get it when the first task arrives at the barrier. */
#include "runtime/threads/launch.h"

#include <pthread.h>

#include "base/alloc.h"
#include "runtime/threads/threads.h"

/* tn_launch.rest */
enum { REST_WAITS, REST_LOOPS, REST_HAS_THREADS };

typedef struct {
  tn_launch *launch;
  pthread_t thread;
  int task_id;
} own_thread; /* of one task */

struct tn_barrier {
  tn_gate gate;
  _Atomic int arrived;
  _Atomic uint32_t phase; /* times that all have met */
  own_thread *extra;      /* nextra threads for the tasks from nthread on */
  int nextra;
  _Atomic int nended; /* of those */
};

static _Thread_local bool inside;

bool tn_inside_task(void) { return inside; }

void tn_launch_init(tn_launch *l, tn_task fn, void *data, int num_task, int nthread) {
  l->fn = fn;
  l->data = data;
  l->env = (tn_parallel_env){l, num_task};
  l->nthread = nthread;
  atomic_init(&l->rest, REST_WAITS);
  atomic_init(&l->failed, 0);
  atomic_init(&l->barrier, NULL);
  l->forks = tn_fork_count();
}

/* Did the process fork since, and are the threads that run other tasks left behind in the parent?
 */
static bool lost_threads(const tn_launch *l) {
  return tn_fork_count() != l->forks && (l->nthread > 1 || atomic_load(&l->barrier));
}

/* Keeps the calling thread's error if it is the first of the launch. */
static void fail(tn_launch *l, int task_id) {
  int first = 0;
  if (atomic_compare_exchange_strong(&l->failed, &first, 1)) {
    if (!tn_error_pending())
      TN_RAISE(RuntimeError, NULL, "task %d of %d of a parallel loop failed without saying why",
               task_id, (int)l->env.num_task);
    tn_error_take(&l->error);
  } else {
    tn_error_clear();
  }
  tn_barrier *b = atomic_load(&l->barrier);
  if (b) tn_gate_wake(&b->gate); /* who waits for this task must not go on waiting */
}

static void run_task(tn_launch *l, int task_id) {
  bool outer = inside;
  inside = true;
  if (l->fn(task_id, &l->env, l->data)) fail(l, task_id);
  inside = outer;
}

void tn_launch_run(tn_launch *l, int id) {
  int n = l->env.num_task, was = REST_WAITS;
  run_task(l, id);
  if (n - l->nthread <= id) return;
  if (!atomic_compare_exchange_strong(&l->rest, &was, REST_LOOPS) && was == REST_HAS_THREADS)
    return;
  for (int i = id + l->nthread; i < n; i += l->nthread) run_task(l, i);
}

static bool have_ended(const void *ctx) {
  const tn_barrier *b = ctx;
  return atomic_load(&b->nended) == b->nextra;
}

int tn_launch_end(tn_launch *l) {
  tn_barrier *b = atomic_load(&l->barrier);
  TN_CHECK(!lost_threads(l), RuntimeError, NULL,
           "parallel loop: the process was forked inside it and the other tasks stayed behind");
  if (b) {
    tn_wait(&b->gate, have_ended, b); /* their tasks may need what the host's wait hooks give up */
    for (int i = 0; i < b->nextra; ++i) pthread_join(b->extra[i].thread, NULL);
    tn_free(b->extra);
    tn_free(b);
  }
  if (!atomic_load(&l->failed)) return 0;
  tn_error_restore(&l->error);
  return tn_trace(__FILE__, __LINE__, __func__);
}

/* ---- barrier ---- */

static tn_barrier *get_barrier(tn_launch *l) {
  tn_barrier *b = atomic_load(&l->barrier), *made;
  if (b) return b;
  if (!(made = tn_alloc_zero(1, sizeof *made))) return NULL;
  made->gate = (tn_gate)TN_GATE_INIT;
  if (atomic_compare_exchange_strong(&l->barrier, &b, made)) return made;
  tn_free(made);
  return b;
}

static void *run_alone(void *arg) {
  own_thread *t = arg;
  tn_barrier *b = atomic_load(&t->launch->barrier);
  run_task(t->launch, t->task_id);
  atomic_fetch_add(&b->nended, 1);
  tn_gate_wake(&b->gate); /* b lives until this thread is joined */
  return NULL;
}

/* Gives every task from nthread on a thread. */
static int start_rest(tn_launch *l, tn_barrier *b) {
  int n = l->env.num_task - l->nthread;
  b->extra = tn_alloc_zero((size_t)n, sizeof *b->extra);
  if (!b->extra) return -1;
  for (int i = 0; i < n; ++i) {
    own_thread *t = &b->extra[i];
    t->launch = l;
    t->task_id = l->nthread + i;
    int err = pthread_create(&t->thread, NULL, run_alone, t);
    TN_CHECK(err == 0, RuntimeError, NULL,
             "tn_parallel_barrier: the tasks of this launch need %d more threads and the system "
             "refused one: launch with num_task 0",
             n);
    b->nextra = i + 1;
  }
  return 0;
}

static int ensure_all_run(tn_launch *l, tn_barrier *b, int task_id) {
  int was = REST_WAITS;
  if (l->env.num_task <= l->nthread) return 0;
  if (atomic_compare_exchange_strong(&l->rest, &was, REST_HAS_THREADS)) return start_rest(l, b);
  TN_CHECK(was == REST_HAS_THREADS, RuntimeError, NULL,
           "tn_parallel_barrier: task %d of %d waits for a task that has ended without calling it",
           task_id, (int)l->env.num_task);
  return 0;
}

typedef struct {
  tn_launch *launch;
  tn_barrier *barrier;
  uint32_t phase;
} meeting;

static bool all_met(const void *ctx) {
  const meeting *m = ctx;
  return atomic_load(&m->barrier->phase) != m->phase || atomic_load(&m->launch->failed) ||
         lost_threads(m->launch);
}

int tn_parallel_barrier(int task_id, const tn_parallel_env *env) {
  tn_launch *l = env->sync;
  if (env->num_task == 1) return 0;
  tn_barrier *b = get_barrier(l);
  TN_TRY(!b || ensure_all_run(l, b, task_id));
  meeting m = {l, b, atomic_load(&b->phase)};
  if (atomic_fetch_add(&b->arrived, 1) + 1 == env->num_task) {
    atomic_store(&b->arrived, 0);
    atomic_fetch_add(&b->phase, 1);
    tn_gate_wake(&b->gate);
    return 0;
  }
  tn_wait(&b->gate, all_met, &m);
  TN_CHECK(atomic_load(&b->phase) != m.phase, RuntimeError, NULL,
           "tn_parallel_barrier: task %d waits for a task that failed", task_id);
  return 0;
}
