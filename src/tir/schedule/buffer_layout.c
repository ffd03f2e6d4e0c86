/* Steps on buffers: transform_layout, set_axis_separator, unsafe_set_dtype.

     B: (16, 16)                transform_layout(block, ("write", 0), lambda i, j: (i // 4, j, i %
   4)) B[vi, vj] = A[vi, vj]          ->     B: (4, 16, 4)     B[vi // 4, vj, vi % 4] = A[vi, vj]

   The buffer is another one afterwards, and every access to it in the function is rewritten. Where
   the new space is larger, a block after the last writer stores the padding; for an argument a
   block before everything states what is assumed of it. */
#include "ir/functor.h"
#include "tenon/object.h"
#include "tir/schedule/buffer_change.h"
#include "tir/schedule/layout.h"

typedef sch_buffer_change change;

/* ---- which buffer ---- */

static tn_Buffer *buffer_of(sch_step *e, sch_which which, tn_Block **block) {
  tn_Block *b = *block = sch_block_of(e, which.block);
  if (!b) return NULL;
  const tn_arr *regions = which.write ? b->writes : b->reads;
  if (which.index >= 0 && which.index < regions->len)
    return ((tn_BufferRegion *)tn_arr_obj(regions, which.index))->buffer;
  sch_fail(e, "The buffer index is out of range", SCH_PLACES(b),
           "The block {0} has %lld %s buffers, there is no number %lld", (long long)regions->len,
           which.write ? "written" : "read", (long long)which.index);
  return NULL;
}

typedef struct {
  const tn_Buffer *buffer;
  bool found;
} finder;

static int find_alloc(void *ctx, tn_obj *o) {
  finder *f = ctx;
  const tn_Block *b = TN_AS(Block, o);
  for (int64_t i = 0; b && i < b->alloc_buffers->len; ++i)
    f->found = f->found || (const void *)tn_arr_obj(b->alloc_buffers, i) == f->buffer;
  return TN_IS(PrimExpr, o) ? 1 : f->found ? 2 : 0;
}

static bool is_allocated(const sch_step *e, const tn_Buffer *b) {
  finder f = {b, false};
  return tn_pre_order(e->func->body, find_alloc, &f) >= 0 && f.found;
}

/* ---- accesses ---- */

static tn_arr *new_indices(change *c, tn_arr *indices) {
  return c->map ? tir_index_map_indices(&c->arith, c->map, indices) : indices;
}

/* A box of single elements stays one; of others the bounds are taken. */
static tn_arr *new_region(change *c, tn_arr *region) {
  TN_VEC(at);
  TN_VEC(out);
  if (!c->map) return region;
  for (int64_t i = 0; i < region->len; ++i) {
    const tn_Range *r = (const tn_Range *)tn_arr_obj(region, i);
    if (!tir_is_one(r->extent)) return tir_index_map_ranges(&c->arith, c->map, region);
    TN_TRYP(tn_vec_push_obj(&at, r->min));
  }
  tn_arr *indices = tn_arr_from(&at);
  TN_GETP(indices, indices ? new_indices(c, indices) : NULL);
  for (int64_t i = 0; i < indices->len; ++i) {
    tn_expr *e = (tn_expr *)tn_arr_obj(indices, i);
    if (tn_vec_push_obj(&out, tir_range(e, tir_one(e->dtype)))) return NULL;
  }
  return tn_arr_from(&out);
}

static tn_obj *new_block(const change *c, tn_Block *b) {
  TN_VEC(allocs);
  bool found = false;
  for (int64_t i = 0; i < b->alloc_buffers->len; ++i) {
    const tn_obj *o = tn_arr_obj(b->alloc_buffers, i);
    bool it = o == (const tn_obj *)c->old;
    found = found || it;
    TN_TRYP(tn_vec_push_obj(&allocs, it ? (const tn_obj *)c->now : o));
  }
  if (!found) return (tn_obj *)b;
  tn_Block copy = *b;
  copy.alloc_buffers = tn_arr_from(&allocs);
  return copy.alloc_buffers ? tn_node_copy(&tn_type_Block, &copy) : NULL;
}

