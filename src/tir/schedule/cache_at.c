/* read_at and write_at: copies of what one iteration of a loop touches.

     read_at(k, "C", 0, "shared")

     for i, k in T.grid(4, 8):           for i, k in T.grid(4, 8):
       for j in range(16):         ->      with T.block("A_shared"):
         ... A[i * 16 + j, k] ...            v0, v1 = T.axis.remap("SS", [i, k])
                                             T.block_attr({"auto_copy": 1})
                                             for ax0, ax1 in T.grid(16, 1):
                                               A_shared[v0 * 16 + ax0, v1 + ax1] =
                                                   A[v0 * 16 + ax0, v1 + ax1]
                                           for j in range(16):
                                             ... A_shared[i * 16 + j, k] ...

   The copy is one block with its loops inside, so that LowerAutoCopy can distribute it over
   threads; its iterators are the loops around that the region follows. The buffer keeps its shape,
   which CompactBufferAllocation shrinks. Of a memory that threads share, what all of them touch is
   copied. */
#include "arith/region.h"
#include "ir/functor.h"
#include "tenon/object.h"
#include "tir/schedule/cache.h"

typedef struct {
  sch_step *e;
  sch_cache *c;
  tn_For *loop;
  const char *memory;
  bool write;
  tn_vec users; /* Block: those in the loop that use the buffer */
} copier;

static int fail(const copier *x, const char *fast, const tn_Block *b, const char *why) {
  return sch_fail(x->e, fast, SCH_PLACES(x->loop, b), "%s cannot be copied in the loop {0}: %s",
                  tn_cstr(x->c->buffer->name), why);
}

static bool touches(const copier *x, const tn_Block *b) {
  return sch_has_buffer(b->writes, x->c->buffer) || sch_has_buffer(b->reads, x->c->buffer);
}

/* ---- who uses it ---- */

/* Nobody needs what was there before. */
static int check_writers(copier *x) {
  const tn_Block *first = (const tn_Block *)x->users.items[0].v.obj;
  TN_VEC(all);
  if (!first->init && sch_has_buffer(first->reads, x->c->buffer))
    return fail(x, "The first user of the buffer needs what was in it before", first,
                "block {1}, the first there to use it, reads what was in it before");
  TN_TRY(sch_blocks_below((const tn_obj *)x->c->scope->body, &all));
  for (int64_t i = 0; i < all.len; ++i) {
    const tn_Block *b = ((const tn_BlockRealize *)all.items[i].v.obj)->block;
    if (sch_has_buffer(b->writes, x->c->buffer) &&
        !sch_lies_below(x->e, (const tn_obj *)b, x->loop))
      return fail(x, "The buffer is written outside of the loop, too", b,
                  "block {1} outside of it writes it, too");
  }
  return 0;
}

static int find_users(copier *x) {
  TN_VEC(below);
  TN_TRY(sch_blocks_below((const tn_obj *)x->loop->body, &below));
  for (int64_t i = 0; i < below.len; ++i) {
    tn_Block *b = ((const tn_BlockRealize *)below.items[i].v.obj)->block;
    if (!touches(x, b)) continue;
    if (!x->write && sch_has_buffer(b->writes, x->c->buffer))
      return fail(x, "The buffer is written in the loop", b, "block {1} there writes it");
    TN_TRY(tn_vec_push_obj(&x->users, b));
  }
  return x->write ? check_writers(x) : 0;
}

static int find(copier *x, const tn_LoopRV *loop, const tn_BlockRV *block, int64_t index) {
  TN_TRY(sch_cache_find(x->e, x->c, block, index, x->write, x->memory, true));
  TN_GET(x->loop, sch_loop_of(x->e, loop));
  if (!sch_lies_below(x->e, (const tn_obj *)x->c->block, x->loop) ||
      sch_scope_block(x->e, x->loop) != x->c->scope)
    return fail(x, "The loop is not around the block", x->c->block,
                "block {1} does not lie in it, or not in the same scope");
  return find_users(x);
}

/* ---- what is copied ---- */

/* Does the condition hold just where an index that is an iterator lies in the buffer? */
static bool is_bound(const copier *x, const tn_BlockRealize *r, const tn_arr *region,
                     const tn_obj *cond) {
  const tn_LT *less = TN_AS(LT, cond);
  for (int64_t i = 0; less && i < r->iter_values->len; ++i) {
    const tn_IterVar *iv = (const tn_IterVar *)tn_arr_obj(r->block->iter_vars, i);
    if (tn_equal(less->a, tn_arr_obj(r->iter_values, i), 0) != 1 ||
        tn_equal(less->b, iv->dom->extent, 0) != 1)
      continue;
    if (iv->iter_type == IR_ITER_COMM_REDUCE) return true; /* it is not about elements */
    for (int64_t d = 0; d < region->len; ++d) {
      const tn_Range *at = (const tn_Range *)tn_arr_obj(region, d);
      if (at->min == (tn_expr *)iv->var && tir_is_one(at->extent) &&
          tn_equal(tn_arr_obj(x->c->buffer->shape, d), iv->dom->extent, 0) == 1)
        return true;
    }
  }
  return false;
}

