/* Generic functions: one name, a variant for each kind of target. A call goes to the first key of
   the current target that has a variant, else to the default.

     f = target.GenericFuncGetGlobal("schedule_dense")       made when it is asked for
     target.GenericFuncSetDefault(f, g, False)
     target.GenericFuncRegisterFunc(f, h, ["cuda", "gpu"], False)
     target.GenericFuncCallFunc(f, x)                         h(x) within a CUDA target, else g(x)
 */
#include "base/lock.h"
#include "object/functions.h"
#include "target/target_impl.h"

/* Guards the table of names and what every function refers to. Maps are replaced, not changed. */
static tn_lock lock = TN_LOCK_INIT;
static tn_map *by_name; /* String -> GenericFunc */

static tn_GenericFunc *make(const char *name) {
  return TN_NEW(GenericFunc, .name = tn_str_from(name), .dispatch = tn_scope_own(tn_map_new()));
}

/* An object that is read under the lock, owned by the scope. */
static void *read_slot(void *const *slot) {
  tn_lock_read(&lock);
  void *o = *slot;
  tn_retain(o);
  tn_unlock(&lock);
  return o ? tn_scope_own(o) : NULL;
}

/* Puts a new object into a slot that still holds `expected`; false when it holds another one by
   now. */
static bool swap_slot(void **slot, const void *expected, void *o) {
  tn_retain(o);
  tn_lock_write(&lock);
  void *old = *slot;
  bool same = old == expected;
  if (same) *slot = o;
  tn_unlock(&lock);
  tn_release(same ? old : o);
  return same;
}

static tn_GenericFunc *get(const char *name) {
  while (true) {
    TN_SCOPE(s);
    tn_map *all = read_slot((void *const *)&by_name), *grown;
    tn_obj *found = all ? tn_map_find(all, name) : NULL;
    if (found) return tn_scope_return(s, found);
    tn_GenericFunc *f;
    TN_GETP(f, make(name));
    TN_GETP(grown, tn_map_with(all, tn_any_cstr(name), tn_any_obj(f)));
    if (swap_slot((void **)&by_name, all, grown)) return tn_scope_return(s, f);
  }
}

static tn_func *variant(tn_GenericFunc *f) {
  tn_map *dispatch = read_slot((void *const *)&f->dispatch);
  const tn_target *t = target_current();
  for (int64_t i = 0; t && i < t->keys->len; ++i) {
    tn_obj *found = tn_map_find(dispatch, tn_cstr((const tn_str *)tn_arr_obj(t->keys, i)));
    if (found) return (tn_func *)found;
  }
  tn_func *r = read_slot((void *const *)&f->default_func);
  TN_CHECKP(r, ValueError, NULL, "generic function %s: nothing is registered for the target %s",
            tn_cstr(f->name), t ? tn_cstr(target_text(t)) : "None");
  return r;
}

static int add_variant(tn_GenericFunc *f, tn_func *func, const char *key, bool override) {
  while (true) {
    TN_SCOPE(s);
    tn_map *old = read_slot((void *const *)&f->dispatch), *grown;
    TN_CHECK(override || !tn_map_find(old, key), ValueError, NULL,
             "generic function %s: there is a function for %s already; pass allow_override",
             tn_cstr(f->name), key);
    TN_GET(grown, tn_map_with(old, tn_any_cstr(key), tn_any_obj(func)));
    if (swap_slot((void **)&f->dispatch, old, grown)) return 0;
  }
}

/* ---- functions ---- */

static int need(const tn_any *args, int32_t n, tn_GenericFunc **f) {
  TN_CHECK(n > 0 && tn_any_is_obj(&args[0]) && TN_IS(GenericFunc, args[0].v.obj), TypeError, NULL,
           "argument 0: expected GenericFunc");
  *f = (tn_GenericFunc *)args[0].v.obj;
  return 0;
}

static int f_create(TN_ARGS) {
  const char *name = "";
  if (n > 0) TN_TRY(tn_any_to_cstr(&args[0], &name));
  return tn_ret_obj(ret, make(name));
}

static int f_get(TN_ARGS) {
  const char *name;
  TN_NARGS("target.GenericFuncGetGlobal", 1);
  TN_TRY(tn_any_to_cstr(&args[0], &name));
  return tn_ret_obj(ret, get(name));
}

/* (f, function, allow_override) */
static int f_set_default(TN_ARGS) {
  tn_GenericFunc *f;
  bool override;
  TN_NARGS("target.GenericFuncSetDefault", 3);
  TN_TRY(need(args, n, &f));
  TN_ARG_OBJ(Function, func, 1);
  TN_TRY(tn_any_to_bool(&args[2], &override));
  const void *old = read_slot((void *const *)&f->default_func);
  TN_CHECK(override || !old, ValueError, NULL,
           "generic function %s: there is a default function already; pass allow_override",
           tn_cstr(f->name));
  while (!swap_slot((void **)&f->default_func, old, func))
    old = read_slot((void *const *)&f->default_func);
  return 0;
}

/* (f, function, keys, allow_override) */
static int f_register(TN_ARGS) {
  tn_GenericFunc *f;
  bool override;
  TN_NARGS("target.GenericFuncRegisterFunc", 4);
  TN_TRY(need(args, n, &f));
  TN_ARG_OBJ(Function, func, 1);
  TN_ARG_OBJ(Array, keys, 2);
  TN_TRY(tn_any_to_bool(&args[3], &override));
  for (int64_t i = 0; i < keys->len; ++i) {
    const char *key;
    TN_TRY(tn_any_to_cstr(&keys->items[i], &key));
    TN_TRY(add_variant(f, func, key, override));
  }
  return 0;
}

static int f_call(TN_ARGS) {
  tn_GenericFunc *f;
  tn_func *v;
  TN_TRY(need(args, n, &f));
  TN_GET(v, variant(f));
  return tn_func_call(v, args + 1, n - 1, ret);
}

/* The variant of the current target. */
static int f_packed(TN_ARGS) {
  tn_GenericFunc *f;
  TN_TRY(need(args, n, &f));
  return tn_ret_obj(ret, variant(f));
}

static const tn_func_row rows[] = {
    {"target.GenericFuncCreate", f_create},          {"target.GenericFuncGetGlobal", f_get},
    {"target.GenericFuncSetDefault", f_set_default}, {"target.GenericFuncRegisterFunc", f_register},
    {"target.GenericFuncCallFunc", f_call},          {"target.GenericFuncGetPackedFunc", f_packed},
};

int target_generic_func_init(void) { return tn_func_register_rows(rows, TN_COUNT(rows)); }
