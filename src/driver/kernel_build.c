/* The way of a kernel:

     program -> schedule -> lowering -> host passes -> code generator -> part of the module

   A kernel whose code is separate (codegen_has_parts) is looked up in the cache first, by
   everything the code depends on: program, name, target, processor, options of passes, and the
   files of this compiler. Threads take kernels from a list; each has its own pass context.
   Where somebody watches passes (instruments) or adds some, the calling thread does it all, and
   nothing is read from the cache. The calling thread asks whether the user wants to stop
   (ir/interrupt.h), also while it waits for the others, which leave their kernels then. */
#include "driver/kernel_build.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/scope.h"
#include "driver/build.h"
#include "cache/kernel_store.h"
#include "tune/records.h"
#include "driver/tir_pipeline.h"
#include "ir/imm.h"
#include "ir/interrupt.h"
#include "ir/module.h"
#include "ir/op.h"
#include "ir/pass.h"
#include "tenon/object.h"
#include "tir/analysis.h"

enum { MAX_WORKERS = 64, STACK = 64 << 20, ALIGNMENT = 16, WAIT_NS = 50 * 1000 * 1000 };

typedef struct {
  kernel_job *jobs;
  tn_obj **parts; /* of each job, owned: array of what codegen_compile_part gives, or PrimFunc */
  int64_t n;
  tn_target *target;
  tn_PassContext *ctx; /* the caller's */
  target_machine machine;
  tn_arr *sources; /* of records, of the calling thread */
  tn_str *common;  /* what the keys of all kernels begin with; NULL: no cache */
  _Atomic int64_t next;
  _Atomic int64_t failed; /* number of the first job that failed, n: none */
  _Atomic bool stop;      /* the user wants to stop: no part is finished */
  pthread_mutex_t lock;
  pthread_cond_t left; /* `working` became less */
  int working;         /* threads besides the calling one */
  tn_error error;      /* of that job, or what says that the user wants to stop */
} build_state;

/* ---- one kernel ---- */

/* A module of one scheduled program. */
static tn_IRModule *scheduled(const build_state *b, const kernel_job *j) {
  tn_PrimFunc *p = j->program;
  tn_IRModule *m;
  tn_GlobalVar *v;
  if (!j->flat) TN_GETP(p, kernels_schedule(p, &b->machine));
  TN_GETP(p, tir_with_attr(p, "global_symbol", (tn_obj *)tn_str_from(j->name)));
  TN_GETP(m, ir_module_new(NULL, NULL, NULL));
  TN_GETP(v, ir_global_var(j->name));
  TN_TRYP(ir_module_add(m, v, (tn_BaseFunc *)p, false));
  return m;
}

static tn_IRModule *lowered(const build_state *b, kernel_job *j) {
  tn_IRModule *m;
  tn_map *functions;
  tn_any key, value;
  TN_GETP(m, scheduled(b, j));
  if (j->flat) return m;
  TN_GETP(m, driver_lower(m, false));
  functions = m->functions;
  for (int64_t i = 0; tn_map_at(m->functions, i, &key, &value); ++i) {
    tn_PrimFunc *f = TN_AS(PrimFunc, value.v.obj), *linked;
    if (!f) continue;
    TN_GETP(linked, driver_link_constants(f, b->target));
    if (linked != f) TN_GETP(functions, tn_map_with(functions, key, tn_any_obj(linked)));
    j->workspace += tir_workspace_bytes(f, ALIGNMENT);
  }
  return functions == m->functions ? m : ir_module_with_functions(m, functions);
}

/* Executors alone call these functions: they check their arguments by a table. */
static tn_IRModule *with_tables(tn_IRModule *m) {
  tn_map *functions = m->functions;
  tn_any key, value;
  for (int64_t i = 0; tn_map_at(m->functions, i, &key, &value); ++i) {
    tn_PrimFunc *f = TN_AS(PrimFunc, value.v.obj);
    if (!f) continue;
    TN_GETP(f, tir_with_attr(f, TIR_CHECK_TABLE, (tn_obj *)tir_bool(true)));
    TN_GETP(functions, tn_map_with(functions, key, tn_any_obj(f)));
  }
  return ir_module_with_functions(m, functions);
}

