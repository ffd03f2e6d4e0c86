/* A schedule as a tensor program: loops, conditions and stores, with buffers as large as needed.

     s[B].compute_at(s[C], xo)                        for x_outer in range(4):
     xo, xi split x by 8                       ->       B = T.alloc_buffer((9,))
                                                        for i in range(9): B[i] = ...
                                                        for x_inner in range(8):
                                                          C[x_outer * 8 + x_inner] = B[x_inner] + ..

   Each stage is a nest of its loops around its stores; what is computed at one of its loops comes
   before the rest of that loop's body, in a block that allocates the results. A reduction stores
   its first values in its own nest, placed where the first reduced loop begins. Buffers cover
   the range that te_infer_bound gives; indices are taken from its beginning. The usual passes over
   tensor programs follow. */
#include <string.h>

#include "ir/functor.h"
#include "te/schedule/lower_impl.h"
#include "tir/analysis.h"

/* ---- one stage ---- */

typedef struct {
  const tn_TeStage *st;
  const tn_BaseComputeOp *op;
  const tn_TensorComputeOp *region; /* the operation, where an intrinsic computes pieces */
  const tn_arr *body;               /* the elements otherwise */
  const tn_Reduce *r;               /* NULL: they are not a reduction */
  tn_pmap value;                    /* IterVar -> value over the variables of the loops */
  tn_pmap flags;                    /* FLAG_...: what a loop comes of */
  tn_pmap reduced;                  /* variables that come of reduced axes only */
  int64_t begin;                    /* first loop that comes of a reduced axis */
  bool in_threads;                  /* threads reduce together */
  int64_t intrin; /* the loop from which on an intrinsic computes; the number of loops: none */
} nest;

enum { FLAG_AXIS = 1, FLAG_REDUCED = 2, FLAG_PIECE = 4 /* an axis of the intrinsic's piece */ };

static void nest_fini(nest *n) {
  tn_pmap *all[] = {&n->value, &n->flags, &n->reduced};
  for (int i = 0; i < TN_COUNT(all); ++i) tn_pmap_fini(all[i]);
}

static int flag_axes(nest *n, const tn_arr *axes, int64_t from, int64_t flag) {
  for (int64_t i = from; i < axes->len; ++i)
    TN_TRY(tn_pmap_put_int(&n->flags, te_iv(axes, i), flag));
  return 0;
}

static bool is_of_piece(const nest *n, const tn_IterVar *iv) {
  return (tn_pmap_get_int(&n->flags, iv, 0) & FLAG_PIECE) != 0;
}

/* Axes of the piece are as they were: nothing but the intrinsic runs over them. Its update adds one
   piece to another, which threads cannot do together. */
static int check_piece(const te_lowerer *l, const nest *n) {
  const tn_arr *leaves = n->st->leaf_iter_vars;
  int64_t left = n->op->axis->len - n->region->schedulable_ndim;
  const char *name = tn_cstr(n->op->name), *by = tn_cstr(n->region->intrin->name);
  for (int64_t i = 0; i < leaves->len; ++i) {
    const tn_IterVar *iv = te_iv(leaves, i);
    if (!is_of_piece(n, iv)) continue;
    --left;
    TN_CHECK(tn_pmap_get_int(&n->flags, iv, 0) == FLAG_PIECE && !te_attr(n->st, iv), TenonError,
             NULL,
             "%s: the intrinsic %s computes along axis %s: it is not a loop that can be "
             "fused, bound or annotated",
             name, by, tn_cstr(iv->var->name));
    for (int64_t k = 0; k < l->s->stages->len; ++k)
      TN_CHECK(te_stage_at(l->s, k)->attach_ivar != iv, TenonError, NULL,
               "compute_at: the intrinsic %s computes along axis %s of %s: compute %s at one of "
               "its first %lld axes",
               by, tn_cstr(iv->var->name), name, tn_cstr(te_stage_at(l->s, k)->op->name),
               (long long)n->region->schedulable_ndim);
  }
  TN_CHECK(left == 0, TenonError, NULL,
           "%s: the intrinsic %s computes along its last axes: they cannot be split or fused", name,
           by);
  TN_CHECK(!n->in_threads, TenonError, NULL,
           "%s: the intrinsic %s adds up pieces one after the other: the axes that it reduces over "
           "cannot be bound to threads",
           name, by);
  return 0;
}

