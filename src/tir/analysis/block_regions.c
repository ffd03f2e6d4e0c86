/* Read and write regions of a block, from its body.

     with T.block("B"):                       T.reads(A[vi, 0:16])
       with T.init():                         T.writes(B[vi])
         B[vi] = 0                     ->     (B is not a read: what the reduction has so far)
       for k in range(16):
         B[vi] = B[vi] + A[vi, k]

   Bounds of an index over the loops inside the block come from its linear form; what is not linear
   takes the whole axis. Used where a script leaves T.reads and T.writes out. */
#include "ir/expr.h"
#include "arith/analyzer.h"
#include "base/pmap.h"
#include "ir/tir_ops.h"
#include "object/functions.h"
#include "tir/analysis.h"

typedef struct {
  tn_vec buffers; /* Buffer */
  tn_vec boxes;   /* arrays of Range, one for each buffer */
} region_set;

typedef struct {
  region_set reads, writes;
  region_set opaque;      /* whole buffers whose pointers are used by themselves */
  const tn_map *pointers; /* pointer -> buffer that it is of; NULL: such uses do not count */
  tn_pmap loops;          /* variable of a loop inside the block -> Range */
  tn_pmap inside;         /* buffers declared inside the block -> what declares them */
  tn_pmap matched;        /* MatchBufferRegion whose buffer is accessed -> READ, WRITTEN, POINTER */
  tn_pmap matched_data;   /* pointer of such a buffer -> MatchBufferRegion */
  arith_analyzer arith;
} finder;

/* How the buffer of a MatchBufferRegion is used; may be added up. The first two are those of the
   mask of tvm_access_ptr. */
enum { READ = 1, WRITTEN = 2, POINTER = 4 };

/* ---- bounds of an index ---- */

typedef struct {
  tn_expr *lo, *hi; /* inclusive; NULL when unknown */
} bound;

static bound bound_of(finder *f, tn_expr *e);

static bool uses_inner(finder *f, const tn_obj *e);
typedef struct {
  finder *f;
} use_ctx;
static int use_child(void *ctx, tn_obj *child) { return uses_inner(((use_ctx *)ctx)->f, child); }
static bool uses_inner(finder *f, const tn_obj *e) {
  use_ctx c = {f};
  return tn_pmap_has(&f->loops, e) || tn_visit_children(e, use_child, &c);
}

static bound scaled(bound x, tn_expr *factor) {
  int64_t k;
  if (!x.lo || !tir_as_int((tn_obj *)factor, &k)) return (bound){0};
  bound r = {tir_mul(x.lo, factor), tir_mul(x.hi, factor)};
  return k >= 0 ? r : (bound){r.hi, r.lo};
}

static bound divided(finder *f, const tn_BinaryOp *e) {
  int64_t k;
  bound x = bound_of(f, e->a);
  if (!x.lo || !tir_as_int((tn_obj *)e->b, &k) || k <= 0) return (bound){0};
  return (bound){tir_floordiv(x.lo, e->b), tir_floordiv(x.hi, e->b)};
}

static bound remainder_of(const tn_BinaryOp *e) {
  int64_t k;
  if (!tir_as_int((tn_obj *)e->b, &k) || k <= 0) return (bound){0};
  return (bound){tir_zero(e->dtype), tir_const_int(e->dtype, k - 1)};
}

/* Arithmetic of less than 32 bits wraps around: bounds of its operands say nothing of it. */
static bool is_narrow(tn_dtype t) { return t.bits < 32; }

static tn_expr *widened(tn_expr *e) {
  if (!e || !is_narrow(e->dtype)) return e;
  return tir_cast(tn_dtype_of(kDLInt, 32, e->dtype.lanes), e, NULL);
}