/* [what codegen_compile_part gave]: names, object, bitcode */
static tn_arr *compile_kernel(const build_state *b, kernel_job *j) {
  tn_IRModule *m, *device;
  TN_GETP(m, lowered(b, j));
  TN_GETP(m, with_tables(m));
  TN_TRYP(driver_split_pipeline(m, (tn_obj *)b->target, &m, &device));
  return codegen_compile_part(m, b->target);
}

/* ---- the cache ---- */

/* False where a program cannot be written down: it is not kept then. */
static bool key_of(const build_state *b, const kernel_job *j, tn_buf *out) {
  if (!b->common || j->flat) return false;
  tn_str *text = tn_json_save(tn_any_obj(j->program));
  if (!text) {
    tn_error_clear();
    return false;
  }
  tn_buf_put(out, tn_cstr(b->common), tn_str_len(b->common));
  tn_buf_printf(out, "\nname %s\n", j->name);
  tn_buf_put(out, tn_cstr(text), tn_str_len(text));
  tn_release(text);
  if (tn_buf_ok(out) == 0) return true;
  tn_error_clear();
  return false;
}

/* Entries hold the workspace (int64), the object and the bitcode. */
static tn_arr *load_part(tn_bytes_view key, kernel_job *j) {
  const tn_arr *found = kernel_store_get(key);
  if (!found || found->len != 3) return NULL;
  tn_bytes_view size = tn_bytes_get((const tn_bytes *)found->items[0].v.obj);
  if (size.size != sizeof j->workspace) return NULL;
  memcpy(&j->workspace, size.data, sizeof j->workspace);
  return tn_arr_of(3, tn_arr_of(1, tn_str_from(j->name)), found->items[1].v.obj,
                   found->items[2].v.obj);
}

static void store_part(tn_bytes_view key, const kernel_job *j, const tn_arr *part) {
  tn_bytes *size = tn_scope_own(tn_bytes_new(&j->workspace, sizeof j->workspace));
  tn_arr *values = size ? tn_arr_of(3, size, part->items[1].v.obj, part->items[2].v.obj) : NULL;
  if (values) kernel_store_put(key, values);
  else tn_error_clear();
}

static tn_arr *make_part(const build_state *b, kernel_job *j) {
  TN_BUF(key);
  tn_arr *part;
  bool kept = key_of(b, j, &key);
  tn_bytes_view view = {(const uint8_t *)key.data, key.len};
  if (kept && (part = load_part(view, j)) != NULL) return part;
  j->workspace = 0;
  TN_GETP(part, compile_kernel(b, j));
  if (kept) store_part(view, j, part);
  return part;
}

/* What the code of all kernels of a build depends on; NULL without an error: on more than can be
   written down, or there is no cache. */