static bool only_bounds(const copier *x, const tn_BlockRealize *r, const tn_arr *region,
                        const tn_expr *cond) {
  const tn_And *both = TN_AS(And, cond);
  if (both) return only_bounds(x, r, region, both->a) && only_bounds(x, r, region, both->b);
  return tir_is_one(cond) || is_bound(x, r, region, (const tn_obj *)cond);
}

/* Intervals of what a block touches, which may reach beyond the buffer; NULL without an error: they
 * cannot be told exactly. */
static int touched(copier *x, const tn_Block *b, const tn_arr *region, bool exact, tn_arr **out) {
  const tn_BlockRealize *r = sch_realize_of(x->e, b);
  const tn_arr *bound;
  tn_map *dom;
  bool bounds = only_bounds(x, r, region, r->predicate);
  tn_expr *predicate = exact && !bounds ? r->predicate : tir_bool(true);
  TN_TRY(sch_bind_loops_above(x->e, (const tn_obj *)r));
  TN_GET(dom, sch_loop_domain(x->e, sch_parent(x->e, r), (const tn_obj *)x->loop, x->memory));
  TN_GET(bound, sch_bound_region(r, region));
  if (exact) return sch_region_exact(x->e, bound, dom, predicate, out);
  TN_GET(*out, arith_region_upper(&x->e->arith, bound, dom, predicate));
  return 0;
}

static bool proved(copier *x, tn_expr *condition) {
  return condition && arith_prove(&x->e->arith, condition);
}

/* Does a box hold another? */
static bool holds(copier *x, const tn_arr *outer, const tn_arr *inner) {
  for (int64_t d = 0; d < outer->len; ++d) {
    const tn_IntervalSet *o = (const tn_IntervalSet *)tn_arr_obj(outer, d),
                         *i = (const tn_IntervalSet *)tn_arr_obj(inner, d);
    if (arith_is_inf(i->min_value) || arith_is_inf(i->max_value) ||
        !proved(x, tir_le(o->min_value, i->min_value)) ||
        !proved(x, tir_ge(o->max_value, i->max_value)))
      return false;
  }
  return true;
}

static int all_read(copier *x, tn_arr **out) {
  *out = NULL;
  for (int64_t i = 0; i < x->users.len; ++i) {
    const tn_Block *b = (const tn_Block *)x->users.items[i].v.obj;
    tn_arr *sets;
    TN_TRY(touched(x, b, sch_region_of(b->reads, x->c->buffer), false, &sets));
    TN_GET(*out, *out ? sch_union_region(x->e, *out, sets) : sets);
  }
  return 0;
}

/* What is copied back has been written, all of it: by one block, others write parts of that. */
static int all_written(copier *x, tn_arr **out) {
  *out = NULL;
  for (int64_t i = 0; i < x->users.len; ++i) {
    const tn_Block *b = (const tn_Block *)x->users.items[i].v.obj;
    const tn_arr *region = sch_region_of(b->writes, x->c->buffer);
    tn_arr *sets;
    bool always;
    if (!region) continue;
    TN_TRY(sch_sets_region(x->e, b, x->c->buffer, false, &always));
    if (!always && !sch_allocates(x->c->scope, x->c->buffer))
      return fail(x, "A block stores under a condition", b,
                  "block {1} may leave elements unset that would be copied back");
    TN_TRY(touched(x, b, region, true, &sets));
    if (!sets || (*out && !holds(x, *out, sets) && !holds(x, sets, *out)))
      return fail(x, "What is written in the loop is not a box", b,
                  "it cannot be told what exactly block {1} writes there");
    if (!*out || !holds(x, *out, sets)) *out = sets;
  }
  for (int64_t i = 0; i < x->users.len; ++i) {
    const tn_Block *b = (const tn_Block *)x->users.items[i].v.obj;
    const tn_arr *region = sch_region_of(b->reads, x->c->buffer);
    tn_arr *sets;
    if (!region) continue;
    TN_TRY(touched(x, b, region, false, &sets));
    if (!holds(x, *out, sets))
      return fail(x, "A block reads what no iteration writes", b,
                  "block {1} reads more of it than one iteration writes");
  }
  return 0;
}

