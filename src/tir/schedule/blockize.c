/* blockize: the loops around a block, from one of them on, become a separate block.

     for io, ii:                              for io:
       with T.block("B"):                       with T.block("B_o"):
         vi = io * 16 + ii            ->          vio = io
         B[vi] = A[vi]                            for ii:
                                                    with T.block("B"):
                                                      vii = ii
                                                      B[vio * 16 + vii] = A[vio * 16 + vii]

   The bindings are divided into the part that runs outside and that inside (arith/iter_map.h). What
   begins a reduction goes to the outer block. Several blocks may go into one new block: then all
   have the same outer part. */
#include "tir/schedule/blockize.h"

#include "arith/iter_map.h"
#include "ir/functor.h"
#include "tir/schedule/reducer.h"

/* One block of those that the new one is made around. */
typedef struct {
  sch_step *e;
  const tn_Block *block;
  const tn_BlockRealize *realize;
  tn_vec loops; /* For: those that go inside, innermost first */
  bool preserve_unit;
  tn_expr *outer_predicate, *inner_predicate;
  tn_vec iters, values; /* of the inner block */
  tn_pmap vars;         /* iterator of the block -> over new iterators */
  tn_map *inner;        /* iterator of the inner block -> its Range */
  tn_arr *reads, *writes;
  tn_stmt *body, *init;
} part;
static void part_fini(part *p) {
  tn_vec_fini(&p->loops);
  tn_vec_fini(&p->iters);
  tn_vec_fini(&p->values);
  tn_pmap_fini(&p->vars);
}

/* The new block. */
typedef struct {
  tn_vec iters, values;
  tn_vec reads, writes; /* BufferRegion */
} outer;
static void outer_fini(outer *o) {
  tn_vec *all[] = {&o->iters, &o->values, &o->reads, &o->writes};
  for (int i = 0; i < TN_COUNT(all); ++i) tn_vec_fini(all[i]);
}

/* ---- dividing the bindings ---- */

static bool uses_any(const void *expr, const tn_vec *loops) {
  for (int64_t i = 0; i < loops->len; ++i) {
    if (sch_uses_var(expr, ((const tn_For *)loops->items[i].v.obj)->loop_var)) return true;
  }
  return false;
}

/* Does the expression use a loop that stays outside? */
static bool uses_outer(const part *p, const tn_obj *expr) {
  const tn_obj *o = sch_parent(p->e, p->realize);
  for (; o && o->type_index != TN_TI_Block; o = sch_parent(p->e, o)) {
    const tn_For *f = TN_AS(For, o);
    bool inside = false;
    for (int64_t i = 0; f && i < p->loops.len; ++i)
      inside = inside || p->loops.items[i].v.obj == (const tn_obj *)f;
    if (f && !inside && sch_uses_var(expr, f->loop_var)) return true;
  }
  return false;
}

static tn_obj *mark(tn_expr *source, tn_expr *extent) {
  return source && extent ? (tn_obj *)TN_NEW(IterMark, .source = source, .extent = extent) : NULL;
}

/* Bindings that lie on one side altogether need no map; an empty array when one does not. */
static tn_arr *divide_trivially(const part *p, const tn_arr *values) {
  TN_VEC(out);
  const tn_BlockRealize *r = p->realize;
  for (int64_t i = 0; i <= values->len; ++i) {
    bool last = i == values->len;
    tn_expr *value = last ? r->predicate : (tn_expr *)tn_arr_obj(values, i);
    bool inside = uses_any(value, &p->loops);
    if (inside && uses_outer(p, (tn_obj *)value)) return tn_arr_of(0);
    tn_expr *none = last ? tir_bool(true) : tir_one(value->dtype), *zero = tir_zero(TN_I32);
    tn_expr *extent =
        last ? value : ((const tn_IterVar *)tn_arr_obj(r->block->iter_vars, i))->dom->extent;
    tn_obj *there = mark(last ? zero : value, extent),
           *other = mark(last ? zero : tir_zero(value->dtype), none);
    tn_arr *pair = inside ? tn_arr_of(2, other, there) : tn_arr_of(2, there, other);
    if (!there || !other || !pair || tn_vec_push_obj(&out, pair)) return NULL;
  }
  return tn_arr_from(&out);
}