static tn_str *common_key(const build_state *b) {
  const target_machine *m = &b->machine;
  TN_BUF(out);
  tn_str *compiler, *target, *host = NULL;
  bool off = ir_config_int(b->ctx, "relay.backend.disable_compile_engine_cache", 0) != 0;
  if (off || !kernel_store_enabled() || ir_op_has_foreign_rules()) return NULL;
  tn_str *config = tn_scope_own(tn_json_save(tn_any_obj(b->ctx->config)));
  if (!config) {
    tn_error_clear();
    return NULL;
  }
  TN_GETP(compiler, codegen_describe(b->target));
  TN_GETP(target, target_text(b->target));
  if (b->target->host) TN_GETP(host, target_text(b->target->host));
  tn_buf_printf(&out, "tenon " TN_VERSION " %s\ntarget %s host %s\n", tn_cstr(compiler),
                tn_cstr(target), host ? tn_cstr(host) : "");
  tn_buf_printf(&out, "machine %d %d %d %d %d %lld %lld\noptions %lld %s", m->vector_bytes,
                m->vector_registers, m->threads, (int)m->bf16, (int)m->int8, (long long)m->l1,
                (long long)m->l2, (long long)b->ctx->opt_level, tn_cstr(config));
  if (!records_key(&out)) return NULL;
  for (int i = 0; i < 2; ++i) {
    const tn_arr *names = i ? b->ctx->disabled_pass : b->ctx->required_pass;
    tn_buf_puts(&out, i ? "\ndisabled" : "\nrequired");
    for (int64_t k = 0; k < names->len; ++k) {
      const char *name;
      TN_TRYP(tn_any_to_cstr(&names->items[k], &name));
      tn_buf_printf(&out, " %s", name);
    }
  }
  return tn_scope_own(tn_buf_str(&out));
}

/* ---- all of them ---- */

/* The error of the first kernel in the list is the one that is told. */
static void keep_error(build_state *b, int64_t i) {
  tn_error mine, dropped;
  (void)tn_error_note("in kernel %s", b->jobs[i].name);
  tn_error_take(&mine);
  pthread_mutex_lock(&b->lock);
  bool first = i < atomic_load(&b->failed);
  dropped = first ? b->error : mine;
  if (first) b->error = mine;
  if (first) atomic_store(&b->failed, i);
  pthread_mutex_unlock(&b->lock);
  tn_error_fini(&dropped);
}

/* The pending error ends the whole build, whatever the others meet. Only the calling thread's. */
static void keep_interrupt(build_state *b) {
  tn_error mine, dropped;
  tn_error_take(&mine);
  pthread_mutex_lock(&b->lock);
  dropped = b->error;
  b->error = mine;
  atomic_store(&b->failed, -1); /* before every job: no other error is first */
  pthread_mutex_unlock(&b->lock);
  atomic_store(&b->stop, true);
  tn_error_fini(&dropped);
}

/* False: the user wants to stop. The threads that follow `stop` have nothing to tell then. */
static bool work_on(build_state *b, int64_t i) {
  int64_t before = ir_interrupt_count();
  tn_arr *part = ir_interrupt_check() ? NULL : make_part(b, &b->jobs[i]);
  if (ir_interrupt_count() == before) {
    if (part) tn_retain(b->parts[i] = &part->hdr);
    else keep_error(b, i);
    return true;
  }
  if (!tn_error_pending()) (void)ir_interrupt_dropped(before);
  if (atomic_load(&b->stop)) tn_error_clear();
  else keep_interrupt(b);
  return false;
}

/* Takes kernels from the list until it is empty, or one has failed. */
static void work(build_state *b) {
  for (;;) {
    TN_SCOPE(s);
    int64_t i = atomic_fetch_add(&b->next, 1);
    if (i >= b->n || atomic_load(&b->failed) < b->n) return;
    if (!work_on(b, i)) return;
  }
}

/* A pass context like the caller's, for another thread. */
static tn_PassContext *own_context(const build_state *b) {
  const tn_PassContext *c = b->ctx;
  const char *names[] = {"opt_level", "required_pass", "disabled_pass", "config"};
  tn_any values[] = {tn_any_int(c->opt_level), tn_any_obj(c->required_pass),
                     tn_any_obj(c->disabled_pass), tn_any_obj(c->config)};
  return tn_scope_own(tn_node_make(&tn_type_PassContext, 4, names, values));
}

static int work_in_context(build_state *b) {
  tn_PassContext *ctx;
  TN_GET(ctx, own_context(b));
  TN_TRY(ir_pass_ctx_enter(ctx));
  int err = target_enter(b->target);
  if (!err) {
    tn_release(records_use(b->sources));
    work(b);
    tn_release(records_use(NULL));
    err = target_exit(b->target);
  }
  return ir_pass_ctx_exit(ctx) || err ? -1 : 0;
}

