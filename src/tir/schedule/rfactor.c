/* rfactor: a reduction is made in parts, one for each value of a loop, and the parts are reduced.

     for i, ko, ki:  B[i] += A[i, ko * 4 + ki]          rfactor(ki, 0)
       =>
     for i, ko, ki:  B_rf[ki, i] += A[i, ko * 4 + ki]   block "B_rf", ki is data parallel
     for i, ki:      B[i] += B_rf[ki, i]                block "B", ki is reduced */
#include "ir/functor.h"
#include "tenon/object.h"
#include "tir/schedule/cache.h"
#include "tir/schedule/reducer.h"

typedef struct {
  sch_step *e;
  tn_Block *block, *scope;
  const tn_BlockRealize *realize;
  const tn_For *loop;
  tn_vec loops; /* around the block, outermost first */
  int64_t axis; /* of the new buffers */
  sch_reduction r;
  tn_Buffer *parts[SCH_MAX_REDUCED];
  tn_Var *part; /* iterator of the new axis in the block being made */
  tn_Block *rf, *wb;
} factoring;

/* ---- checks ---- */

static bool touched(const factoring *f, const tn_For *loop, bool reduced) {
  for (int64_t i = 0; i < f->block->iter_vars->len; ++i) {
    const tn_IterVar *iv = (const tn_IterVar *)tn_arr_obj(f->block->iter_vars, i);
    if ((iv->iter_type == IR_ITER_COMM_REDUCE) == reduced &&
        sch_uses_var(tn_arr_obj(f->realize->iter_values, i), loop->loop_var))
      return true;
  }
  return false;
}

static int fail_loop(const factoring *f, const tn_For *loop, const char *why) {
  tn_str *text = tn_str_fmt("%s", why);
  return text ? sch_fail(f->e, text->data, SCH_PLACES(loop, f->block),
                         "%s: the loop is {0} and the block is {1}", why)
              : -1;
}

static int check_loop(const factoring *f, const tn_For *loop, bool *below_reduction) {
  bool parallel = touched(f, loop, false), reduced = touched(f, loop, true);
  TN_VEC(blocks);
  if (parallel && reduced)
    return fail_loop(f, loop,
                     "The loops outside of the reduction block are required not to be touched by "
                     "both data parallel block iters and reduction block iters");
  if (parallel && loop == f->loop)
    return fail_loop(f, loop,
                     "The loop to be applied rfactor is required not to be touched by any data "
                     "parallel block iter of the block below");
  if (!parallel && !reduced && *below_reduction && !tir_is_one(loop->extent))
    return fail_loop(f, loop,
                     "The loop who has extent greater than one and is not bound to any block iter "
                     "should not appear under a reduction loop");
  if (!reduced || *below_reduction) return 0;
  *below_reduction = true;
  TN_TRY(sch_blocks_below((const tn_obj *)loop->body, &blocks));
  return blocks.len == 1 ? 0
                         : fail_loop(f, loop, "The loop is required to have only one child block");
}

static int check_loops(const factoring *f) {
  TN_VEC(blocks);
  bool below_reduction = false, found = false;
  const tn_For *outermost = (const tn_For *)f->loops.items[0].v.obj;
  TN_TRY(sch_blocks_below((const tn_obj *)outermost->body, &blocks));
  if (((tn_BlockRealize *)blocks.items[0].v.obj)->block != f->block)
    return fail_loop(f, outermost,
                     "The reduction block should be the first child block of the outermost loop "
                     "outside of it");
  for (int64_t i = 0; i < f->loops.len; ++i) {
    const tn_For *loop = (const tn_For *)f->loops.items[i].v.obj;
    TN_TRY(check_loop(f, loop, &below_reduction));
    found = found || loop == f->loop;
    if (touched(f, loop, true) && sch_uses_var(f->realize->predicate, loop->loop_var))
      return fail_loop(f, loop, "The predicate of the block limits a loop that is reduced over");
  }
  if (f->loop->kind != TIR_FOR_SERIAL)
    return fail_loop(f, f->loop, "The loop to be applied rfactor is required to be serial");
  if (!touched(f, f->loop, true) && !tir_is_one(f->loop->extent))
    return fail_loop(f, f->loop,
                     "The loop to be applied rfactor is required to be a reduction loop");
  return found ? 0 : -1;
}

