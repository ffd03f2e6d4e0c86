/* Pass contexts: a stack in each thread, and the instruments called when contexts and passes begin
   and end. */
#include <pthread.h>

#include "base/alloc.h"
#include "ir/pass_impl.h"

/* The contexts entered by this thread, and the one that holds outside of them. */
typedef struct {
  tn_PassContext *fallback, **stack; /* retained */
  int64_t depth, cap;
} contexts;

static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int key_error;

static void thread_ends(void *p) {
  contexts *c = p;
  while (c->depth > 0) tn_release(c->stack[--c->depth]);
  tn_release(c->fallback);
  tn_free(c->stack);
  tn_free(c);
}
static void make_key(void) { key_error = pthread_key_create(&key, thread_ends); }

static contexts *mine(void) {
  pthread_once(&once, make_key);
  TN_CHECKP(!key_error, RuntimeError, NULL, "no thread-local storage is left for pass contexts");
  contexts *c = pthread_getspecific(key);
  if (c) return c;
  if (!(c = tn_alloc_zero(1, sizeof *c))) return NULL;
  c->fallback = (tn_PassContext *)tn_node_make(&tn_type_PassContext, 0, NULL, NULL);
  if (c->fallback && pthread_setspecific(key, c) == 0) return c;
  thread_ends(c);
  return NULL;
}

tn_PassContext *ir_pass_ctx_current(void) {
  contexts *c = mine();
  if (!c) return NULL;
  return c->depth ? c->stack[c->depth - 1] : c->fallback;
}

static bool contains(const tn_arr *names, const tn_str *name) {
  for (int64_t i = 0; i < names->len; ++i) {
    const tn_obj *o = tn_arr_obj(names, i);
    if (o && o->type_index == TN_TI_String && tn_str_eq(name, tn_cstr((const tn_str *)o)))
      return true;
  }
  return false;
}

bool ir_pass_enabled(const tn_PassContext *ctx, const tn_PassInfo *info) {
  if (contains(ctx->disabled_pass, info->name)) return false;
  return contains(ctx->required_pass, info->name) || ctx->opt_level >= info->opt_level;
}

/* ---- instruments ---- */

static const tn_PassInstrument *instrument(const tn_arr *a, int64_t i) {
  return TN_AS(PassInstrument, tn_arr_obj(a, i));
}

/* A callback without a result. */
static int notify(tn_func *f, const tn_any *args, int32_t n) {
  tn_any ret;
  if (!f) return 0;
  TN_TRY(tn_func_call(f, args, n, &ret));
  tn_any_release(&ret);
  return 0;
}

/* After a failure the context goes on without instruments. */
static int drop_instruments(tn_PassContext *ctx) {
  tn_arr *none = tn_arr_new(NULL, 0);
  if (!none) return -1;
  tn_release(ctx->instruments);
  ctx->instruments = none;
  return 0;
}

static int exit_first(const tn_arr *instruments, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const tn_PassInstrument *p = instrument(instruments, i);
    if (p) TN_TRY(notify(p->on_exit, NULL, 0));
  }
  return 0;
}

/* Keeps the pending error while clean-up runs that may fail itself. */
static int fail_after(tn_PassContext *ctx, const tn_arr *entered, int64_t n) {
  tn_error e;
  tn_error_take(&e);
  drop_instruments(ctx);
  exit_first(entered, n);
  tn_error_clear();
  tn_error_restore(&e);
  return -1;
}

int ir_instruments_enter(tn_PassContext *ctx) {
  TN_SCOPE(s);
  tn_arr *all = ctx->instruments;
  tn_retain(all);
  tn_scope_own(all);
  for (int64_t i = 0; i < all->len; ++i) {
    const tn_PassInstrument *p = instrument(all, i);
    if (p && notify(p->on_enter, NULL, 0)) return fail_after(ctx, all, i);
  }
  return 0;
}

int ir_instruments_exit(tn_PassContext *ctx) {
  TN_SCOPE(s);
  tn_arr *all = ctx->instruments;
  tn_retain(all);
  tn_scope_own(all);
  if (exit_first(all, all->len) == 0) return 0;
  return fail_after(ctx, all, 0);
}

static int ask(const tn_PassInstrument *p, const tn_any *args, bool *run) {
  tn_any ret;
  bool yes = true;
  if (!p->on_should_run) return 0;
  TN_TRY(tn_func_call(p->on_should_run, args, 2, &ret));
  int err = ret.type_index == TN_NONE ? 0 : tn_any_to_bool(&ret, &yes);
  tn_any_release(&ret);
  *run = *run && yes;
  return err;
}

int ir_instruments_before(tn_PassContext *ctx, tn_IRModule *m, tn_PassInfo *info, bool *run) {
  tn_any args[2] = {tn_any_obj(m), tn_any_obj(info)};
  const tn_arr *all = ctx->instruments;
  *run = true;
  for (int64_t i = 0; i < all->len && !contains(ctx->required_pass, info->name); ++i) {
    const tn_PassInstrument *p = instrument(all, i);
    if (p) TN_TRY(ask(p, args, run));
  }
  for (int64_t i = 0; *run && i < all->len; ++i) {
    const tn_PassInstrument *p = instrument(all, i);
    if (p) TN_TRY(notify(p->on_before_pass, args, 2));
  }
  return 0;
}

int ir_instruments_after(tn_PassContext *ctx, tn_IRModule *m, tn_PassInfo *info) {
  tn_any args[2] = {tn_any_obj(m), tn_any_obj(info)};
  const tn_arr *all = ctx->instruments;
  for (int64_t i = 0; i < all->len; ++i) {
    const tn_PassInstrument *p = instrument(all, i);
    if (p) TN_TRY(notify(p->on_after_pass, args, 2));
  }
  return 0;
}

/* ---- entering and leaving ---- */

int ir_pass_ctx_enter(tn_PassContext *ctx) {
  contexts *c = mine();
  if (!c) return -1;
  TN_TRY(ir_instruments_enter(ctx));
  TN_GROW(c->stack, c->cap, c->depth + 1, return -1);
  tn_retain(ctx);
  c->stack[c->depth++] = ctx;
  return 0;
}

int ir_pass_ctx_exit(tn_PassContext *ctx) {
  contexts *c = mine();
  if (!c) return -1;
  TN_CHECK(c->depth > 0 && c->stack[c->depth - 1] == ctx, RuntimeError, NULL,
           "PassContext: only the innermost context of a thread can be left");
  c->depth--;
  int err = ir_instruments_exit(ctx);
  tn_release(ctx);
  return err;
}

static int check_context(tn_obj *self) {
  tn_PassContext *ctx = (tn_PassContext *)self;
  TN_SCOPE(s);
  tn_map *config = ir_config_check(ctx->config);
  if (!config) return -1;
  for (int64_t i = 0; i < ctx->instruments->len; ++i)
    TN_CHECK(instrument(ctx->instruments, i), TypeError, NULL,
             "PassContext.instruments[%lld]: expected instrument.PassInstrument, got %s",
             (long long)i, tn_type_key((uint32_t)ctx->instruments->items[i].type_index));
  tn_retain(config);
  tn_release(ctx->config);
  ctx->config = config;
  return 0;
}
const tn_type_hooks ir_pass_context_hooks = {.init = check_context};

TN_NODES_DEFINE(TN_PASS_NODES, pass_types)

int ir_pass_types_init(void) { return tn_type_register_table(pass_types, TN_COUNT(pass_types)); }
