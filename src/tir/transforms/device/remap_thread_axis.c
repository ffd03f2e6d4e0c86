/* Kernels run on other axes of threads.

     bx = T.launch_thread("blockIdx.x", 4)     ->   by = T.launch_thread("blockIdx.y", 4)
     A[bx] = 0                                      A[by] = 0

   Argument: a map from the name of an axis to the iteration variable that takes its place. */
#include "tir/transforms/transforms.h"

typedef struct {
  const tn_map *axes; /* name -> IterVar */
  tn_pmap vars;       /* tn_Var -> that of its new axis */
} mapper;

static tn_obj *use_var(tn_mut *m, tn_obj *v) {
  tn_obj *r = tn_pmap_get(&((mapper *)m->ctx)->vars, v);
  return r ? r : v;
}

static tn_obj *use_attr(tn_mut *m, tn_AttrStmt *op) {
  mapper *x = m->ctx;
  const tn_IterVar *axis = TN_AS(IterVar, op->node);
  bool thread = axis && tn_str_eq(op->attr_key, "thread_extent");
  tn_obj *found = thread ? tn_map_find(x->axes, tn_cstr(axis->thread_tag)) : NULL;
  const tn_IterVar *to = found ? TN_AS(IterVar, found) : NULL;
  if (!to) return tn_mut_children(m, op);
  TN_TRYP(tn_pmap_put(&x->vars, axis->var, to->var));
  tn_AttrStmt copy = *op;
  copy.node = found;
  TN_GETP(copy.value, tn_mut_visit(m, op->value));
  TN_GETP(copy.body, tn_mut_visit(m, op->body));
  return tn_node_copy(&tn_type_AttrStmt, &copy);
}

static int check_axes(const tn_map *axes) {
  tn_any k, v;
  for (int64_t i = 0; tn_map_at(axes, i, &k, &v); ++i)
    TN_CHECK(k.type_index == TN_TI_String && tn_any_is_obj(&v) && TN_IS(IterVar, v.v.obj),
             TypeError, NULL, "tir.RemapThreadAxis: expected a map from names to IterVar");
  return 0;
}

tn_PrimFunc *tir_remap_thread_axis(tn_PrimFunc *f, const tn_pass_ctx *c) {
  static const tn_mut_case cases[] = {TN_CASE(Var, use_var), TN_CASE(AttrStmt, use_attr)};
  TN_CHECKP(c->nargs == 1 && tn_any_is_obj(&c->args[0]) && TN_IS(Map, c->args[0].v.obj), TypeError,
            NULL, "tir.RemapThreadAxis: expected a map from names to IterVar");
  mapper x = {.axes = (const tn_map *)c->args[0].v.obj};
  TN_TRYP(check_axes(x.axes));
  TN_MUT(m, cases, &x);
  tn_stmt *body = tn_mut_visit(&m, f->body);
  tn_pmap_fini(&x.vars);
  return tir_with_body(f, body);
}
