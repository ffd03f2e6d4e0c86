/* Steps on loops: split, fuse, reorder.

     for i in range(130):        split(i, [None, 16])     for i_0, i_1 in T.grid(9, 16):
         with T.block("B"):              ->                   with T.block("B"):
             vi = T.axis.spatial(130, i)                          vi = T.axis.spatial(
                                                                      130, i_0 * 16 + i_1)
                                                                  T.where(i_0 * 16 + i_1 < 130) */
#include "ir/functor.h"
#include "tir/schedule/carried.h"
#include "tir/schedule/schedule_impl.h"

static int check_plain(const sch_step *e, const tn_For *f) {
  if (f->annotations->len)
    return sch_fail(e, "The primitive cannot be applied to a loop with annotations", SCH_PLACES(f),
                    "The loop {0} has annotations, which would be lost");
  if (f->thread_binding)
    return sch_fail(e, "The primitive cannot be applied to a loop bound to a thread axis",
                    SCH_PLACES(f), "The loop {0} is bound to a thread axis");
  if (!tir_is_zero(f->min))
    return sch_fail(e, "The primitive only supports loop starting with 0", SCH_PLACES(f),
                    "The loop {0} does not start with 0, which is not supported");
  return 0;
}

/* ---- what is known of loop variables while bindings are simplified ---- */

/* A variable of a loop that runs once is left alone, so that the loop stays bound to its block. */
static int bind(sch_step *e, tn_Var *v, tn_expr *extent, bool preserve_unit) {
  tn_Range *r;
  TN_GET(r, tir_range(tir_zero(extent->dtype), extent));
  if (!e->ranges) TN_GET(e->ranges, tn_scope_own(tn_map_new()));
  TN_TRY(tn_map_set(e->ranges, tn_any_obj(v), tn_any_obj(r)));
  e->preserve_unit = preserve_unit;
  if (preserve_unit && tir_is_one(extent)) /* known, but not as the only value that it has */
    return arith_set_bound(&e->arith, v, (arith_bound){0, 1}, true);
  return arith_bind_range(&e->arith, v, r, true);
}

typedef struct {
  sch_step *e;
  bool preserve_unit;
} bind_ctx;
static int bind_loop(void *ctx, tn_obj *o) {
  const bind_ctx *c = ctx;
  const tn_For *f = TN_AS(For, o);
  if (f && tir_is_zero(f->min) && bind(c->e, f->loop_var, f->extent, c->preserve_unit)) return -1;
  if (!TN_IS(Stmt, o) && o->type_index != TN_TI_Array) return 0;
  return tn_visit_children(o, bind_loop, ctx);
}
static int bind_loops(sch_step *e, bool preserve_unit) {
  bind_ctx c = {e, preserve_unit};
  return bind_loop(&c, (tn_obj *)e->func->body);
}

/* ---- split ---- */

int sch_fail_open(const sch_step *e, const tn_For *f) {
  return sch_fail(
      e, "Only one factor can be specified as -1 or none", SCH_PLACES(f),
      "Only one factor of {0} can be specified as -1 or none: the others must be known");
}

typedef struct {
  tn_expr *factors[32];
  tn_Var *vars[32];
  int n;
} parts;

/* Factors as constants or expressions; *open is the place of None, or -1. */
static int read_factors(const sch_step *e, const tn_For *f, const tn_arr *factors, parts *p,
                        int *open) {
  *open = -1;
  TN_CHECK(factors->len >= 1 && factors->len <= TN_COUNT(p->factors), ValueError, NULL,
           "split: expected 1 to %d factors, got %lld", TN_COUNT(p->factors),
           (long long)factors->len);
  p->n = (int)factors->len;
  for (int i = 0; i < p->n; ++i) {
    tn_obj *o = tn_arr_obj(factors, i);
    int64_t k;
    tn_any known;
    p->factors[i] = NULL;
    bool sampled = o && tn_map_get(e->s->symbols, tn_any_obj(o), &known);
    if (sampled) o = known.v.obj;
    if (!o || (sampled && tir_is_const(o, -1))) { /* -1: what sampling gives where it cannot tell */
      if (*open >= 0) return sch_fail_open(e, f);
      *open = i;
      continue;
    }
    TN_CHECK(TN_IS(PrimExpr, o), TypeError, NULL, "split: factor %d: expected an integer, got %s",
             i, tn_obj_key(o));
    if (tir_as_int(o, &k) && k <= 0)
      return sch_fail(e, "All the constant factors are required to be positive", SCH_PLACES(f),
                      "Factor %d of the split of {0} is %lld: factors must be positive", i,
                      (long long)k);
    p->factors[i] = tir_cast(f->extent->dtype, (tn_expr *)o, NULL);
    if (!p->factors[i]) return -1;
  }
  return 0;
}

