/* Reduction loops that are bound to thread axes: each thread reduces its part into a register, the
   threads reduce their registers, and one of them writes the result.

     for ko in range(4):                          for ki in T.thread_binding(32, "threadIdx.x"):
       for ki in T.thread_binding(32, ...):         with T.block("B_in_thread_init"):
         with T.block("B"):                           in_thread_B[0] = 0
           vk = T.axis.R(128, ko * 32 + ki)         for ko in range(4):
           with T.init():                             with T.block("B_in_thread"):
             B[vi] = 0                      ->          in_thread_B[0] = in_thread_B[0] + A[vi, vk]
           B[vi] = B[vi] + A[vi, vk]                with T.block("B_cross_thread"):
                                                      T.tvm_thread_allreduce(..., cross_thread_B[0])
                                                    with T.block("B_write_back"):
                                                      T.where(ki == 0)
                                                      B[vi] = cross_thread_B[0]

   Other statements may stand in the body of the threads, beside the block's own reduction loops but
   not within them, unless they use a result in global memory. The combiner must be a known one:
   ValueError. Without its own part a thread brings its value directly. A block outside of the
   threads that takes a result out of registers into global memory is run by one thread only, unless
   the kernel uses what it writes: without a barrier the other threads would not wait for it.
   Before LowerInitBlock. */
#include <string.h>

#include "tir/schedule/reducer.h"
#include "tir/device.h"
#include "tir/transforms/transforms.h"

enum { MAX_LOOPS = 64 };

/* A nest of loops around one block. */
typedef struct {
  const tn_For *loops[MAX_LOOPS]; /* outermost first */
  bool reduced[MAX_LOOPS];        /* does it drive a reduction iterator? */
  int n;
  const tn_BlockRealize *realize;
  sch_reduction r;
  tn_CommReducer *reducer;
  tn_Buffer *mine[SCH_MAX_REDUCED]; /* of each thread; unset when each brings a single value */
  tn_Buffer *all[SCH_MAX_REDUCED];  /* results */
  bool own_part;
} nest;

typedef struct {
  tn_vec *buffers; /* to allocate in the block around */
  tn_vec loops;    /* For, outermost first */
  tn_pmap results; /* Buffer in registers -> array of the For that bound its reduction */
} lowerer;

/* ---- results in global memory ---- */

static bool is_global(const tn_Buffer *b) { return strcmp(tir_buffer_scope(b), "global") == 0; }

typedef struct {
  const tn_obj *own; /* is not looked into */
  const tn_Var *data;
} use_search;

static int find_use(void *ctx, tn_obj *o) {
  const use_search *s = ctx;
  const tn_BufferLoad *load = TN_AS(BufferLoad, o);
  const tn_BufferStore *store = TN_AS(BufferStore, o);
  const tn_MatchBufferRegion *part = TN_AS(MatchBufferRegion, o);
  const tn_Buffer *b = load    ? load->buffer
                       : store ? store->buffer
                       : part  ? part->source->buffer
                               : NULL;
  if (o == (const tn_obj *)s->data || (b && b->data == s->data)) return 2;
  return o == s->own || TN_IS(Buffer, o) || TN_IS(BufferRegion, o);
}

/* Does the program use the buffer's memory outside of a part of it? An error counts as yes. */
static bool is_used_beside(const void *program, const void *own, const tn_Buffer *b) {
  use_search s = {own, b->data};
  return tn_pre_order(program, find_use, &s) != 0;
}

/* One thread writes a result in global memory, where no barrier makes the others wait for it. */
static bool is_shared_result(const tn_Block *b, const tn_SeqStmt *body, const tn_stmt *own) {
  for (int64_t i = 0; i < b->writes->len; ++i) {
    const tn_Buffer *result = ((tn_BufferRegion *)tn_arr_obj(b->writes, i))->buffer;
    if (is_global(result) && is_used_beside(body, own, result)) return true;
  }
  return false;
}

/* ---- recognising ---- */

static bool is_thread_bound(const tn_For *f) {
  return f->kind == TIR_FOR_THREAD_BINDING &&
         tir_is_thread_axis(tn_cstr(f->thread_binding->thread_tag));
}

