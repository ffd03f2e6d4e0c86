/* The thread pool. One launch at a time owns it; thread 0 is the caller, threads 1, 2, ... are
   workers that live until the process ends.

   A launch is published by one store to pool.word, which every worker watches: its upper half
   numbers the launches, its lower half says how many threads take part. A worker below that number
   runs its tasks and stores the word to its `done`, which the caller watches. Both sides spin for a
   while before they sleep, so kernels in a row hand over in a fraction of a microsecond. */
#include "runtime/threads/threads.h"

#include <signal.h>
#include <stdalign.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "object/functions.h"
#include "runtime/threads/cpus.h"
#include "runtime/threads/launch.h"
#include "runtime/threads/thread_affinity.h"

enum {
  SPIN_MAX = 200000, /* ns: longer than the serial work between two kernels of a network */
  SPIN_MIN = 10000,
  CACHE_LINE = 128 /* two lines: processors fetch them in pairs */
};

typedef struct {
  alignas(CACHE_LINE) _Atomic uint64_t done; /* last word it has taken part in */
  uint64_t seen;                             /* the same, or the word when it was made */
  int64_t spin;                              /* ns it spins before it sleeps */
  int id;
  tn_gate gate;
  pthread_t thread;
  tn_placement place;
} worker;

static struct {
  alignas(CACHE_LINE) _Atomic uint64_t word;
  tn_launch *launch; /* of the word's number; read by the threads that take part only */
  bool stop;         /* published by a word, as launch is */
  tn_gate joining;   /* the launch's caller */

  alignas(CACHE_LINE) _Atomic int busy; /* who sets it owns the pool and the next two members */
  int nthread;                          /* threads there are, the caller's included; 0 before use */
  _Atomic int limit;                    /* threads the system gives; fewer than asked for */
  _Atomic int want;                     /* threads to use, 0 before it is known */
  _Atomic int64_t spin;                 /* most ns to spin */
  _Atomic uint32_t forks;
  _Atomic(void *(*)(void)) enter_wait;
  _Atomic(void (*)(void *)) leave_wait;
} pool = {.joining = TN_GATE_INIT, .limit = TN_MAX_THREADS};

/* The first stays unused. Zero at the start, so the array takes no room in the file and its pages
   come into being as workers do. */
static worker workers[TN_MAX_THREADS];

static int clamp(int n) { return n < 1 ? 1 : n > TN_MAX_THREADS ? TN_MAX_THREADS : n; }

/* ---- size ---- */

static int64_t spin_for(int n) { return n <= tn_cpu_count() ? SPIN_MAX : 0; }

/* The default, unless another thread has chosen in the meantime. */
static int first_want(void) {
  int n = clamp(tn_default_threads()), chosen = 0;
  if (!atomic_compare_exchange_strong(&pool.want, &chosen, n)) return chosen;
  atomic_store(&pool.spin, spin_for(n));
  return n;
}

int tn_num_threads(void) {
  int n = atomic_load_explicit(&pool.want, memory_order_acquire);
  if (n == 0) n = first_want();
  int limit = atomic_load_explicit(&pool.limit, memory_order_relaxed);
  return n < limit ? n : limit;
}

void tn_set_num_threads(int n) {
  atomic_store(&pool.limit, TN_MAX_THREADS); /* try again what the system refused */
  n = clamp(n > 0 ? n : tn_default_threads());
  atomic_store(&pool.want, n);
  atomic_store(&pool.spin, spin_for(n));
}

int64_t tn_spin_limit(void) { return atomic_load_explicit(&pool.spin, memory_order_relaxed); }

/* ---- waiting ---- */

void tn_set_wait_hooks(void *(*enter)(void), void (*leave)(void *)) {
  atomic_store(&pool.enter_wait, NULL);
  atomic_store(&pool.leave_wait, leave);
  atomic_store(&pool.enter_wait, enter);
}

void tn_wait(tn_gate *g, tn_ready ready, const void *ctx) {
  if (tn_spin(ready, ctx, tn_spin_limit())) return;
  void *(*enter)(void) = atomic_load(&pool.enter_wait);
  void *token = enter ? enter() : NULL;
  tn_gate_sleep(g, ready, ctx);
  if (token) atomic_load (&pool.leave_wait)(token);
}