static int study(te_lowerer *l, nest *n) {
  const tn_arr *leaves = n->st->leaf_iter_vars;
  n->r = n->body ? TN_AS(Reduce, tn_arr_obj(n->body, 0)) : NULL;
  n->begin = n->intrin = leaves->len;
  TN_TRY(flag_axes(n, n->op->axis, 0, FLAG_AXIS));
  TN_TRY(flag_axes(n, n->op->reduce_axis, 0, FLAG_REDUCED));
  if (n->region) TN_TRY(flag_axes(n, n->op->axis, n->region->schedulable_ndim, FLAG_PIECE));
  TN_TRY(te_pass_down_flags(n->st, &n->flags));
  for (int64_t i = leaves->len; i-- > 0;) {
    const tn_IterVar *iv = te_iv(leaves, i), *thread = te_thread(n->st, iv);
    bool reduces = (tn_pmap_get_int(&n->flags, iv, 0) & FLAG_REDUCED) != 0;
    TN_CHECK(te_range(&l->b, iv), InternalError, NULL, "no bounds of %s", tn_cstr(iv->var->name));
    TN_TRY(tn_pmap_put(&n->value, iv, iv->var));
    const tn_IterVarAttr *attr = te_attr(n->st, iv);
    if (attr && attr->tensor_intrin) n->intrin = i;
    if (reduces) n->begin = i;
    if (reduces && thread && strncmp(tn_cstr(thread->thread_tag), "threadIdx", 9) == 0)
      n->in_threads = true;
  }
  for (int64_t i = 0; i < n->st->all_iter_vars->len; ++i) {
    const tn_IterVar *iv = te_iv(n->st->all_iter_vars, i);
    if (tn_pmap_get_int(&n->flags, iv, 0) == FLAG_REDUCED)
      TN_TRY(tn_pmap_put_int(&n->reduced, iv, 1));
  }
  if (n->region) TN_TRY(check_piece(l, n));
  return te_pass_up_index(n->st, &l->b.dom, &n->value, false);
}

/* The axes of the operation in terms of the loops that were entered. */
static int set_axes(te_lowerer *l, const nest *n, const tn_arr *axes) {
  for (int64_t i = 0; i < axes->len; ++i) {
    const tn_IterVar *iv = te_iv(axes, i);
    const tn_expr *v = tn_pmap_get(&n->value, iv);
    if (v == (tn_expr *)iv->var) continue;
    TN_GET(v, te_lower_expr(l, v));
    TN_TRY(tn_pmap_put(&l->vars, iv->var, v));
  }
  return 0;
}

tn_stmt *te_guarded(te_lowerer *l, const tn_vec *conditions, tn_expr *extra, tn_stmt *body) {
  tn_expr *all = extra;
  for (int64_t i = conditions->len; i-- > 0;) {
    tn_expr *c = te_lower_expr(l, conditions->items[i].v.obj);
    c = c ? tir_likely(c, NULL) : NULL;
    if (!c) return NULL;
    all = all ? tir_and(c, all) : c;
  }
  if (!all || tir_is_one(all) || !body) return body;
  return (tn_stmt *)TN_MAKE(IfThenElse, .condition = all, .then_case = body);
}

/* ---- stores ---- */

static tn_arr *store_indices(te_lowerer *l, const nest *n, int64_t place) {
  TN_VEC(vars);
  for (int64_t i = 0; i < n->op->axis->len; ++i)
    TN_TRYP(tn_vec_push_obj(&vars, te_iv(n->op->axis, i)->var));
  tn_arr *axes = tn_arr_from(&vars);
  return axes ? te_lower_indices(l, place, axes) : NULL;
}

static int result_buffers(te_lowerer *l, const nest *n, tn_vec *out, tn_arr **at) {
  for (int64_t i = 0; i < n->body->len; ++i) {
    const tn_Tensor *t = te_output(n->st->op, i);
    int64_t place = t ? te_lower_place(l, t) : -1;
    TN_CHECK(place >= 0, InternalError, NULL, "result %lld of %s has no buffer", (long long)i,
             tn_cstr(n->op->name));
    TN_TRY(tn_vec_push(out, l->buffers.items[place]));
    if (!i) TN_GET(*at, store_indices(l, n, place));
  }
  return 0;
}