static int check_axis(factoring *f, int64_t axis) {
  int64_t n = f->r.stores[0]->buffer->shape->len;
  f->axis = axis < 0 ? axis + n + 1 : axis;
  if (f->axis >= 0 && f->axis <= n) return 0;
  return sch_fail(
      f->e,
      "The input `factor_axis` is out of range. It is required to be in range "
      "[-(ndim + 1), ndim] where `ndim` is the number of dimensions of the write buffer",
      SCH_PLACES(f->block),
      "The write buffer %s of block {0} has %lld dimension(s), so `factor_axis` is "
      "required to be in [-(%lld), %lld] for rfactor. However, the input `factor_axis` "
      "is %lld, which is out of the expected range",
      tn_cstr(f->r.stores[0]->buffer->name), (long long)n, (long long)n + 1, (long long)n,
      (long long)axis);
}

/* The block below the loop; the loop must have just one. */
static tn_Block *find_block(sch_step *e, const tn_For *loop) {
  TN_VEC(blocks);
  if (sch_blocks_below((const tn_obj *)loop->body, &blocks)) return NULL;
  if (blocks.len == 1) return ((tn_BlockRealize *)blocks.items[0].v.obj)->block;
  sch_fail(e, "The loop is required to have only one child block", SCH_PLACES(loop),
           "The loop {0} is required to have only one child block, it has %lld",
           (long long)blocks.len);
  return NULL;
}

static int check(factoring *f, int64_t axis) {
  const char *why;
  sch_step *e = f->e;
  TN_GET(f->block, find_block(e, f->loop));
  TN_GET(f->scope, sch_scope_root(e, f->block, true));
  if (!sch_is_reduction(e, f->block, &why))
    return sch_fail(e, "Not a reduction block", SCH_PLACES(f->block),
                    "The block {0} is not a reduction block, since %s", why);
  f->realize = sch_realize_of(e, f->block);
  TN_TRY(sch_loops_above(e, f->block, &f->loops));
  TN_TRY(check_loops(f));
  TN_TRY(sch_check_start(e, f->realize, &f->loops, 0));
  TN_TRY(sch_match_reduction(e, f->block, &f->r));
  return check_axis(f, axis);
}

/* ---- the parts ---- */

static tn_arr *with_axis(const factoring *f, const tn_arr *list, const void *item) {
  TN_VEC(out);
  for (int64_t i = 0; i <= list->len; ++i) {
    if (i == f->axis) TN_TRYP(tn_vec_push_obj(&out, item));
    if (i < list->len) TN_TRYP(tn_vec_push_obj(&out, tn_arr_obj(list, i)));
  }
  return tn_arr_from(&out);
}

static int make_buffers(factoring *f) {
  for (int i = 0; i < f->r.n; ++i) {
    const tn_Buffer *b = f->r.stores[i]->buffer;
    tn_arr *shape = with_axis(f, b->shape, f->loop->extent);
    TN_GET(f->parts[i], sch_buffer_like(b, shape, "rf", tir_buffer_scope(b)));
  }
  return 0;
}

static bool is_part(const factoring *f, const tn_Buffer *b) {
  for (int i = 0; i < f->r.n; ++i) {
    if (f->parts[i] == b) return true;
  }
  return false;
}

