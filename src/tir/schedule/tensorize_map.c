/* How the loops of a block and those of an instruction's description belong together, and the
   layout in which loops walk through a buffer without gaps. Nothing is scheduled here.

     loops of the block   i (128), j (64), k (64)        description   i (16), k (4)
     iterators            S        S        R                          S       R
       =>  loop_map {j: i of the description, k: k of it}

   Iterators are matched from the innermost on, those of one kind with each other. */
#include <stdlib.h>

#include "arith/iter_map.h"
#include "ir/functor.h"
#include "tir/schedule/api.h"
#include "tir/schedule/regions.h"

/* ---- loops of an instruction ---- */

typedef struct {
  sch_step e;
  tn_vec loops;    /* For around the block, outermost first */
  tn_vec theirs;   /* For of the description, outermost first */
  tn_pmap vars;    /* variables of `loops` */
  tn_pmap vars_of; /* variables of `theirs` */
  const tn_Block *inner;
  const tn_BlockRealize *ours, *inner_realize;
  tn_map *loop_map, *indexer; /* StmtSRef -> For; For -> its number */
  tn_vec paddings;            /* a factor for each iterator of the block */
  bool padded;
} mapping;

static void mapping_fini(mapping *m) {
  sch_step_fini(&m->e);
  tn_vec_fini(&m->loops);
  tn_vec_fini(&m->theirs);
  tn_vec_fini(&m->paddings);
  tn_pmap_fini(&m->vars);
  tn_pmap_fini(&m->vars_of);
}

static int meet_desc(void *ctx, tn_obj *o) {
  mapping *m = ctx;
  if (o->type_index == TN_TI_For) {
    TN_TRY(tn_vec_push_obj(&m->theirs, o));
    return tn_pmap_put(&m->vars_of, ((tn_For *)o)->loop_var, o);
  }
  const tn_BlockRealize *r = TN_AS(BlockRealize, o);
  if (r) {
    m->inner_realize = r;
    m->inner = r->block;
  }
  return TN_IS(PrimExpr, o) ? 1 : 0;
}

static int meet_var(void *ctx, tn_obj *o) { return tn_pmap_has(ctx, o); }

/* The loop of the list whose variable a binding is, but for something that uses none of them. */
static tn_For *loop_of(mapping *m, const tn_vec *loops, const tn_pmap *vars, tn_expr *binding) {
  for (int64_t i = loops->len - 1; i >= 0; --i) {
    tn_For *f = (tn_For *)loops->items[i].v.obj;
    tn_expr *v = tir_cast(binding->dtype, (tn_expr *)f->loop_var, NULL);
    tn_expr *rest = v ? arith_simplify(&m->e.arith, tir_sub(binding, v)) : NULL;
    if (rest && tn_post_order(rest, meet_var, (void *)(uintptr_t)vars) == 0) return f;
    if (tn_error_pending()) return NULL;
  }
  return NULL;
}

/* The iterator before `end` of the kind, from the last on; -1: none. */
static int64_t iter_before(const tn_Block *b, int64_t end, int64_t kind) {
  for (int64_t i = end - 1; i >= 0; --i)
    if (((const tn_IterVar *)tn_arr_obj(b->iter_vars, i))->iter_type == kind) return i;
  return -1;
}

/* Matches one iterator of the description. 1: done, 0: the block does not fit, -1: error */
static int match_iter(mapping *m, int64_t i_desc, int64_t *end, bool allow_padding) {
  const tn_IterVar *iv = (const tn_IterVar *)tn_arr_obj(m->inner->iter_vars, i_desc);
  tn_For *theirs = loop_of(m, &m->theirs, &m->vars_of,
                           (tn_expr *)tn_arr_obj(m->inner_realize->iter_values, i_desc));
  int64_t extent, mine, at = iter_before(m->ours->block, *end, iv->iter_type);
  if (!theirs) return tn_error_pending() ? -1 : 0;
  if (at < 0 || !tir_as_int((tn_obj *)theirs->extent, &extent) || extent < 1) return 0;
  tn_For *ours = loop_of(m, &m->loops, &m->vars, (tn_expr *)tn_arr_obj(m->ours->iter_values, at));
  if (!ours) return tn_error_pending() ? -1 : 0;
  if (!tir_as_int((tn_obj *)ours->extent, &mine)) return 0;
  if (mine % extent != 0) {
    if (!allow_padding) return 0;
    m->padded = true;
    tn_expr *multiple;
    TN_CHECK(extent <= INT32_MAX, ValueError, NULL,
             "get_tensorize_loop_mapping: an extent of the description is beyond int32");
    TN_GET(multiple, tir_i32((int)extent));
    m->paddings.items[at] = tn_any_obj(multiple);
  }
  *end = at;
  tn_StmtSRef *sref = sch_sref(m->e.s, (tn_obj *)ours);
  if (!sref) return -1;
  TN_GET(m->loop_map, tn_map_with(m->loop_map, tn_any_obj(sref), tn_any_obj(theirs)));
  return 1;
}