/* ---- workers ---- */

static bool has_work(const void *ctx) {
  const worker *w = ctx;
  uint64_t word = atomic_load(&pool.word);
  return word != w->seen && w->id < (int)(uint32_t)word;
}

/* Spins only as long as it has lately been of use: a sleep that a full spin would have covered
   restores the budget, a longer one halves it. */
static void await_work(worker *w) {
  int64_t most = tn_spin_limit();
  if (tn_spin(has_work, w, w->spin < most ? w->spin : most)) return;
  int64_t from = tn_now_ns();
  tn_place_sleep(&w->place);
  tn_gate_sleep(&w->gate, has_work, w);
  tn_place_awake(&w->place);
  if (tn_now_ns() - from < SPIN_MAX) w->spin = SPIN_MAX;
  else if (w->spin > SPIN_MIN) w->spin /= 2;
}

static void *work(void *arg) {
  worker *w = arg;
  uint32_t forks = tn_fork_count();
  tn_place_awake(&w->place);
  for (;;) {
    await_work(w);
    w->seen = atomic_load(&pool.word);
    if (pool.stop) return NULL;
    tn_launch_run(pool.launch, w->id);
    if (tn_fork_count() != forks) return NULL; /* a task forked: this is the child */
    atomic_store(&w->done, w->seen);
    tn_gate_wake(&pool.joining);
  }
}

/* Signals of the host are handled by the host's threads; faults of a task belong to its thread. */
static void block_signals(sigset_t *old) {
  static const int kept[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGPROF};
  sigset_t set;
  sigfillset(&set);
  for (int i = 0; i < TN_COUNT(kept); ++i) sigdelset(&set, kept[i]);
  pthread_sigmask(SIG_SETMASK, &set, old);
}

static int start_worker(int id) {
  char name[20];
  pthread_attr_t attr;
  worker *w = &workers[id];
  w->id = id;
  w->seen = atomic_load(&pool.word);
  w->spin = SPIN_MAX;
  w->gate = (tn_gate)TN_GATE_INIT;
  atomic_store(&w->done, w->seen);
  if (pthread_attr_init(&attr)) return -1;
  if (tn_spin_limit() > 0) tn_place_new(&w->place, &attr);
  else w->place.off = -1;
  int err = pthread_create(&w->thread, &attr, work, w);
  if (err) err = pthread_create(&w->thread, NULL, work, w); /* the mask may be what was refused */
  pthread_attr_destroy(&attr);
  if (err) return -1;
  snprintf(name, sizeof name, "tenon-%d", id);
  pthread_setname_np(w->thread, name);
  return 0;
}

/* In the child of a fork there are no workers, whatever they were doing. */
static void after_fork(void) {
  atomic_fetch_add(&pool.forks, 1);
  pool.nthread = 1;
  pool.joining = (tn_gate)TN_GATE_INIT;
  atomic_store(&pool.busy, 0);
}

uint32_t tn_fork_count(void) { return atomic_load_explicit(&pool.forks, memory_order_relaxed); }

static void watch_forks(void) { pthread_atfork(NULL, NULL, after_fork); }

/* Makes the pool n threads large, or as large as the system allows. The caller owns the pool. */
static void grow(int n) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  sigset_t old;
  pthread_once(&once, watch_forks);
  if (pool.nthread == 0) pool.nthread = 1;
  if (pool.nthread >= n) return;
  block_signals(&old);
  while (pool.nthread < n && start_worker(pool.nthread) == 0) pool.nthread++;
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  if (pool.nthread == n) return;
  atomic_store(&pool.limit, pool.nthread);
  TN_LOG(WARNING, "the system gave %d of %d threads for parallel loops", pool.nthread, n);
}

/* ---- launch ---- */

/* Every thread can have a processor, unless there are more threads than processors. */
static void keep_off(void *arg) {
  worker *w = arg;
  if (tn_spin_limit() > 0) tn_place_off(&w->place, w->thread);
}