/* A thread that cannot start leaves the work to the others. */
static void *worker(void *p) {
  build_state *b = p;
  TN_SCOPE(s);
  ir_interrupt_follow(&b->stop);
  if (work_in_context(b)) tn_error_clear();
  pthread_mutex_lock(&b->lock);
  --b->working;
  pthread_cond_signal(&b->left);
  pthread_mutex_unlock(&b->lock);
  return NULL;
}

/* Until the other threads have left, or for a moment. @return whether they have */
static bool wait_a_moment(build_state *b) {
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_nsec += WAIT_NS;
  until.tv_sec += until.tv_nsec / 1000000000;
  until.tv_nsec %= 1000000000;
  pthread_mutex_lock(&b->lock);
  if (b->working) pthread_cond_timedwait(&b->left, &b->lock, &until);
  bool done = b->working == 0;
  pthread_mutex_unlock(&b->lock);
  return done;
}

static void wait_for_others(build_state *b) {
  while (!wait_a_moment(b))
    if (!atomic_load(&b->stop) && ir_interrupt_check()) keep_interrupt(b);
}

static bool start_worker(build_state *b, const pthread_attr_t *attr, pthread_t *thread) {
  pthread_mutex_lock(&b->lock);
  bool started = pthread_create(thread, attr, worker, b) == 0;
  b->working += started;
  pthread_mutex_unlock(&b->lock);
  return started;
}

static void work_in_threads(build_state *b) {
  pthread_t threads[MAX_WORKERS];
  pthread_attr_t attr;
  int n = 0, most = tn_num_threads();
  bool good = pthread_attr_init(&attr) == 0;
  if (most > MAX_WORKERS) most = MAX_WORKERS;
  if (good) (void)pthread_attr_setstacksize(&attr, STACK);
  while (good && n + 1 < most && n + 1 < b->n && start_worker(b, &attr, &threads[n])) ++n;
  work(b);
  wait_for_others(b);
  for (int i = 0; i < n; ++i) pthread_join(threads[i], NULL);
  if (good) pthread_attr_destroy(&attr);
}

static tn_arr *part_list(const build_state *b) {
  TN_VEC(list);
  for (int64_t i = 0; i < b->n; ++i) TN_TRYP(tn_vec_push_obj(&list, b->parts[i]));
  return tn_arr_from(&list);
}

/* A program's own source of records is asked by the calling thread: others might wait for what it
   holds. */
static bool asks_program(void) {
  TN_BUF(key);
  return !records_key(&key);
}

static tn_module *build_parts(build_state *b) {
  bool watched = b->ctx->instruments->len || ir_config_get(b->ctx, "tir.add_lower_pass");
  tn_arr *parts;
  if (!watched) b->common = common_key(b);
  if (!b->common && tn_error_pending()) return NULL;
  TN_TRYP(target_enter(b->target));
  if (watched || asks_program()) work(b);
  else work_in_threads(b);
  TN_TRYP(target_exit(b->target));
  if (b->failed < b->n) {
    tn_error_restore(&b->error);
    return tn_trace(__FILE__, __LINE__, __func__), NULL;
  }
  TN_GETP(parts, part_list(b));
  return codegen_assemble(parts, b->target);
}

static tn_module *build_in_parts(build_state *b) {
  b->parts = tn_alloc_zero((size_t)b->n, sizeof *b->parts);
  if (!b->parts) return NULL;
  pthread_mutex_init(&b->lock, NULL);
  pthread_cond_init(&b->left, NULL);
  tn_module *m = build_parts(b);
  pthread_cond_destroy(&b->left);
  pthread_mutex_destroy(&b->lock);
  for (int64_t i = 0; i < b->n; ++i) tn_release(b->parts[i]);
  tn_free(b->parts);
  return m;
}

