/* What is computed in a memory takes the layout that the loops of its stage have when it is put
   there (cache_write after split, fuse and reorder):

     xo, xi = s[C].split(x, 4); s[C].reorder(xo, y, xi)
     CC = s.cache_write(C, "local")      CC[xo, y, xi] = ... xo*4 + xi, y ...
                                         C[x, y] = CC[x // 4, y, x % 4] */
#include "ir/functor.h"
#include "te/schedule/te_schedule_impl.h"

typedef struct {
  const tn_TeStage *st;
  const tn_ComputeOp *c;
  tn_pmap dom;       /* IterVar -> Range */
  tn_pmap value;     /* IterVar -> PrimExpr, over the loops */
  tn_pmap renamed;   /* variable of a loop -> of the axis that it becomes */
  tn_vec axes;       /* new ones */
  tn_vec conditions; /* over the loops: the element is one of the result */
} layout;

static void layout_fini(layout *l) {
  tn_pmap *maps[] = {&l->dom, &l->value, &l->renamed};
  for (int i = 0; i < TN_COUNT(maps); ++i) tn_pmap_fini(maps[i]);
  tn_vec_fini(&l->axes);
  tn_vec_fini(&l->conditions);
}

static int take_loop(layout *l, tn_IterVar *loop) {
  TN_TRY(tn_pmap_put(&l->value, loop, loop->var));
  if (te_index_of(l->c->reduce_axis, loop) >= 0) return 0;
  TN_CHECK(
      loop->iter_type == IR_ITER_DATA_PAR, TenonError, NULL,
      "cache_write: loop %s of %s does not run along axes of the result only: do split and fuse "
      "loops that are reduced over after it, on the stage in the memory",
      tn_cstr(loop->var->name), tn_cstr(l->c->name));
  const tn_Range *r = tn_pmap_get(&l->dom, loop);
  tn_str *name = tn_str_fmt("%s.c", tn_cstr(loop->var->name));
  tn_Var *v = name ? tir_var(name->data, loop->var->dtype) : NULL;
  tn_expr *extent = v ? tir_cast(v->dtype, r->extent, NULL) : NULL;
  tn_Range *dom = extent ? tir_range(tir_zero(v->dtype), extent) : NULL;
  tn_IterVar *axis = dom ? tir_iter_var(dom, v, IR_ITER_DATA_PAR, "") : NULL;
  return !axis || tn_vec_push_obj(&l->axes, axis) ? -1 : tn_pmap_put(&l->renamed, loop->var, v);
}

/* The loops go to the stage in the memory as axes: nothing may be computed in them. */
static int check_unused(const tn_TeSchedule *s, const tn_TeStage *st) {
  tn_arr *roots;
  TN_GET(roots, te_root_iter_vars(st->op));
  const tn_arr *lists[] = {s->stages, s->groups};
  for (int k = 0; k < TN_COUNT(lists); ++k) {
    for (int64_t i = 0; i < lists[k]->len; ++i) {
      const tn_TeStage *in = (const tn_TeStage *)tn_arr_obj(lists[k], i);
      if (in->attach_stage != st || te_index_of(roots, in->attach_ivar) >= 0) continue;
      return TN_RAISE(TenonError, NULL,
                      "cache_write: %s is computed in loop %s of %s, which the stage in the memory "
                      "takes over: do compute_at after cache_write",
                      in->op ? tn_cstr(in->op->name) : "a group",
                      tn_cstr(in->attach_ivar->var->name), tn_cstr(st->op->name));
    }
  }
  return 0;
}

static int measure(layout *l) {
  TN_ARITH(a);
  TN_PMAP(skip);
  tn_arr *roots;
  TN_GET(roots, te_root_iter_vars((const tn_Operation *)l->c));
  for (int64_t i = 0; i < roots->len; ++i)
    TN_TRY(tn_pmap_put(&l->dom, te_iv(roots, i), te_iv(roots, i)->dom));
  TN_TRY(te_pass_down_domain(l->st, &l->dom, &a, false));
  for (int64_t i = 0; i < l->st->leaf_iter_vars->len; ++i)
    TN_TRY(take_loop(l, te_iv(l->st->leaf_iter_vars, i)));
  for (int64_t i = 0; i < l->c->reduce_axis->len; ++i)
    TN_TRY(tn_pmap_put_int(&skip, te_iv(l->c->reduce_axis, i), 1));
  TN_TRY(te_pass_up_index(l->st, &l->dom, &l->value, false));
  return te_bound_checks(l->st, &l->dom, &l->value, false, &skip, &l->conditions);
}

/* ---- the computation in the memory ---- */

/* Elements that no element of the result comes of are computed from nothing. */
static tn_expr *guarded(const layout *l, tn_expr *e) {
  const tn_Reduce *r = TN_AS(Reduce, e);
  tn_expr *all = r ? r->condition : tir_bool(true);
  for (int64_t i = 0; all && i < l->conditions.len; ++i)
    all = tir_and(all, tir_likely((tn_expr *)l->conditions.items[i].v.obj, NULL));
  if (!all || l->conditions.len == 0) return all ? e : NULL;
  if (!r) return tir_if_then_else(all, e, tir_zero(e->dtype), NULL);
  tn_Reduce copy = *r;
  copy.condition = all;
  return tn_node_copy(&tn_type_Reduce, &copy);
}

