/* loop_partition: a loop becomes several, one after the other, each over a part of its iterations.

     for i in range(128):              with T.block("B_i_common"):
         with T.block("B"):                with T.block("B_i0_partition"):
             B[vi] = A[vi]       ->            for i0 in range(2):
                                                   with T.block("B_i0"): B[vi] = A[vi]
                                           with T.block("B_i1_partition"):
                                               for i1 in range(2, 128):
                                                   with T.block("B_i1"): B[vi] = A[vi]

   The blocks around the parts have no iterators and say nothing of what they read and write. A data
   parallel iterator bound to the loop alone gets the part as its domain; one that is reduced over
   keeps its own, since its first value is where the reduction starts. */
#include "ir/functor.h"
#include "tir/schedule/blocks.h"
#include "tir/schedule/schedule_impl.h"

enum { MAX_PARTS = 32 };

typedef struct {
  const tn_For *loop;
  const tn_Block *first; /* block that names the others */
  int64_t begin[MAX_PARTS], extent[MAX_PARTS];
  int n;
  int at; /* the part that is being copied */
} partition;

static int check_loop(const sch_step *e, const tn_For *f, int64_t *min, int64_t *extent) {
  if (f->annotations->len)
    return sch_fail(e, "The primitive cannot be applied to a loop with annotations", SCH_PLACES(f),
                    "The loop {0} has annotations, which would be lost");
  if (f->thread_binding)
    return sch_fail(e, "The primitive cannot be applied to a loop bound to a thread axis",
                    SCH_PLACES(f), "The loop {0} is bound to a thread axis");
  if (!tir_as_int((const tn_obj *)f->min, min) || !tir_as_int((const tn_obj *)f->extent, extent))
    return sch_fail(e, "The min and extent values of the loop are required to be known",
                    SCH_PLACES(f), "The loop {0} is required to have a constant min and extent");
  return 0;
}

/* One factor: a positive number, or `*open` becomes its place. */
static int read_factor(const sch_step *e, partition *p, const tn_obj *o, int *open) {
  tn_any known;
  bool sampled = o && tn_map_get(e->s->symbols, tn_any_obj(o), &known);
  if (sampled) o = known.v.obj;
  if (!o || (sampled && tir_is_const(o, -1))) {
    if (*open >= 0) return sch_fail_open(e, p->loop);
    *open = p->n;
    p->extent[p->n] = 0;
    return 0;
  }
  TN_CHECK(tir_as_int(o, &p->extent[p->n]), TypeError, NULL,
           "loop_partition: factor %d: expected a constant integer, got %s", p->n, tn_obj_key(o));
  if (p->extent[p->n] <= 0)
    return sch_fail(e, "All the constant factors are required to be positive", SCH_PLACES(p->loop),
                    "Factor %d of the partition of {0} is %lld: factors must be positive", p->n,
                    (long long)p->extent[p->n]);
  return 0;
}

/* Without None what is left of the loop is a last part. */
static int read_parts(const sch_step *e, partition *p, const tn_arr *factors) {
  int64_t begin, left;
  int open = -1;
  TN_TRY(check_loop(e, p->loop, &begin, &left));
  TN_CHECK(factors->len >= 1 && factors->len < MAX_PARTS, ValueError, NULL,
           "loop_partition: expected 1 to %d factors, got %lld", MAX_PARTS - 1,
           (long long)factors->len);
  for (; p->n < factors->len; ++p->n) {
    TN_TRY(read_factor(e, p, tn_arr_obj(factors, p->n), &open));
    if (p->extent[p->n] > left)
      return sch_fail(e, "The sum of factors is larger than or equal to the extent of loop",
                      SCH_PLACES(p->loop),
                      "The sum of factors is larger than or equal to the extent of loop {0}");
    left -= p->extent[p->n];
  }
  if (open >= 0 && left == 0)
    return sch_fail(e, "The sum of factors is larger than or equal to the extent of loop",
                    SCH_PLACES(p->loop),
                    "The sum of factors is larger than or equal to the extent of loop {0}: the "
                    "one that is None would be 0");
  if (open >= 0) p->extent[open] = left;
  if (open < 0 && left > 0) p->extent[p->n++] = left;
  for (int i = 0; i < p->n; begin += p->extent[i++]) p->begin[i] = begin;
  return 0;
}

static tn_Range *range_of(const partition *p, int i) {
  tn_dtype t = p->loop->extent->dtype;
  return tir_range(tir_int(t, p->begin[i]), tir_int(t, p->extent[i]));
}

static tn_str *part_name(const partition *p, const tn_Block *b, const char *suffix) {
  return tn_str_fmt("%s_%s%d%s", tn_cstr(b->name_hint), tn_cstr(p->loop->loop_var->name), p->at,
                    suffix);
}

/* ---- one part ---- */

static tn_arr *narrowed(const partition *p, const tn_BlockRealize *was) {
  TN_VEC(iters);
  for (int64_t i = 0; i < was->iter_values->len; ++i) {
    tn_IterVar copy = *(const tn_IterVar *)tn_arr_obj(was->block->iter_vars, i);
    if (copy.iter_type == IR_ITER_DATA_PAR &&
        tn_arr_obj(was->iter_values, i) == (const tn_obj *)p->loop->loop_var)
      TN_GETP(copy.dom, range_of(p, p->at));
    TN_TRYP(tn_vec_push_obj(&iters, tn_node_copy(&tn_type_IterVar, &copy)));
  }
  return tn_arr_from(&iters);
}