/* Accesses to results have become accesses to the parts; the new axis gets its index. */
static tn_obj *add_index(sch_step *e, const tn_obj *was, tn_obj *now) {
  const factoring *f = e->after_ctx;
  tn_BufferLoad *load = TN_AS(BufferLoad, now);
  tn_BufferStore *store = TN_AS(BufferStore, now);
  tn_BufferRegion *region = TN_AS(BufferRegion, now);
  (void)was;
  if (load && is_part(f, load->buffer))
    return (tn_obj *)tir_load(load->buffer, with_axis(f, load->indices, f->part));
  if (store && is_part(f, store->buffer))
    return (tn_obj *)tir_store(store->buffer, store->value, with_axis(f, store->indices, f->part));
  if (!region || !is_part(f, region->buffer)) return now;
  tn_Range *at = tir_range((tn_expr *)f->part, tir_one(f->part->dtype));
  tn_arr *axes = at ? with_axis(f, region->region, at) : NULL;
  return axes ? (tn_obj *)TN_NEW(BufferRegion, .buffer = region->buffer, .region = axes) : NULL;
}

/* A node of the old block for one of the new ones: iterators replaced, and (parts) results. */
static void *converted(const factoring *f, const void *node, const tn_pmap *vars, bool parts) {
  sch_step *e = f->e;
  tn_pmap kept = e->vars;
  e->vars = (tn_pmap){0};
  int err = 0;
  for (size_t i = 0; i < vars->cap; ++i) {
    if (vars->slots[i].key) err |= tn_pmap_put(&e->vars, vars->slots[i].key, vars->slots[i].v.ptr);
  }
  for (int i = 0; parts && i < f->r.n; ++i)
    err |= tn_pmap_put(&e->vars, f->r.stores[i]->buffer, f->parts[i]);
  e->after = parts ? add_index : NULL;
  e->after_ctx = f;
  void *out = err ? NULL : sch_rewrite(e, node);
  e->after = NULL;
  e->after_ctx = NULL;
  tn_pmap_fini(&e->vars);
  e->vars = kept;
  return out;
}

/* ---- iterators of the new blocks ---- */

typedef struct {
  tn_vec iters, values;
  tn_pmap vars;  /* iterators of the old block */
  tn_pmap loops; /* loop variable -> iterator over it */
  bool reduces;  /* is an iterator reduced over? */
} maker;
static void maker_fini(maker *m) {
  tn_vec_fini(&m->iters);
  tn_vec_fini(&m->values);
  tn_pmap_fini(&m->vars);
  tn_pmap_fini(&m->loops);
}

/* An iterator over the loop. It counts from 0, as the new axis of the parts does, wherever the loop
   starts. */
static tn_Var *add_loop_iter(maker *m, const tn_For *loop, ir_iter_type type) {
  tn_str *name = tn_str_fmt("v%s", tn_cstr(loop->loop_var->name));
  tn_Var *v = name ? tir_var_like(loop->loop_var, name->data) : NULL;
  tn_Range *all = v ? tir_range(tir_zero(v->dtype), loop->extent) : NULL;
  tn_IterVar *iv = all ? tir_iter_var(all, v, type, "") : NULL;
  bool from_zero = tir_is_zero((const tn_obj *)loop->min);
  tn_expr *var = (tn_expr *)loop->loop_var, *at = from_zero ? var : tir_sub(var, loop->min),
          *back = from_zero || !v ? (tn_expr *)v : tir_add((tn_expr *)v, loop->min);
  if (!iv || !at || !back || tn_vec_push_obj(&m->iters, iv) || tn_vec_push_obj(&m->values, at) ||
      tn_pmap_put(&m->loops, loop->loop_var, back))
    return NULL;
  if (type == IR_ITER_COMM_REDUCE) m->reduces = true;
  return v;
}

typedef struct {
  const factoring *f;
  maker *m;
} loop_finder;

static int meet_var(void *ctx, tn_obj *o) {
  const loop_finder *c = ctx;
  for (int64_t i = 0; TN_IS(Var, o) && i < c->f->loops.len; ++i) {
    const tn_For *loop = (const tn_For *)c->f->loops.items[i].v.obj;
    if ((const tn_obj *)loop->loop_var == o && !tn_pmap_has(&c->m->loops, o) &&
        !add_loop_iter(c->m, loop, IR_ITER_COMM_REDUCE))
      return -1;
  }
  return 0;
}

