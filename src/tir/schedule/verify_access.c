/* Do blocks touch what they declare, and do indices lie in the shapes?

     for i0, i1 in T.grid(4, 3):                 vi <= 11: A has 10 elements
         with T.block("A"):
             vi = T.axis.spatial(10, i0 * 3 + i1)
             A[vi] = 0                           without T.where(i0 * 3 + i1 < 10)

   What the analyzer proves is fine. For the rest iterations are tried out: a fault is one that some
   iteration shows, so that what is right but hard to prove is not a fault. */
#include "base/alloc.h"
#include "ir/functor.h"
#include "tir/analysis/access_bounds.h"
#include "tir/schedule/verify.h"

enum { TRIALS = 64 };

typedef struct {
  tn_Var *var;
  tn_expr *min, *extent;
} domain;

/* Variables and what they range over, from outside to inside. */
typedef struct {
  domain *items;
  int64_t n, cap;
  arith_analyzer *arith;
  tn_pmap at; /* Var -> its value in the iteration that is tried */
} trial;

static int add_domain(trial *t, tn_Var *v, tn_expr *min, tn_expr *extent) {
  TN_GROW(t->items, t->cap, t->n + 1, return -1);
  t->items[t->n++] = (domain){v, min, extent};
  return 0;
}

static void trial_fini(trial *t) {
  tn_free(t->items);
  tn_pmap_fini(&t->at);
}

/* @return 1 with the value of the expression in this iteration, 0 where it has none, -1 */
static int value_at(trial *t, tn_expr *e, int64_t *out) {
  TN_GET(e, tir_substitute(e, &t->at));
  TN_GET(e, arith_simplify(t->arith, e));
  return tir_as_int((tn_obj *)e, out);
}

/* The first and last iterations, then some between. */
static int64_t pick(int64_t extent, int number, uint32_t *state) {
  *state = *state * 1664525u + 1013904223u;
  if (number == 0) return 0;
  if (number == 1) return extent - 1;
  return number % 2          ? (int64_t)((*state >> 8) % (uint64_t)extent)
         : (*state >> 8) % 2 ? extent - 1
                             : 0;
}

/* @return 1 when there is such an iteration, 0, -1 */
static int go_to(trial *t, int number) {
  uint32_t state = (uint32_t)number * 2654435761u;
  for (int64_t i = 0; i < t->n; ++i) {
    const domain *d = &t->items[i];
    int64_t min, extent;
    int known = value_at(t, d->min, &min);
    if (known > 0) known = value_at(t, d->extent, &extent);
    if (known <= 0 || extent <= 0) return known < 0 ? -1 : 0;
    tn_expr *value = tir_const_int(d->var->dtype, min + pick(extent, number, &state));
    if (!value || tn_pmap_put(&t->at, d->var, value)) return -1;
  }
  return 1;
}

/* ---- accesses ---- */

typedef struct {
  access_bounds at;
  trial trial;
  sch_verifier *v;
  const tn_Block *block; /* whose regions count; NULL: shapes */
  tn_vec declared;       /* its BufferRegion */
  int found;
} access_check;

static void check_fini(access_check *s) {
  tir_access_fini(&s->at);
  trial_fini(&s->trial);
  tn_vec_fini(&s->declared);
}

/* Iterators as what they are bound to. */
static tn_expr *see(access_bounds *x, tn_expr *e) { return tir_substitute(e, &x->values); }

static int note_loop(access_bounds *x, tn_Var *v, tn_expr *min, tn_expr *extent) {
  return add_domain(&((access_check *)x)->trial, v, min, extent);
}

/* Do the conditions around the access hold in this iteration? 1, 0, -1 */
static int is_reached(access_check *s) {
  int holds = 1;
  for (int64_t i = 0; holds > 0 && i < s->at.conditions.len; ++i) {
    int64_t value = 0;
    holds = value_at(&s->trial, (tn_expr *)s->at.conditions.items[i].v.obj, &value);
    if (holds > 0) holds = value != 0;
  }
  return holds;
}

