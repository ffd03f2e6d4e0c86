/* Calls of functions for another device become launches: packed calls of the kernel by its name,
   with the extents of its thread axes behind its arguments.

     main_kernel(A.data)                  ->   T.call_packed("main_kernel", A.data, 8, 32)

   The kernel gets the attributes that say so: calling_conv 2, its symbol, and what the numbers
   behind its arguments are ("tir.kernel_launch_params": tags of thread axes, at last
   "tir.use_dyn_shared_memory" for the bytes of dynamic shared memory). A function for another
   target of the same kind of device is called by its symbol. After SplitHostDevice. */
#include <string.h>

#include "base/alloc.h"
#include "ir/module.h"
#include "tir/device.h"
#include "tir/transforms/transforms.h"

/* What launching one function takes. */
typedef struct {
  tn_PrimFunc *func;
  const char *symbol;
  tn_obj *target;
  tn_vec tags, extents; /* strings; PrimExpr over the parameters */
  tn_expr *dynamic;     /* bytes of dynamic shared memory, or NULL */
  bool launched, external;
} callee;

typedef struct {
  tn_IRModule *mod;
  callee *all; /* one for each function of the module, in order */
  int64_t n;
  const tn_obj *target; /* of the caller under work */
} launcher;

/* ---- what a kernel is launched with ---- */

static int note_axis(callee *k, const tn_AttrStmt *s) {
  const tn_IterVar *axis = tir_launched_axis(s);
  if (!axis || axis->thread_tag->len == 0) return 0;
  const char *tag = tn_cstr(axis->thread_tag), *dot = strchr(tag, '.');
  bool known = (strncmp(tag, "threadIdx.", 10) == 0 || strncmp(tag, "blockIdx.", 9) == 0) &&
               dot[1] >= 'x' && dot[1] <= 'z' && !dot[2];
  TN_CHECK(known, ValueError, s->span,
           "function %s: unknown thread axis %s; known are threadIdx and blockIdx with .x, .y, .z",
           k->symbol, tag);
  for (int64_t i = 0; i < k->tags.len; ++i)
    if (tn_str_eq((tn_str *)k->tags.items[i].v.obj, tn_cstr(axis->thread_tag))) return 0;
  TN_TRY(tn_vec_push_obj(&k->tags, axis->thread_tag));
  return tn_vec_push_obj(&k->extents, s->value);
}

static int note_dynamic(callee *k, const tn_Allocate *s) {
  if (!tir_is_dynamic_shared(tir_var_scope(s->buffer_var))) return 0;
  TN_CHECK(!k->dynamic, ValueError, s->span,
           "Only one dynamic shared memory allocation is allowed: run "
           "tir.MergeDynamicSharedMemoryAllocations first (function %s)",
           k->symbol);
  TN_GET(k->dynamic, tir_i32((int32_t)tn_dtype_bytes(s->dtype, 1)));
  for (int64_t i = 0; i < s->extents->len; ++i)
    TN_GET(k->dynamic, tir_mul((tn_expr *)tn_arr_obj(s->extents, i), k->dynamic));
  return 0;
}

static int note_node(void *ctx, tn_obj *o) {
  if (TN_IS(AttrStmt, o)) return note_axis(ctx, (tn_AttrStmt *)o);
  return TN_IS(Allocate, o) ? note_dynamic(ctx, (tn_Allocate *)o) : 0;
}

static int look_at(callee *k, tn_GlobalVar *v, tn_PrimFunc *f) {
  const char *symbol = ir_attrs_str(f->attrs, "global_symbol");
  k->func = f;
  k->symbol = symbol ? symbol : tn_cstr(v->name_hint);
  k->target = tir_func_attr(f, "target");
  TN_CHECK(k->target, ValueError, f->span,
           "LowerDeviceKernelLaunch: function %s has no attribute target: run tir.BindTarget "
           "first",
           k->symbol);
  return tn_pre_order(f->body, note_node, k);
}

/* ---- calls ---- */

static callee *callee_of(launcher *x, const tn_GlobalVar *v) {
  tn_any key, value;
  for (int64_t i = 0; tn_map_at(x->mod->functions, i, &key, &value); ++i)
    if (tn_str_eq(((tn_GlobalVar *)key.v.obj)->name_hint, tn_cstr(v->name_hint)))
      return x->all[i].func ? &x->all[i] : NULL;
  return NULL;
}

/* A launch parameter in the caller's terms. */
static int push_extent(const callee *k, const tn_Call *call, tn_expr *e, tn_vec *args) {
  TN_PMAP(values);
  for (int64_t i = 0; i < k->func->params->len && i < call->args->len; ++i)
    TN_TRY(tn_pmap_put(&values, tn_arr_obj(k->func->params, i), tn_arr_obj(call->args, i)));
  TN_GET(e, tir_substitute_fold(e, &values));
  return tn_vec_push_obj(args, e);
}