static bound bound_of(finder *f, tn_expr *e) {
  const tn_BinaryOp *op = TN_AS_BINARY(e);
  const tn_Range *r = tn_pmap_get(&f->loops, e);
  const tn_Cast *cast = TN_AS(Cast, e);
  if (r) { /* bounds of a loop may be those of loops around it */
    tn_expr *last =
        arith_simplify(&f->arith, tir_sub(tir_add(r->min, r->extent), tir_one(r->extent->dtype)));
    bound from = bound_of(f, r->min), to = last ? bound_of(f, last) : from;
    return from.lo && to.lo ? (bound){from.lo, to.hi} : (bound){0};
  }
  if (!uses_inner(f, (tn_obj *)e)) return (bound){e, e};
  if (is_narrow(e->dtype)) return (bound){0};
  if (cast) {
    bound x = bound_of(f, cast->value);
    return x.lo ? (bound){tir_cast(e->dtype, x.lo, NULL), tir_cast(e->dtype, x.hi, NULL)} : x;
  }
  if (!op) return (bound){0};
  bound x = {0}, y = {0};
  switch (e->hdr.type_index) {
  case TN_TI_Add:
    x = bound_of(f, op->a), y = bound_of(f, op->b);
    return x.lo && y.lo ? (bound){tir_add(x.lo, y.lo), tir_add(x.hi, y.hi)} : (bound){0};
  case TN_TI_Sub:
    x = bound_of(f, op->a), y = bound_of(f, op->b);
    return x.lo && y.lo ? (bound){tir_sub(x.lo, y.hi), tir_sub(x.hi, y.lo)} : (bound){0};
  case TN_TI_Mul:
    return uses_inner(f, (tn_obj *)op->b) ? scaled(bound_of(f, op->b), op->a)
                                          : scaled(bound_of(f, op->a), op->b);
  case TN_TI_FloorDiv: return divided(f, op);
  case TN_TI_FloorMod: return remainder_of(op);
  default: return (bound){0};
  }
}

/* hi - lo + 1; an index without inner loops stays as it is written. */
static tn_expr *length(finder *f, bound b) {
  if (b.lo == b.hi) return tir_one(b.lo->dtype);
  return arith_simplify(&f->arith, tir_add(tir_sub(b.hi, b.lo), tir_one(b.lo->dtype)));
}

static tn_Range *range_of(finder *f, tn_expr *e, tn_expr *whole) {
  const tn_Ramp *ramp = TN_AS(Ramp, e);
  bound b = ramp ? bound_of(f, ramp->base) : bound_of(f, e);
  if (!b.lo) return tir_range(tir_zero(whole->dtype), whole);
  bool one = b.lo == b.hi;
  if (one && !ramp) return tir_range(b.lo, tir_one(b.lo->dtype));
  TN_GETP(b.lo, widened(b.lo));
  TN_GETP(b.hi, one ? b.lo : widened(b.hi));
  tn_expr *extent = length(f, b);
  if (ramp) {
    tn_expr *stride = widened(ramp->stride);
    extent =
        stride ? tir_add(extent, tir_mul(stride, tir_lanes(stride->dtype, ramp->lanes, -1))) : NULL;
  }
  return extent ? tir_range(b.lo, extent) : NULL;
}

/* ---- sets of regions ---- */

/* The smallest box that holds both; the whole axis where that cannot be told. */
static tn_Range *join(finder *f, const tn_Range *a, const tn_Range *b, tn_expr *whole) {
  if (arith_same(a->min, b->min) && arith_same(a->extent, b->extent))
    return (tn_Range *)(uintptr_t)a;
  tn_expr *shift = arith_simplify(&f->arith, tir_sub(b->min, a->min));
  int64_t d, n, m;
  bool known = tir_as_int((tn_obj *)shift, &d) && tir_as_int((tn_obj *)a->extent, &n) &&
               tir_as_int((tn_obj *)b->extent, &m);
  if (!known) return tir_range(tir_zero(whole->dtype), whole);
  int64_t lo = d < 0 ? d : 0, hi = d + m > n ? d + m : n;
  return tir_range(d < 0 ? b->min : a->min, tir_const_int(a->extent->dtype, hi - lo));
}