static tn_stmt *plain_stores(te_lowerer *l, const nest *n) {
  TN_VEC(buffers);
  TN_VEC(stores);
  tn_arr *at;
  TN_TRYP(result_buffers(l, n, &buffers, &at));
  for (int64_t i = 0; i < buffers.len; ++i) {
    tn_expr *value = (tn_expr *)te_lower_node(l, tn_arr_obj(n->body, i));
    tn_stmt *s = value ? tir_store((tn_Buffer *)buffers.items[i].v.obj, value, at) : NULL;
    if (!s || tn_vec_push_obj(&stores, s)) return NULL;
  }
  return tir_seq(&stores);
}

static tn_stmt *first_values(te_lowerer *l, const nest *n) {
  TN_VEC(buffers);
  TN_VEC(stores);
  tn_arr *at;
  TN_TRYP(result_buffers(l, n, &buffers, &at));
  for (int64_t i = 0; i < buffers.len; ++i) {
    const tn_arr *from = n->r->init->len ? n->r->init : n->r->combiner->identity_element;
    tn_expr *value = (tn_expr *)te_lower_node(l, tn_arr_obj(from, i));
    tn_stmt *s = value ? tir_store((tn_Buffer *)buffers.items[i].v.obj, value, at) : NULL;
    if (!s || tn_vec_push_obj(&stores, s)) return NULL;
  }
  return tir_seq(&stores);
}

static tn_stmt *update(te_lowerer *l, const nest *n) {
  TN_VEC(buffers);
  TN_VEC(old);
  TN_VEC(incoming);
  TN_VEC(values);
  tn_arr *at;
  TN_TRYP(result_buffers(l, n, &buffers, &at));
  for (int64_t i = 0; i < buffers.len; ++i) {
    const tn_obj *in = te_lower_node(l, tn_arr_obj(n->r->source, i));
    tn_expr *was = tir_load((tn_Buffer *)buffers.items[i].v.obj, at);
    if (!in || !was || tn_vec_push_obj(&incoming, in) || tn_vec_push_obj(&old, was)) return NULL;
  }
  const tn_arr *result = (const tn_arr *)te_lower_node(l, n->r->combiner->result);
  return te_combine(n->r, result, &old, &incoming, &values) ? NULL
                                                            : te_store_all(&buffers, &values, at);
}

/* ---- a reduction that threads do together: one block, for LowerCrossThreadReduction ---- */

static int block_axis(te_lowerer *l, const nest *n, const tn_IterVar *iv, tn_vec *iters,
                      tn_vec *values) {
  bool spatial = te_index_of(n->op->axis, iv) >= 0;
  tn_str *name = tn_str_fmt("v_%s", tn_cstr(iv->var->name));
  tn_Var *v = name ? tir_var_like(iv->var, name->data) : NULL;
  tn_Range *dom = (tn_Range *)te_lower_node(l, iv->dom);
  const tn_expr *value = te_lower_expr(l, tn_pmap_get(&n->value, iv));
  tn_IterVar *iter =
      v && dom ? tir_iter_var(dom, v, spatial ? IR_ITER_DATA_PAR : IR_ITER_COMM_REDUCE, "") : NULL;
  if (!iter || !value || tn_vec_push_obj(iters, iter) || tn_vec_push_obj(values, value)) return -1;
  return 0;
}

static tn_stmt *reduction_block(te_lowerer *l, const nest *n, const tn_vec *conditions) {
  TN_VEC(iters);
  TN_VEC(values);
  tn_arr *none = tn_arr_of(0), *roots = te_root_iter_vars((const tn_Operation *)n->op);
  tn_expr *all = tir_bool(true);
  for (int64_t i = 0; i < conditions->len; ++i)
    all = tir_and(all, te_lower_expr(l, conditions->items[i].v.obj));
  for (int64_t i = 0; roots && i < roots->len; ++i)
    TN_TRYP(block_axis(l, n, te_iv(roots, i), &iters, &values));
  for (int64_t i = 0; roots && i < roots->len; ++i)
    TN_TRYP(tn_pmap_put(&l->vars, te_iv(roots, i)->var,
                        ((const tn_IterVar *)iters.items[i].v.obj)->var));
  tn_stmt *init = first_values(l, n), *body = init ? update(l, n) : NULL;
  tn_Block *b = body
                    ? TN_NEW(Block, .iter_vars = tn_arr_from(&iters), .reads = none, .writes = none,
                             .name_hint = n->op->name, .alloc_buffers = none, .match_buffers = none,
                             .annotations = l->no_hints, .init = init, .body = body)
                    : NULL;
  b = b ? tir_block_with_regions(b, true, true) : NULL;
  return b ? (tn_stmt *)TN_MAKE(BlockRealize, .iter_values = tn_arr_from(&values), .predicate = all,
                                .block = b)
           : NULL;
}

