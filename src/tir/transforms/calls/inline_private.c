/* Functions that only the module sees are written out where they are called, and dropped when no
   call is left.

     def main(A): f(A)
     def f(A): A[0] = 1                    ->   def main(A): A[0] = 1

   Pointers that are computed for the call get a name. A function is private when it has no
   "global_symbol". Not written out are functions that call themselves, that are for another target,
   that take buffers, or whose result is used. */
#include "ir/module.h"
#include "tir/transforms/transforms.h"

typedef struct {
  const tn_IRModule *mod;
  tn_pmap open; /* functions that are being written out */
} inliner;

static bool is_private(const tn_PrimFunc *f) { return !tir_func_attr(f, "global_symbol"); }

static int is_it(void *ctx, tn_obj *node) { return node == ctx; }

/* The private function that a statement calls, or NULL. */
static tn_PrimFunc *callee(const inliner *x, const tn_Evaluate *op, const tn_Call **call) {
  tn_any found;
  *call = TN_AS(Call, op->value);
  const tn_GlobalVar *v = *call ? TN_AS(GlobalVar, (*call)->op) : NULL;
  if (!v || !tn_map_get(x->mod->functions, tn_any_obj((tn_obj *)(uintptr_t)v), &found)) return NULL;
  tn_PrimFunc *f = TN_AS(PrimFunc, found.v.obj);
  bool good = f && is_private(f) && f->buffer_map->len == 0 && !tn_pmap_get_int(&x->open, f, 0) &&
              (*call)->args->len == f->params->len &&
              tn_post_order(f->body, is_it, (void *)(uintptr_t)v) == 0;
  return good ? f : NULL;
}

static tn_obj *write_out(tn_mut *m, tn_Evaluate *op) {
  inliner *x = m->ctx;
  const tn_Call *call;
  tn_PrimFunc *f = callee(x, op, &call);
  TN_PMAP(values);
  if (!f) return (tn_obj *)op;
  TN_TRYP(tn_pmap_put_int(&x->open, f, 1));
  tn_stmt *body = tn_mut_visit(m, f->body);
  TN_TRYP(tn_pmap_put_int(&x->open, f, 0));
  for (int64_t i = f->params->len; body && i-- > 0;) {
    tn_Var *p = (tn_Var *)tn_arr_obj(f->params, i);
    tn_expr *arg = (tn_expr *)tn_arr_obj(call->args, i);
    if (p->dtype.code == kDLOpaqueHandle && !TN_IS(Var, arg)) {
      body = (tn_stmt *)TN_NEW(LetStmt, .var = p, .value = arg, .body = body);
    } else if (tn_pmap_put(&values, p, arg)) {
      body = NULL;
    }
  }
  return body ? tir_substitute(body, &values) : NULL;
}

static int note_call(void *ctx, tn_obj *node) {
  const tn_Call *call = TN_AS(Call, node);
  return call && TN_IS(GlobalVar, call->op) ? tn_pmap_put_int(ctx, call->op, 1) : 0;
}

/* Private functions that nothing calls any more and something called before. */
static tn_map *without_unused(tn_map *functions, const tn_pmap *before) {
  TN_PMAP(called);
  tn_map *r = functions;
  for (int64_t i = 0; i < functions->len; ++i)
    if (tn_post_order(functions->entries[i].value.v.obj, note_call, &called)) return NULL;
  for (int64_t i = 0; r && i < functions->len; ++i) {
    const tn_map_entry *e = &functions->entries[i];
    const tn_PrimFunc *f = TN_AS(PrimFunc, e->value.v.obj);
    bool unused = f && is_private(f) && tn_pmap_has(before, e->key.v.obj) &&
                  !tn_pmap_has(&called, e->key.v.obj);
    if (unused) r = tn_map_without(r, e->key);
  }
  return r;
}

tn_IRModule *tir_inline_private(tn_IRModule *mod, const tn_pass_ctx *c) {
  static const tn_mut_case cases[] = {TN_CASE(Evaluate, write_out)};
  (void)c;
  inliner x = {.mod = mod};
  TN_MUT(m, cases, &x);
  TN_PMAP(before);
  tn_map *functions = mod->functions;
  for (int64_t i = 0; functions && i < mod->functions->len; ++i) {
    const tn_map_entry *e = &mod->functions->entries[i];
    tn_PrimFunc *f = TN_AS(PrimFunc, e->value.v.obj), *r = f;
    if (!f) continue;
    if (tn_post_order(f->body, note_call, &before) || tn_pmap_put_int(&x.open, f, 1)) return NULL;
    r = tir_with_body(f, tn_mut_visit(&m, f->body));
    if (r && r != f) r = tir_convert_ssa(r, c);
    if (tn_pmap_put_int(&x.open, f, 0)) r = NULL;
    functions = !r ? NULL : r == f ? functions : tn_map_with(functions, e->key, tn_any_obj(r));
  }
  tn_pmap_fini(&x.open);
  if (functions) functions = without_unused(functions, &before);
  if (!functions) return NULL;
  return functions == mod->functions ? mod : ir_module_with_functions(mod, functions);
}