static void publish(int nthread) {
  uint64_t number = (atomic_load_explicit(&pool.word, memory_order_relaxed) >> 32) + 1;
  atomic_store(&pool.word, number << 32 | (uint32_t)nthread);
  for (int i = 1; i < nthread && i < pool.nthread; ++i) {
    worker *w = &workers[i];
    if (atomic_load(&w->gate.sleepers)) tn_gate_wake_sleepers(&w->gate, keep_off, w);
  }
}

typedef struct {
  const worker *worker;
  uint64_t word;
  uint32_t forks;
} ending;

static bool has_ended(const void *ctx) {
  const ending *e = ctx;
  return atomic_load(&e->worker->done) == e->word || tn_fork_count() != e->forks;
}

/* The caller owns the pool, and gives it up here. */
static void run_on_pool(tn_launch *l) {
  pool.launch = l;
  publish(l->nthread);
  tn_launch_run(l, 0);
  for (int i = 1; i < l->nthread; ++i) {
    ending e = {&workers[i], atomic_load_explicit(&pool.word, memory_order_relaxed), l->forks};
    tn_wait(&pool.joining, has_ended, &e);
  }
  if (tn_fork_count() == l->forks) atomic_store_explicit(&pool.busy, 0, memory_order_release);
}

static bool acquire(void) {
  return atomic_load_explicit(&pool.busy, memory_order_relaxed) == 0 &&
         atomic_exchange_explicit(&pool.busy, 1, memory_order_acquire) == 0;
}

/* Threads for a launch of num_task tasks: more than one means that the pool was acquired. */
static int acquire_threads(int num_task) {
  if (num_task == 1 || tn_inside_task()) return 1;
  int n = tn_num_threads();
  if (num_task && n > num_task) n = num_task;
  if (n < 2 || !acquire()) return 1;
  if (pool.nthread < n) grow(n);
  if (pool.nthread < n) n = pool.nthread;
  if (n < 2) atomic_store_explicit(&pool.busy, 0, memory_order_release);
  return n;
}

int tn_parallel_launch(tn_task fn, void *data, int num_task) {
  tn_launch l;
  TN_CHECK(num_task >= 0, ValueError, NULL,
           "tn_parallel_launch: expected a number of tasks, or 0 for one a thread, got %d",
           num_task);
  int nthread = acquire_threads(num_task);
  tn_launch_init(&l, fn, data, num_task ? num_task : nthread, nthread);
  if (nthread > 1) run_on_pool(&l);
  else tn_launch_run(&l, 0);
  return tn_launch_end(&l);
}

/* When the process exits, idle workers end before what they might touch goes away. Workers of a
   launch that is still running are left alone: waiting for them could take for ever. */
__attribute__((destructor)) static void stop_pool(void) {
  if (!acquire()) return;
  pool.stop = true;
  publish(TN_MAX_THREADS);
  for (int i = 1; i < pool.nthread; ++i) pthread_join(workers[i].thread, NULL);
}

/* ---- global functions ---- */

static int num_threads(TN_ARGS) {
  TN_NARGS("runtime.NumThreads", 0);
  *ret = tn_any_int(tn_num_threads());
  return 0;
}

static int set_num_threads(TN_ARGS) {
  int64_t count;
  TN_NARGS("runtime.SetNumThreads", 1);
  TN_TRY(tn_any_to_int(&args[0], &count));
  tn_set_num_threads(count > TN_MAX_THREADS ? TN_MAX_THREADS : count < 0 ? 0 : (int)count);
  return 0;
}

/* (mode, count): the mode names clusters of processors, which are left to the operating system. */
static int config_threadpool(TN_ARGS) {
  int64_t mode;
  TN_CHECK(n >= 1, TypeError, NULL, "runtime.config_threadpool: expected a mode and a count");
  TN_TRY(tn_any_to_int(&args[0], &mode));
  if (n == 1) return tn_set_num_threads(0), 0;
  return set_num_threads(NULL, &args[1], 1, ret);
}

int tn_threads_init(void) {
  static const tn_func_row rows[] = {
      {"runtime.NumThreads", num_threads},
      {"runtime.SetNumThreads", set_num_threads},
      {"runtime.config_threadpool", config_threadpool},
  };
  return tn_func_register_rows(rows, TN_COUNT(rows));
}
