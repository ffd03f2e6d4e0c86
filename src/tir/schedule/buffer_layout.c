/* Steps on buffers: transform_layout, set_axis_separator, unsafe_set_dtype.

     transform_layout(block, ("write", 0), lambda i, j: (i // 4, j, i % 4))

     B: (16, 16)                 ->     B: (4, 16, 4)
     B[vi, vj] = A[vi, vj]              B[vi // 4, vj, vi % 4] = A[vi, vj]

   The buffer is another one afterwards, and every access to it in the function is rewritten. Where
   the new space is larger, the padding is stored too (buffer_padding.c). */
#include <string.h>

#include "ir/functor.h"
#include "tenon/object.h"
#include "tir/schedule/buffer_change.h"
#include "tir/schedule/layout.h"
#include "tir/schedule/regions.h"

typedef sch_buffer_change change;

/* ---- which buffer ---- */

static tn_Buffer *buffer_of(sch_step *e, sch_which which, tn_Block **block) {
  tn_Block *b = *block = sch_block_of(e, which.block);
  if (!b) return NULL;
  const tn_arr *regions = which.write ? b->writes : b->reads;
  if (which.index >= 0 && which.index < regions->len)
    return ((tn_BufferRegion *)tn_arr_obj(regions, which.index))->buffer;
  sch_fail(e, "The buffer index is out of range", SCH_PLACES(b),
           "The block {0} has %lld %s buffers: number %lld is out of range",
           (long long)regions->len, which.write ? "written" : "read", (long long)which.index);
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

bool sch_is_allocated(const sch_step *e, const tn_Buffer *b) {
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

/* What a buffer is from now on; NULL: it stays. */
static tn_Buffer *buffer_now(const change *c, const tn_Buffer *b) {
  if (b == c->old) return c->now;
  for (int64_t i = 0; i < c->matched.len; i += 2)
    if (c->matched.items[i].v.obj == (const tn_obj *)b)
      return (tn_Buffer *)c->matched.items[i + 1].v.obj;
  return NULL;
}

/* For sch_step.after. */
static tn_obj *new_access(sch_step *e, const tn_obj *was, tn_obj *now) {
  change *c = (change *)(uintptr_t)e->after_ctx;
  const tn_BufferLoad *load = TN_AS(BufferLoad, now);
  const tn_BufferStore *store = TN_AS(BufferStore, now);
  const tn_BufferRegion *region = TN_AS(BufferRegion, now);
  const tn_MatchBufferRegion *match = TN_AS(MatchBufferRegion, now);
  (void)was;
  tn_Buffer *buffer = buffer_now(c, load    ? load->buffer
                                    : store ? store->buffer
                                    : match ? match->buffer
                                            : NULL);
  if (load && buffer) {
    tn_arr *at = buffer == c->now ? new_indices(c, load->indices) : load->indices;
    tn_expr *r = at ? tir_load(buffer, at) : NULL;
    return r ? (tn_obj *)tir_cast(load->dtype, r, NULL) : NULL;
  }
  if (store && buffer) {
    tn_dtype t = buffer->dtype;
    t.lanes = store->value->dtype.lanes;
    tn_expr *value = tir_cast(t, store->value, NULL);
    tn_arr *at = buffer == c->now ? new_indices(c, store->indices) : store->indices;
    return value && at ? (tn_obj *)tir_store(buffer, value, at) : NULL;
  }
  if (match && buffer)
    return (tn_obj *)TN_NEW(MatchBufferRegion, .buffer = buffer, .source = match->source);
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

/* ---- buffers that stand for parts of it ---- */

/* Separators count axes; the part has the last ones of the buffer. */
static tn_arr *part_separators(const tn_Buffer *whole, const tn_Buffer *part) {
  TN_VEC(out);
  int64_t less = whole->shape->len - part->shape->len, k;
  for (int64_t i = 0; i < whole->axis_separators->len; ++i) {
    bool known = tir_as_int(tn_arr_obj(whole->axis_separators, i), &k);
    k = known && k > less ? k - less : 0;
    if (tn_vec_push_obj(&out, tir_i32((int32_t)k))) return NULL;
  }
  return tn_arr_from(&out);
}

static int find_parts(void *ctx, tn_obj *o) {
  change *c = (change *)(uintptr_t)((sch_step *)ctx)->after_ctx;
  const tn_MatchBufferRegion *m = TN_AS(MatchBufferRegion, o);
  const tn_Buffer *whole = m ? buffer_now(c, m->source->buffer) : NULL;
  if (!whole) return TN_IS(PrimExpr, o) ? 1 : 0;
  tn_Buffer *now;
  TN_GET(now, sch_buffer_stored(m->buffer, whole->dtype, tir_buffer_scope(whole)));
  if (whole->axis_separators->len || m->buffer->axis_separators->len)
    TN_GET(now, sch_buffer_shaped(now, now->shape, part_separators(whole, m->buffer)));
  if (tn_vec_push_obj(&c->matched, m->buffer) || tn_vec_push_obj(&c->matched, now)) return -1;
  return now->data == m->buffer->data
             ? 0
             : tn_pmap_put(&((sch_step *)ctx)->vars, m->buffer->data, now->data);
}

int sch_change_buffer(sch_step *e, change *c) {
  if (!c->now || new_argument(e, c)) return -1;
  TN_TRY(tn_pre_order(e->func->body, learn_ranges, c) < 0);
  if (c->now->data != c->old->data) TN_TRY(tn_pmap_put(&e->vars, c->old->data, c->now->data));
  e->after = new_access;
  e->after_ctx = c;
  return tn_pre_order(e->func->body, find_parts, e) < 0 ? -1 : 0;
}

void sch_buffer_change_fini(change *c) {
  arith_fini(&c->arith);
  tn_vec_fini(&c->matched);
}

/* ---- the steps ---- */

tn_Buffer *sch_buffer_shaped(const tn_Buffer *b, tn_arr *shape, tn_arr *separators) {
  tn_Buffer copy = *b;
  copy.shape = shape;
  copy.axis_separators = separators;
  return shape && separators ? tn_node_copy(&tn_type_Buffer, &copy) : NULL;
}

tn_Buffer *sch_buffer_stored(const tn_Buffer *b, tn_dtype dtype, const char *memory) {
  const tn_PointerType *was = TN_AS(PointerType, b->data->type_annotation);
  const tn_PrimType *element = was ? TN_AS(PrimType, was->element_type) : NULL;
  const char *there = tir_buffer_scope(b);
  bool same = tn_dtype_eq(b->dtype, dtype);
  if (same && (!memory || strcmp(memory, there) == 0)) return (tn_Buffer *)(uintptr_t)b;
  tn_Buffer copy = *b;
  copy.dtype = dtype;
  copy.data = tir_pointer_var(tn_cstr(b->data->name), same && element ? element->dtype : dtype,
                              memory ? memory : there);
  return copy.data ? tn_node_copy(&tn_type_Buffer, &copy) : NULL;
}

static int meet_load(void *ctx, tn_obj *o) { return TN_IS(BufferLoad, o) && !ctx; }

/* Indices may be of any integer type; a constant is meant as it is written. */
static int check_pad_value(const sch_step *e, const tn_Block *b, const tn_Buffer *buffer,
                           const tn_expr *value) {
  tn_dtype t = value->dtype;
  bool constant = TN_IS(IntImm, value) || TN_IS(FloatImm, value);
  bool fits = constant ? tn_dtype_eq(t, buffer->dtype) : t.code == buffer->dtype.code;
  if (!fits)
    return sch_fail(e, "The padding is of another type than the buffer", SCH_PLACES(b),
                    "The padding of %s (block {0}) must be %s, its value is %s",
                    tn_cstr(buffer->name), TN_DT(buffer->dtype), TN_DT(t));
  if (tn_post_order(value, meet_load, NULL))
    return sch_fail(e, "The padding reads a buffer", SCH_PLACES(b),
                    "The padding of %s (block {0}) reads a buffer: its value may only depend on "
                    "the indices",
                    tn_cstr(buffer->name));
  return 0;
}

static int find_box(void *ctx, tn_obj *o) {
  const tn_MatchBufferRegion *m = TN_AS(MatchBufferRegion, o);
  const tn_arr *region = m && m->source->buffer == ctx ? m->source->region : NULL;
  for (int64_t i = 0; region && i < region->len; ++i)
    if (!tir_is_one(((const tn_Range *)tn_arr_obj(region, i))->extent)) return 2;
  return TN_IS(PrimExpr, o) ? 1 : 0;
}

/* Buffers that stand for more than one element keep their shape: only where elements stay. */
static int check_parts(const sch_step *e, const tn_Buffer *buffer, const tn_IndexMap *map) {
  if (sch_same_exprs(map->initial_indices, map->final_indices)) return 0;
  if (tn_pre_order(e->func->body, find_box, (void *)(uintptr_t)buffer) != 2) return 0;
  return sch_fail(e, "A block matches a part of the buffer", NULL,
                  "A block matches a buffer against several elements of %s, whose places would "
                  "change",
                  tn_cstr(buffer->name));
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
  if (pad)
    TN_TRY(check_pad_value(e, b, buffer, (const tn_expr *)tn_arr_obj(pad->final_indices, 0)));
  return check_parts(e, buffer, map);
}

tn_IndexMap *sch_known_map(const tn_TirSchedule *s, const tn_IndexMap *map) {
  TN_PMAP(known);
  for (int64_t i = 0; i < s->symbols->len; ++i) {
    const tn_map_entry *entry = &s->symbols->entries[i];
    bool drawn = TN_IS(Var, entry->key.v.obj) && tn_any_is_obj(&entry->value);
    if (drawn) TN_TRYP(tn_pmap_put(&known, entry->key.v.obj, entry->value.v.obj));
  }
  tn_arr *exprs;
  TN_GETP(exprs, tir_substitute(map->final_indices, &known));
  tn_IndexMap copy = *map;
  copy.final_indices = exprs;
  return exprs == map->final_indices ? (tn_IndexMap *)(uintptr_t)map
                                     : tn_node_copy(&tn_type_IndexMap, &copy);
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
  if (pads) TN_TRY(sch_store_padding(e, &(sch_padding){c, pad, back, padding}));
  return sch_commit(e);
}

int sch_transform_layout(tn_TirSchedule *s, sch_which which, const tn_IndexMap *map,
                         const tn_IndexMap *pad, bool trusted) {
  SCH_STEP(e, s, "transform-layout");
  tn_Block *b;
  change c = {.old = buffer_of(&e, which, &b), .map = map};
  if (!c.old || check_map(&e, b, c.old, map, pad)) return -1;
  int err = transform(&e, &c, b, pad, trusted);
  sch_buffer_change_fini(&c);
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
  sch_buffer_change_fini(&c);
  return err ? -1 : 0;
}

int sch_unsafe_set_dtype(tn_TirSchedule *s, const tn_BlockRV *block, int64_t index,
                         tn_dtype dtype) {
  SCH_STEP(e, s, "unsafe-set-dtype");
  tn_Block *b;
  change c = {.old = buffer_of(&e, (sch_which){block, index, true}, &b)};
  if (!c.old) return -1;
  if (!sch_is_allocated(&e, c.old))
    return sch_fail(&e, "The buffer is not allocated by a block", SCH_PLACES(b),
                    "Buffer %s, which block {0} writes, is not allocated by a block: "
                    "arguments keep their type",
                    tn_cstr(c.old->name));
  c.now = sch_buffer_stored(c.old, dtype, NULL);
  int err = sch_change_buffer(&e, &c) || sch_commit(&e);
  sch_buffer_change_fini(&c);
  return err ? -1 : 0;
}