/* For sch_step.after. */
static tn_obj *new_access(sch_step *e, const tn_obj *was, tn_obj *now) {
  change *c = (change *)(uintptr_t)e->after_ctx;
  const tn_BufferLoad *load = TN_AS(BufferLoad, now);
  const tn_BufferStore *store = TN_AS(BufferStore, now);
  const tn_BufferRegion *region = TN_AS(BufferRegion, now);
  (void)was;
  if (load && load->buffer == c->old) {
    tn_expr *r = tir_load(c->now, new_indices(c, load->indices));
    return r ? (tn_obj *)tir_cast(load->dtype, r, NULL) : NULL;
  }
  if (store && store->buffer == c->old) {
    tn_dtype t = c->now->dtype;
    t.lanes = store->value->dtype.lanes;
    tn_expr *value = tir_cast(t, store->value, NULL);
    tn_arr *at = value ? new_indices(c, store->indices) : NULL;
    return at ? (tn_obj *)tir_store(c->now, value, at) : NULL;
  }
  if (region && region->buffer == c->old) {
    tn_arr *r = new_region(c, region->region);
    return r ? (tn_obj *)TN_NEW(BufferRegion, .buffer = c->now, .region = r) : NULL;
  }
  return TN_AS(Block, now) ? new_block(c, (tn_Block *)now) : now;
}

static int learn_ranges(void *ctx, tn_obj *o) {
  change *c = ctx;
  const tn_For *f = TN_AS(For, o);
  const tn_IterVar *iv = TN_AS(IterVar, o);
  if (f) TN_TRY(arith_bind_range(&c->arith, f->loop_var, tir_range(f->min, f->extent), true));
  if (iv && iv->dom) TN_TRY(arith_bind_range(&c->arith, iv->var, iv->dom, true));
  return TN_IS(PrimExpr, o) ? 1 : 0;
}

/* An argument of the function is another buffer too. */
static int new_argument(sch_step *e, const change *c) {
  tn_map *args = e->func->buffer_map;
  for (int64_t i = 0; i < args->len; ++i) {
    if (args->entries[i].value.v.obj != (const tn_obj *)c->old) continue;
    tn_PrimFunc copy = *e->func;
    TN_GET(copy.buffer_map, tn_map_with(args, args->entries[i].key, tn_any_obj(c->now)));
    TN_GET(e->func, tn_node_copy(&tn_type_PrimFunc, &copy));
  }
  return 0;
}

int sch_change_buffer(sch_step *e, change *c) {
  if (!c->now || new_argument(e, c)) return -1;
  TN_TRY(tn_pre_order(e->func->body, learn_ranges, c) < 0);
  if (c->now->data != c->old->data) TN_TRY(tn_pmap_put(&e->vars, c->old->data, c->now->data));
  e->after = new_access;
  e->after_ctx = c;
  return 0;
}

/* ---- padding ---- */

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

/* Loops over the whole buffer around one block. */
static tn_stmt *pad_loops(const pad_nest *n, const tn_Buffer *b, const char *what, tn_stmt *body) {
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
                                          .predicate = tir_bool(true), .block = block)
                     : NULL;
  for (int64_t i = n->loops.len; i-- > 0 && s;) {
    tn_expr *extent = (tn_expr *)tn_arr_obj(b->shape, i);
    s = (tn_stmt *)TN_MAKE(For, .loop_var = (tn_Var *)n->loops.items[i].v.obj,
                           .min = tir_zero(extent->dtype), .extent = extent, .kind = TIR_FOR_SERIAL,
                           .body = s, .annotations = hints);
  }
  return s;
}

/* The nest that stores the padding (or states that it is there).
 * @param back variables of the condition */