static bool drives_reduction(const tn_BlockRealize *r, const tn_Var *v) {
  for (int64_t i = 0; i < r->block->iter_vars->len; ++i) {
    const tn_IterVar *iv = (const tn_IterVar *)tn_arr_obj(r->block->iter_vars, i);
    if (iv->iter_type == IR_ITER_COMM_REDUCE && tir_uses_var(tn_arr_obj(r->iter_values, i), v))
      return true;
  }
  return false;
}

/* The nest that begins with a reduction loop; does it need this pass? */
static bool take_nest(const tn_For *f, nest *x) {
  const tn_stmt *s = (const tn_stmt *)f;
  bool bound = false;
  for (const tn_For *l; (l = TN_AS(For, s)); s = l->body) {
    if (x->n == MAX_LOOPS) return false;
    x->loops[x->n++] = l;
  }
  x->realize = TN_AS(BlockRealize, s);
  if (!x->realize || !x->realize->block->init) return false;
  for (int i = 0; i < x->n; ++i) {
    x->reduced[i] = drives_reduction(x->realize, x->loops[i]->loop_var);
    bound |= x->reduced[i] && is_thread_bound(x->loops[i]);
    x->own_part |= x->reduced[i] && !is_thread_bound(x->loops[i]);
  }
  x->own_part |= !tir_is_one(x->realize->predicate);
  return bound && x->reduced[0];
}

/* Threads that reduce, with several statements in their body, of which the i-th is a loop nest of
   the thread's own around the reduction. */
static bool take_beside(const tn_vec *threads, const tn_SeqStmt *body, int64_t i, nest *x) {
  const tn_stmt *own = (const tn_stmt *)tn_arr_obj(body->seq, i), *s = own;
  *x = (nest){.n = 0};
  for (int64_t k = 0; k < threads->len && x->n < MAX_LOOPS; ++k)
    x->loops[x->n++] = (const tn_For *)threads->items[k].v.obj;
  for (const tn_For *l; (l = TN_AS(For, s)); s = l->body) {
    if (x->n == MAX_LOOPS || l->kind == TIR_FOR_THREAD_BINDING) return false;
    x->loops[x->n++] = l;
  }
  x->realize = TN_AS(BlockRealize, s);
  if (!x->realize || !x->realize->block->init) return false;
  for (int k = 0; k < x->n; ++k) {
    x->reduced[k] = drives_reduction(x->realize, x->loops[k]->loop_var);
    if (!x->reduced[k]) return false;
  }
  x->own_part = x->n > threads->len || !tir_is_one(x->realize->predicate);
  return !is_shared_result(x->realize->block, body, own);
}

static int match(nest *x) {
  const tn_Block *b = x->realize->block;
  sch_found found = sch_find_reduction(b, &x->r);
  if (found == SCH_FAILED) return -1;
  TN_CHECK(found == SCH_FOUND, ValueError, b->span,
           "Cross-thread reduction cannot be applied to block %s: %s", tn_cstr(b->name_hint),
           found == SCH_OTHER_FORM
               ? "its init and body must store each result once, at the same indices"
               : "no known reducer has its first value and its combiner");
  TN_VEC(lhs);
  TN_VEC(rhs);
  TN_VEC(result);
  TN_VEC(identity);
  for (int i = 0; i < x->r.n; ++i) {
    TN_TRY(tn_vec_push_obj(&lhs, x->r.x[i]));
    TN_TRY(tn_vec_push_obj(&rhs, x->r.y[i]));
    TN_TRY(tn_vec_push_obj(&result, x->r.combined[i]));
    TN_TRY(tn_vec_push_obj(&identity, x->r.init[i]));
  }
  x->reducer = TN_NEW(CommReducer, .lhs = tn_arr_from(&lhs), .rhs = tn_arr_from(&rhs),
                      .result = tn_arr_from(&result), .identity_element = tn_arr_from(&identity));
  return x->reducer ? 0 : -1;
}

/* ---- what cannot be lowered ---- */

static void *refuse(const tn_BlockRealize *r, const tn_For *l) {
  const char *axis = tn_cstr(l->thread_binding->thread_tag);
  bool within = tir_is_thread_axis(axis);
  return TN_RAISEP(ValueError, r->span,
                   "Cross-thread reduction cannot be applied to block %s: %s of its reduction is "
                   "bound to %s, and %s",
                   tn_cstr(r->block->name_hint), tn_cstr(l->loop_var->name), axis,
                   within ? "the block is not alone in the loops from its first reduction loop on "
                            "(move other blocks out of them, or leave the loop unbound)"
                          : "results are not combined across thread blocks (bind it to a threadIdx "
                            "axis, or use rfactor)");
}