static int find_region(copier *x) {
  TN_VEC(out);
  tn_arr *sets;
  TN_TRY(x->write ? all_written(x, &sets) : all_read(x, &sets));
  for (int64_t i = 0; i < sets->len; ++i) {
    tn_Range *all, *range;
    const tn_IntervalSet *set;
    TN_GET(all, sch_whole_axis(x->c->buffer, i));
    set = (tn_IntervalSet *)tn_arr_obj(sets, i);
    TN_GET(range, arith_interval_range(&x->e->arith, set, all));
    TN_TRY(tn_vec_push_obj(&out, range));
  }
  TN_GET(x->c->region, tn_arr_from(&out));
  return sch_leave_loops(x->e, x->c, x->write);
}

/* ---- the block ---- */

/* An iterator for a loop that a dimension follows, once. */
static int add_iter(const tn_For *f, tn_pmap *vars, tn_vec *iters, tn_vec *values) {
  tn_str *name = tn_str_fmt("v%lld", (long long)iters->len);
  tn_Var *v = name ? tir_var(name->data, f->loop_var->dtype) : NULL;
  tn_IterVar *iv = v ? tir_iter_var(tir_range(f->min, f->extent), v, IR_ITER_DATA_PAR, "") : NULL;
  if (!iv || tn_pmap_put(vars, f->loop_var, v)) return -1;
  return tn_vec_push_obj(iters, iv) || tn_vec_push_obj(values, f->loop_var) ? -1 : 0;
}

/* Iterators for the loops that the region follows, which it is then written over: in the order of
 * the dimensions. */
static int make_iters(copier *x, tn_vec *iters, tn_vec *values) {
  TN_VEC(loops);
  TN_PMAP(vars);
  TN_TRY(sch_loops_above(x->e, (const tn_Block *)x->users.items[0].v.obj, &loops));
  for (int64_t d = 0; d < x->c->region->len; ++d) {
    const tn_Range *r = (const tn_Range *)tn_arr_obj(x->c->region, d);
    for (int64_t i = 0; i < loops.len; ++i) {
      const tn_For *f = (const tn_For *)loops.items[i].v.obj;
      bool used = sch_uses_var(r->min, f->loop_var) || sch_uses_var(r->extent, f->loop_var);
      if (used && !tn_pmap_get(&vars, f->loop_var)) TN_TRY(add_iter(f, &vars, iters, values));
    }
  }
  TN_GET(x->c->region, tir_substitute(x->c->region, &vars));
  return 0;
}

/* The copy of one element, where it may lie beyond the buffer under the condition that it does
 * not. */
static tn_stmt *copy_element(copier *x, const tn_vec *loops) {
  TN_VEC(at);
  tn_expr *inside = NULL;
  for (int64_t d = 0; d < x->c->region->len; ++d) {
    const tn_Range *r = (const tn_Range *)tn_arr_obj(x->c->region, d);
    tn_expr *i = tir_add(r->min, (tn_expr *)loops->items[d].v.obj), *end, *less;
    TN_TRYP(!i || tn_vec_push_obj(&at, i));
    end = (tn_expr *)tn_arr_obj(x->c->buffer->shape, d);
    TN_GETP(less, tir_lt(i, end));
    if (!arith_prove(&x->e->arith, less)) TN_GETP(inside, inside ? tir_and(inside, less) : less);
  }
  tn_arr *indices = tn_arr_from(&at);
  tn_Buffer *from = x->write ? x->c->cache : x->c->buffer,
            *to = x->write ? x->c->buffer : x->c->cache;
  tn_stmt *s = indices ? tir_store(to, tir_load(from, indices), indices) : NULL;
  if (!s || !inside) return s;
  return (tn_stmt *)TN_MAKE(IfThenElse, .condition = tir_likely(inside, NULL), .then_case = s);
}

