/* Targets as global functions, and the targets of `with` statements: a stack in each thread. */
#include <pthread.h>
#include <string.h>

#include "base/alloc.h"
#include "object/functions.h"
#include "object/repr.h"
#include "target/target_impl.h"

/* ---- the thread's targets ---- */

typedef struct {
  tn_target **items; /* retained */
  int64_t len, cap;
} stack;

static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int key_error;

static void thread_ends(void *p) {
  stack *s = p;
  while (s->len > 0) tn_release(s->items[--s->len]);
  tn_free(s->items);
  tn_free(s);
}
static void make_key(void) { key_error = pthread_key_create(&key, thread_ends); }

static stack *mine(void) {
  pthread_once(&once, make_key);
  TN_CHECKP(!key_error, RuntimeError, NULL, "no thread-local storage is left for targets");
  stack *s = pthread_getspecific(key);
  if (s || !(s = tn_alloc_zero(1, sizeof *s))) return s;
  if (pthread_setspecific(key, s) == 0) return s;
  tn_free(s);
  return TN_RAISEP(RuntimeError, NULL, "no thread-local storage is left for targets");
}

int target_enter(tn_target *t) {
  stack *s;
  TN_GET(s, mine());
  TN_GROW(s->items, s->cap, s->len + 1, return -1);
  tn_retain(s->items[s->len++] = t);
  return 0;
}

int target_exit(tn_target *t) {
  stack *s;
  TN_GET(s, mine());
  TN_CHECK(s->len > 0 && s->items[s->len - 1] == t, ValueError, NULL,
           "target scope: the target that ends is not the innermost one");
  tn_release(s->items[--s->len]);
  return 0;
}

tn_target *target_current(void) {
  stack *s = mine();
  return s && s->len > 0 ? s->items[s->len - 1] : NULL;
}

/* ---- functions ---- */

static int make(TN_ARGS) {
  tn_target *t, *host;
  TN_CHECK(n == 1 || n == 2, TypeError, NULL, "target.Target: expected 1 or 2 arguments, got %d",
           n);
  TN_GET(t, target_from(&args[0]));
  if (n == 2 && args[1].type_index != TN_NONE) {
    TN_GET(host, target_from(&args[1]));
    TN_GET(t, target_with_host(t, host));
  }
  return tn_ret_obj(ret, t);
}

static int enter(TN_ARGS) {
  TN_ARG_OBJ(Target, t, 0);
  return target_enter(t);
}
static int leave(TN_ARGS) {
  TN_ARG_OBJ(Target, t, 0);
  return target_exit(t);
}
static int current(TN_ARGS) {
  bool allow_none = false;
  if (n > 0) TN_TRY(tn_any_to_bool(&args[0], &allow_none));
  tn_target *t = target_current();
  TN_CHECK(t || allow_none, ValueError, NULL,
           "Target context required. Please set it by constructing a Target");
  return t ? tn_ret_obj(ret, t) : 0;
}

static int export_map(TN_ARGS) {
  TN_ARG_OBJ(Target, t, 0);
  return tn_ret_obj(ret, target_export(t));
}
static int text(TN_ARGS) {
  TN_ARG_OBJ(Target, t, 0);
  return tn_ret_obj(ret, target_text(t));
}
static int with_host(TN_ARGS) {
  TN_ARG_OBJ(Target, t, 0);
  TN_ARG_OPT(Target, host, 1);
  return tn_ret_obj(ret, target_with_host(t, host));
}
static int device_type(TN_ARGS) {
  TN_ARG_OBJ(Target, t, 0);
  *ret = tn_any_int(target_device_type(t));
  return 0;
}
static int kind_names(TN_ARGS) { return tn_ret_obj(ret, target_kind_names()); }
static int list_tags(TN_ARGS) { return tn_ret_obj(ret, target_tags()); }
static int kind_options(TN_ARGS) {
  const char *name;
  TN_NARGS("target.ListTargetKindOptionsFromName", 1);
  TN_TRY(tn_any_to_cstr(&args[0], &name));
  TN_TRY(!target_kind_get(name));
  return tn_ret_obj(ret, target_kind_options(target_kind_find(name)));
}
static int options_of(TN_ARGS) {
  TN_ARG_OBJ(TargetKind, k, 0);
  return tn_ret_obj(ret, target_kind_options(target_kind_find(tn_cstr(k->name))));
}

static const tn_func_row rows[] = {
    {"target.Target", make},
    {"target.TargetEnterScope", enter},
    {"target.TargetExitScope", leave},
    {"target.TargetCurrent", current},
    {"target.TargetExport", export_map},
    {"target.TargetText", text},
    {"target.WithHost", with_host},
    {"target.TargetGetDeviceType", device_type},
    {"target.ListTargetKinds", kind_names},
    {"target.TargetTagListTags", list_tags},
    {"target.ListTargetKindOptionsFromName", kind_options},
    {"target.ListTargetKindOptions", options_of},
};

static int print(tn_repr *r, const tn_obj *o) {
  TN_SCOPE(s);
  tn_str *t;
  TN_GET(t, target_text((const tn_target *)o));
  tn_buf_puts(tn_repr_out(r), tn_cstr(t));
  return 0;
}

int target_api_init(void) {
  TN_TRY(tn_repr_set(&tn_type_Target, print));
  return tn_func_register_rows(rows, TN_COUNT(rows));
}