static int add_box(finder *f, region_set *set, tn_Buffer *b, tn_arr *box) {
  for (int64_t i = 0; i < set->buffers.len; ++i) {
    if (set->buffers.items[i].v.obj != (tn_obj *)b) continue;
    TN_VEC(out);
    const tn_arr *old = (tn_arr *)set->boxes.items[i].v.obj;
    for (int64_t j = 0; j < old->len; ++j) {
      tn_Range *r = join(f, (tn_Range *)tn_arr_obj(old, j), (tn_Range *)tn_arr_obj(box, j),
                         (tn_expr *)tn_arr_obj(b->shape, j));
      if (!r || tn_vec_push_obj(&out, r)) return -1;
    }
    tn_arr *joined = tn_arr_from(&out);
    set->boxes.items[i] = tn_any_obj(joined);
    return joined ? 0 : -1;
  }
  return tn_vec_push_obj(&set->buffers, b) || tn_vec_push_obj(&set->boxes, box) ? -1 : 0;
}

static int note_use(finder *f, const tn_MatchBufferRegion *m, int64_t use) {
  return tn_pmap_put_int(&f->matched, m, tn_pmap_get_int(&f->matched, m, 0) | use);
}

static const tn_MatchBufferRegion *match_of(const finder *f, const tn_Buffer *b) {
  const tn_obj *how = tn_pmap_get(&f->inside, b);
  return how ? TN_AS(MatchBufferRegion, how) : NULL;
}

/* A box of a matched buffer in its source, whose first axes may be missing from the buffer. */
static tn_arr *box_in_source(const tn_MatchBufferRegion *m, const tn_arr *box) {
  TN_VEC(out);
  tn_arr *source = m->source->region;
  int64_t extra = source->len - (box ? box->len : 0);
  if (!box || extra < 0) return source;
  for (int64_t i = 0; i < source->len; ++i) {
    const tn_Range *r = (tn_Range *)tn_arr_obj(source, i);
    const tn_Range *at = i < extra ? NULL : (tn_Range *)tn_arr_obj(box, i - extra);
    if (at) TN_GETP(r, tir_range(tir_add(r->min, at->min), at->extent));
    TN_TRYP(tn_vec_push_obj(&out, r));
  }
  return tn_arr_from(&out);
}

/* What is done with a box of a buffer is, where the buffer is another name of a part of one, done
   with the box of that part. Without a box: with all of it. */
static int add_matched(finder *f, region_set *set, tn_Buffer *b, tn_arr *box) {
  size_t steps = 0;
  for (const tn_MatchBufferRegion *m; (m = match_of(f, b)); b = m->source->buffer) {
    TN_CHECK(steps++ < f->inside.len, ValueError, b->span,
             "match_buffer %s: it is a part of itself", tn_cstr(b->name));
    TN_TRY(note_use(f, m, set == &f->writes ? WRITTEN : READ));
    TN_GET(box, box_in_source(m, box));
  }
  return !box || tn_pmap_has(&f->inside, b) ? 0 : add_box(f, set, b, box);
}

static int add_access(finder *f, region_set *set, tn_Buffer *b, const tn_arr *indices) {
  TN_VEC(out);
  tn_arr *box;
  if (tn_pmap_has(&f->inside, b) && !match_of(f, b)) return 0;
  for (int64_t i = 0; i < indices->len; ++i)
    TN_TRY(tn_vec_push_obj(
        &out, range_of(f, (tn_expr *)tn_arr_obj(indices, i), (tn_expr *)tn_arr_obj(b->shape, i))));
  TN_GET(box, tn_arr_from(&out));
  return add_matched(f, set, b, box);
}

/* ---- the walk ---- */

static int find(void *ctx, tn_obj *o);