/* An iterator that is bound to the loop gives way to iterators over the loops of its binding. */
static int add_part_iters(factoring *f, maker *m) {
  TN_GET(f->part, add_loop_iter(m, f->loop, IR_ITER_DATA_PAR));
  loop_finder c = {f, m};
  for (int64_t i = 0; i < f->block->iter_vars->len; ++i) {
    const tn_IterVar *iv = (const tn_IterVar *)tn_arr_obj(f->block->iter_vars, i);
    const tn_obj *value = tn_arr_obj(f->realize->iter_values, i);
    if (iv->iter_type != IR_ITER_COMM_REDUCE || !sch_uses_var(value, f->loop->loop_var)) {
      TN_TRY(tn_vec_push_obj(&m->iters, iv));
      TN_TRY(tn_vec_push_obj(&m->values, value));
      if (iv->iter_type == IR_ITER_COMM_REDUCE) m->reduces = true;
      continue;
    }
    TN_TRY(tn_post_order(value, meet_var, &c));
    tn_obj *now;
    TN_GET(now, tir_substitute(value, &m->loops));
    TN_TRY(tn_pmap_put(&m->vars, iv->var, now));
  }
  return 0;
}

static int add_whole_iters(factoring *f, maker *m) {
  TN_GET(f->part, add_loop_iter(m, f->loop, IR_ITER_COMM_REDUCE));
  for (int64_t i = 0; i < f->block->iter_vars->len; ++i) {
    const tn_IterVar *iv = (const tn_IterVar *)tn_arr_obj(f->block->iter_vars, i);
    if (iv->iter_type == IR_ITER_COMM_REDUCE) continue;
    tn_IterVar copy = *iv;
    TN_GET(copy.var, tir_var_like(iv->var, tn_cstr(iv->var->name)));
    tn_IterVar *now = tn_node_copy(&tn_type_IterVar, &copy);
    if (!now || tn_vec_push_obj(&m->iters, now) ||
        tn_vec_push_obj(&m->values, tn_arr_obj(f->realize->iter_values, i)) ||
        tn_pmap_put(&m->vars, iv->var, copy.var))
      return -1;
  }
  return 0;
}

/* ---- the block of the parts ---- */

static tn_obj *store_with(const tn_BufferStore *like, tn_expr *value) {
  tn_BufferStore copy = *like;
  copy.value = value;
  return value ? tn_node_copy(&tn_type_BufferStore, &copy) : NULL;
}

/* The first values, in the order of the results. */
static tn_stmt *init_of(const factoring *f) {
  TN_VEC(stmts);
  for (int i = 0; i < f->r.n; ++i)
    TN_TRYP(tn_vec_push_obj(&stmts, store_with(f->r.stores[i], f->r.init[i])));
  return tir_seq(&stmts);
}

/* The update, in the order of the results. Only several of them need variables: each is computed
   from all before one is stored. */
static tn_stmt *update_of(const factoring *f) {
  const sch_reduction *r = &f->r;
  TN_VEC(stmts);
  for (int i = 0; i < r->n; ++i) {
    tn_expr *value = r->n == 1 && r->lets[i] ? r->lets[i]->value : r->stores[i]->value;
    TN_TRYP(tn_vec_push_obj(&stmts, store_with(r->stores[i], value)));
  }
  tn_stmt *s = tir_seq(&stmts);
  for (int i = r->n; i-- > 0 && r->n > 1 && s;) {
    tn_LetStmt let = *r->lets[i];
    let.body = s;
    s = tn_node_copy(&tn_type_LetStmt, &let);
  }
  return s;
}

/* Where nothing is left to reduce, a part is the value itself. */
static tn_stmt *plain_body(factoring *f, const maker *m) {
  TN_VEC(stmts);
  for (int i = 0; i < f->r.n; ++i) {
    tn_obj *store = store_with(f->r.stores[i], f->r.rhs[i]);
    tn_obj *now = store ? converted(f, store, &m->vars, true) : NULL;
    if (!now || tn_vec_push_obj(&stmts, now)) return NULL;
  }
  return tir_seq(&stmts);
}