/* Does an index leave [min, min + extent) in the iteration that is tried? 1, 0, -1 */
static int leaves(access_check *s, tn_expr *index, const tn_Range *r) {
  int64_t value, min, extent;
  int known = value_at(&s->trial, index, &value);
  if (known > 0) known = value_at(&s->trial, r->min, &min);
  if (known > 0) known = value_at(&s->trial, r->extent, &extent);
  return known > 0 ? value < min || value >= min + extent : known;
}

/* The same for any axis of a region (array of Range). */
static int leaves_region(access_check *s, const tn_arr *indices, const tn_arr *region) {
  int out = 0;
  for (int64_t i = 0; !out && i < indices->len && i < region->len; ++i)
    out = leaves(s, (tn_expr *)tn_arr_obj(indices, i), (tn_Range *)tn_arr_obj(region, i));
  return out;
}

static bool stays_in(access_check *s, const tn_arr *indices, const tn_arr *region) {
  arith_analyzer *a = &s->at.known;
  bool inside = true;
  for (int64_t i = 0; inside && i < indices->len && i < region->len; ++i) {
    tn_expr *e = (tn_expr *)tn_arr_obj(indices, i);
    const tn_Range *r = (const tn_Range *)tn_arr_obj(region, i);
    inside =
        arith_prove(a, tir_ge(e, r->min)) && arith_prove(a, tir_lt(e, tir_add(r->min, r->extent)));
  }
  return inside;
}

/* 1 when some iteration leaves each of the regions (arrays of Range), 0, -1. */
static int is_outside(access_check *s, const tn_arr *indices, const tn_vec *regions) {
  s->trial.arith = &s->at.known;
  for (int64_t i = 0; i < regions->len; ++i)
    if (stays_in(s, indices, (const tn_arr *)regions->items[i].v.obj)) return 0;
  for (int number = 0; number < TRIALS; ++number) {
    int out = go_to(&s->trial, number);
    if (out > 0) out = is_reached(s);
    for (int64_t i = 0; out > 0 && i < regions->len; ++i)
      out = leaves_region(s, indices, (const tn_arr *)regions->items[i].v.obj);
    if (out) return out;
  }
  return 0;
}

/* Indices that are one number each, as expressions of loops; NULL for vectors, and on errors. */
static tn_arr *plain_indices(access_bounds *x, const tn_arr *indices) {
  TN_VEC(out);
  for (int64_t i = 0; i < indices->len; ++i) {
    const tn_expr *e = (tn_expr *)tn_arr_obj(indices, i);
    if (e->dtype.lanes != 1) return NULL;
    tn_expr *now = see(x, (tn_expr *)(uintptr_t)e);
    if (!now || tn_vec_push_obj(&out, now)) return NULL;
  }
  return tn_arr_from(&out);
}

/* ---- shapes ---- */

static tn_arr *whole(const tn_Buffer *b) {
  TN_VEC(out);
  for (int64_t i = 0; i < b->shape->len; ++i) {
    tn_expr *n = (tn_expr *)tn_arr_obj(b->shape, i);
    tn_Range *r = tir_range(tir_zero(n->dtype), n);
    if (!r || tn_vec_push_obj(&out, r)) return NULL;
  }
  return tn_arr_from(&out);
}

static int in_shape(access_bounds *x, const tn_Buffer *b, const tn_arr *indices) {
  access_check *s = (access_check *)x;
  TN_VEC(regions);
  if (s->found) return 0;
  tn_arr *at = plain_indices(x, indices), *shape;
  if (!at) return tn_error_pending() ? -1 : 0;
  TN_GET(shape, whole(b));
  TN_TRY(tn_vec_push_obj(&regions, shape));
  s->found = is_outside(s, at, &regions);
  if (s->found > 0)
    s->found = sch_fault(s->v, "an index of %s lies outside of its shape", tn_cstr(b->name));
  return s->found < 0 ? -1 : 0;
}