/* Threads would write the same results at the same time. */
static bool races(const tn_BlockRealize *r, const tn_For *l) {
  if (l->kind != TIR_FOR_THREAD_BINDING || !drives_reduction(r, l->loop_var)) return false;
  const char *axis = tn_cstr(l->thread_binding->thread_tag);
  return tir_is_thread_axis(axis) || strncmp(axis, "blockIdx.", 9) == 0;
}

/* ---- registers ---- */

static tn_Buffer *register_of(const nest *x, int i, const char *prefix, tn_vec *buffers) {
  const tn_Buffer *b = x->r.stores[i]->buffer;
  tn_str *name = tn_str_fmt("%s%s", prefix, tn_cstr(b->name));
  tn_Buffer *r = name ? tir_scratch(tn_cstr(name), b->dtype, 1, "local") : NULL;
  if (!r) return NULL;
  tn_Buffer copy = *r;
  TN_GETP(copy.strides, tn_arr_of(1, tir_i32(1)));
  TN_GETP(r, tn_node_copy(&tn_type_Buffer, &copy));
  return tn_vec_push_obj(buffers, r) ? NULL : r;
}

static tn_arr *first_element(void) { return tn_arr_of(1, tir_i32(0)); }

static tn_BufferRegion *region_of(tn_Buffer *b) {
  tn_Range *r = tir_range(tir_i32(0), tir_i32(1));
  return r ? TN_NEW(BufferRegion, .buffer = b, .region = tn_arr_of(1, r)) : NULL;
}

static tn_arr *regions_of(tn_Buffer *const *b, int n) {
  TN_VEC(v);
  for (int i = 0; i < n; ++i) {
    tn_BufferRegion *r = region_of(b[i]);
    if (!r || tn_vec_push_obj(&v, r)) return NULL;
  }
  return tn_arr_from(&v);
}

/* The update, with results in registers. */
typedef struct {
  const nest *x;
} registers;

static int which_result(const nest *x, const tn_Buffer *b) {
  for (int i = 0; i < x->r.n; ++i)
    if (x->r.stores[i]->buffer == b) return i;
  return -1;
}

static tn_obj *load_register(tn_mut *m, tn_BufferLoad *op) {
  const nest *x = ((registers *)m->ctx)->x;
  int i = which_result(x, op->buffer);
  return i < 0 ? tn_mut_children(m, op) : (tn_obj *)tir_load(x->mine[i], first_element());
}
static tn_obj *store_register(tn_mut *m, tn_BufferStore *op) {
  const nest *x = ((registers *)m->ctx)->x;
  int i = which_result(x, op->buffer);
  if (i < 0) return tn_mut_children(m, op);
  tn_expr *value = tn_mut_visit(m, op->value);
  return value ? (tn_obj *)tir_store(x->mine[i], value, first_element()) : NULL;
}

/* ---- blocks ---- */

static tn_Block *block(const nest *x, const char *suffix, tn_arr *iters, tn_arr *reads,
                       tn_arr *writes, tn_stmt *body) {
  const tn_Block *b = x->realize->block;
  tn_arr *none = tn_arr_of(0);
  tn_str *name = tn_str_fmt("%s%s", tn_cstr(b->name_hint), suffix);
  return TN_NEW(Block, .iter_vars = iters, .reads = reads, .writes = writes, .name_hint = name,
                .alloc_buffers = none, .match_buffers = none,
                .annotations = tn_scope_own(tn_map_new()), .body = body);
}

static tn_stmt *realize(tn_Block *b, tn_arr *values, tn_expr *predicate) {
  return (tn_stmt *)TN_NEW(BlockRealize, .iter_values = values, .predicate = predicate, .block = b);
}

static tn_stmt *in_thread_init(const nest *x) {
  TN_VEC(v);
  tn_arr *none = tn_arr_of(0);
  for (int i = 0; i < x->r.n; ++i) {
    tn_stmt *s = tir_store(x->mine[i], x->r.init[i], first_element());
    if (!s || tn_vec_push_obj(&v, s)) return NULL;
  }
  return realize(block(x, "_in_thread_init", none, none, regions_of(x->mine, x->r.n), tir_seq(&v)),
                 none, tir_bool(true));
}