static int collect(mapping *m, const tn_BlockRV *block, const tn_PrimFunc *desc) {
  tn_Block *b;
  TN_GET(b, sch_block_of(&m->e, block));
  m->ours = sch_realize_of(&m->e, b);
  TN_TRY(sch_loops_above(&m->e, b, &m->loops));
  for (int64_t i = 0; i < m->loops.len; ++i) {
    const tn_For *f = (const tn_For *)m->loops.items[i].v.obj;
    TN_TRY(tn_pmap_put(&m->vars, f->loop_var, f));
  }
  for (int64_t i = 0; i < b->iter_vars->len; ++i) TN_TRY(tn_vec_push_obj(&m->paddings, tir_i32(1)));
  TN_CHECK(tn_pre_order(desc->body, meet_desc, m) >= 0, ValueError, NULL,
           "get_tensorize_loop_mapping: the description cannot be read");
  TN_CHECK(m->inner && m->theirs.len, ValueError, NULL,
           "get_tensorize_loop_mapping: expected a description with loops around a block");
  TN_GET(m->loop_map, tn_scope_own(tn_map_new()));
  TN_GET(m->indexer, tn_scope_own(tn_map_new()));
  for (int64_t i = 0; i < m->theirs.len; ++i)
    TN_GET(m->indexer, tn_map_with(m->indexer, m->theirs.items[i], tn_any_obj(tir_i32((int)i))));
  return 0;
}

/* (schedule, block, description, allow_padding) -> TensorizeInfo, or None where it does not fit */
static int f_loop_mapping(TN_ARGS) {
  bool allow_padding;
  SCH_ARG_SCHEDULE("get_tensorize_loop_mapping", 4);
  SCH_ARG_HANDLE(BlockRV, block, 1);
  SCH_ARG_HANDLE(PrimFunc, desc, 2);
  TN_TRY(tn_any_to_bool(&args[3], &allow_padding));
  mapping m __attribute__((cleanup(mapping_fini))) = {
      .e = {.s = s, .primitive = "get-tensorize-loop-mapping"}};
  TN_TRY(collect(&m, block, desc));
  int fits = 1;
  int64_t end = m.ours->block->iter_vars->len;
  for (int64_t i = m.inner->iter_vars->len - 1; fits == 1 && i >= 0; --i)
    fits = match_iter(&m, i, &end, allow_padding);
  if (fits < 0) return -1;
  if (!fits) {
    *ret = tn_any_none();
    return 0;
  }
  tn_arr *paddings = m.padded ? tn_arr_from(&m.paddings) : NULL;
  if (m.padded && !paddings) return -1;
  return tn_ret_obj(ret, TN_NEW(TensorizeInfo, .loop_map = m.loop_map,
                                .desc_loop_indexer = m.indexer, .block_iter_paddings = paddings));
}

/* ---- layouts ---- */

enum { MAX_SPLITS = 32 };

typedef struct {
  int64_t loop, lower, extent, scale; /* which loop, divided by what, its values, their step */
  int place;                          /* among the parts of the flat index */
} part;

/* Index of the element in the flat buffer. */
static tn_expr *flat(const tn_Buffer *b, const tn_arr *indices) {
  tn_expr *at = NULL;
  for (int64_t i = 0; i < indices->len; ++i) {
    tn_expr *x = (tn_expr *)tn_arr_obj(indices, i);
    at = at ? tir_add(tir_mul(at, tir_cast(x->dtype, (tn_expr *)tn_arr_obj(b->shape, i), NULL)), x)
            : x;
  }
  return at;
}

static int64_t loop_number(const tn_arr *loops, const void *var) {
  for (int64_t i = 0; i < loops->len; ++i)
    if (((const tn_For *)tn_arr_obj(loops, i))->loop_var == var) return i;
  return -1;
}

/* Larger steps first. */
static int by_scale(const void *x, const void *y) {
  const part *a = x, *b = y;
  return a->scale != b->scale ? (a->scale > b->scale ? -1 : 1) : 0;
}

/* The parts of a flat index, each a part of one loop, by their steps; false: they leave gaps or are
   not constants. */
static bool read_parts(const tn_IterSumExpr *sum, const tn_arr *loops, part *parts) {
  int64_t below = 1;
  if (!sum->args->len || sum->args->len > MAX_SPLITS || !tir_is_zero(sum->base)) return false;
  for (int64_t i = 0; i < sum->args->len; ++i) {
    const tn_IterSplitExpr *x = (const tn_IterSplitExpr *)tn_arr_obj(sum->args, i);
    part *p = &parts[i];
    p->loop = loop_number(loops, x->source->source);
    if (p->loop < 0 || !tir_as_int((tn_obj *)x->lower_factor, &p->lower) ||
        !tir_as_int((tn_obj *)x->extent, &p->extent) || !tir_as_int((tn_obj *)x->scale, &p->scale))
      return false;
  }
  qsort(parts, (size_t)sum->args->len, sizeof *parts, by_scale);
  for (int64_t i = sum->args->len - 1; i >= 0; --i) {
    parts[i].place = (int)i;
    if (parts[i].scale != below || __builtin_mul_overflow(below, parts[i].extent, &below))
      return false;
  }
  return true;
}