/* What each iterator is bound to, counted from the start of its domain. */
static tn_arr *counted_values(const part *p) {
  TN_VEC(out);
  for (int64_t i = 0; i < p->block->iter_vars->len; ++i) {
    const tn_IterVar *iv = (const tn_IterVar *)tn_arr_obj(p->block->iter_vars, i);
    tn_expr *value = (tn_expr *)tn_arr_obj(p->realize->iter_values, i);
    if (!tir_is_zero(iv->dom->min))
      TN_GETP(value, arith_simplify(&p->e->arith, tir_sub(value, iv->dom->min)));
    TN_TRYP(tn_vec_push_obj(&out, value));
  }
  return tn_arr_from(&out);
}

/* From the start of the domain again. */
static tn_expr *from_start(const part *p, const tn_IterVar *iv, tn_expr *value) {
  if (!value || tir_is_zero(iv->dom->min)) return value;
  return arith_simplify(&p->e->arith, tir_add(value, iv->dom->min));
}

static tn_arr *divide(const part *p) {
  TN_VEC(vars);
  tn_map *dom = sch_loop_domain(p->e, sch_parent(p->e, p->realize),
                                (const tn_obj *)sch_scope_block(p->e, p->realize), "");
  for (int64_t i = 0; i < p->loops.len; ++i)
    TN_TRYP(tn_vec_push_obj(&vars, ((const tn_For *)p->loops.items[i].v.obj)->loop_var));
  tn_arr *sub = tn_arr_from(&vars), *values = counted_values(p);
  tn_arr *out =
      dom && sub && values
          ? iter_map_subspace_divide(&p->e->arith, values, dom, sub, p->realize->predicate,
                                     ITER_MAP_SURJECTIVE, !p->preserve_unit)
          : NULL;
  return out && !out->len ? divide_trivially(p, values) : out;
}

/* ---- iterators ---- */

static tn_expr *mark_value(const tn_IterMark *m) { return iter_map_expr((tn_obj *)m->source); }

/* @param min NULL for 0 */
static tn_IterVar *new_iter(const tn_IterVar *like, const char *suffix, tn_expr *min,
                            tn_expr *extent) {
  tn_str *name = tn_str_fmt("%s%s", tn_cstr(like->var->name), suffix);
  tn_Var *v = name ? tir_var_like(like->var, name->data) : NULL;
  tn_expr *n = v ? tir_cast(v->dtype, extent, NULL) : NULL;
  if (n && !min) min = tir_zero(v->dtype);
  return n && min ? tir_iter_var(tir_range(min, n), v, (ir_iter_type)like->iter_type, "") : NULL;
}

/* @param value what the iterator is bound to */
static int add_outer(part *p, outer *o, int64_t i, tn_IterVar *iv, tn_expr *value) {
  if (!value) return -1;
  if (i < o->iters.len) { /* another block made it already */
    const tn_IterVar *old = (const tn_IterVar *)o->iters.items[i].v.obj;
    bool same = arith_prove_equal(&p->e->arith, old->dom->min, iv->dom->min) &&
                arith_prove_equal(&p->e->arith, old->dom->extent, iv->dom->extent) &&
                arith_prove_equal(&p->e->arith, (tn_expr *)o->values.items[i].v.obj, value) &&
                old->iter_type == iv->iter_type;
    if (same) return 0;
    return sch_fail(p->e, "The outer parts of the blocks differ", SCH_PLACES(p->block),
                    "The bindings of block {0} have another outer part than those of the blocks "
                    "before");
  }
  return tn_vec_push_obj(&o->iters, iv) || tn_vec_push_obj(&o->values, value) ? -1 : 0;
}