static int make_part_block(factoring *f, maker *m) {
  TN_TRY(add_part_iters(f, m));
  tn_Block b = *f->block;
  b.iter_vars = tn_arr_from(&m->iters);
  b.name_hint = tn_str_fmt("%s_rf", tn_cstr(b.name_hint));
  b.reads = converted(f, b.reads, &m->vars, false);
  b.writes = converted(f, b.writes, &m->vars, true);
  b.init = m->reduces ? converted(f, init_of(f), &m->vars, true) : NULL;
  b.body = m->reduces ? converted(f, update_of(f), &m->vars, true) : plain_body(f, m);
  bool fine = b.iter_vars && b.name_hint && b.reads && b.writes && b.body;
  if (!fine || (m->reduces && !b.init)) return -1;
  TN_GET(f->rf, tn_node_copy(&tn_type_Block, &b));
  return 0;
}

/* The loops of the block again, with other variables. */
static tn_stmt *part_nest(factoring *f, const maker *m) {
  TN_PMAP(vars);
  for (int64_t i = 0; i < f->loops.len; ++i) {
    const tn_Var *v = ((const tn_For *)f->loops.items[i].v.obj)->loop_var;
    tn_Var *now = tir_var_like(v, tn_cstr(v->name));
    if (!now || tn_pmap_put(&vars, v, now)) return NULL;
  }
  tn_arr *values = tn_arr_from(&m->values);
  tn_stmt *s = values
                   ? (tn_stmt *)TN_MAKE(BlockRealize, .iter_values = tir_substitute(values, &vars),
                                        .predicate = tir_substitute(f->realize->predicate, &vars),
                                        .block = f->rf)
                   : NULL;
  for (int64_t i = f->loops.len; i-- > 0 && s;) {
    tn_For loop = *(const tn_For *)f->loops.items[i].v.obj;
    loop.loop_var = tn_pmap_get(&vars, loop.loop_var);
    loop.min = tir_substitute(loop.min, &vars);
    loop.extent = tir_substitute(loop.extent, &vars);
    loop.body = s;
    s = loop.min && loop.extent ? tn_node_copy(&tn_type_For, &loop) : NULL;
  }
  return s;
}

/* ---- the block that reduces them ---- */

static tn_expr *load_result(const factoring *f, const maker *m, int i, bool part) {
  const tn_BufferStore *store = f->r.stores[i];
  tn_arr *at = tir_substitute(store->indices, &m->vars);
  if (at && part) at = with_axis(f, at, f->part);
  return at ? tir_load(part ? f->parts[i] : store->buffer, at) : NULL;
}

static tn_stmt *whole_body(const factoring *f, const maker *m) {
  tn_expr *lhs[SCH_MAX_REDUCED], *rhs[SCH_MAX_REDUCED], *values[SCH_MAX_REDUCED];
  tn_Var *lets[SCH_MAX_REDUCED] = {NULL};
  TN_VEC(stmts);
  for (int i = 0; i < f->r.n; ++i) {
    TN_GETP(lhs[i], load_result(f, m, i, false));
    TN_GETP(rhs[i], load_result(f, m, i, true));
  }
  TN_TRYP(sch_combine(&f->r, lhs, rhs, values));
  for (int i = 0; i < f->r.n; ++i) {
    const tn_BufferStore *store = f->r.stores[i];
    const tn_LetStmt *let = f->r.n > 1 ? f->r.lets[i] : NULL;
    if (let) TN_GETP(lets[i], tir_var_like(let->var, tn_cstr(let->var->name)));
    tn_stmt *s = tir_store(store->buffer, let ? (tn_expr *)lets[i] : values[i],
                           tir_substitute(store->indices, &m->vars));
    if (!s || tn_vec_push_obj(&stmts, s)) return NULL;
  }
  tn_stmt *s = tir_seq(&stmts);
  for (int i = f->r.n; i-- > 0 && s;) {
    if (lets[i]) s = (tn_stmt *)TN_MAKE(LetStmt, .var = lets[i], .value = values[i], .body = s);
  }
  return s;
}