static tn_expr *call_by_symbol(const tn_Call *call, const callee *k, bool launch) {
  TN_VEC(args);
  tn_expr *name = tir_str(k->symbol);
  if (!name || tn_vec_push_obj(&args, name)) return NULL;
  for (int64_t i = 0; i < call->args->len; ++i) TN_TRYP(tn_vec_push(&args, call->args->items[i]));
  for (int64_t i = 0; launch && i < k->extents.len; ++i)
    TN_TRYP(push_extent(k, call, (tn_expr *)k->extents.items[i].v.obj, &args));
  if (launch && k->dynamic) TN_TRYP(push_extent(k, call, k->dynamic, &args));
  bool no_value = call->dtype.code == kDLOpaqueHandle && call->dtype.bits == 0;
  return tir_call_args(launch && no_value ? TN_I32 : call->dtype,
                       launch ? TIR_OP_tvm_call_packed : TIR_OP_call_extern, tn_arr_from(&args),
                       call->span);
}

static tn_expr *lower_call(tn_mut *m, tn_Call *op) {
  launcher *x = m->ctx;
  tn_Call *call = tn_mut_children(m, op);
  const tn_GlobalVar *v = call ? TN_AS(GlobalVar, call->op) : NULL;
  callee *k = v ? callee_of(x, v) : NULL;
  if (!k) return (tn_expr *)call;
  tn_str *a = tir_target_text(x->target), *b = tir_target_text(k->target);
  if (!a || !b) return NULL;
  if (tn_str_eq(a, tn_cstr(b))) return (tn_expr *)call;
  bool launch = tir_target_device_type(x->target) != tir_target_device_type(k->target);
  k->launched |= launch;
  k->external |= !launch;
  return call_by_symbol(call, k, launch);
}

/* ---- functions ---- */

/* Another code generator finds the function by its symbol. */
static tn_PrimFunc *with_symbol(const callee *k, tn_PrimFunc *f) {
  TN_GETP(f, tir_with_attr(f, "global_symbol", (tn_obj *)tn_str_from(k->symbol)));
  return tir_with_attr(f, "tir.is_global_func", (tn_obj *)tir_bool(true));
}

static tn_PrimFunc *with_launch_attrs(const callee *k, tn_PrimFunc *f) {
  tn_arr *params;
  TN_VEC(v);
  for (int64_t i = 0; i < k->tags.len; ++i) TN_TRYP(tn_vec_push(&v, k->tags.items[i]));
  if (k->dynamic) TN_TRYP(tn_vec_push_obj(&v, tn_str_from("tir.use_dyn_shared_memory")));
  TN_GETP(params, tn_arr_from(&v));
  TN_GETP(f, tir_with_attr(f, "calling_conv", (tn_obj *)tir_i32(2)));
  TN_GETP(f, tir_with_attr(f, "tir.kernel_launch_params", (tn_obj *)params));
  return with_symbol(k, f);
}

static int rewrite_callers(launcher *x) {
  static const tn_mut_case cases[] = {TN_CASE(Call, lower_call)};
  for (int64_t i = 0; i < x->n; ++i) {
    callee *k = &x->all[i];
    if (!k->func) continue;
    x->target = k->target;
    TN_MUT(m, cases, x);
    TN_GET(k->func, tir_with_body(k->func, tn_mut_visit(&m, k->func->body)));
  }
  return 0;
}

static tn_IRModule *with_new_functions(const launcher *x) {
  tn_IRModule *out;
  tn_any key, value;
  TN_GETP(out, ir_module_copy(x->mod));
  for (int64_t i = 0; tn_map_at(x->mod->functions, i, &key, &value); ++i) {
    const callee *k = &x->all[i];
    tn_PrimFunc *f = k->func;
    if (f && k->launched) TN_GETP(f, with_launch_attrs(k, f));
    if (f && k->external && !k->launched) TN_GETP(f, with_symbol(k, f));
    if (f && f != (tn_PrimFunc *)value.v.obj)
      TN_TRYP(ir_module_add(out, (tn_GlobalVar *)key.v.obj, (tn_BaseFunc *)f, true));
  }
  return out;
}

static void launcher_fini(launcher *x) {
  for (int64_t i = 0; i < x->n; ++i) {
    tn_vec_fini(&x->all[i].tags);
    tn_vec_fini(&x->all[i].extents);
  }
  tn_free(x->all);
}

tn_IRModule *tir_lower_device_kernel_launch(tn_IRModule *m, const tn_pass_ctx *c) {
  tn_any key, value;
  (void)c;
  __attribute__((cleanup(launcher_fini))) launcher x = {.mod = m};
  int64_t n = tn_map_len(m->functions);
  TN_GETP(x.all, tn_alloc_zero((size_t)n + 1, sizeof *x.all));
  x.n = n;
  for (int64_t i = 0; tn_map_at(m->functions, i, &key, &value); ++i) {
    tn_PrimFunc *f = TN_AS(PrimFunc, value.v.obj);
    if (f) TN_TRYP(look_at(&x.all[i], (tn_GlobalVar *)key.v.obj, f));
  }
  TN_TRYP(rewrite_callers(&x));
  return with_new_functions(&x);
}