static int add_inner(part *p, tn_IterVar *iv, tn_expr *value) {
  if (!value || !iv) return -1;
  TN_TRY(tn_map_set(p->inner, tn_any_obj(iv->var), tn_any_obj(iv->dom)));
  TN_TRY(arith_bind_range(&p->e->arith, iv->var, iv->dom, true));
  return tn_vec_push_obj(&p->iters, iv) || tn_vec_push_obj(&p->values, value) ? -1 : 0;
}

/* One iterator becomes an outer one, an inner one, or both: outer * extent + inner. */
static int divide_iter(part *p, outer *o, int64_t i, const tn_arr *pair, int64_t *next) {
  tn_IterVar *iv = (tn_IterVar *)tn_arr_obj(p->block->iter_vars, i);
  const tn_IterMark *out = (const tn_IterMark *)tn_arr_obj(pair, 0),
                    *in = (const tn_IterMark *)tn_arr_obj(pair, 1);
  if (tir_is_one(in->extent)) {
    TN_TRY(add_outer(p, o, *next, iv, from_start(p, iv, mark_value(out))));
    const tn_IterVar *own = (const tn_IterVar *)o->iters.items[(*next)++].v.obj;
    return own == iv ? 0 : tn_pmap_put(&p->vars, iv->var, own->var);
  }
  tn_IterVar *inner;
  tn_expr *sub;
  bool whole = tir_is_one(out->extent); /* the domain goes inside as it is */
  TN_GET(inner,
         new_iter(iv, "_i", whole ? iv->dom->min : NULL, whole ? iv->dom->extent : in->extent));
  TN_TRY(add_inner(p, inner, whole ? from_start(p, iv, mark_value(in)) : mark_value(in)));
  sub = (tn_expr *)inner->var;
  tn_IterVar *fresh;
  TN_GET(fresh, new_iter(iv, "_o", NULL, out->extent));
  TN_TRY(add_outer(p, o, *next, fresh, mark_value(out)));
  const tn_IterVar *own = (const tn_IterVar *)o->iters.items[(*next)++].v.obj;
  if (!whole)
    TN_GET(sub,
           tir_add(tir_mul((tn_expr *)own->var, tir_cast(iv->var->dtype, in->extent, NULL)), sub));
  if (!whole) TN_GET(sub, from_start(p, iv, sub));
  return tn_pmap_put(&p->vars, iv->var, sub);
}

/* The outer block begins a reduction: it cannot hold a part that goes on with one. */
static int check_start(const part *p) {
  TN_VEC(loops);
  if (!p->block->init || !p->loops.len) return 0;
  for (int64_t i = p->loops.len; i-- > 0;) TN_TRY(tn_vec_push_obj(&loops, p->loops.items[i].v.obj));
  return sch_check_start(p->e, p->realize, &loops, 0);
}

static int divide_iters(part *p, outer *o, const void *place) {
  tn_arr *division;
  int64_t next = 0, n = p->block->iter_vars->len;
  TN_TRY(check_start(p));
  TN_GET(division, divide(p));
  if (division->len != n + 1)
    return sch_fail(p->e, "The bindings of the inner block can not be blockized",
                    SCH_PLACES(p->block, place),
                    "The bindings of the inner block {0} can not be blockized by the loops "
                    "starting at {1}");
  for (int64_t i = 0; i < n; ++i)
    TN_TRY(divide_iter(p, o, i, (const tn_arr *)tn_arr_obj(division, i), &next));
  const tn_arr *last = (const tn_arr *)tn_arr_obj(division, n);
  p->outer_predicate = ((const tn_IterMark *)tn_arr_obj(last, 0))->extent;
  p->inner_predicate = ((const tn_IterMark *)tn_arr_obj(last, 1))->extent;
  return 0;
}

/* ---- the blocks ---- */

static tn_obj *rewritten(part *p, const void *o) {
  return (tn_obj *)sch_rewrite(p->e, (const tn_stmt *)o);
}