static tn_arr *part_reads(const factoring *f, const maker *m) {
  TN_VEC(out);
  for (int i = 0; i < f->r.n; ++i) {
    const tn_BufferLoad *load = (const tn_BufferLoad *)load_result(f, m, i, true);
    TN_VEC(region);
    for (int64_t j = 0; load && j < load->indices->len; ++j) {
      tn_expr *at = (tn_expr *)tn_arr_obj(load->indices, j);
      TN_TRYP(tn_vec_push_obj(&region, tir_range(at, tir_one(at->dtype))));
    }
    tn_BufferRegion *r =
        load ? TN_NEW(BufferRegion, .buffer = load->buffer, .region = tn_arr_from(&region)) : NULL;
    if (!r || tn_vec_push_obj(&out, r)) return NULL;
  }
  return tn_arr_from(&out);
}

static tn_stmt *make_whole_block(factoring *f, maker *m) {
  if (add_whole_iters(f, m)) return NULL;
  tn_Block b = *f->block;
  b.iter_vars = tn_arr_from(&m->iters);
  b.reads = part_reads(f, m);
  b.writes = tir_substitute(b.writes, &m->vars);
  tn_stmt *init = init_of(f);
  b.init = init ? tir_substitute(init, &m->vars) : NULL;
  b.body = whole_body(f, m);
  f->wb = b.iter_vars && b.reads && b.writes && b.init && b.body ? tn_node_copy(&tn_type_Block, &b)
                                                                 : NULL;
  tn_arr *values = tn_arr_from(&m->values);
  return f->wb && values ? (tn_stmt *)TN_MAKE(BlockRealize, .iter_values = values,
                                              .predicate = f->realize->predicate, .block = f->wb)
                         : NULL;
}

/* The old loops without those reduced over in the parts, around the new block. */
static int replace_nest(factoring *f, tn_stmt *parts, tn_stmt *whole) {
  sch_step *e = f->e;
  TN_TRY(sch_replace(e, (const tn_stmt *)f->realize, whole));
  TN_TRY(sch_moved(e, f->block, f->wb));
  for (int64_t i = f->loops.len; i-- > 0;) {
    const tn_For *loop = (const tn_For *)f->loops.items[i].v.obj;
    if (loop != f->loop && touched(f, loop, true))
      TN_TRY(sch_replace(e, (const tn_stmt *)loop, sch_rewrite(e, loop->body)));
  }
  const tn_stmt *outermost = (const tn_stmt *)f->loops.items[0].v.obj;
  tn_stmt *both = tir_seq2(parts, sch_rewrite(e, outermost));
  if (!both || sch_replace(e, outermost, both)) return -1;
  return sch_add_buffers(e, f->scope, f->r.n, f->parts);
}

static tn_BlockRV *factor(factoring *f, int64_t axis) {
  maker parts __attribute__((cleanup(maker_fini))) = {0};
  maker whole __attribute__((cleanup(maker_fini))) = {0};
  if (check(f, axis) || make_buffers(f) || make_part_block(f, &parts)) return NULL;
  tn_stmt *nest = part_nest(f, &parts), *realize = nest ? make_whole_block(f, &whole) : NULL;
  if (!realize || replace_nest(f, nest, realize) || sch_commit(f->e)) return NULL;
  return (tn_BlockRV *)sch_handle(f->e->s, (tn_obj *)f->rf);
}

tn_BlockRV *sch_rfactor(tn_TirSchedule *s, const tn_LoopRV *loop, int64_t axis) {
  SCH_STEP(e, s, "rfactor");
  factoring f = {.e = &e, .loop = sch_loop_of(&e, loop)};
  tn_BlockRV *out = f.loop ? factor(&f, axis) : NULL;
  tn_vec_fini(&f.loops);
  return out;
}