/* One module of all. */
static tn_IRModule *lowered_together(const build_state *b) {
  tn_map *functions;
  tn_IRModule *m;
  TN_GETP(functions, tn_scope_own(tn_map_new()));
  for (int64_t i = 0; i < b->n; ++i) {
    tn_any key, value;
    m = lowered(b, &b->jobs[i]);
    if (!m) {
      (void)tn_error_note("in kernel %s", b->jobs[i].name);
      return tn_trace(__FILE__, __LINE__, __func__), NULL;
    }
    for (int64_t k = 0; tn_map_at(m->functions, k, &key, &value); ++k)
      TN_TRYP(tn_map_set(functions, key, value));
  }
  return ir_module_new(functions, NULL, NULL);
}

/* For targets without parts. */
static tn_module *build_together(const build_state *b) {
  tn_map *programs;
  tn_IRModule *m;
  TN_GETP(m, lowered_together(b));
  TN_GETP(programs, tn_map_with(NULL, tn_any_obj(b->target), tn_any_obj(m)));
  return driver_build(programs, NULL);
}

tn_module *driver_kernels_build(kernel_job *jobs, int64_t n, tn_target *t) {
  build_state b = {.jobs = jobs, .n = n, .target = t, .machine = target_machine_of(t)};
  b.sources = records_current();
  atomic_init(&b.failed, n);
  TN_GETP(b.ctx, ir_pass_ctx_current());
  if (n == 0 || !codegen_has_parts(t)) return build_together(&b);
  TN_GETP(b.target, target_with_host(t, NULL));
  return build_in_parts(&b);
}

/* ---- maps of kernels ---- */

tn_map *driver_kernel_programs(const tn_map *kernels, tn_target *t) {
  tn_map *out;
  TN_GETP(out, tn_scope_own(tn_map_new()));
  for (int64_t i = 0; i < kernels->len; ++i) {
    const tn_map_entry *e = &kernels->entries[i];
    tn_PrimFunc *p = driver_primitive((const tn_RelayFunction *)e->value.v.obj, t);
    if (!p) {
      (void)tn_error_note("in kernel %s", tn_cstr((const tn_str *)e->key.v.obj));
      return tn_trace(__FILE__, __LINE__, __func__), NULL;
    }
    TN_TRYP(tn_map_set(out, e->key, tn_any_obj(p)));
  }
  return out;
}

/* A job for each program of a map; to be freed. */
static kernel_job *jobs_of(const tn_map *programs) {
  kernel_job *jobs = tn_alloc_zero((size_t)programs->len + 1, sizeof *jobs);
  for (int64_t i = 0; jobs && i < programs->len; ++i) {
    jobs[i].name = tn_cstr((const tn_str *)programs->entries[i].key.v.obj);
    jobs[i].program = (tn_PrimFunc *)programs->entries[i].value.v.obj;
  }
  return jobs;
}

tn_IRModule *driver_kernels_lower(const tn_map *programs, tn_target *t) {
  TN_AUTOFREE kernel_job *jobs = jobs_of(programs);
  if (!jobs) return NULL;
  build_state b = {.jobs = jobs, .n = programs->len, .target = t, .machine = target_machine_of(t)};
  TN_GETP(b.ctx, ir_pass_ctx_current());
  TN_TRYP(target_enter(t));
  tn_IRModule *m = lowered_together(&b);
  return target_exit(t) ? NULL : m;
}

tn_module *driver_programs_build(const tn_map *programs, tn_target *t, tn_map *workspace) {
  TN_AUTOFREE kernel_job *jobs = jobs_of(programs);
  tn_module *m = jobs ? driver_kernels_build(jobs, programs->len, t) : NULL;
  for (int64_t i = 0; m && workspace && i < programs->len; ++i)
    TN_TRYP(tn_map_set(workspace, programs->entries[i].key, tn_any_int(jobs[i].workspace)));
  return m;
}