/* Contents of the block over the new iterators. */
static int convert(part *p) {
  sch_step *e = p->e;
  tn_pmap none = e->vars;
  e->vars = p->vars;
  p->reads = (tn_arr *)rewritten(p, p->block->reads);
  p->writes = (tn_arr *)rewritten(p, p->block->writes);
  p->body = (tn_stmt *)rewritten(p, p->block->body);
  p->init = p->block->init ? (tn_stmt *)rewritten(p, p->block->init) : NULL;
  e->vars = none;
  return p->reads && p->writes && p->body && !p->init == !p->block->init ? 0 : -1;
}

/* Regions over all of the inner iterators, joined to those of one buffer that are there. */
static int add_regions(part *p, tn_vec *out, const tn_arr *regions) {
  for (int64_t i = 0; i < regions->len; ++i) {
    const tn_BufferRegion *r = (const tn_BufferRegion *)tn_arr_obj(regions, i);
    TN_VEC(axes);
    tn_arr *sets;
    TN_GET(sets, sch_relax_region(p->e, r->region, p->inner));
    for (int64_t j = 0; j < sets->len; ++j) {
      tn_expr *extent = (tn_expr *)tn_arr_obj(r->buffer->shape, j);
      tn_Range *x = arith_interval_range(&p->e->arith, (tn_IntervalSet *)tn_arr_obj(sets, j),
                                         tir_range(tir_zero(extent->dtype), extent));
      if (!x || tn_vec_push_obj(&axes, x)) return -1;
    }
    tn_BufferRegion *all = TN_NEW(BufferRegion, .buffer = r->buffer, .region = tn_arr_from(&axes));
    bool known = false;
    for (int64_t j = 0; all && j < out->len; ++j) {
      const tn_BufferRegion *old = (const tn_BufferRegion *)out->items[j].v.obj;
      known = known || (old->buffer == r->buffer && sch_same_region(old->region, all->region));
    }
    if (!all || (!known && tn_vec_push_obj(out, all))) return -1;
  }
  return 0;
}

static tn_BlockRealize *inner_block(part *p, bool update) {
  TN_VEC(reads);
  tn_Block b = *p->block;
  for (int64_t i = 0; update && i < p->writes->len; ++i)
    TN_TRYP(tn_vec_push_obj(&reads, tn_arr_obj(p->writes, i)));
  for (int64_t i = 0; i < p->reads->len; ++i)
    TN_TRYP(tn_vec_push_obj(&reads, tn_arr_obj(p->reads, i)));
  sch_step *e = p->e;
  tn_pmap none = e->vars;
  e->vars = p->vars;
  b.match_buffers = (tn_arr *)rewritten(p, b.match_buffers);
  e->vars = none;
  b.iter_vars = tn_arr_from(&p->iters);
  b.reads = tn_arr_from(&reads);
  b.writes = p->writes;
  b.body = p->body;
  b.init = update ? NULL : p->init;
  if (!b.iter_vars || !b.reads || !b.match_buffers) return NULL;
  tn_Block *now = tn_node_copy(&tn_type_Block, &b);
  tn_arr *values = tn_arr_from(&p->values);
  if (!now || !values || sch_moved(p->e, p->block, now)) return NULL;
  return TN_MAKE(BlockRealize, .iter_values = values, .predicate = p->inner_predicate,
                 .block = now);
}

static tn_stmt *inner_nest(part *p, tn_BlockRealize *realize) {
  tn_stmt *s = (tn_stmt *)realize;
  for (int64_t i = 0; i < p->loops.len && s; ++i) {
    const tn_For *f = (const tn_For *)p->loops.items[i].v.obj;
    tn_For *now = sch_loop(f, f->loop_var, f->min, f->extent, s);
    if (!now || sch_moved(p->e, f, now)) return NULL;
    s = (tn_stmt *)now;
  }
  return s;
}

/* ---- the first value of a reduction ---- */

typedef struct {
  tn_vec iters, values;
  tn_pmap vars;
} init_maker;
static void init_maker_fini(init_maker *m) {
  tn_vec_fini(&m->iters);
  tn_vec_fini(&m->values);
  tn_pmap_fini(&m->vars);
}

