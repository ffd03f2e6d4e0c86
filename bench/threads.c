/* Cost of launching a parallel loop and waiting for its end, beside OpenMP (where the compiler has
   it) and a plain pool of a mutex and a condition variable.

     threads [--json] [--threads N] [--rounds N]

   Three situations: loops in a row, loops with 20 us of serial work between them (a network), both
   of empty tasks; and a loop after the threads have gone to sleep, of tasks of 500 us each (empty
   ones would not tell whether the threads really ran at the same time). The time is that of the
   loop less that of a task. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#ifdef _OPENMP
#include <omp.h>
#endif

#include "tenon/runtime.h"
#include "timing.h"

static volatile int sink[256 * 16]; /* a cache line for each thread */
static double task_ns;              /* length of a task */

static void work_for(double ns) {
  double end = bench_now_ns() + ns;
  while (bench_now_ns() < end) {
  }
}

static void task(int id) {
  sink[id * 16]++;
  if (task_ns > 0) work_for(task_ns);
}

/* ---- the plain pool ---- */

static struct {
  pthread_mutex_t lock;
  pthread_cond_t start, end;
  int nthread, running;
  uint64_t number;
} plain = {.lock = PTHREAD_MUTEX_INITIALIZER,
           .start = PTHREAD_COND_INITIALIZER,
           .end = PTHREAD_COND_INITIALIZER};

static void *plain_worker(void *arg) {
  int id = (int)(intptr_t)arg;
  uint64_t seen = 0;
  pthread_mutex_lock(&plain.lock);
  for (;;) {
    while (plain.number == seen) pthread_cond_wait(&plain.start, &plain.lock);
    seen = plain.number;
    pthread_mutex_unlock(&plain.lock);
    task(id);
    pthread_mutex_lock(&plain.lock);
    if (--plain.running == 0) pthread_cond_signal(&plain.end);
  }
  return NULL;
}

static void plain_start(int nthread) {
  pthread_t thread;
  plain.nthread = nthread;
  for (int i = 1; i < nthread; ++i)
    pthread_create(&thread, NULL, plain_worker, (void *)(intptr_t)i);
}

static void plain_launch(void) {
  pthread_mutex_lock(&plain.lock);
  plain.running = plain.nthread - 1;
  plain.number++;
  pthread_cond_broadcast(&plain.start);
  pthread_mutex_unlock(&plain.lock);
  task(0);
  pthread_mutex_lock(&plain.lock);
  while (plain.running) pthread_cond_wait(&plain.end, &plain.lock);
  pthread_mutex_unlock(&plain.lock);
}

/* ---- the others ---- */

static int tenon_task(int task_id, const tn_parallel_env *env, void *data) {
  (void)env;
  (void)data;
  task(task_id);
  return 0;
}

static void tenon_launch(void) { tn_parallel_launch(tenon_task, NULL, 0); }

#ifdef _OPENMP
static void openmp_launch(void) {
#pragma omp parallel
  task(omp_get_thread_num());
}
#endif

static const struct {
  const char *name;
  void (*launch)(void);
} pools[] = {
    {"tenon", tenon_launch},
#ifdef _OPENMP
    {"openmp", openmp_launch},
#endif
    {"mutex and condition", plain_launch},
};

/* ---- measuring ---- */

enum { NPOOL = sizeof pools / sizeof *pools, NCASE = 3, MAX_ROUNDS = 1001 };

static const struct {
  const char *name;
  int launches;  /* of a round */
  double gap_ns; /* of work before each */
  int sleep_us;  /* before each */
  double task_ns;
} cases[NCASE] = {{"in a row", 2000, 0, 0, 0},
                  {"20 us apart", 200, 20000, 0, 0},
                  {"asleep", 3, 0, 10000, 500000}};

/* ns of one launch, less its task, when each follows some work or some sleep */
static double apart(int pool, int which) {
  double total = 0;
  for (int i = 0; i < cases[which].launches; ++i) {
    work_for(cases[which].gap_ns);
    if (cases[which].sleep_us) usleep((unsigned)cases[which].sleep_us);
    double from = bench_now_ns();
    pools[pool].launch();
    total += bench_now_ns() - from - task_ns;
  }
  return total / cases[which].launches;
}

static double in_a_row(int pool, int launches) {
  double from = bench_now_ns();
  for (int i = 0; i < launches; ++i) pools[pool].launch();
  return (bench_now_ns() - from) / launches;
}

/* Mean ns of a launch in one round. */
static double round_of(int pool, int which) {
  usleep(20000); /* the threads of the pool before stop spinning */
  task_ns = 0;
  for (int i = 0; i < 20; ++i) pools[pool].launch();
  task_ns = cases[which].task_ns;
  bool row = cases[which].gap_ns == 0 && cases[which].sleep_us == 0;
  return row ? in_a_row(pool, cases[which].launches) : apart(pool, which);
}

static double samples[NCASE][NPOOL][MAX_ROUNDS];

static void print_text(int nthread, int rounds, double median[NCASE][NPOOL]) {
  printf("launch and join of %d threads, ns, median of %d rounds (in brackets: ratio to tenon)\n",
         nthread, rounds);
  printf("%-22s", "");
  for (int c = 0; c < NCASE; ++c) printf("%20s", cases[c].name);
  printf("\n");
  for (int p = 0; p < NPOOL; ++p) {
    printf("%-22s", pools[p].name);
    for (int c = 0; c < NCASE; ++c)
      printf("%11.0f (%6.2f)", median[c][p], median[c][p] / median[c][0]);
    printf("\n");
  }
}

static void print_json(int nthread, int rounds, double median[NCASE][NPOOL]) {
  printf("{\"benchmark\": \"threads\", \"threads\": %d, \"rounds\": %d, \"unit\": \"ns\", "
         "\"results\": [",
         nthread, rounds);
  for (int i = 0; i < NCASE * NPOOL; ++i) {
    int c = i / NPOOL, p = i % NPOOL;
    printf("%s\n  {\"case\": \"%s\", \"pool\": \"%s\", \"median\": %.1f, \"least\": %.1f}",
           i ? "," : "", cases[c].name, pools[p].name, median[c][p], samples[c][p][0]);
  }
  printf("\n]}\n");
}

int main(int argc, char **argv) {
  bool json = false;
  int rounds = 15;
  for (int i = 1; i < argc; ++i) {
    if (strcmp(argv[i], "--json") == 0) json = true;
    else if (strcmp(argv[i], "--threads") == 0 && i + 1 < argc) tn_set_num_threads(atoi(argv[++i]));
    else if (strcmp(argv[i], "--rounds") == 0 && i + 1 < argc) rounds = atoi(argv[++i]);
    else return fprintf(stderr, "usage: threads [--json] [--threads N] [--rounds N]\n"), 2;
  }
  int nthread = tn_num_threads();
  if (nthread > 256) tn_set_num_threads(nthread = 256);
  if (rounds < 1 || rounds > MAX_ROUNDS) rounds = 15;
#ifdef _OPENMP
  omp_set_num_threads(nthread);
#endif
  plain_start(nthread);
  double median[NCASE][NPOOL];
  for (int r = 0; r < rounds; ++r) {
    for (int i = 0; i < NCASE * NPOOL; ++i)
      samples[i / NPOOL][i % NPOOL][r] = round_of(i % NPOOL, i / NPOOL);
  }
  for (int i = 0; i < NCASE * NPOOL; ++i)
    median[i / NPOOL][i % NPOOL] = bench_median(samples[i / NPOOL][i % NPOOL], rounds);
  (json ? print_json : print_text)(nthread, rounds, median);
  return 0;
}