int sch_check_shapes(sch_verifier *v) {
  __attribute__((cleanup(check_fini)))
  access_check s = {.at = {.see = see, .loop = note_loop, .access = in_shape}, .v = v};
  TN_TRY(tir_walk_accesses(&s.at, v->func->body));
  return s.found;
}

/* ---- regions ---- */

static int in_declared(access_bounds *x, const tn_Buffer *b, const tn_arr *indices) {
  access_check *s = (access_check *)x;
  TN_VEC(regions);
  if (s->found) return 0;
  for (int64_t i = 0; i < s->declared.len; ++i) {
    const tn_BufferRegion *r = (const tn_BufferRegion *)s->declared.items[i].v.obj;
    if (r->buffer == b) TN_TRY(tn_vec_push_obj(&regions, r->region));
  }
  tn_arr *at = regions.len ? plain_indices(x, indices) : NULL; /* without: of the block itself */
  if (!at) return tn_error_pending() ? -1 : 0;
  s->found = is_outside(s, at, &regions);
  if (s->found > 0)
    s->found = sch_fault(s->v, "block %s uses elements of %s that it does not declare",
                         tn_cstr(s->block->name_hint), tn_cstr(b->name));
  return s->found < 0 ? -1 : 0;
}

/* Each buffer that is used must be among those declared. */
static int check_buffers(sch_verifier *v, const tn_Block *b, const tn_arr *used,
                         const tn_vec *declared) {
  for (int64_t i = 0; i < used->len; ++i) {
    const tn_Buffer *buffer = ((const tn_BufferRegion *)tn_arr_obj(used, i))->buffer;
    bool found = false;
    for (int64_t j = 0; j < declared->len; ++j)
      found |= ((const tn_BufferRegion *)declared->items[j].v.obj)->buffer == buffer;
    if (!found)
      return sch_fault(v, "block %s uses %s, which it does not declare", tn_cstr(b->name_hint),
                       tn_cstr(buffer->name));
  }
  return 0;
}

static int check_leaf(sch_verifier *v, const tn_Block *b) {
  __attribute__((cleanup(check_fini))) access_check s = {
      .at = {.see = see, .loop = note_loop, .access = in_declared}, .v = v, .block = b};
  const tn_Block *found;
  TN_GET(found, tir_block_with_regions((tn_Block *)(uintptr_t)b, true, true));
  for (int64_t i = 0; i < b->iter_vars->len; ++i) {
    const tn_IterVar *iv = (const tn_IterVar *)tn_arr_obj(b->iter_vars, i);
    if (!iv->dom) continue;
    TN_TRY(arith_bind_range(&s.at.known, iv->var, iv->dom, true));
    TN_TRY(add_domain(&s.trial, iv->var, iv->dom->min, iv->dom->extent));
  }
  for (int64_t i = 0; i < b->writes->len; ++i)
    TN_TRY(tn_vec_push_obj(&s.declared, tn_arr_obj(b->writes, i)));
  int r = check_buffers(v, b, found->writes, &s.declared);
  for (int64_t i = 0; i < b->reads->len; ++i) /* a reduction reads what it writes, too */
    TN_TRY(tn_vec_push_obj(&s.declared, tn_arr_obj(b->reads, i)));
  if (!r) r = check_buffers(v, b, found->reads, &s.declared);
  if (!r && b->init) r = tir_walk_accesses(&s.at, b->init);
  if (!r) r = tir_walk_accesses(&s.at, b->body);
  return r ? r : s.found;
}

static int check_block(void *ctx, tn_obj *o) {
  const tn_Block *b = TN_AS(Block, o);
  if (b) { /* in blocks with others, conditions of those limit what is reached */
    TN_VEC(below);
    TN_TRY(sch_blocks_below((const tn_obj *)b->body, &below));
    int r = below.len ? 0 : check_leaf(ctx, b);
    if (r) return r;
  }
  if (!TN_IS(Stmt, o) && o->type_index != TN_TI_Array) return 0;
  return tn_visit_children(o, check_block, ctx);
}

int sch_check_regions(sch_verifier *v) { return check_block(v, (tn_obj *)v->func->body); }