static tn_Var *init_var(const tn_Var *v) {
  tn_str *name = tn_str_fmt("%s_init", tn_cstr(v->name));
  return name ? tir_var_like(v, name->data) : NULL;
}

static tn_stmt *init_block(part *p, init_maker *m) {
  tn_arr *none = tn_arr_of(0);
  tn_str *name = tn_str_fmt("%s_init", tn_cstr(p->block->name_hint));
  for (int64_t i = 0; i < p->iters.len; ++i) {
    tn_IterVar copy = *(const tn_IterVar *)p->iters.items[i].v.obj;
    if (copy.iter_type != IR_ITER_DATA_PAR || !sch_uses_var(p->init, copy.var)) continue;
    const tn_Var *old = copy.var;
    copy.var = init_var(old);
    tn_obj *iv = copy.var ? tn_node_copy(&tn_type_IterVar, &copy) : NULL;
    if (!iv || tn_vec_push_obj(&m->iters, iv) || tn_vec_push(&m->values, p->values.items[i]) ||
        tn_pmap_put(&m->vars, old, copy.var))
      return NULL;
  }
  tn_Block *b = none && name
                    ? TN_NEW(Block, .iter_vars = tn_arr_from(&m->iters), .reads = none,
                             .writes = tir_substitute(p->writes, &m->vars), .name_hint = name,
                             .alloc_buffers = none, .match_buffers = none,
                             .annotations = tn_scope_own(tn_map_new()),
                             .body = tir_substitute(p->init, &m->vars))
                    : NULL;
  return b ? (tn_stmt *)TN_MAKE(BlockRealize, .iter_values = tn_arr_from(&m->values),
                                .predicate = p->inner_predicate, .block = b)
           : NULL;
}

/* A block of the data parallel iterators, in copies of the loops that they and the predicate use.
 */
static tn_stmt *outer_init(part *p) {
  init_maker m __attribute__((cleanup(init_maker_fini))) = {0};
  TN_PMAP(loops);
  tn_stmt *s = init_block(p, &m);
  for (int64_t i = 0; s && i < p->loops.len; ++i) {
    const tn_For *f = (const tn_For *)p->loops.items[i].v.obj;
    bool used = sch_uses_var(p->inner_predicate, f->loop_var);
    for (int64_t j = 0; j < m.values.len; ++j)
      used = used || sch_uses_var(m.values.items[j].v.obj, f->loop_var);
    tn_Var *v = used ? tir_var_like(f->loop_var, tn_cstr(f->loop_var->name)) : NULL;
    if (used && (!v || tn_pmap_put(&loops, f->loop_var, v))) return NULL;
    if (used) s = (tn_stmt *)sch_loop(f, v, f->min, f->extent, s);
  }
  return s ? tir_substitute(s, &loops) : NULL;
}

static bool reduces_outside(const part *p, const outer *o) {
  for (int64_t i = 0; p->block->init && i < o->iters.len; ++i) {
    if (((const tn_IterVar *)o->iters.items[i].v.obj)->iter_type == IR_ITER_COMM_REDUCE)
      return true;
  }
  return false;
}

static tn_BlockRealize *outer_block(const outer *o, tn_expr *predicate, tn_str *name, tn_stmt *body,
                                    tn_stmt *init) {
  tn_arr *none = tn_arr_of(0);
  if (!body || !name || !none || !predicate) return NULL;
  tn_Block *b = TN_NEW(Block, .iter_vars = tn_arr_from(&o->iters), .reads = tn_arr_from(&o->reads),
                       .writes = tn_arr_from(&o->writes), .name_hint = name, .alloc_buffers = none,
                       .match_buffers = none, .annotations = tn_scope_own(tn_map_new()),
                       .init = init, .body = body);
  return b ? TN_MAKE(BlockRealize, .iter_values = tn_arr_from(&o->values), .predicate = predicate,
                     .block = b)
           : NULL;
}