static tn_Operation *over_axes(layout *l, const char *scope) {
  TN_PMAP(roots);
  TN_VEC(body);
  for (int64_t i = 0; i < l->c->axis->len; ++i) {
    const tn_IterVar *iv = te_iv(l->c->axis, i);
    const tn_expr *at = tn_pmap_get(&l->value, iv);
    if (at != (const tn_expr *)iv->var) TN_TRYP(tn_pmap_put(&roots, iv->var, at));
  }
  tn_arr *elements = tir_substitute(l->c->body, &roots);
  for (int64_t i = 0; elements && i < elements->len; ++i) {
    tn_expr *e = guarded(l, (tn_expr *)tn_arr_obj(elements, i));
    if (!e || tn_vec_push_obj(&body, tir_substitute(e, &l->renamed))) return NULL;
  }
  tn_str *name = tn_str_fmt("%s.%s", tn_cstr(l->c->name), scope);
  if (!elements || !name) return NULL;
  tn_ComputeOp copy = *l->c;
  copy.name = name;
  copy.axis = tn_arr_from(&l->axes);
  copy.body = tn_arr_from(&body);
  const tn_Reduce *r = copy.body ? TN_AS(Reduce, tn_arr_obj(copy.body, 0)) : NULL;
  if (r) copy.reduce_axis = r->axis;
  return copy.axis && copy.body ? tn_node_copy(&tn_type_ComputeOp, &copy) : NULL;
}

/* ---- where an element of the result lies in it ---- */

static tn_expr *extent_of(const layout *l, const tn_IterVar *iv) {
  const tn_Range *r = tn_pmap_get(&l->dom, iv);
  return tir_cast(iv->var->dtype, r->extent, NULL);
}

/* The values of all loops in terms of the axes. */
static int pass_down(const layout *l, tn_pmap *at) {
  for (int64_t i = 0; i < l->c->axis->len; ++i)
    TN_TRY(tn_pmap_put(at, te_iv(l->c->axis, i), te_iv(l->c->axis, i)->var));
  for (int64_t i = 0; i < l->st->relations->len; ++i) {
    const tn_TeSplit *s = TN_AS(TeSplit, tn_arr_obj(l->st->relations, i));
    const tn_TeFuse *f = TN_AS(TeFuse, tn_arr_obj(l->st->relations, i));
    tn_expr *x, *extent, *outer, *inner;
    if (s && (x = tn_pmap_get(at, s->parent)) != NULL) {
      TN_GET(extent, extent_of(l, s->inner));
      TN_GET(outer, tir_binary(TN_TI_FloorDiv, x, extent, NULL));
      TN_GET(inner, tir_binary(TN_TI_FloorMod, x, extent, NULL));
      TN_TRY(tn_pmap_put(at, s->outer, outer) || tn_pmap_put(at, s->inner, inner));
    } else if (f && (x = tn_pmap_get(at, f->outer)) != NULL) {
      TN_GET(extent, extent_of(l, f->inner));
      TN_GET(outer, tir_mul(x, extent));
      TN_GET(x, tir_add(outer, (tn_expr *)tn_pmap_get(at, f->inner)));
      TN_TRY(tn_pmap_put(at, f->fused, x));
    } else {
      TN_CHECK(s || f, TenonError, NULL,
               "cache_write: %s has a loop that is neither split nor fused", tn_cstr(l->c->name));
    }
  }
  return 0;
}

static int place_elements(const layout *l, tn_vec *out) {
  TN_PMAP(at);
  TN_TRY(pass_down(l, &at));
  for (int64_t i = 0; i < l->st->leaf_iter_vars->len; ++i) {
    const tn_IterVar *loop = te_iv(l->st->leaf_iter_vars, i);
    if (te_index_of(l->c->reduce_axis, loop) >= 0) continue;
    TN_TRY(tn_vec_push_obj(out, tn_pmap_get(&at, loop)));
  }
  return 0;
}

bool te_has_own_loops(const tn_TeStage *st) {
  const tn_arr *roots = te_root_iter_vars(st->op), *leaves = st->leaf_iter_vars;
  bool same = roots && roots->len == leaves->len && !st->relations->len;
  for (int64_t i = 0; same && i < leaves->len; ++i) same = te_iv(roots, i) == te_iv(leaves, i);
  return !same;
}

tn_Operation *te_over_loops(const tn_TeSchedule *s, const tn_TeStage *st, const char *scope,
                            tn_vec *at) {
  const tn_ComputeOp *c = TN_AS(ComputeOp, st->op);
  TN_CHECKP(c, TenonError, NULL,
            "cache_write: an intrinsic computes %s in pieces: call cache_write before its loops "
            "change",
            tn_cstr(st->op->name));
  TN_TRYP(check_unused(s, st));
  layout l = {.st = st, .c = c};
  tn_Operation *op = NULL;
  if (measure(&l) == 0 && place_elements(&l, at) == 0) op = over_axes(&l, scope);
  layout_fini(&l);
  return op;
}