/* Called for each node of the copy. */
static tn_obj *rename_block(sch_step *e, const tn_obj *was, tn_obj *now) {
  const partition *p = e->after_ctx;
  const tn_BlockRealize *old = TN_AS(BlockRealize, was);
  if (!old) return now;
  tn_BlockRealize r = *(tn_BlockRealize *)now;
  tn_Block b = *r.block;
  TN_GETP(b.name_hint, part_name(p, old->block, ""));
  TN_GETP(b.iter_vars, narrowed(p, old));
  TN_GETP(r.block, tn_node_copy(&tn_type_Block, &b));
  return tn_node_copy(&tn_type_BlockRealize, &r);
}

/* A block of no iterators; its regions are those of the blocks inside, for steps that come later.
 */
static tn_stmt *opaque(tn_str *name, tn_stmt *body) {
  tn_arr *none = tn_arr_of(0);
  tn_map *notes = tn_scope_own(tn_map_new());
  if (!name || !body || !none || !notes) return NULL;
  tn_Block *b =
      TN_NEW(Block, .iter_vars = none, .reads = none, .writes = none, .name_hint = name,
             .alloc_buffers = none, .match_buffers = none, .annotations = notes, .body = body);
  b = b ? tir_block_with_regions(b, true, true) : NULL;
  return b ? (tn_stmt *)TN_MAKE(BlockRealize, .iter_values = none, .predicate = tir_bool(true),
                                .block = b)
           : NULL;
}

/* All that the copy defines is new, as each variable is defined once in a program. */
static tn_stmt *renewed(const sch_step *e, tn_For *loop) {
  tn_PrimFunc *f = TN_MAKE(PrimFunc, .params = tn_arr_of(0), .body = (tn_stmt *)loop,
                           .ret_type = e->func->ret_type, .buffer_map = tn_scope_own(tn_map_new()),
                           .attrs = e->func->attrs);
  f = f ? tir_renew_defs(f) : NULL;
  return f ? f->body : NULL;
}

static tn_stmt *make_part(sch_step *e, partition *p, bool preserve_unit) {
  tn_For copy = *p->loop;
  tn_str *name = tn_str_fmt("%s%d", tn_cstr(copy.loop_var->name), p->at);
  tn_Range *r;
  TN_GETP(r, range_of(p, p->at));
  bool fixed = p->extent[p->at] == 1 && !preserve_unit;
  copy.loop_var = name ? tir_var_like(p->loop->loop_var, name->data) : NULL;
  copy.min = r->min;
  copy.extent = r->extent;
  copy.kind = TIR_FOR_SERIAL;
  if (!copy.loop_var ||
      sch_put_var(e, p->loop->loop_var, fixed ? r->min : (tn_expr *)copy.loop_var))
    return NULL;
  TN_GETP(copy.body, sch_rewrite(e, p->loop->body));
  tn_For *loop = tn_node_copy(&tn_type_For, &copy);
  return loop ? renewed(e, loop) : NULL;
}

static tn_stmt *make_parts(sch_step *e, partition *p, bool preserve_unit, tn_vec *loops) {
  TN_VEC(stmts);
  e->after = rename_block;
  e->after_ctx = p;
  for (p->at = 0; p->at < p->n; ++p->at) {
    tn_stmt *loop = make_part(e, p, preserve_unit);
    tn_stmt *part = loop ? opaque(part_name(p, p->first, "_partition"), loop) : NULL;
    if (!part || tn_vec_push_obj(loops, loop) || tn_vec_push_obj(&stmts, part)) return NULL;
  }
  e->after = NULL;
  return opaque(
      tn_str_fmt("%s_%s_common", tn_cstr(p->first->name_hint), tn_cstr(p->loop->loop_var->name)),
      tir_seq(&stmts));
}

tn_arr *sch_loop_partition(tn_TirSchedule *s, const tn_LoopRV *loop, const tn_arr *factors,
                           bool preserve_unit) {
  SCH_STEP(e, s, "loop_partition");
  TN_VEC(blocks);
  TN_VEC(loops);
  TN_VEC(handles);
  partition p = {.loop = sch_loop_of(&e, loop)};
  if (!p.loop || read_parts(&e, &p, factors)) return NULL;
  TN_TRYP(sch_blocks_below((const tn_obj *)p.loop->body, &blocks));
  if (!blocks.len) {
    sch_fail(&e, "The loop has no block below", SCH_PLACES(p.loop),
             "The loop {0} has no block below it");
    return NULL;
  }
  p.first = ((const tn_BlockRealize *)blocks.items[0].v.obj)->block;
  tn_stmt *all = make_parts(&e, &p, preserve_unit, &loops);
  if (!all || sch_replace(&e, (const tn_stmt *)p.loop, all) || sch_commit(&e)) return NULL;
  for (int64_t i = 0; i < loops.len; ++i)
    TN_TRYP(tn_vec_push_obj(&handles, sch_handle(s, loops.items[i].v.obj)));
  return tn_arr_from(&handles);
}