static int infer_factor(sch_step *e, const tn_For *f, parts *p, int open) {
  tn_expr *product = tir_one(f->extent->dtype);
  for (int i = 0; i < p->n; ++i)
    product = p->factors[i] ? tir_mul(product, p->factors[i]) : product;
  if (!product) return -1;
  if (open >= 0) {
    TN_GET(p->factors[open], arith_simplify(&e->arith, tir_ceildiv(f->extent, product, NULL)));
    return 0;
  }
  if (arith_prove(&e->arith, tir_ge(product, f->extent))) return 0;
  return sch_fail(e, "The product of factors is not larger than or equal to the extent of loop",
                  SCH_PLACES(f),
                  "The product of factors is not larger than or equal to the extent "
                  "of loop {0}");
}

/* Where a part of the last round would run beyond the loop, the blocks below are told. */
static int add_predicate(sch_step *e, const tn_stmt *body, tn_expr *cond) {
  TN_VEC(blocks);
  TN_TRY(sch_blocks_below((const tn_obj *)body, &blocks));
  for (int64_t i = 0; i < blocks.len; ++i) {
    tn_BlockRealize *r = (tn_BlockRealize *)sch_rewrite(e, (tn_stmt *)blocks.items[i].v.obj);
    if (!r) return -1;
    tn_BlockRealize copy = *r;
    copy.predicate = tir_and(r->predicate, cond);
    TN_TRY(sch_replace(e, (tn_stmt *)blocks.items[i].v.obj,
                       copy.predicate ? tn_node_copy(&tn_type_BlockRealize, &copy) : NULL));
  }
  return 0;
}

static tn_expr *name_parts(sch_step *e, const tn_For *f, parts *p, bool preserve_unit) {
  tn_expr *index = tir_zero(f->extent->dtype);
  for (int i = 0; i < p->n; ++i) {
    tn_str *name = tn_str_fmt("%s_%d", tn_cstr(f->loop_var->name), i);
    p->vars[i] = name ? tir_var_like(f->loop_var, name->data) : NULL;
    if (!p->vars[i] || bind(e, p->vars[i], p->factors[i], preserve_unit)) return NULL;
    index = tir_add(tir_mul(index, p->factors[i]), (tn_expr *)p->vars[i]);
  }
  return index;
}

static tn_arr *handles_of(tn_TirSchedule *s, const tn_vec *loops) {
  TN_VEC(out);
  for (int64_t i = loops->len; i-- > 0;) {
    tn_obj *rv = sch_handle(s, loops->items[i].v.obj);
    if (!rv || tn_vec_push_obj(&out, rv)) return NULL;
  }
  return tn_arr_from(&out);
}

/* Are all values of the index below the extent? Loops that run once count as 0 here. */
static bool stays_inside(sch_step *e, const parts *p, tn_expr *inside) {
  TN_PMAP(units);
  for (int i = 0; i < p->n; ++i) {
    tn_Var *v = p->vars[i];
    if (tir_is_one(p->factors[i]) && tn_pmap_put(&units, v, tir_zero(v->dtype))) return false;
  }
  tn_expr *cond = tir_substitute(inside, &units);
  return cond && arith_prove(&e->arith, cond);
}

tn_arr *sch_split(tn_TirSchedule *s, const tn_LoopRV *loop, const tn_arr *factors,
                  bool preserve_unit, bool no_predicate) {
  SCH_STEP(e, s, "split");
  TN_VEC(loops);
  parts p;
  int open;
  tn_For *f = sch_loop_of(&e, loop);
  if (!f || check_plain(&e, f) || read_factors(&e, f, factors, &p, &open)) return NULL;
  if (bind_loops(&e, preserve_unit) || infer_factor(&e, f, &p, open)) return NULL;
  tn_expr *index = name_parts(&e, f, &p, preserve_unit);
  tn_expr *inside = index ? tir_lt(index, f->extent) : NULL;
  if (!inside || sch_put_var(&e, f->loop_var, index)) return NULL;
  if (!no_predicate && !stays_inside(&e, &p, inside) && add_predicate(&e, f->body, inside))
    return NULL;
  tn_For plain = *f;
  plain.kind = TIR_FOR_SERIAL;
  tn_stmt *body = sch_rewrite(&e, f->body);
  for (int i = p.n; i-- > 0 && body;) {
    body = (tn_stmt *)sch_loop(&plain, p.vars[i], f->min, p.factors[i], body);
    if (body && tn_vec_push_obj(&loops, body)) return NULL;
  }
  if (!body || sch_replace(&e, (tn_stmt *)f, body) || sch_commit(&e)) return NULL;
  return handles_of(s, &loops);
}