static tn_stmt *pad_stmt(change *c, const tn_IndexMap *pad, const tn_IndexMap *back,
                         tn_expr *condition, bool assume) {
  pad_nest n __attribute__((cleanup(pad_nest_fini))) = {0};
  TN_PMAP(vars);
  if (pad_axes(&n, c->now)) return NULL;
  for (int64_t i = 0; i < n.at.len; ++i)
    TN_TRYP(tn_pmap_put(&vars, tn_arr_obj(back->initial_indices, i), n.at.items[i].v.obj));
  tn_expr *cond = tir_substitute(condition, &vars);
  tn_arr *at = tn_arr_from(&n.at), *values = at ? tir_index_map_indices(&c->arith, pad, at) : NULL;
  tn_expr *value = values ? tir_cast(c->now->dtype, (tn_expr *)tn_arr_obj(values, 0), NULL) : NULL;
  if (!cond || !value) return NULL;
  if (!assume) {
    tn_stmt *store = tir_store(c->now, value, at);
    return pad_loops(&n, c->now, "padding",
                     (tn_stmt *)TN_MAKE(IfThenElse, .condition = cond, .then_case = store));
  }
  tn_expr *holds = tir_or(tir_not(cond, NULL), tir_eq(tir_load(c->now, at), value));
  tn_expr *call = holds ? tir_call(TN_BOOL1, TIR_OP_assume, 1, holds) : NULL;
  return pad_loops(&n, c->now, "assumption",
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

static int insert_padding(sch_step *e, change *c, const tn_IndexMap *pad, const tn_IndexMap *back,
                          tn_expr *condition) {
  writer_walk w = {c->old, NULL};
  TN_TRY(tn_pre_order(e->func->body, find_writer, &w) < 0);
  const tn_BlockRealize *root = TN_AS(BlockRealize, e->func->body);
  const tn_obj *at = w.last ? top_of(e, w.last) : root ? (const tn_obj *)root->block->body : NULL;
  TN_CHECK(at, InternalError, NULL, "transform_layout: the function has no root block");
  tn_stmt *nest = pad_stmt(c, pad, back, condition, !w.last);
  tn_stmt *rest = nest ? sch_rewrite(e, (const tn_stmt *)at) : NULL;
  tn_stmt *both = !rest ? NULL : w.last ? tir_seq2(rest, nest) : tir_seq2(nest, rest);
  return sch_replace(e, (const tn_stmt *)at, both);
}

/* ---- the steps ---- */

tn_Buffer *sch_buffer_shaped(const tn_Buffer *b, tn_arr *shape, tn_arr *separators) {
  tn_Buffer copy = *b;
  copy.shape = shape;
  copy.axis_separators = separators;
  return shape && separators ? tn_node_copy(&tn_type_Buffer, &copy) : NULL;
}

static int check_map(const sch_step *e, const tn_Block *b, const tn_Buffer *buffer,
                     const tn_IndexMap *map, const tn_IndexMap *pad) {
  if (map->initial_indices->len != buffer->shape->len)
    return sch_fail(e, "The index map takes another number of indices than the buffer has",
                    SCH_PLACES(b), "The index map takes %lld indices, the buffer %s has %lld",
                    (long long)map->initial_indices->len, tn_cstr(buffer->name),
                    (long long)buffer->shape->len);
  if (buffer->strides->len)
    return sch_fail(e, "The buffer has strides", SCH_PLACES(b),
                    "The buffer %s of block {0} has strides, its layout cannot be changed",
                    tn_cstr(buffer->name));
  if (pad && (pad->final_indices->len != 1 || pad->initial_indices->len != map->final_indices->len))
    return sch_fail(e, "The padding needs one value over the new indices", SCH_PLACES(b),
                    "The padding of %s must be one value over %lld indices", tn_cstr(buffer->name),
                    (long long)map->final_indices->len);
  return 0;
}

/* What went wrong with the map, as an error of the schedule. */
static int not_invertible(const sch_step *e, const tn_Block *b, const tn_Buffer *buffer) {
  tn_error_clear();
  return sch_fail(e, "The index map is not a map between affine iterators that can be inverted",
                  SCH_PLACES(b),
                  "The index map for %s of block {0} cannot be inverted; "
                  "assume_injective_transform leaves this unchecked",
                  tn_cstr(buffer->name));
}

static int transform(sch_step *e, change *c, const tn_Block *b, const tn_IndexMap *pad,
                     bool trusted) {
  TN_ARITH(a);
  tn_expr *padding = tir_bool(false);
  const tn_IndexMap *back = NULL;
  if (!trusted) {
    back = tir_index_map_inverse(&a, c->map, c->old->shape, &padding);
    if (!back) return not_invertible(e, b, c->old);
  }
  bool pads = padding && !tir_is_zero(padding);
  if (pads && !pad)
    return sch_fail(e, "The transformation introduces padding", SCH_PLACES(b),
                    "The transformation of %s would introduce padding: give a pad_value",
                    tn_cstr(c->old->name));
  tn_arr *shape = tir_index_map_shape(&a, c->map, c->old->shape);
  c->now = shape ? sch_buffer_shaped(c->old, shape, tn_arr_of(0)) : NULL;
  if (sch_change_buffer(e, c)) return -1;
  if (pads) TN_TRY(insert_padding(e, c, pad, back, padding));
  return sch_commit(e);
}

int sch_transform_layout(tn_TirSchedule *s, sch_which which, const tn_IndexMap *map,
                         const tn_IndexMap *pad, bool trusted) {
  SCH_STEP(e, s, "transform-layout");
  tn_Block *b;
  change c = {.old = buffer_of(&e, which, &b), .map = map};
  if (!c.old || check_map(&e, b, c.old, map, pad)) return -1;
  int err = transform(&e, &c, b, pad, trusted);
  arith_fini(&c.arith);
  return err;
}

static int check_separators(const sch_step *e, const tn_Block *b, const tn_Buffer *buffer,
                            const tn_arr *axes) {
  int64_t last = 0, k;
  for (int64_t i = 0; i < axes->len; ++i, last = k) {
    bool fine = tir_as_int(tn_arr_obj(axes, i), &k) && k >= last && k <= buffer->shape->len;
    if (!fine)
      return sch_fail(e, "The axis separators are not increasing axes of the buffer", SCH_PLACES(b),
                      "Axis separator %lld of %s (block {0}) must be an axis from %lld to %lld",
                      (long long)i, tn_cstr(buffer->name), (long long)last,
                      (long long)buffer->shape->len);
  }
  return 0;
}

int sch_set_axis_separator(tn_TirSchedule *s, sch_which which, tn_arr *axes) {
  SCH_STEP(e, s, "set-axis-separator");
  tn_Block *b;
  change c = {.old = buffer_of(&e, which, &b)};
  if (!c.old || check_separators(&e, b, c.old, axes)) return -1;
  c.now = sch_buffer_shaped(c.old, c.old->shape, axes);
  int err = sch_change_buffer(&e, &c) || sch_commit(&e);
  arith_fini(&c.arith);
  return err ? -1 : 0;
}

int sch_unsafe_set_dtype(tn_TirSchedule *s, const tn_BlockRV *block, int64_t index,
                         tn_dtype dtype) {
  SCH_STEP(e, s, "unsafe-set-dtype");
  tn_Block *b;
  change c = {.old = buffer_of(&e, (sch_which){block, index, true}, &b)};
  if (!c.old) return -1;
  if (!is_allocated(&e, c.old))
    return sch_fail(&e, "The buffer is not allocated by a block", SCH_PLACES(b),
                    "Buffer %s, which block {0} writes, is not allocated by a block: "
                    "arguments keep their type",
                    tn_cstr(c.old->name));
  tn_Buffer copy = *c.old;
  copy.dtype = dtype;
  copy.data = tir_pointer_var(tn_cstr(c.old->data->name), dtype, tir_buffer_scope(c.old));
  c.now = copy.data ? tn_node_copy(&tn_type_Buffer, &copy) : NULL;
  int err = sch_change_buffer(&e, &c) || sch_commit(&e);
  arith_fini(&c.arith);
  return err ? -1 : 0;
}
