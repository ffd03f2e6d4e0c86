/* Steps that change what a loop or block says of itself: parallel, vectorized, unrolled, bound to a
   thread axis, annotated. */
#include <string.h>

#include "tenon/object.h"
#include "tir/schedule/carried.h"
#include "tir/schedule/regions.h"
#include "tir/schedule/schedule_impl.h"

static bool is_inner_thread(const char *thread) {
  return thread && strncmp(thread, "threadIdx.", 10) == 0;
}

/* Iterators that the loop is bound to must be data parallel; threads of a group may reduce
   together. */
static int check_block(const sch_step *e, const tn_For *f, const tn_BlockRealize *r,
                       const char *thread) {
  TN_VEC(loops);
  const char *why;
  const tn_Block *b = r->block;
  TN_TRY(sch_loops_above(e, b, &loops));
  TN_TRY(sch_check_affine(e, r, &loops));
  for (int64_t i = 0; i < r->iter_values->len; ++i) {
    int type = ((const tn_IterVar *)tn_arr_obj(b->iter_vars, i))->iter_type;
    if (type == IR_ITER_DATA_PAR || !sch_uses_var(tn_arr_obj(r->iter_values, i), f->loop_var))
      continue;
    if (type != IR_ITER_COMM_REDUCE || !is_inner_thread(thread))
      return sch_fail(e, "The loop is used by an iterator that is not data parallel",
                      SCH_PLACES(f, b),
                      "The loop {0} cannot run its iterations at once: iterator %d of block {1} "
                      "uses it and is not data parallel",
                      (int)i);
    if (!sch_is_reduction(e, b, &why))
      return sch_fail(
          e, "The queried subtree is not a compact dataflow", SCH_PLACES(f, b),
          "Threads cannot run the iterations of the loop {0} together: block {1} is not "
          "a reduction, since %s",
          why);
  }
  return 0;
}

static int check_concurrent(sch_step *e, const tn_For *f, const char *thread) {
  TN_VEC(blocks);
  TN_VEC(loops);
  TN_TRY(sch_blocks_below((const tn_obj *)f->body, &blocks));
  for (int64_t i = 0; i < blocks.len; ++i)
    TN_TRY(check_block(e, f, (const tn_BlockRealize *)blocks.items[i].v.obj, thread));
  TN_TRY(tn_vec_push_obj(&loops, f));
  return sch_check_carried(e, &(sch_loop_change){.before = &loops, .thread = thread});
}

/* ---- thread axes ---- */

typedef struct {
  const sch_step *e;
  const tn_For *f;
  const char *thread;
} same_thread;

static int check_extent(void *ctx, tn_obj *o) {
  const same_thread *t = ctx;
  const tn_For *f = TN_AS(For, o);
  if (f && f != t->f && f->thread_binding && tn_str_eq(f->thread_binding->thread_tag, t->thread) &&
      tn_equal(f->extent, t->f->extent, 0) != 1)
    return sch_fail(t->e, "Loops bound to one thread axis differ in extent", SCH_PLACES(t->f, f),
                    "The loop {0} has another extent than the loop {1}, which is bound to %s too",
                    t->thread);
  if (!TN_IS(Stmt, o) && o->type_index != TN_TI_Array) return 0;
  return tn_visit_children(o, check_extent, ctx);
}

/* One launch is what lies under one outermost loop of threads. */
static int check_thread(const sch_step *e, const tn_For *f, const char *thread) {
  static const char *const tags[] = {"threadIdx.x", "threadIdx.y", "threadIdx.z", "blockIdx.x",
                                     "blockIdx.y",  "blockIdx.z",  "vthread",     "vthread.x",
                                     "vthread.y",   "vthread.z"};
  bool known = false;
  for (int i = 0; i < TN_COUNT(tags); ++i) known = known || strcmp(tags[i], thread) == 0;
  TN_CHECK(known, ValueError, NULL,
           "bind: unknown thread axis %s; known are threadIdx, blockIdx and vthread with .x, .y, "
           ".z",
           thread);
  const tn_obj *top = (const tn_obj *)f;
  for (const tn_obj *o = top; o; o = sch_parent(e, o)) {
    const tn_For *up = TN_AS(For, o);
    if (up && up->thread_binding) top = o;
  }
  same_thread t = {e, f, thread};
  return tir_is_virtual_axis(thread) ? 0 : check_extent(&t, (tn_obj *)(uintptr_t)top);
}

static bool is_pipeline(const tn_For *f) {
  return tn_map_find(f->annotations, "software_pipeline_stage") ||
         tn_map_find(f->annotations, "software_pipeline_order");
}

