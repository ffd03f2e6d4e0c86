/* sample_compute_location: chooses where a block is computed: at a loop of its consumers, on its
   own (root), or inline. The handle of a loop that is returned may stand for one of the last two,
   which compute_at understands. */
#include "tenon/object.h"
#include "tir/schedule/blocks.h"
#include "tir/schedule/schedule_impl.h"

enum { MAX_PLACES = 64 };

typedef struct {
  tn_TirSchedule *s;
  const tn_BlockRV *block;
  const tn_obj *where[MAX_PLACES]; /* For, or the number of a mark */
  int64_t index[MAX_PLACES];       /* -2 inline, -1 root, else the number of the loop */
  int n;
} places;

/* Does a step work on a copy of the schedule? */
static bool works(const places *p, const tn_For *loop) {
  TN_SCOPE(scope);
  tn_TirSchedule *copy = sch_copy(p->s);
  if (copy) copy->error_render_level = 2;
  tn_obj *rv = copy && loop ? sch_handle(copy, (const tn_obj *)loop) : NULL;
  bool ok = copy && (loop ? rv && sch_compute_at(copy, p->block, (tn_LoopRV *)rv, true, -1) == 0
                          : sch_compute_inline(copy, p->block) == 0);
  if (!ok) tn_error_clear();
  return ok;
}

static int add(places *p, int64_t index, const void *where) {
  TN_CHECK(where && p->n < MAX_PLACES, ValueError, NULL,
           "sample_compute_location: more than %d places", MAX_PLACES);
  p->where[p->n] = where;
  p->index[p->n++] = index;
  return 0;
}

/* Loops around the first consumer that are around all of them. */
static int common_loops(sch_step *e, const places *p, tn_vec *out) {
  tn_arr *consumers;
  TN_GET(consumers, sch_get_neighbours(p->s, p->block, false));
  for (int64_t i = 0; i < consumers->len; ++i) {
    TN_VEC(loops);
    const tn_Block *b = sch_block_of(e, (const tn_BlockRV *)tn_arr_obj(consumers, i));
    if (!b || sch_loops_above(e, b, &loops)) return -1;
    int64_t same = 0;
    while (i && same < out->len && same < loops.len &&
           out->items[same].v.obj == loops.items[same].v.obj)
      ++same;
    for (int64_t k = 0; !i && k < loops.len; ++k) TN_TRY(tn_vec_push(out, loops.items[k]));
    if (i) out->len = same;
  }
  return 0;
}

static bool reduces(const tn_For *f) {
  TN_VEC(blocks);
  if (sch_blocks_below((const tn_obj *)f, &blocks)) return false;
  for (int64_t i = 0; i < blocks.len; ++i) {
    const tn_BlockRealize *r = (const tn_BlockRealize *)blocks.items[i].v.obj;
    for (int64_t k = 0; k < r->iter_values->len; ++k)
      if (((tn_IterVar *)tn_arr_obj(r->block->iter_vars, k))->iter_type == IR_ITER_COMM_REDUCE &&
          sch_uses_var(tn_arr_obj(r->iter_values, k), f->loop_var))
        return true;
  }
  return false;
}

/* The innermost loop that nothing is reduced over, -1: none. */
static int64_t last_parallel(const tn_vec *loops) {
  int64_t i = loops->len;
  while (i-- > 0 && reduces((const tn_For *)loops->items[i].v.obj)) continue;
  return i;
}

/* Within a reduction a place is worth while only as long as parallel loops follow below: they
   share what was computed. Loops that run once are skipped. */
static int find_places(places *p) {
  SCH_STEP(e, p->s, "sample-compute-location");
  TN_VEC(loops);
  bool reduced = false;
  if (!sch_block_of(&e, p->block)) return -1;
  if (works(p, NULL)) TN_TRY(add(p, -2, tir_i32(-2)));
  TN_TRY(add(p, -1, tir_i32(-1)));
  TN_TRY(common_loops(&e, p, &loops));
  int64_t last = last_parallel(&loops);
  for (int64_t i = 0; i < loops.len; ++i) {
    const tn_For *f = (const tn_For *)loops.items[i].v.obj;
    if (tir_is_one(f->extent)) continue;
    bool now = reduces(f);
    if (now ? i > last : reduced) break;
    reduced = reduced || now;
    if (works(p, f)) TN_TRY(add(p, i, f));
  }
  return 0;
}

tn_arr *sch_sample_compute_location(tn_TirSchedule *s, const tn_BlockRV *block,
                                    const tn_any *decision) {
  places p = {.s = s, .block = block};
  int64_t state = s->rand_state, pick = 0, chosen;
  if (find_places(&p)) return NULL;
  if (decision) { /* the same place, else the one before it */
    TN_TRYP(tn_any_to_int(decision, &chosen));
    while (pick + 1 < p.n && p.index[pick + 1] <= chosen) ++pick;
    if (p.index[pick] > chosen) pick = p.index[0] == -2 ? 1 : 0;
  } else {
    pick = sch_draw_below(&state, p.n);
  }
  tn_obj *rv = sch_seed(s, state) ? NULL : sch_loop_handle(s, p.where[pick]);
  return rv ? tn_arr_of(2, rv, tir_i32((int32_t)p.index[pick])) : NULL;
}