/* ---- intrinsics ---- */

/* What computes the inner loops of the nest, or NULL. */
static const tn_TeTensorIntrin *intrin_of(const nest *n) {
  if (n->region) return n->region->intrin;
  const tn_arr *leaves = n->st->leaf_iter_vars;
  return n->intrin < leaves->len ? te_attr(n->st, te_iv(leaves, n->intrin))->tensor_intrin : NULL;
}

static int is_var(void *ctx, tn_obj *o) { return (const void *)o == ctx; }

/* Are the reduced loops outside the intrinsic all in their first iteration? */
static tn_expr *first_iteration(te_lowerer *l, const nest *n) {
  tn_expr *all = tir_bool(true);
  for (int64_t i = n->begin; all && i < n->intrin; ++i) {
    const tn_IterVar *iv = te_iv(n->st->leaf_iter_vars, i);
    if (!(tn_pmap_get_int(&n->flags, iv, 0) & FLAG_REDUCED)) continue;
    tn_expr *min = te_lower_expr(l, te_range(&l->b, iv)->min);
    tn_expr *here = min ? tir_eq(te_lower_expr(l, iv->var), min) : NULL;
    all = here ? tir_and(all, here) : NULL;
  }
  return all;
}

static bool is_reduction(const nest *n) {
  return n->region ? n->op->reduce_axis->len > 0 : n->r != NULL;
}

static tn_stmt *piece(te_lowerer *l, const nest *n, te_intrin_part part) {
  return n->region ? te_lower_region(l, n->st, part) : te_lower_intrin(l, n->st, n->intrin, part);
}

/* What the intrinsic does of the nest: all of it, or one step of a reduction. Without code for the
 * first value the first step overwrites it. */
static tn_stmt *intrin_step(te_lowerer *l, const nest *n) {
  if (!is_reduction(n) || n->intrin <= n->begin) return piece(l, n, TE_INTRIN_BODY);
  tn_stmt *update = piece(l, n, TE_INTRIN_UPDATE);
  if (!update || intrin_of(n)->reduce_init) return update;
  tn_stmt *body = piece(l, n, TE_INTRIN_BODY);
  tn_expr *first = body ? first_iteration(l, n) : NULL;
  if (!first || tir_is_one(first)) return first ? body : NULL;
  return (tn_stmt *)TN_MAKE(IfThenElse, .condition = first, .then_case = body, .else_case = update);
}

/* ---- nests ---- */

static tn_stmt *innermost(te_lowerer *l, const nest *n) {
  TN_VEC(conditions);
  TN_TRYP(set_axes(l, n, n->op->axis));
  TN_TRYP(set_axes(l, n, n->op->reduce_axis));
  TN_TRYP(te_bound_checks(n->st, &l->b.dom, &n->value, false, NULL, &conditions));
  tn_expr *extra = NULL;
  if (n->st->store_predicate) TN_GETP(extra, te_lower_expr(l, n->st->store_predicate));
  if (n->region) return te_guarded(l, &conditions, extra, intrin_step(l, n));
  if (n->in_threads) return reduction_block(l, n, &conditions);
  if (n->r && !tir_is_one(n->r->condition)) {
    tn_expr *c = te_lower_expr(l, n->r->condition);
    extra = extra ? tir_and(extra, c) : c;
    if (!extra) return NULL;
  }
  return te_guarded(l, &conditions, extra, n->r ? update(l, n) : plain_stores(l, n));
}

static int forget_init(te_lowerer *l, const nest *n, int64_t from) {
  for (int64_t i = from; i < n->st->leaf_iter_vars->len; ++i)
    TN_TRY(tn_pmap_put(&l->vars, te_iv(n->st->leaf_iter_vars, i)->var, NULL));
  return 0;
}

