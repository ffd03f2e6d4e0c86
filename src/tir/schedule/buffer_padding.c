/* The padding of a buffer that transform_layout has made larger.

   Where the last writer goes through the whole buffer in its order, it goes through the new one
   (buffer_widen.c); else a block behind it stores the padding:

     for i: B[i] = A[i]     ->   for i: B[i // 4, i % 4] = A[i]        14 elements in (4, 4)
                                 for io, ii: if io == 3 and ii >= 2: B[io, ii] = 0

   For an argument that is only read a block before everything states what is assumed of it. */
#include "ir/functor.h"
#include "tenon/object.h"
#include "tir/schedule/buffer_change.h"

typedef struct {
  tn_vec loops, iters, at;
} pad_nest;
static void pad_nest_fini(pad_nest *n) {
  tn_vec_fini(&n->loops);
  tn_vec_fini(&n->iters);
  tn_vec_fini(&n->at);
}

static int pad_axes(pad_nest *n, const tn_Buffer *b) {
  for (int64_t i = 0; i < b->shape->len; ++i) {
    tn_expr *extent = (tn_expr *)tn_arr_obj(b->shape, i);
    tn_str *name = tn_str_fmt("axis%lld", (long long)i),
           *v_name = tn_str_fmt("v_axis%lld", (long long)i);
    tn_Var *loop = name ? tir_var(name->data, extent->dtype) : NULL,
           *v = v_name ? tir_var(v_name->data, extent->dtype) : NULL;
    tn_Range *dom = tir_range(tir_zero(extent->dtype), extent);
    const tn_IterVar *iv = v && dom ? tir_iter_var(dom, v, IR_ITER_DATA_PAR, "") : NULL;
    if (!loop || !iv || tn_vec_push_obj(&n->loops, loop) || tn_vec_push_obj(&n->iters, iv) ||
        tn_vec_push_obj(&n->at, v))
      return -1;
  }
  return 0;
}

/* Loops over the whole buffer around one block. @param predicate over the loops */
static tn_stmt *pad_loops(const pad_nest *n, const tn_Buffer *b, const char *what,
                          tn_expr *predicate, tn_stmt *body) {
  tn_arr *none = tn_arr_of(0);
  tn_map *hints = tn_scope_own(tn_map_new());
  tn_str *name = tn_str_fmt("buffer_%s_%s", tn_cstr(b->name), what);
  tn_Block *block = name && hints && body
                        ? TN_NEW(Block, .iter_vars = tn_arr_from(&n->iters), .reads = none,
                                 .writes = none, .name_hint = name, .alloc_buffers = none,
                                 .match_buffers = none, .annotations = hints, .body = body)
                        : NULL;
  block = block ? tir_block_with_regions(block, true, true) : NULL;
  tn_stmt *s = block ? (tn_stmt *)TN_MAKE(BlockRealize, .iter_values = tn_arr_from(&n->loops),
                                          .predicate = predicate, .block = block)
                     : NULL;
  for (int64_t i = n->loops.len; i-- > 0 && s;) {
    tn_expr *extent = (tn_expr *)tn_arr_obj(b->shape, i);
    s = (tn_stmt *)TN_MAKE(For, .loop_var = (tn_Var *)n->loops.items[i].v.obj,
                           .min = tir_zero(extent->dtype), .extent = extent, .kind = TIR_FOR_SERIAL,
                           .body = s, .annotations = hints);
  }
  return s;
}

tn_expr *sch_in_padding(const sch_padding *p, const tn_arr *at) {
  TN_PMAP(vars);
  for (int64_t i = 0; i < at->len; ++i)
    TN_TRYP(tn_pmap_put(&vars, tn_arr_obj(p->back->initial_indices, i), tn_arr_obj(at, i)));
  return tir_substitute(p->condition, &vars);
}
tn_expr *sch_padding_value(const sch_padding *p, const tn_arr *at) {
  tn_arr *values;
  TN_GETP(values, tir_index_map_indices(&p->change->arith, p->value, at));
  return tir_cast(p->change->now->dtype, (tn_expr *)tn_arr_obj(values, 0), NULL);
}

/* The nest that stores the padding (or states that it is there). */
static tn_stmt *pad_stmt(const sch_padding *p, bool assume) {
  pad_nest n __attribute__((cleanup(pad_nest_fini))) = {0};
  tn_Buffer *now = p->change->now;
  if (pad_axes(&n, now)) return NULL;
  tn_arr *at = tn_arr_from(&n.at), *loops = tn_arr_from(&n.loops);
  tn_expr *value = at && loops ? sch_padding_value(p, at) : NULL;
  tn_expr *cond = value ? sch_in_padding(p, assume ? at : loops) : NULL;
  if (!cond) return NULL;
  if (!assume) return pad_loops(&n, now, "padding", cond, tir_store(now, value, at));
  tn_expr *holds = tir_or(tir_not(cond, NULL), tir_eq(tir_load(now, at), value));
  tn_expr *call = holds ? tir_call(TN_BOOL1, TIR_OP_assume, 1, holds) : NULL;
  return pad_loops(&n, now, "assumption", tir_bool(true),
                   call ? (tn_stmt *)TN_MAKE(Evaluate, .value = call) : NULL);
}

typedef struct {
  const tn_Buffer *buffer;
  const tn_Block *last;
} writer_walk;

static int find_writer(void *ctx, tn_obj *o) {
  writer_walk *w = ctx;
  const tn_Block *b = TN_AS(Block, o);
  for (int64_t i = 0; b && i < b->writes->len; ++i)
    if (((const tn_BufferRegion *)tn_arr_obj(b->writes, i))->buffer == w->buffer) w->last = b;
  return TN_IS(PrimExpr, o) ? 1 : 0;
}

/* The statement of the block around that a block lies in. */
static const tn_obj *top_of(const sch_step *e, const tn_Block *b) {
  const tn_obj *top = sch_parent(e, b);
  for (const tn_obj *up = sch_parent(e, top); up && up->type_index != TN_TI_Block;
       up = sch_parent(e, top)) {
    if (up->type_index == TN_TI_SeqStmt) break;
    top = up;
  }
  return top;
}

int sch_store_padding(sch_step *e, const sch_padding *p) {
  writer_walk w = {p->change->old, NULL};
  bool done = false;
  TN_TRY(tn_pre_order(e->func->body, find_writer, &w) < 0);
  if (w.last) TN_TRY(sch_widen_writer(e, p, w.last, &done));
  if (done) return 0;
  const tn_BlockRealize *root = TN_AS(BlockRealize, e->func->body);
  const tn_obj *at = w.last ? top_of(e, w.last) : root ? (const tn_obj *)root->block->body : NULL;
  TN_CHECK(at, InternalError, NULL, "transform_layout: the function has no root block");
  tn_stmt *nest = pad_stmt(p, !w.last);
  tn_stmt *rest = nest ? sch_rewrite(e, (const tn_stmt *)at) : NULL;
  tn_stmt *both = !rest ? NULL : w.last ? tir_seq2(rest, nest) : tir_seq2(nest, rest);
  return sch_replace(e, (const tn_stmt *)at, both);
}