static tn_stmt *copy_loops(copier *x, const tn_vec *iters) {
  TN_VEC(loops);
  const tn_arr *region = x->c->region;
  for (int64_t i = 0; i < iters->len; ++i) {
    const tn_IterVar *iv = (const tn_IterVar *)iters->items[i].v.obj;
    TN_TRYP(arith_bind_range(&x->e->arith, iv->var, iv->dom, true));
  }
  for (int64_t d = 0; d < region->len; ++d) {
    tn_expr *extent = ((const tn_Range *)tn_arr_obj(region, d))->extent;
    tn_str *name = tn_str_fmt("ax%lld", (long long)d);
    tn_Var *v = name ? tir_var(name->data, extent->dtype) : NULL;
    TN_TRYP(!v || tn_vec_push_obj(&loops, v));
    TN_TRYP(arith_bind_range(&x->e->arith, v, tir_range(tir_zero(extent->dtype), extent), true));
  }
  tn_stmt *s = copy_element(x, &loops);
  for (int64_t d = region->len; d-- > 0 && s;) {
    tn_expr *extent = ((const tn_Range *)tn_arr_obj(region, d))->extent;
    s = (tn_stmt *)TN_MAKE(For, .loop_var = (tn_Var *)loops.items[d].v.obj,
                           .min = tir_zero(extent->dtype), .extent = extent, .kind = TIR_FOR_SERIAL,
                           .body = s, .annotations = tn_scope_own(tn_map_new()));
  }
  return s;
}

static tn_stmt *make_block(copier *x) {
  TN_VEC(iters);
  TN_VEC(values);
  tn_arr *none = tn_arr_of(0);
  tn_stmt *body;
  TN_TRYP(make_iters(x, &iters, &values));
  TN_GETP(body, copy_loops(x, &iters));
  tn_BufferRegion *in = TN_NEW(BufferRegion, .buffer = x->c->buffer, .region = x->c->region),
                  *out = TN_NEW(BufferRegion, .buffer = x->c->cache, .region = x->c->region);
  tn_map *hints =
      tn_map_with(tn_scope_own(tn_map_new()), tn_any_cstr("auto_copy"), tn_any_obj(tir_i32(1)));
  x->c->copy =
      TN_MAKE(Block, .iter_vars = tn_arr_from(&iters), .reads = tn_arr_of(1, x->write ? out : in),
              .writes = tn_arr_of(1, x->write ? in : out), .name_hint = x->c->cache->name,
              .alloc_buffers = none, .match_buffers = none, .annotations = hints, .body = body);
  return x->c->copy ? (tn_stmt *)TN_MAKE(BlockRealize, .iter_values = tn_arr_from(&values),
                                         .predicate = tir_bool(true), .block = x->c->copy)
                    : NULL;
}

/* ---- where it goes ---- */

/* Before the first statement of the loop that uses the buffer, or after the last. */
static void find_place(copier *x) {
  const tn_obj *body = sch_within_definitions((const tn_obj *)x->loop->body);
  const tn_SeqStmt *seq = TN_AS(SeqStmt, body);
  const tn_obj *user = x->users.items[x->write ? x->users.len - 1 : 0].v.obj;
  x->c->place = (sch_place){body, x->write ? 1 : 0};
  for (int64_t i = 0; seq && i < seq->seq->len; ++i) {
    if (sch_lies_below(x->e, user, tn_arr_obj(seq->seq, i))) x->c->place.at = x->write ? i + 1 : i;
  }
}

static tn_BlockRV *copy_at(copier *x, const tn_LoopRV *loop, const tn_BlockRV *block,
                           int64_t index) {
  sch_cache *c = x->c;
  TN_TRYP(find(x, loop, block, index));
  TN_TRYP(find_region(x));
  TN_GETP(c->cache, sch_buffer_like(c->buffer, c->buffer->shape, x->memory, x->memory));
  tn_stmt *copy = make_block(x);
  if (!copy) return NULL;
  find_place(x);
  for (int64_t i = 0; i < x->users.len; ++i)
    TN_TRYP(
        sch_redirect(x->e, (const tn_Block *)x->users.items[i].v.obj, c->buffer, c->cache, NULL));
  TN_TRYP(sch_insert(x->e, c->scope, &c->place, copy, c->cache));
  return sch_commit(x->e) ? NULL : (tn_BlockRV *)sch_handle(x->e->s, (const tn_obj *)c->copy);
}

tn_BlockRV *sch_read_at(tn_TirSchedule *s, const tn_LoopRV *loop, const tn_BlockRV *block,
                        int64_t index, const char *memory) {
  SCH_STEP(e, s, "read-at");
  SCH_CACHE(c);
  copier x = {.e = &e, .c = &c, .memory = memory};
  tn_BlockRV *rv = copy_at(&x, loop, block, index);
  tn_vec_fini(&x.users);
  return rv;
}

tn_BlockRV *sch_write_at(tn_TirSchedule *s, const tn_LoopRV *loop, const tn_BlockRV *block,
                         int64_t index, const char *memory) {
  SCH_STEP(e, s, "write-at");
  SCH_CACHE(c);
  copier x = {.e = &e, .c = &c, .memory = memory, .write = true};
  tn_BlockRV *rv = copy_at(&x, loop, block, index);
  tn_vec_fini(&x.users);
  return rv;
}