/* Conditions of loops outside the intrinsic; what runs inside it has none. */
static tn_stmt *intrin_nest(te_lowerer *l, const nest *n) {
  TN_VEC(conditions);
  TN_TRYP(te_bound_checks(n->st, &l->b.dom, &n->value, false, NULL, &conditions));
  for (int64_t i = n->intrin; i < n->st->leaf_iter_vars->len; ++i) {
    const tn_IterVar *iv = te_iv(n->st->leaf_iter_vars, i);
    for (int64_t j = 0; j < conditions.len; ++j)
      TN_CHECKP(!tn_post_order(conditions.items[j].v.obj, is_var, iv->var), TenonError, NULL,
                "Tensorize failed, split condition of %s relies on var %s defined inside tensorize "
                "scope: choose factors that divide the extents",
                tn_cstr(n->op->name), tn_cstr(iv->var->name));
  }
  TN_CHECKP(!n->st->store_predicate && !n->in_threads, TenonError, NULL,
            "tensorize: %s has a store predicate or is reduced by threads, which an intrinsic "
            "cannot be",
            tn_cstr(n->op->name));
  return te_guarded(l, &conditions, NULL, intrin_step(l, n));
}

/* A loop that is left out: its variable has its first value. */
static int skip_loop(te_lowerer *l, const nest *n, int64_t at) {
  const tn_IterVar *iv = te_iv(n->st->leaf_iter_vars, at);
  const tn_expr *min = te_lower_expr(l, te_range(&l->b, iv)->min);
  return min ? tn_pmap_put(&l->vars, iv->var, min) : -1;
}

/* The loops of the first values from `at` on; those of reduced axes only are left out. */
static tn_stmt *init_nest(te_lowerer *l, const nest *n, int64_t at) {
  TN_VEC(conditions);
  te_loop f;
  while (at < n->intrin) {
    const tn_IterVar *iv = te_iv(n->st->leaf_iter_vars, at);
    if (!tn_pmap_has(&n->reduced, iv) && !is_of_piece(n, iv)) {
      if (te_enter_loop(l, n->st, iv, true, &f)) return NULL;
      return te_leave_loop(l, &f, init_nest(l, n, at + 1));
    }
    TN_TRYP(skip_loop(l, n, at++));
  }
  if (at < n->st->leaf_iter_vars->len) return te_lower_intrin(l, n->st, at, TE_INTRIN_INIT);
  TN_TRYP(set_axes(l, n, n->op->axis));
  TN_TRYP(
      te_bound_checks(n->st, &l->b.dom, &n->value, !n->st->is_output, &n->reduced, &conditions));
  tn_expr *extra = NULL;
  if (n->st->store_predicate) TN_GETP(extra, te_lower_expr(l, n->st->store_predicate));
  return te_guarded(l, &conditions, extra,
                    n->region ? piece(l, n, TE_INTRIN_INIT) : first_values(l, n));
}

tn_stmt *te_allocating(const te_lowerer *l, const tn_vec *allocs, tn_stmt *body) {
  tn_arr *none = tn_arr_of(0);
  TN_VEC(plain);
  for (int64_t i = 0; body && i < allocs->len; ++i) {
    tn_Buffer *b = (tn_Buffer *)allocs->items[i].v.obj;
    tn_arr *window = tn_pmap_get(&l->windows, b);
    if (window)
      body = (tn_stmt *)TN_NEW(BufferRealize, .buffer = b, .bounds = window,
                               .condition = tir_bool(true), .body = body);
    else TN_TRYP(tn_vec_push_obj(&plain, b));
  }
  if (!plain.len || !body) return body;
  tn_Block *b = TN_NEW(Block, .iter_vars = none, .reads = none, .writes = none,
                       .name_hint = tn_str_from(""), .alloc_buffers = tn_arr_from(&plain),
                       .match_buffers = none, .annotations = l->no_hints, .body = body);
  return b ? (tn_stmt *)TN_MAKE(BlockRealize, .iter_values = none, .predicate = tir_bool(true),
                                .block = b)
           : NULL;
}

static tn_stmt *main_nest(te_lowerer *l, const nest *n, int64_t at);