static int find_loop(finder *f, const tn_For *l) {
  tn_Range *r = tir_range(l->min, l->extent);
  if (!r || tn_pmap_put(&f->loops, l->loop_var, r)) return -1;
  return find(f, (tn_obj *)l->body);
}

/* From the least beginning of the range to its greatest end, whatever the inner iterators are. */
static tn_Range *relaxed(finder *f, const tn_Range *r, tn_expr *shape) {
  int64_t n;
  tn_expr *extent;
  const tn_Range *first, *last;
  TN_GETP(first, range_of(f, r->min, shape));
  if (tir_as_int((const tn_obj *)r->extent, &n) && n == 1) {
    extent = first->extent;
  } else if (tir_as_int((const tn_obj *)r->extent, &n)) {
    TN_GETP(extent, tir_add(first->extent, tir_const_int(first->extent->dtype, n - 1)));
  } else {
    tn_expr *end = tir_add(widened(r->min), widened(r->extent));
    TN_GETP(last, end ? range_of(f, tir_sub(end, tir_one(end->dtype)), shape) : NULL);
    TN_GETP(extent, tir_sub(tir_add(last->min, last->extent), first->min));
  }
  extent = arith_simplify(&f->arith, extent);
  return extent ? tir_range(first->min, extent) : NULL;
}

/* An inner block tells its regions over its own iterators: their values are put in. */
static int find_block(finder *f, const tn_BlockRealize *r) {
  const tn_arr *lists[] = {r->block->reads, r->block->writes};
  for (int64_t i = 0; i < r->block->iter_vars->len; ++i) {
    const tn_IterVar *iv = (tn_IterVar *)tn_arr_obj(r->block->iter_vars, i);
    bound b = bound_of(f, (tn_expr *)tn_arr_obj(r->iter_values, i));
    tn_Range *dom = b.lo ? tir_range(b.lo, length(f, b)) : iv->dom;
    if (!dom || tn_pmap_put(&f->loops, iv->var, dom)) return -1;
  }
  for (int k = 0; k < 2; ++k) {
    for (int64_t i = 0; i < lists[k]->len; ++i) {
      const tn_BufferRegion *region = (tn_BufferRegion *)tn_arr_obj(lists[k], i);
      TN_VEC(out);
      tn_arr *box;
      if (tn_pmap_has(&f->inside, region->buffer) && !match_of(f, region->buffer)) continue;
      for (int64_t j = 0; j < region->region->len; ++j) {
        const tn_Range *range = (tn_Range *)tn_arr_obj(region->region, j);
        TN_TRY(tn_vec_push_obj(&out,
                               relaxed(f, range, (tn_expr *)tn_arr_obj(region->buffer->shape, j))));
      }
      TN_GET(box, tn_arr_from(&out));
      TN_TRY(add_matched(f, k ? &f->writes : &f->reads, region->buffer, box));
    }
  }
  return 0;
}

static int add_whole(finder *f, region_set *set, tn_Buffer *b) {
  TN_VEC(out);
  if (tn_pmap_has(&f->inside, b)) return 0;
  for (int64_t i = 0; i < b->shape->len; ++i) {
    tn_expr *extent = (tn_expr *)tn_arr_obj(b->shape, i);
    tn_Range *r = tir_range(tir_zero(extent->dtype), extent);
    if (!r || tn_vec_push_obj(&out, r)) return -1;
  }
  return add_box(f, set, b, tn_arr_from(&out));
}

static tn_Buffer *pointed_to(const finder *f, const tn_obj *v) {
  tn_any b;
  return f->pointers && tn_map_get(f->pointers, tn_any_obj(v), &b) ? (tn_Buffer *)b.v.obj : NULL;
}

/* tvm_access_ptr says by its mask what is done with the buffer. @return 1 when it is not such a
   call
 */