/* ---- of a loop ---- */

/* Loops from the block up to before `high`; with `high` too when `whole`. */
static int take_loops(part *p, const tn_obj *high, bool whole) {
  for (const tn_obj *o = sch_parent(p->e, p->realize); o; o = sch_parent(p->e, o)) {
    if (o == high && !whole) break;
    if (o->type_index == TN_TI_For) TN_TRY(tn_vec_push_obj(&p->loops, o));
    if (o == high) break;
  }
  p->inner = tn_scope_own(tn_map_new());
  return p->inner ? 0 : -1;
}

tn_BlockRealize *sch_blockize_loop_step(sch_step *e, const tn_For *loop, bool preserve_unit) {
  part p __attribute__((cleanup(part_fini))) = {.e = e, .preserve_unit = preserve_unit};
  outer o __attribute__((cleanup(outer_fini))) = {0};
  TN_VEC(blocks);
  TN_TRYP(sch_blocks_below((const tn_obj *)loop->body, &blocks));
  if (blocks.len != 1)
    return sch_fail(e, "The loop is required to have only one child block", SCH_PLACES(loop),
                    "The loop {0} is required to have exactly one child block, it has %lld",
                    (long long)blocks.len),
           NULL;
  p.realize = (const tn_BlockRealize *)blocks.items[0].v.obj;
  p.block = p.realize->block;
  TN_TRYP(sch_check_own_loops(e, p.block));
  TN_TRYP(take_loops(&p, (const tn_obj *)loop, true));
  if (divide_iters(&p, &o, loop) || convert(&p)) return NULL;
  bool update = reduces_outside(&p, &o);
  TN_TRYP(add_regions(&p, &o.reads, p.reads));
  TN_TRYP(add_regions(&p, &o.writes, p.writes));
  tn_BlockRealize *inner = inner_block(&p, update);
  tn_stmt *body = inner ? inner_nest(&p, inner) : NULL, *init = NULL;
  if (body && update) TN_GETP(init, outer_init(&p));
  return outer_block(&o, p.outer_predicate, tn_str_fmt("%s_o", tn_cstr(p.block->name_hint)), body,
                     init);
}

tn_BlockRV *sch_blockize(tn_TirSchedule *s, const tn_LoopRV *loop, bool preserve_unit) {
  SCH_STEP(e, s, "blockize");
  const tn_For *f = sch_loop_of(&e, loop);
  tn_BlockRealize *r = f ? sch_blockize_loop_step(&e, f, preserve_unit) : NULL;
  if (!r || sch_replace(&e, (const tn_stmt *)f, (tn_stmt *)r) || sch_commit(&e)) return NULL;
  return (tn_BlockRV *)sch_handle(s, (tn_obj *)r->block);
}

/* ---- of several blocks ---- */

/* The lowest loop or block around all of them. */
static const tn_obj *around_all(const sch_step *e, const tn_vec *blocks) {
  const tn_obj *o = sch_parent(e, sch_parent(e, blocks->items[0].v.obj));
  for (; o; o = sch_parent(e, o)) {
    bool all = o->type_index == TN_TI_For || o->type_index == TN_TI_Block;
    for (int64_t i = 0; all && i < blocks->len; ++i)
      all = sch_lies_below(e, blocks->items[i].v.obj, o);
    if (all) return o;
  }
  return NULL;
}

/* What is left of one block: its inner part in the loops below `site`. */
static tn_stmt *add_part(sch_step *e, const tn_Block *b, const tn_obj *site, bool preserve_unit,
                         outer *o, tn_expr **predicate) {
  part p __attribute__((cleanup(part_fini))) = {.e = e, .preserve_unit = preserve_unit, .block = b};
  p.realize = sch_realize_of(e, b);
  if (take_loops(&p, site, false) || divide_iters(&p, o, site) || convert(&p)) return NULL;
  if (reduces_outside(&p, o))
    return sch_fail(e, "A reduction cannot be divided among blocks", SCH_PLACES(b),
                    "The block {0} reduces over loops outside of the new block"),
           NULL;
  if (!*predicate) *predicate = p.outer_predicate;
  TN_TRYP(add_regions(&p, &o->reads, p.reads));
  TN_TRYP(add_regions(&p, &o->writes, p.writes));
  tn_BlockRealize *inner = inner_block(&p, false);
  return inner ? inner_nest(&p, inner) : NULL;
}