/* What the block reads besides its results. */
static tn_arr *other_reads(const nest *x) {
  TN_VEC(v);
  const tn_arr *reads = x->realize->block->reads;
  for (int64_t i = 0; i < reads->len; ++i) {
    const tn_BufferRegion *r = (const tn_BufferRegion *)tn_arr_obj(reads, i);
    if (which_result(x, r->buffer) < 0) TN_TRYP(tn_vec_push_obj(&v, r));
  }
  return tn_arr_from(&v);
}

static tn_stmt *in_thread(const nest *x) {
  static const tn_mut_case cases[] = {TN_CASE(BufferLoad, load_register),
                                      TN_CASE(BufferStore, store_register)};
  const tn_Block *b = x->realize->block;
  registers ctx = {x};
  TN_MUT(m, cases, &ctx);
  tn_Block copy = *b;
  TN_GETP(copy.body, tn_mut_visit(&m, b->body));
  TN_GETP(copy.reads, other_reads(x));
  TN_GETP(copy.writes, regions_of(x->mine, x->r.n));
  TN_GETP(copy.name_hint, tn_str_fmt("%s_in_thread", tn_cstr(b->name_hint)));
  copy.init = NULL;
  tn_stmt *s =
      realize(tn_node_copy(&tn_type_Block, &copy), x->realize->iter_values, x->realize->predicate);
  for (int i = x->n; s && i-- > 0;) {
    const tn_For *l = x->loops[i];
    if (x->reduced[i] && !is_thread_bound(l)) s = tir_for_with(l, l->min, l->extent, s);
  }
  return s;
}

static tn_stmt *allreduce(const nest *x) {
  TN_VEC(v);
  const tn_Block *b = x->realize->block;
  tn_expr *count = tir_int(tn_dtype_of(kDLUInt, 32, 1), x->r.n);
  if (!count || tn_vec_push_obj(&v, count)) return NULL;
  for (int i = 0; i < x->r.n; ++i) {
    tn_expr *e = x->own_part ? tir_load(x->mine[i], first_element()) : x->r.rhs[i];
    if (!e || tn_vec_push_obj(&v, e)) return NULL;
  }
  tn_expr *yes = tir_bool(true);
  if (!yes || tn_vec_push_obj(&v, yes)) return NULL;
  for (int i = 0; i < x->r.n; ++i) {
    tn_expr *e = tir_load(x->all[i], first_element());
    if (!e || tn_vec_push_obj(&v, e)) return NULL;
  }
  for (int i = 0; i < x->n; ++i)
    if (x->reduced[i] && is_thread_bound(x->loops[i]))
      TN_TRYP(tn_vec_push_obj(&v, x->loops[i]->loop_var));
  tn_expr *call = tir_call_args(TN_HANDLE, TIR_OP_tvm_thread_allreduce, tn_arr_from(&v), b->span);
  tn_expr *null =
      tir_call(TN_HANDLE, TIR_OP_reinterpret, 1, tir_int(tn_dtype_of(kDLUInt, 64, 1), 0));
  return (tn_stmt *)TN_NEW(AttrStmt, .node = (tn_obj *)x->reducer,
                           .attr_key = tn_str_from("reduce_scope"), .value = null,
                           .body = (tn_stmt *)TN_NEW(Evaluate, .value = call));
}

static tn_stmt *cross_thread(const nest *x) {
  const tn_Block *b = x->realize->block;
  tn_stmt *body = allreduce(x);
  tn_arr *none = tn_arr_of(0), *writes = regions_of(x->all, x->r.n);
  if (x->own_part)
    return realize(block(x, "_cross_thread", none, regions_of(x->mine, x->r.n), writes, body), none,
                   tir_bool(true));
  return realize(block(x, "_cross_thread", b->iter_vars, other_reads(x), writes, body),
                 x->realize->iter_values, tir_bool(true));
}

/* ---- writing the result ---- */