/* ---- fuse ---- */

static int check_fusible(const sch_step *e, const tn_vec *loops) {
  for (int64_t i = 0; i < loops->len; ++i) {
    const tn_For *f = (const tn_For *)loops->items[i].v.obj;
    TN_TRY(check_plain(e, f));
    const tn_For *up = i ? (const tn_For *)loops->items[i - 1].v.obj : NULL;
    if (up && (const tn_obj *)up->body != (const tn_obj *)f) {
      bool below = sch_parent(e, f) == (const tn_obj *)up;
      return sch_fail(e,
                      below ? "The outer loop is not the parent of the inner loop"
                            : "The loops to fuse are not nested directly",
                      SCH_PLACES(up, f), "The loop {0} is not the only parent of the loop {1}");
    }
    for (int64_t j = 0; j < i; ++j) {
      const tn_For *outer = (const tn_For *)loops->items[j].v.obj;
      if (sch_uses_var(f->extent, outer->loop_var))
        return sch_fail(e, "The extent of the inner loop depends on the outer loop",
                        SCH_PLACES(f, outer), "The extent of {0} depends on the outer loop {1}");
    }
  }
  return 0;
}

static tn_str *fused_name(const tn_vec *loops) {
  TN_BUF(b);
  for (int64_t i = 0; i < loops->len; ++i)
    tn_buf_printf(&b, "%s_", tn_cstr(((const tn_For *)loops->items[i].v.obj)->loop_var->name));
  tn_buf_puts(&b, "fused");
  const char *text = tn_buf_cstr(&b);
  return text ? tn_str_from(text) : NULL;
}

/* i, j, k become fused // (nj * nk), fused % (nj * nk) // nk, fused % nk. */
static int place_in_fused(sch_step *e, const tn_vec *loops, tn_Var *fused, bool preserve_unit) {
  tn_expr *inner = tir_one(fused->dtype);
  for (int64_t i = loops->len; i-- > 0;) {
    const tn_For *f = (const tn_For *)loops->items[i].v.obj;
    tn_expr *all = tir_mul(inner, f->extent), *at = (tn_expr *)fused;
    bool unit = tir_is_one(f->extent) && !(preserve_unit && i == 0);
    if (i > 0) at = tir_floormod(at, all);
    at = tir_floordiv(at, inner);
    if (unit && loops->len > 1) at = tir_zero(fused->dtype);
    if (!at || sch_put_var(e, f->loop_var, at)) return -1;
    inner = all;
  }
  return 0;
}

tn_LoopRV *sch_fuse(tn_TirSchedule *s, const tn_arr *rvs, bool preserve_unit) {
  SCH_STEP(e, s, "fuse");
  TN_VEC(loops);
  tn_expr *extent = NULL;
  TN_CHECKP(rvs->len > 0, ValueError, NULL, "fuse: expected at least one loop");
  for (int64_t i = 0; i < rvs->len; ++i) {
    tn_For *f = sch_loop_of(&e, TN_AS(LoopRV, tn_arr_obj(rvs, i)));
    if (!f || tn_vec_push_obj(&loops, f)) return NULL;
    extent = extent ? tir_mul(extent, f->extent) : f->extent;
  }
  tn_For plain = *(tn_For *)loops.items[0].v.obj;
  tn_str *name = check_fusible(&e, &loops) ? NULL : fused_name(&loops);
  tn_Var *var = name && extent ? tir_var(name->data, extent->dtype) : NULL;
  if (!var || bind_loops(&e, preserve_unit) || bind(&e, var, extent, preserve_unit)) return NULL;
  TN_TRYP(place_in_fused(&e, &loops, var, preserve_unit));
  plain.kind = TIR_FOR_SERIAL;
  const tn_For *last = (const tn_For *)loops.items[loops.len - 1].v.obj;
  tn_For *fused = sch_loop(&plain, var, plain.min, arith_simplify(&e.arith, extent),
                           sch_rewrite(&e, last->body));
  if (!fused || sch_replace(&e, (tn_stmt *)loops.items[0].v.obj, (tn_stmt *)fused) ||
      sch_commit(&e))
    return NULL;
  return (tn_LoopRV *)sch_handle(s, (tn_obj *)fused);
}