/* The statement directly in the body that a block lies in. */
static const tn_obj *top_below(const sch_step *e, const tn_Block *b, const tn_obj *site) {
  const tn_obj *top = (const tn_obj *)b;
  for (const tn_obj *up = sch_parent(e, top); up && up != site; up = sch_parent(e, up)) {
    if (up->type_index == TN_TI_SeqStmt && sch_parent(e, up) == site) break;
    top = up;
  }
  return top;
}

/* The new block takes the place of the first statement, the others go. */
static tn_Block *blockize_all(sch_step *e, const tn_vec *blocks, bool preserve_unit) {
  outer o __attribute__((cleanup(outer_fini))) = {0};
  TN_VEC(stmts);
  TN_BUF(name);
  tn_expr *predicate = NULL;
  const tn_obj *site = around_all(e, blocks), *first = NULL;
  TN_CHECKP(site, ValueError, NULL, "blockize: the blocks do not lie in one scope");
  tn_buf_puts(&name, "outer_");
  for (int64_t i = 0; i < blocks->len; ++i) {
    const tn_Block *b = (const tn_Block *)blocks->items[i].v.obj;
    const tn_obj *top = top_below(e, b, site);
    tn_stmt *s = add_part(e, b, site, preserve_unit, &o, &predicate);
    if (!s || tn_vec_push_obj(&stmts, s)) return NULL;
    if (i > 0 && sch_replace(e, (const tn_stmt *)top, tir_nop())) return NULL;
    if (i == 0) first = top;
    tn_buf_printf(&name, "%s_", tn_cstr(b->name_hint));
  }
  const char *text = tn_buf_cstr(&name);
  tn_BlockRealize *r =
      text ? outer_block(&o, predicate, tn_str_from(text), tir_seq(&stmts), NULL) : NULL;
  if (!r || sch_replace(e, (const tn_stmt *)first, (tn_stmt *)r) || sch_commit(e)) return NULL;
  return r->block;
}

/* The blocks in the order of the program. */
static int take_blocks(sch_step *e, const tn_arr *rvs, tn_vec *out) {
  TN_PMAP(given);
  TN_VEC(all);
  tn_Block *b = NULL;
  for (int64_t i = 0; i < rvs->len; ++i) {
    TN_GET(b, sch_block_of(e, TN_AS(BlockRV, tn_arr_obj(rvs, i))));
    TN_TRY(tn_pmap_put(&given, b, b));
  }
  TN_CHECK(b, ValueError, NULL, "blockize: expected at least one block");
  const tn_Block *scope = sch_scope_root(e, b, false);
  if (!scope || sch_blocks_below((const tn_obj *)scope->body, &all)) return -1;
  for (int64_t i = 0; i < all.len; ++i) {
    const tn_Block *found = ((const tn_BlockRealize *)all.items[i].v.obj)->block;
    if (tn_pmap_has(&given, found)) TN_TRY(tn_vec_push_obj(out, found));
  }
  TN_CHECK((size_t)out->len == given.len, ValueError, NULL,
           "blockize: the blocks do not lie in one scope");
  return 0;
}

tn_BlockRV *sch_blockize_blocks(tn_TirSchedule *s, const tn_arr *rvs, bool preserve_unit) {
  SCH_STEP(e, s, "blockize");
  TN_VEC(blocks);
  TN_TRYP(take_blocks(&e, rvs, &blocks));
  tn_Block *b = blockize_all(&e, &blocks, preserve_unit);
  return b ? (tn_BlockRV *)sch_handle(s, (tn_obj *)b) : NULL;
}