/* Parts of the predicate that do not concern the reduction, and that one thread writes. */
static int add_condition(const nest *x, tn_expr *cond, tn_expr **all) {
  const tn_And *both = TN_AS(And, cond);
  if (both) {
    TN_TRY(add_condition(x, both->a, all));
    return add_condition(x, both->b, all);
  }
  for (int i = 0; i < x->n; ++i)
    if (x->reduced[i] && tir_uses_var(cond, x->loops[i]->loop_var)) return 0;
  TN_GET(*all, tir_and(*all, cond));
  return 0;
}

static tn_expr *write_predicate(const nest *x) {
  tn_expr *all = tir_bool(true);
  if (!all || add_condition(x, x->realize->predicate, &all)) return NULL;
  if (strcmp(tir_buffer_scope(x->r.stores[0]->buffer), "local") == 0) return all;
  for (int i = 0; all && i < x->n; ++i) {
    const tn_For *l = x->loops[i];
    if (x->reduced[i] && is_thread_bound(l))
      all = tir_and(all, tir_eq((tn_expr *)l->loop_var, l->min));
  }
  return all;
}

static tn_stmt *write_back(const nest *x) {
  const tn_Block *b = x->realize->block;
  TN_PMAP(fresh);
  TN_VEC(iters);
  TN_VEC(values);
  TN_VEC(stores);
  for (int64_t i = 0; i < b->iter_vars->len; ++i) {
    const tn_IterVar *iv = (const tn_IterVar *)tn_arr_obj(b->iter_vars, i);
    if (iv->iter_type == IR_ITER_COMM_REDUCE) continue;
    tn_Var *v = tir_var_like(iv->var, tn_cstr(iv->var->name));
    tn_IterVar *copy =
        v ? tir_iter_var(iv->dom, v, (ir_iter_type)iv->iter_type, tn_cstr(iv->thread_tag)) : NULL;
    if (!copy || tn_pmap_put(&fresh, iv->var, v) || tn_vec_push_obj(&iters, copy) ||
        tn_vec_push(&values, x->realize->iter_values->items[i]))
      return NULL;
  }
  for (int i = 0; i < x->r.n; ++i) {
    tn_arr *indices = tir_substitute(x->r.stores[i]->indices, &fresh);
    tn_stmt *s =
        indices ? tir_store(x->r.stores[i]->buffer, tir_load(x->all[i], first_element()), indices)
                : NULL;
    if (!s || tn_vec_push_obj(&stores, s)) return NULL;
  }
  tn_arr *writes = tir_substitute(b->writes, &fresh);
  return realize(block(x, "_write_back", tn_arr_from(&iters), regions_of(x->all, x->r.n), writes,
                       tir_seq(&stores)),
                 tn_arr_from(&values), write_predicate(x));
}

/* ---- the nest ---- */

static int prepare(nest *x, lowerer *l) {
  TN_VEC(threads);
  tn_arr *bound;
  TN_TRY(match(x));
  for (int i = 0; i < x->r.n; ++i)
    TN_GET(x->all[i], register_of(x, i, "cross_thread_", l->buffers));
  for (int i = 0; x->own_part && i < x->r.n; ++i)
    TN_GET(x->mine[i], register_of(x, i, "in_thread_", l->buffers));
  for (int i = 0; i < x->n; ++i)
    if (x->reduced[i] && is_thread_bound(x->loops[i]))
      TN_TRY(tn_vec_push_obj(&threads, x->loops[i]));
  TN_GET(bound, tn_arr_from(&threads));
  for (int i = 0; i < x->r.n; ++i)
    if (strcmp(tir_buffer_scope(x->r.stores[i]->buffer), "local") == 0)
      TN_TRY(tn_pmap_put(&l->results, x->r.stores[i]->buffer, bound));
  return 0;
}

static int add_parts(const nest *x, tn_vec *seq) {
  tn_stmt *parts[] = {x->own_part ? in_thread(x) : tir_nop(), cross_thread(x), write_back(x)};
  for (int i = 0; i < TN_COUNT(parts); ++i)
    if (!parts[i] || tn_vec_push_obj(seq, parts[i])) return -1;
  return 0;
}