int te_producers_at(te_lowerer *l, const tn_TeStage *owner, int64_t at, tn_vec *stmts,
                    tn_vec *allocs) {
  const tn_obj *iv = tn_arr_obj(owner->leaf_iter_vars, at);
  for (int64_t i = 0; i < l->s->stages->len; ++i) {
    const tn_TeStage *st = te_stage_at(l->s, i);
    if (st->attach_type != TE_ATTACH_SCOPE || (const tn_obj *)st->attach_ivar != iv ||
        st->attach_stage != owner)
      continue;
    TN_TRY(te_lower_inner_buffers(l, st, allocs));
    TN_TRY(tn_vec_push_obj(stmts, te_lower_stage(l, st)));
  }
  return 0;
}

/* Threads that reduce together do so in their own loop; what they bring is computed in another
   one before it. */
static tn_stmt *apart(te_lowerer *l, const te_loop *f, const tn_vec *stmts, tn_stmt *rest) {
  TN_PMAP(renamed);
  te_loop again = *f;
  tn_stmt *first = te_leave_loop(l, f, tir_seq(stmts));
  again.var = tir_var_like(f->var, tn_cstr(f->var->name));
  if (!first || !again.var || tn_pmap_put(&renamed, f->var, again.var)) return NULL;
  rest = tir_substitute(rest, &renamed);
  return tir_seq2(first, te_leave_loop(l, &again, rest));
}

/* The body of a loop, for InjectPrefetch. */
static tn_stmt *prefetching(const te_lowerer *l, const te_loop *f, tn_stmt *body) {
  for (int64_t i = 0; body && f->var && f->attr && i < f->attr->prefetch_data->len; ++i) {
    const tn_Tensor *t = te_lower_current(l, (tn_Tensor *)tn_arr_obj(f->attr->prefetch_data, i));
    const tn_Buffer *b = t ? te_lower_buffer(l, t) : NULL;
    TN_CHECKP(b, ValueError, NULL, "prefetch: %s is not computed before the loop that fetches it",
              t ? tn_cstr(t->op->name) : "?");
    body = (tn_stmt *)TN_NEW(
        AttrStmt, .node = (tn_obj *)(uintptr_t)b, .attr_key = tn_str_from("prefetch_scope"),
        .value = (tn_expr *)tn_arr_obj(f->attr->prefetch_offset, i), .body = body);
  }
  return body;
}

/* A loop: what is computed at it, then the rest of the nest. */
static tn_stmt *loop_stmt(te_lowerer *l, const nest *n, int64_t at) {
  TN_VEC(stmts);
  TN_VEC(allocs);
  te_loop f;
  const tn_IterVar *iv = te_iv(n->st->leaf_iter_vars, at);
  if (te_enter_loop(l, n->st, iv, false, &f) || te_producers_at(l, n->st, at, &stmts, &allocs))
    return NULL;
  tn_stmt *rest = main_nest(l, n, at + 1);
  if (!rest) return NULL;
  bool together =
      n->in_threads && f.thread && f.var && tn_pmap_get_int(&n->flags, iv, 0) & FLAG_REDUCED;
  if (together && stmts.len) return te_allocating(l, &allocs, apart(l, &f, &stmts, rest));
  TN_TRYP(tn_vec_push_obj(&stmts, rest));
  return te_leave_loop(l, &f, prefetching(l, &f, te_allocating(l, &allocs, tir_seq(&stmts))));
}

/* Are the first values of the reduction written before loop `at`? */
static bool starts_at(const nest *n, int64_t at) {
  if (!is_reduction(n) || n->in_threads || at != n->begin) return false;
  const tn_TeTensorIntrin *in = intrin_of(n);
  return !in || (at < n->intrin && in->reduce_init);
}

static tn_stmt *main_nest(te_lowerer *l, const nest *n, int64_t at) {
  tn_stmt *init = NULL;
  while (at < n->st->leaf_iter_vars->len && is_of_piece(n, te_iv(n->st->leaf_iter_vars, at)))
    TN_TRYP(skip_loop(l, n, at++));
  if (starts_at(n, at)) {
    TN_GETP(init, init_nest(l, n, at));
    TN_TRYP(forget_init(l, n, at));
  }
  bool loops = at < n->st->leaf_iter_vars->len;
  tn_stmt *s = !loops ? innermost(l, n) : at == n->intrin ? intrin_nest(l, n) : loop_stmt(l, n, at);
  return s && init ? tir_seq2(init, s) : s;
}

static tn_Buffer *input_buffer(void *ctx, const tn_Tensor *t) { return te_lower_buffer(ctx, t); }