static int find_access_ptr(finder *f, const tn_Call *c) {
  int64_t mask;
  bool access = tir_op_number((const tn_obj *)c->op) == TIR_OP_tvm_access_ptr &&
                c->args->len == 5 && tir_as_int(tn_arr_obj(c->args, 4), &mask);
  if (!access) return 1;
  mask &= READ | WRITTEN;
  const tn_obj *data = tn_arr_obj(c->args, 1);
  const tn_MatchBufferRegion *m = tn_pmap_get(&f->matched_data, data);
  if (m) return note_use(f, m, POINTER | mask);
  tn_Buffer *b = pointed_to(f, data);
  if (!b) return 1;
  region_set *set = mask == (READ | WRITTEN) ? &f->opaque : mask & READ ? &f->reads : &f->writes;
  return mask ? add_whole(f, set, b) : 0;
}

static int find(void *ctx, tn_obj *o) {
  finder *f = ctx;
  tn_Buffer *through = f->pointers && TN_IS(Var, o) ? pointed_to(f, o) : NULL;
  const tn_MatchBufferRegion *by_pointer = TN_IS(Var, o) ? tn_pmap_get(&f->matched_data, o) : NULL;
  if (through) return add_whole(f, &f->opaque, through);
  if (by_pointer) return note_use(f, by_pointer, POINTER);
  if (TN_AS(Call, o)) {
    int r = find_access_ptr(f, (const tn_Call *)o);
    if (r <= 0) return r;
  }
  const tn_BufferLoad *load = TN_AS(BufferLoad, o);
  const tn_BufferStore *store = TN_AS(BufferStore, o);
  if (TN_AS(For, o)) return find_loop(f, (tn_For *)o);
  if (TN_AS(BlockRealize, o)) return find_block(f, (tn_BlockRealize *)o);
  if (TN_AS(DeclBuffer, o)) TN_TRY(tn_pmap_put(&f->inside, ((tn_DeclBuffer *)o)->buffer, o));
  if (TN_AS(Buffer, o)) return 0;
  const tn_AttrStmt *attr = TN_AS(AttrStmt, o); /* a pointer that it is about is not used */
  if (attr && TN_IS(Var, attr->node))
    return find(f, (tn_obj *)attr->value) || find(f, (tn_obj *)attr->body) ? -1 : 0;
  if (load && add_access(f, &f->reads, load->buffer, load->indices)) return -1;
  if (tn_visit_children(o, find, f)) return -1;
  return store ? add_access(f, &f->writes, store->buffer, store->indices) : 0;
}

static tn_arr *regions_of(const region_set *set) {
  TN_VEC(out);
  for (int64_t i = 0; i < set->buffers.len; ++i) {
    tn_obj *buffer = set->buffers.items[i].v.obj, *box = set->boxes.items[i].v.obj;
    tn_BufferRegion *r =
        TN_NEW(BufferRegion, .buffer = (tn_Buffer *)buffer, .region = (tn_arr *)box);
    if (!r || tn_vec_push_obj(&out, r)) return NULL;
  }
  return tn_arr_from(&out);
}

/* Through its pointer all of a matched buffer may be used; one that is not used counts as read. */
static int add_by_pointer(finder *f, const tn_MatchBufferRegion *m) {
  int64_t use = tn_pmap_get_int(&f->matched, m, 0);
  if (use == 0 || use & POINTER) {
    if (!(use & WRITTEN) || use & READ) TN_TRY(add_matched(f, &f->reads, m->buffer, NULL));
    if (use & WRITTEN) TN_TRY(add_matched(f, &f->writes, m->buffer, NULL));
  }
  return 0;
}