static tn_stmt *transform(nest *x, lowerer *l) {
  TN_VEC(seq);
  for (int i = 0; i < x->n; ++i)
    if (races(x->realize, x->loops[i]) && !is_thread_bound(x->loops[i]))
      return refuse(x->realize, x->loops[i]);
  TN_TRYP(prepare(x, l));
  if (x->own_part) TN_TRYP(tn_vec_push_obj(&seq, in_thread_init(x)));
  TN_TRYP(add_parts(x, &seq));
  tn_stmt *s = tir_seq(&seq);
  for (int i = x->n; s && i-- > 0;) {
    const tn_For *f = x->loops[i];
    if (x->reduced[i] && is_thread_bound(f)) s = tir_for_with(f, f->min, f->extent, s);
  }
  for (int i = x->n; s && i-- > 0;)
    if (!x->reduced[i]) s = tir_for_with(x->loops[i], x->loops[i]->min, x->loops[i]->extent, s);
  return s;
}

/* The body of threads, with the reductions among its statements. First values come first. */
static tn_stmt *transform_beside(tn_mut *m, const tn_vec *threads, const tn_SeqStmt *body) {
  lowerer *l = m->ctx;
  TN_VEC(first);
  TN_VEC(seq);
  nest x;
  for (int64_t i = 0; i < body->seq->len; ++i) {
    if (!take_beside(threads, body, i, &x)) {
      if (tn_error_pending()) return NULL;
      TN_TRYP(tn_vec_push_obj(&seq, tn_mut_visit(m, tn_arr_obj(body->seq, i))));
      continue;
    }
    TN_TRYP(prepare(&x, l));
    if (x.own_part) TN_TRYP(tn_vec_push_obj(&first, in_thread_init(&x)));
    TN_TRYP(add_parts(&x, &seq));
  }
  for (int64_t i = 0; i < seq.len; ++i) TN_TRYP(tn_vec_push(&first, seq.items[i]));
  return tir_seq(&first);
}

/* NULL without an error when no statement in the body of the threads is such a reduction. */
static tn_stmt *lower_threads(tn_mut *m, tn_For *op) {
  lowerer *l = m->ctx;
  TN_VEC(threads);
  const tn_stmt *s = (tn_stmt *)op;
  nest x;
  for (const tn_For *f; (f = TN_AS(For, s)) && is_thread_bound(f); s = f->body)
    TN_TRYP(tn_vec_push_obj(&threads, f));
  const tn_SeqStmt *body = threads.len ? TN_AS(SeqStmt, s) : NULL;
  bool any = false;
  for (int64_t i = 0; body && i < body->seq->len; ++i) any |= take_beside(&threads, body, i, &x);
  if (!any) return NULL;
  for (int64_t i = 0; i < threads.len; ++i) TN_TRYP(tn_vec_push(&l->loops, threads.items[i]));
  tn_stmt *r = transform_beside(m, &threads, body);
  l->loops.len -= threads.len;
  for (int64_t i = threads.len; r && i-- > 0;) {
    const tn_For *f = (const tn_For *)threads.items[i].v.obj;
    r = tir_for_with(f, f->min, f->extent, r);
  }
  return r;
}

static tn_stmt *lower_for(tn_mut *m, tn_For *op) {
  lowerer *l = m->ctx;
  nest x = {.n = 0};
  if (l->buffers && take_nest(op, &x)) return transform(&x, l);
  tn_stmt *beside = l->buffers && is_thread_bound(op) ? lower_threads(m, op) : NULL;
  if (beside || tn_error_pending()) return beside;
  TN_TRYP(tn_vec_push_obj(&l->loops, op));
  tn_stmt *s = tn_mut_children(m, op);
  l->loops.len -= 1;
  return s;
}

/* ---- results that leave registers ---- */

static bool is_realize(const tn_stmt *s, const void *arg) {
  (void)arg;
  return TN_IS(BlockRealize, s);
}

static bool reads_buffer(const tn_Block *b, const tn_Buffer *buffer) {
  for (int64_t i = 0; i < b->reads->len; ++i)
    if (((tn_BufferRegion *)tn_arr_obj(b->reads, i))->buffer == buffer) return true;
  return false;
}

/* Does the kernel use what the block writes? A thread that writes the same itself need not wait. */
static bool is_written_for_all(const lowerer *l, const tn_BlockRealize *r, const tn_Buffer *to) {
  return l->loops.len && !reads_buffer(r->block, to) &&
         is_used_beside(l->loops.items[0].v.obj, r, to);
}

/* The loops that bound the reduction whose result the block takes into global memory, which one
   thread should do; NULL: it does not. */