/* ---- reorder ---- */

static int64_t depth_of(const sch_step *e, const tn_obj *o) {
  int64_t n = 0;
  while ((o = sch_parent(e, o))) ++n;
  return n;
}

static int read_order(sch_step *e, const tn_arr *rvs, tn_vec *order, tn_For **bottom) {
  *bottom = NULL;
  for (int64_t i = 0; i < rvs->len; ++i) {
    tn_For *f = sch_loop_of(e, TN_AS(LoopRV, tn_arr_obj(rvs, i)));
    if (!f) return -1;
    if (sch_place_of(order, f) >= 0)
      return sch_fail(e, "Loops in reorder must be distinct", SCH_PLACES(f),
                      "The loop {0} appears more than once");
    TN_TRY(tn_vec_push_obj(order, f));
    if (!*bottom || depth_of(e, (tn_obj *)f) > depth_of(e, (tn_obj *)*bottom)) *bottom = f;
  }
  return 0;
}

/* The loops from the innermost one given up to the outermost one, which may have others between. */
static int find_chain(const sch_step *e, const tn_vec *order, const tn_For *bottom, tn_vec *chain) {
  int64_t left = order->len;
  const tn_obj *o = (const tn_obj *)bottom, *below = NULL;
  for (; o && left > 0; below = o, o = sch_parent(e, o)) {
    const tn_For *around = o->type_index == TN_TI_SeqStmt ? TN_AS(For, sch_parent(e, o)) : NULL;
    if (around)
      return sch_fail(e, "The loops are not under the same single branch",
                      SCH_PLACES(around, below),
                      "The loops to reorder are not nested directly: {1} is one of several "
                      "statements in the body of {0}");
    if (o->type_index != TN_TI_For)
      return sch_fail(e, "The loops are not under the same single branch",
                      SCH_PLACES(below, o->type_index == TN_TI_BlockRealize
                                            ? (const void *)((const tn_BlockRealize *)o)->block
                                            : (const void *)o),
                      "The loops to reorder are not in one line: above {0} comes {1}");
    if (sch_place_of(order, o) >= 0) --left;
    TN_TRY(tn_vec_push_obj(chain, o));
  }
  if (left > 0)
    return sch_fail(e, "The loops are not under the same block", SCH_PLACES(bottom),
                    "The loops to reorder are not all around {0}");
  return 0;
}

static int check_order(const sch_step *e, const tn_vec *now) {
  for (int64_t i = 0; i < now->len; ++i) { /* innermost first */
    for (int64_t j = 0; j <= i; ++j) {
      const tn_For *outer = (const tn_For *)now->items[i].v.obj,
                   *inner = (const tn_For *)now->items[j].v.obj;
      if (sch_uses_var(outer->extent, inner->loop_var) || sch_uses_var(outer->min, inner->loop_var))
        return sch_fail(e, "An outer loop would depend on an inner loop", SCH_PLACES(outer, inner),
                        "The outer loop {0} would depend on the inner loop {1}");
    }
  }
  return 0;
}

int sch_reorder(tn_TirSchedule *s, const tn_arr *rvs) {
  SCH_STEP(e, s, "reorder");
  TN_VEC(order);
  TN_VEC(chain);
  TN_VEC(now);
  tn_For *bottom;
  TN_CHECK(rvs->len > 0, ValueError, NULL, "reorder: expected at least one loop");
  TN_TRY(read_order(&e, rvs, &order, &bottom));
  TN_TRY(find_chain(&e, &order, bottom, &chain));
  TN_TRY(sch_check_blocks(&e, (tn_obj *)bottom, &chain));
  int64_t next = order.len;
  for (int64_t i = 0; i < chain.len; ++i) {
    bool given = sch_place_of(&order, chain.items[i].v.obj) >= 0;
    TN_TRY(tn_vec_push(&now, given ? order.items[--next] : chain.items[i]));
  }
  TN_TRY(check_order(&e, &now));
  TN_TRY(sch_check_carried(&e, &(sch_loop_change){.before = &chain, .after = &now}));
  tn_stmt *body = bottom->body;
  for (int64_t i = 0; i < now.len; ++i) {
    tn_For copy = *(tn_For *)now.items[i].v.obj;
    copy.body = body;
    TN_GET(body, tn_node_copy(&tn_type_For, &copy));
    TN_TRY(sch_moved(&e, now.items[i].v.obj, body));
  }
  TN_TRY(sch_replace(&e, (tn_stmt *)chain.items[chain.len - 1].v.obj, body));
  return sch_commit(&e);
}