static const char *const names[] = {"serial", "parallel", "vectorize", "unroll", "bind"};

int sch_set_kind(tn_TirSchedule *s, const tn_LoopRV *loop, tir_for_kind kind, const char *thread) {
  SCH_STEP(e, s, names[kind]);
  tn_For *f = sch_loop_of(&e, loop);
  if (!f) return -1;
  bool at_once = kind != TIR_FOR_UNROLLED && kind != TIR_FOR_SERIAL;
  if (at_once && is_pipeline(f))
    return sch_fail(&e, "The loop is a software pipeline", SCH_PLACES(f),
                    "The loop {0} is a software pipeline, whose iterations follow each other: take "
                    "its annotations away first (unannotate)");
  if (at_once) TN_TRY(check_concurrent(&e, f, thread));
  if (thread) TN_TRY(check_thread(&e, f, thread));
  tn_For copy = *f;
  copy.kind = (int32_t)kind;
  copy.thread_binding = NULL;
  if (thread)
    TN_GET(copy.thread_binding,
           TN_NEW(IterVar, .dom = NULL, .var = tir_var("iter", f->extent->dtype),
                  .iter_type = IR_ITER_THREAD_INDEX, .thread_tag = tn_str_from(thread)));
  tn_For *now = tn_node_copy(&tn_type_For, &copy);
  if (!now || sch_moved(&e, f, now)) return -1;
  TN_TRY(sch_replace(&e, (tn_stmt *)f, (tn_stmt *)now));
  return sch_commit(&e);
}

/* ---- annotations ---- */

static tn_map *annotated(const tn_map *old, const char *key, tn_any value) {
  bool removes = value.type_index == TN_NONE;
  return removes ? tn_map_without(old, tn_any_cstr(key))
                 : tn_map_with(old, tn_any_cstr(key), value);
}

/* The value with numbers in the place of handles of what was drawn, in lists and maps too. */
static int known_value(const tn_TirSchedule *s, const tn_any *value, tn_any *out) {
  const tn_obj *o = tn_any_is_obj(value) ? value->v.obj : NULL;
  const tn_arr *list = TN_AS(Array, o);
  const tn_map *map = TN_AS(Map, o);
  TN_VEC(items);
  tn_any item;
  *out = *value;
  if (o && !list && !map && tn_map_get(s->symbols, *value, &item)) *out = item;
  for (int64_t i = 0; list && i < list->len; ++i) {
    TN_TRY(known_value(s, &list->items[i], &item));
    TN_TRY(tn_vec_push(&items, item));
  }
  if (list) *out = tn_any_obj(tn_arr_from(&items));
  tn_map *now = map ? tn_scope_own(tn_map_new()) : NULL;
  for (int64_t i = 0; now && i < map->len; ++i) {
    TN_TRY(known_value(s, &map->entries[i].value, &item));
    TN_TRY(tn_map_set(now, map->entries[i].key, item));
  }
  if (map) *out = tn_any_obj(now);
  return (list || map) && !out->v.obj ? -1 : 0;
}

int sch_annotate(tn_TirSchedule *s, const tn_obj *rv, const char *key, tn_any value) {
  bool removes = value.type_index == TN_NONE;
  SCH_STEP(e, s, removes ? "unannotate" : "annotate");
  tn_obj *o = sch_get(s, rv);
  if (!o || sch_begin(&e, o)) return -1;
  tn_For *f = TN_AS(For, o);
  tn_Block *b = TN_AS(Block, o);
  TN_CHECK(f || b, TypeError, NULL, "annotate: expected a block or loop, got %s", tn_obj_key(o));
  const tn_map *old = f ? f->annotations : b->annotations;
  tn_any found;
  TN_TRY(known_value(s, &value, &found));
  value = found;
  if (removes && !tn_map_get(old, tn_any_cstr(key), &found))
    return sch_fail(&e, "The annotation key does not exist", SCH_PLACES(o),
                    "{0} has no annotation %s", key);
  tn_map *now = annotated(old, key, value);
  tn_For for_copy = f ? *f : (tn_For){0};
  tn_Block block_copy = b ? *b : (tn_Block){0};
  for_copy.annotations = block_copy.annotations = now;
  if (!now) return -1;
  tn_obj *with =
      f ? tn_node_copy(&tn_type_For, &for_copy) : tn_node_copy(&tn_type_Block, &block_copy);
  if (!with || sch_moved(&e, o, with) || sch_replace(&e, (tn_stmt *)o, (tn_stmt *)with)) return -1;
  return sch_commit(&e);
}