static const tn_arr *broadcast_by(const lowerer *l, const tn_BlockRealize *r) {
  const tn_Block *b = r->block;
  const tn_arr *threads = NULL;
  for (int64_t i = 0; i < l->loops.len; ++i)
    if (is_thread_bound((const tn_For *)l->loops.items[i].v.obj)) return NULL;
  for (int64_t i = 0; !threads && i < b->reads->len; ++i)
    threads = tn_pmap_get(&l->results, ((tn_BufferRegion *)tn_arr_obj(b->reads, i))->buffer);
  if (!threads || !b->writes->len || tir_has_stmt(b->body, is_realize, NULL)) return NULL;
  for (int64_t i = 0; i < b->writes->len; ++i) {
    const tn_Buffer *to = ((tn_BufferRegion *)tn_arr_obj(b->writes, i))->buffer;
    if (!is_global(to) || is_written_for_all(l, r, to)) return NULL;
  }
  return threads;
}

static tn_stmt *by_one_thread(tn_BlockRealize *op, const tn_arr *threads) {
  tn_BlockRealize copy = *op;
  TN_VEC(vars);
  tn_expr *one = tir_bool(true);
  for (int64_t i = 0; i < threads->len; ++i) {
    const tn_For *f = (const tn_For *)tn_arr_obj(threads, i);
    tn_Var *v = tir_var_like(f->loop_var, "tx");
    if (!v || tn_vec_push_obj(&vars, v)) return NULL;
    TN_GETP(one, tir_and(one, tir_eq((tn_expr *)v, f->min)));
  }
  TN_GETP(copy.predicate, tir_and(one, op->predicate));
  tn_stmt *s = tn_node_copy(&tn_type_BlockRealize, &copy);
  for (int64_t i = threads->len; s && i-- > 0;) {
    tn_For f = *(const tn_For *)tn_arr_obj(threads, i);
    tn_IterVar axis = *f.thread_binding;
    TN_GETP(axis.var, tir_var_like(axis.var, tn_cstr(axis.var->name)));
    TN_GETP(f.thread_binding, tn_node_copy(&tn_type_IterVar, &axis));
    f.loop_var = (tn_Var *)vars.items[i].v.obj;
    f.body = s;
    s = tn_node_copy(&tn_type_For, &f);
  }
  return s;
}

static tn_stmt *lower_realize(tn_mut *m, tn_BlockRealize *op) {
  const lowerer *l = m->ctx;
  for (int64_t i = 0; op->block->init && i < l->loops.len; ++i) {
    const tn_For *f = (const tn_For *)l->loops.items[i].v.obj;
    if (races(op, f)) return refuse(op, f);
  }
  const tn_arr *threads = broadcast_by(l, op);
  if (!threads && tn_error_pending()) return NULL;
  return threads ? by_one_thread(op, threads) : tn_mut_children(m, op);
}

static tn_stmt *lower_block(tn_mut *m, tn_Block *op) {
  lowerer *l = m->ctx;
  tn_vec *outer = l->buffers;
  TN_VEC(buffers);
  l->buffers = &buffers;
  tn_Block *b = tn_mut_children(m, op);
  l->buffers = outer;
  if (!b || buffers.len == 0) return (tn_stmt *)b;
  TN_VEC(all);
  for (int64_t i = 0; i < b->alloc_buffers->len; ++i)
    TN_TRYP(tn_vec_push(&all, b->alloc_buffers->items[i]));
  for (int64_t i = 0; i < buffers.len; ++i) TN_TRYP(tn_vec_push(&all, buffers.items[i]));
  tn_Block copy = *b;
  TN_GETP(copy.alloc_buffers, tn_arr_from(&all));
  return tn_node_copy(&tn_type_Block, &copy);
}

tn_PrimFunc *tir_lower_cross_thread_reduction(tn_PrimFunc *f, const tn_pass_ctx *c) {
  static const tn_mut_case cases[] = {TN_CASE(For, lower_for), TN_CASE(Block, lower_block),
                                      TN_CASE(BlockRealize, lower_realize)};
  (void)c;
  if (tir_is_legacy(f)) return f;
  lowerer l = {.buffers = NULL};
  TN_MUT(m, cases, &l);
  tn_stmt *body = tn_mut_visit(&m, f->body);
  tn_vec_fini(&l.loops);
  tn_pmap_fini(&l.results);
  return tir_with_body(f, body);
}
