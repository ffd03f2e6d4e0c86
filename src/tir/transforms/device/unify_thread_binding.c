/* Every kernel has one loop for each thread axis, all of them around it.

     for bx in T.thread_binding(8, "blockIdx.x"):      for blockIdx_x in T.thread_binding(8, ...):
       for i in T.thread_binding(4, "threadIdx.x"):      for threadIdx_x in T.thread_binding(4, ..):
         A[i] = ...                               ->       A[threadIdx_x] = ...
       for j in T.thread_binding(4, "threadIdx.x"):        B[threadIdx_x] = ...
         B[j] = ...

   A kernel is what the outermost loop over a thread axis holds. Loops over one axis must have one
   extent there: ValueError. Annotations of a loop that goes stay on a loop of one iteration.
   Virtual axes that are called "vthread" only have no names of their own: loops over them that lie
   in each other are different axes. */
#include <string.h>

#include "arith/analyzer.h"
#include "tir/device.h"
#include "tir/transforms/transforms.h"

typedef struct {
  arith_analyzer known;
  tn_pmap values; /* variable of a loop over a thread axis -> expression of the kernel's variable */
  tn_map *axes;   /* thread tag (and number, of virtual ones) -> IterVar, of the kernel */
  tn_vec order;   /* the same in order, outermost first */
  bool in_kernel;
  int virtual; /* loops around over axes called "vthread" */
} unifier;

static bool is_nameless(const tn_IterVar *axis) {
  return strcmp(tn_cstr(axis->thread_tag), "vthread") == 0;
}

static tn_obj *replace_var(tn_mut *m, tn_obj *v) {
  tn_obj *value = tn_pmap_get(&((unifier *)m->ctx)->values, v);
  return value ? value : v;
}

static int check_same(unifier *u, const tn_IterVar *have, const tn_Range *dom) {
  bool same = arith_prove_equal(&u->known, have->dom->extent, dom->extent) &&
              arith_prove_equal(&u->known, have->dom->min, dom->min);
  if (same) return 0;
  tn_str *a = script_print((tn_obj *)have->dom->extent, NULL),
         *b = script_print((tn_obj *)dom->extent, NULL);
  return TN_RAISE(ValueError, dom->span,
                  "All loops that are bound to `%s` should have the same extent. "
                  "However, there are two loops with extent %s and %s, which are not equal",
                  tn_cstr(have->thread_tag), tn_cstr(a), tn_cstr(b));
}

/* The kernel's axis of a tag, made when it is first met. */
static tn_IterVar *axis_of(unifier *u, const tn_IterVar *old, tn_Range *dom) {
  tn_any found;
  const char *tag = tn_cstr(old->thread_tag);
  const tn_str *key = is_nameless(old) ? tn_str_fmt("%s %d", tag, u->virtual) : old->thread_tag;
  if (!key) return NULL;
  if (tn_map_get(u->axes, tn_any_obj(key), &found)) {
    tn_IterVar *have = (tn_IterVar *)found.v.obj;
    return check_same(u, have, dom) ? NULL : have;
  }
  tn_Var *v = tir_var(tag, dom->extent->dtype);
  tn_IterVar *axis = tir_iter_var(dom, v, (ir_iter_type)old->iter_type, tag);
  if (!axis || tn_vec_push_obj(&u->order, axis)) return NULL;
  TN_GETP(u->axes, tn_map_with(u->axes, tn_any_obj(key), tn_any_obj(axis)));
  return axis;
}

static tn_stmt *launch_all(const unifier *u, tn_stmt *body) {
  tn_map *none = tn_scope_own(tn_map_new());
  for (int64_t i = u->order.len; body && i-- > 0;) {
    tn_IterVar *axis = (tn_IterVar *)u->order.items[i].v.obj;
    tn_IterVar *binding = TN_NEW(IterVar, .var = tir_var("", axis->var->dtype),
                                 .iter_type = axis->iter_type, .thread_tag = axis->thread_tag);
    body = (tn_stmt *)TN_NEW(For, .loop_var = axis->var, .min = axis->dom->min,
                             .extent = axis->dom->extent, .kind = TIR_FOR_THREAD_BINDING,
                             .body = body, .thread_binding = binding, .annotations = none);
  }
  return body;
}

/* The body in terms of the kernel's axis; the kernel's own loops around the outermost one. */
static tn_stmt *unify(tn_mut *m, const tn_IterVar *old, tn_Var *var, tn_Range *dom, tn_stmt *body) {
  unifier *u = m->ctx;
  bool outermost = !u->in_kernel;
  if (outermost) {
    TN_GETP(u->axes, tn_scope_own(tn_map_new()));
    u->order.len = 0;
    u->in_kernel = true;
  }
  tn_IterVar *axis;
  TN_GETP(axis, axis_of(u, old, dom));
  tn_expr *value = tir_cast(var->dtype, (tn_expr *)axis->var, NULL);
  if (!value || tn_pmap_put(&u->values, var, value)) return NULL;
  u->virtual += is_nameless(old);
  body = tn_mut_visit(m, body);
  u->virtual -= is_nameless(old);
  if (!body || !outermost) return body;
  u->in_kernel = false;
  return launch_all(u, body);
}

static tn_stmt *unify_for(tn_mut *m, tn_For *op) {
  if (op->kind != TIR_FOR_THREAD_BINDING) return tn_mut_children(m, op);
  tn_Range *dom = tir_range(op->min, op->extent);
  tn_stmt *s = dom ? unify(m, op->thread_binding, op->loop_var, dom, op->body) : NULL;
  if (!s || op->annotations->len == 0) return s;
  return (tn_stmt *)TN_NEW(For, .loop_var = tir_var("var", op->loop_var->dtype),
                           .min = tir_zero(op->loop_var->dtype),
                           .extent = tir_one(op->loop_var->dtype), .kind = TIR_FOR_SERIAL,
                           .body = s, .annotations = op->annotations);
}

static tn_stmt *unify_attr(tn_mut *m, tn_AttrStmt *op) {
  const tn_IterVar *axis = tir_launched_axis(op);
  if (!axis && tn_str_eq(op->attr_key, "virtual_thread")) axis = TN_AS(IterVar, op->node);
  if (!axis) return tn_mut_children(m, op);
  tn_Range *dom = axis->dom ? axis->dom : tir_range(tir_zero(op->value->dtype), op->value);
  return dom ? unify(m, axis, axis->var, dom, op->body) : NULL;
}

static void unifier_fini(unifier *u) {
  arith_fini(&u->known);
  tn_pmap_fini(&u->values);
  tn_vec_fini(&u->order);
}

tn_PrimFunc *tir_unify_thread_binding(tn_PrimFunc *f, const tn_pass_ctx *c) {
  static const tn_mut_case cases[] = {TN_CASE(For, unify_for), TN_CASE(AttrStmt, unify_attr),
                                      TN_CASE(Var, replace_var), TN_CASE(SizeVar, replace_var)};
  (void)c;
  if (tir_is_legacy(f)) return f;
  __attribute__((cleanup(unifier_fini))) unifier u = {0};
  TN_MUT(m, cases, &u);
  return tir_with_body(f, tn_mut_visit(&m, f->body));
}