/* Outer loops first, of one loop the outer part first. */
static int by_loop(const void *x, const void *y) {
  const part *a = x, *b = y;
  if (a->loop != b->loop) return a->loop < b->loop ? -1 : 1;
  return a->lower != b->lower ? (a->lower > b->lower ? -1 : 1) : a->place - b->place;
}

/* The map that divides the flat index into the parts and puts them into the order of the loops. */
static tn_IndexMap *map_of(const tn_Buffer *b, const part *parts, int n, tn_dtype t) {
  TN_ARITH(a);
  TN_VEC(vars);
  TN_VEC(out);
  part order[MAX_SPLITS];
  tn_expr *digits[MAX_SPLITS];
  for (int64_t i = 0; i < b->shape->len; ++i) {
    tn_str *name = tn_str_fmt("i%lld", (long long)i);
    tn_Var *v = name ? tir_var(name->data, t) : NULL;
    tn_expr *extent = v ? tir_cast(t, (tn_expr *)tn_arr_obj(b->shape, i), NULL) : NULL;
    tn_Range *range = extent ? tir_range(tir_zero(t), extent) : NULL;
    if (!range || tn_vec_push_obj(&vars, v) || arith_bind_range(&a, v, range, false)) return NULL;
  }
  tn_arr *initial = tn_arr_from(&vars);
  tn_expr *rest = initial ? flat(b, initial) : NULL;
  for (int i = n - 1; i >= 0; --i) {
    tn_expr *extent = rest ? tir_const_int(t, parts[i].extent) : NULL;
    digits[i] = i > 0 ? tir_floormod(rest, extent) : rest;
    rest = tir_floordiv(rest, extent);
    order[i] = parts[i];
  }
  qsort(order, (size_t)n, sizeof *order, by_loop);
  for (int i = 0; i < n; ++i)
    TN_TRYP(tn_vec_push_obj(&out, arith_simplify(&a, digits[order[i].place])));
  tn_arr *final = tn_arr_from(&out);
  return final ? TN_NEW(IndexMap, .initial_indices = initial, .final_indices = final) : NULL;
}

static tn_map *ranges_of(const tn_arr *loops) {
  tn_map *r = tn_scope_own(tn_map_new());
  for (int64_t i = 0; r && i < loops->len; ++i) {
    const tn_For *f = (const tn_For *)tn_arr_obj(loops, i);
    tn_Range *range = tir_range(f->min, f->extent);
    r = range ? tn_map_with(r, tn_any_obj(f->loop_var), tn_any_obj(range)) : NULL;
  }
  return r;
}

/* (buffer, indices, loops, predicate) -> IndexMap, or None */
static int f_suggest(TN_ARGS) {
  TN_NARGS("suggest_index_map", 4);
  TN_ARG_OBJ(Buffer, b, 0);
  TN_ARG_ITEMS(Array(PrimExpr), indices, 1);
  TN_ARG_ITEMS(Array(For), loops, 2);
  TN_ARG_OPT(PrimExpr, predicate, 3);
  (void)predicate; /* leaves elements out, which changes no layout */
  TN_CHECK(indices->len == b->shape->len, ValueError, NULL,
           "suggest_index_map: %s has %lld axes, got %lld indices", tn_cstr(b->name),
           (long long)b->shape->len, (long long)indices->len);
  for (int64_t i = 0; i < loops->len; ++i)
    TN_CHECK(TN_IS(For, tn_arr_obj(loops, i)), TypeError, NULL,
             "suggest_index_map: expected loops (For)");
  for (int64_t i = 0; i < indices->len; ++i)
    TN_CHECK(TN_IS(PrimExpr, tn_arr_obj(indices, i)), TypeError, NULL,
             "suggest_index_map: expected expressions as indices");
  TN_ARITH(a);
  part parts[MAX_SPLITS];
  *ret = tn_any_none();
  if (!indices->len) return 0;
  tn_map *ranges;
  tn_expr *at;
  TN_GET(ranges, ranges_of(loops));
  TN_GET(at, flat(b, indices));
  const tn_IterSumExpr *sum = iter_map_sum(&a, at, ranges);
  if (!sum) tn_error_clear(); /* no map of the loops: nothing to suggest */
  if (!sum || !read_parts(sum, loops, parts)) return 0;
  return tn_ret_obj(ret, map_of(b, parts, (int)sum->args->len, at->dtype));
}

static const tn_func_row functions[] = {
    {"tir.schedule.GetTensorizeLoopMapping", f_loop_mapping},
    {"tir.schedule.SuggestIndexMap", f_suggest},
};

int schedule_tensorize_map_init(void) {
  return tn_func_register_rows(functions, TN_COUNT(functions));
}