static tn_stmt *extern_stmt(te_lowerer *l, tn_ExternOp *op) {
  tn_arr *none = tn_arr_of(0);
  tn_stmt *body = te_extern_body(op, input_buffer, l);
  tn_Block *b = body ? TN_NEW(Block, .iter_vars = none, .reads = none, .writes = none,
                              .name_hint = op->name, .alloc_buffers = none, .match_buffers = none,
                              .annotations = op->attrs, .body = body)
                     : NULL;
  return b ? (tn_stmt *)TN_MAKE(BlockRealize, .iter_values = none, .predicate = tir_bool(true),
                                .block = b)
           : NULL;
}

/* The threads that a stage starts itself are loops around it. */
static tn_stmt *env_nest(te_lowerer *l, const nest *n, int64_t at) {
  if (at == n->st->env_threads->len) return n->op ? main_nest(l, n, 0) : te_lower_scan(l, n->st);
  tn_IterVar *iv = te_iv(n->st->env_threads, at);
  TN_CHECKP(iv->dom, TenonError, NULL, "env_threads: %s has no range", tn_cstr(iv->var->name));
  te_loop f = {.thread = iv, .extent = te_lower_expr(l, iv->dom->extent)};
  tn_str *name = te_loop_name(iv->var, false);
  f.var = name ? tir_var_like(iv->var, name->data) : NULL;
  if (!f.var || tn_pmap_put(&l->threads, iv, f.var) || tn_pmap_put(&l->vars, iv->var, f.var))
    return NULL;
  tn_For *s = (tn_For *)te_leave_loop(l, &f, env_nest(l, n, at + 1));
  if (s) s->kind = TIR_FOR_THREAD_BINDING;
  return (tn_stmt *)s;
}

/* For InjectRollingBuffer, which te_schedule_to_func runs. */
static tn_stmt *rolled(const te_lowerer *l, const tn_TeStage *st, tn_stmt *s) {
  for (int64_t i = 0; s && i < te_num_outputs(st->op); ++i) {
    const tn_Tensor *t = te_output(st->op, i);
    const tn_Buffer *b = t ? te_lower_buffer(l, t) : NULL;
    TN_CHECKP(b && tn_pmap_get(&l->windows, b), ValueError, NULL,
              "rolling_buffer: %s is not computed at a loop of its consumer",
              tn_cstr(st->op->name));
    s = (tn_stmt *)TN_NEW(AttrStmt, .node = (tn_obj *)(uintptr_t)b,
                          .attr_key = tn_str_from("rolling_buffer_scope"), .value = tir_bool(true),
                          .body = s);
  }
  return s;
}

tn_stmt *te_lower_stage(te_lowerer *l, const tn_TeStage *st) {
  nest n __attribute__((cleanup(nest_fini))) = {
      .st = st, .op = te_axes_op(st->op), .region = TN_AS(TensorComputeOp, st->op)};
  if (TN_AS(ComputeOp, st->op)) n.body = ((const tn_ComputeOp *)st->op)->body;
  if (TN_AS(ExternOp, st->op)) return extern_stmt(l, (tn_ExternOp *)st->op);
  TN_CHECKP(n.op || TN_AS(ScanOp, st->op), TypeError, NULL,
            "lower: %s is not something that can be computed", tn_obj_key(st->op));
  if (n.op && study(l, &n)) return NULL;
  tn_stmt *s = env_nest(l, &n, 0);
  if (s && st->rolling_buffer) s = rolled(l, st, s);
  if (!s || !st->double_buffer) return s;
  TN_CHECKP(te_num_outputs(st->op) == 1, ValueError, NULL,
            "double_buffer: %s has %lld results; only a stage of one result is filled ahead",
            tn_cstr(st->op->name), (long long)te_num_outputs(st->op));
  TN_CHECKP(!te_scan_of(l->s, st->op), ValueError, NULL,
            "double_buffer: %s is a part of a scan, whose rounds need those before them",
            tn_cstr(st->op->name));
  const tn_Buffer *b = te_lower_buffer(l, te_output(st->op, 0));
  return (tn_stmt *)TN_NEW(AttrStmt, .node = (tn_obj *)b->data,
                           .attr_key = tn_str_from("double_buffer_scope"), .value = tir_i32(1),
                           .body = s);
}