static int scan(finder *f, const tn_Block *b) {
  for (int64_t i = 0; i < b->alloc_buffers->len; ++i)
    TN_TRY(tn_pmap_put(&f->inside, tn_arr_obj(b->alloc_buffers, i), b));
  for (int64_t i = 0; i < b->match_buffers->len; ++i) {
    const tn_MatchBufferRegion *m = (tn_MatchBufferRegion *)tn_arr_obj(b->match_buffers, i);
    TN_TRY(tn_pmap_put(&f->inside, m->buffer, m));
    TN_TRY(tn_pmap_put(&f->matched_data, m->buffer->data, m));
  }
  if (b->init) TN_TRY(find(f, (tn_obj *)b->init));
  TN_TRY(find(f, (tn_obj *)b->body));
  for (int64_t i = 0; i < b->match_buffers->len; ++i)
    TN_TRY(add_by_pointer(f, (tn_MatchBufferRegion *)tn_arr_obj(b->match_buffers, i)));
  return 0;
}

static void finder_fini(finder *f) {
  tn_vec *all[] = {&f->reads.buffers, &f->reads.boxes,    &f->writes.buffers,
                   &f->writes.boxes,  &f->opaque.buffers, &f->opaque.boxes};
  for (int i = 0; i < TN_COUNT(all); ++i) tn_vec_fini(all[i]);
  arith_fini(&f->arith);
  tn_pmap_fini(&f->loops);
  tn_pmap_fini(&f->inside);
  tn_pmap_fini(&f->matched);
  tn_pmap_fini(&f->matched_data);
}

/* What a reduction writes is not among its reads. */
static tn_arr *reads_of(const finder *f, const tn_Block *b) {
  TN_VEC(out);
  tn_arr *all = regions_of(&f->reads);
  for (int64_t i = 0; all && i < all->len; ++i) {
    const tn_BufferRegion *r = (const tn_BufferRegion *)tn_arr_obj(all, i);
    bool written = false;
    for (int64_t j = 0; b->init && j < f->writes.buffers.len; ++j)
      written |= f->writes.buffers.items[j].v.obj == (tn_obj *)r->buffer;
    if (!written) TN_TRYP(tn_vec_push_obj(&out, r));
  }
  return all ? tn_arr_from(&out) : NULL;
}

tn_Block *tir_block_with_regions(tn_Block *b, bool reads, bool writes) {
  __attribute__((cleanup(finder_fini))) finder f = {0};
  tn_Block copy = *b;
  if (scan(&f, b)) return NULL;
  if (writes) copy.writes = regions_of(&f.writes);
  if (reads) copy.reads = reads_of(&f, b);
  return copy.reads && copy.writes ? tn_node_copy(&tn_type_Block, &copy) : NULL;
}

int tir_block_access(const tn_Block *b, const tn_map *pointers, tir_block_regions *out) {
  __attribute__((cleanup(finder_fini))) finder f = {.pointers = pointers};
  TN_TRY(scan(&f, b));
  out->writes = regions_of(&f.writes);
  out->reads = out->writes ? reads_of(&f, b) : NULL;
  out->opaque = out->reads ? regions_of(&f.opaque) : NULL;
  return out->opaque ? 0 : -1;
}

/* ---- root block ---- */

static int has_realize(void *ctx, tn_obj *o) {
  return o->type_index == TN_TI_BlockRealize ||
         (!TN_IS(PrimExpr, o) && tn_visit_children(o, has_realize, ctx));
}

tn_stmt *tir_with_root_block(tn_stmt *body, const tn_vec *allocs) {
  const tn_BlockRealize *r = TN_AS(BlockRealize, body);
  bool is_root = r && r->block->iter_vars->len == 0;
  bool needed = allocs->len > 0 || (!is_root && has_realize(NULL, (tn_obj *)body));
  if (!needed) return body;
  tn_arr *none = tn_arr_of(0);
  tn_Block *root =
      TN_NEW(Block, .iter_vars = none, .reads = none, .writes = none,
             .name_hint = tn_str_from("root"), .alloc_buffers = tn_arr_from(allocs),
             .match_buffers = none, .annotations = tn_scope_own(tn_map_new()), .body = body);
  return (tn_stmt *)TN_MAKE(BlockRealize, .iter_values = none, .predicate = tir_bool(true),
                            .block = root);
}
