/* Places in pools. Buffers are placed one after the other, each at the lowest place that no buffer
   has that lives at the same time; the algorithms differ in the order. This is the problem of
   dynamic storage allocation, NP-hard in general; large buffers first is rarely more than a few
   percent above the largest live set for neural networks. */
#include "pack/pack.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

enum { MAX_ROUNDS = 512 };

typedef struct {
  pack_buffer *b;
  int64_t n, align;
  pack_pool *pools;
  int32_t npools;
  const uint8_t *conflicts; /* NULL: as the steps say */
  int64_t enough;
  int64_t *order;   /* in which buffers are placed */
  int64_t *key;     /* of each buffer: the larger, the earlier it is placed */
  int64_t *placed;  /* buffers that have a place, by offset */
  int64_t *best;    /* the best order so far */
  int64_t unplaced; /* the first buffer that fits nowhere, -1: none */
} planner;

static int64_t rounded(int64_t bytes, int64_t align) { return (bytes + align - 1) / align * align; }

static int64_t align_of(const planner *p, const pack_buffer *x) {
  return x->align ? x->align : p->align;
}

static bool together(const planner *p, const pack_buffer *a, const pack_buffer *b) {
  if (p->conflicts) return p->conflicts[(a - p->b) * p->n + (b - p->b)] != 0;
  return a->first <= b->last && b->first <= a->last;
}

/* Number i of the pools that a buffer may lie in. */
static int32_t pool_of(const pack_buffer *x, int32_t i) { return x->may ? x->may[i] : i; }

static int32_t count_of(const planner *p, const pack_buffer *x) {
  return x->may ? x->nmay : p->npools;
}

/* ---- one order ---- */

/* The lowest free place in a pool among the buffers that have one. */
static int64_t lowest(const planner *p, const pack_buffer *x, int32_t pool, int64_t nplaced) {
  int64_t offset = 0;
  for (int64_t i = 0; i < nplaced; ++i) {
    const pack_buffer *y = &p->b[p->placed[i]];
    if (y->pool != pool || !together(p, x, y)) continue;
    if (offset + x->bytes <= y->offset) break;
    int64_t end = rounded(y->offset + y->bytes, align_of(p, x));
    if (end > offset) offset = end;
  }
  return offset;
}

static void insert(planner *p, int64_t buffer, int64_t nplaced) {
  int64_t i = nplaced;
  for (; i > 0 && p->b[p->placed[i - 1]].offset > p->b[buffer].offset; --i)
    p->placed[i] = p->placed[i - 1];
  p->placed[i] = buffer;
}

/* Into the first pool that has room. */
static bool place(planner *p, int64_t buffer, int64_t nplaced) {
  pack_buffer *x = &p->b[buffer];
  for (int32_t i = 0; i < count_of(p, x); ++i) {
    int32_t k = pool_of(x, i);
    pack_pool *pool = &p->pools[k];
    int64_t offset = lowest(p, x, k, nplaced);
    if (pool->limit >= 0 && offset + x->bytes > pool->limit) continue;
    x->pool = k;
    x->offset = offset;
    if (offset + x->bytes > pool->used) pool->used = offset + x->bytes;
    insert(p, buffer, nplaced);
    return true;
  }
  return false;
}

/* Bytes of all pools together; -1 when a buffer fits nowhere. */
static int64_t place_all(planner *p) {
  int64_t total = 0;
  for (int32_t k = 0; k < p->npools; ++k) p->pools[k].used = 0;
  p->unplaced = -1;
  for (int64_t i = 0; i < p->n; ++i) {
    if (place(p, p->order[i], i)) continue;
    p->unplaced = p->order[i];
    return -1;
  }
  for (int32_t k = 0; k < p->npools; ++k) total += p->pools[k].used;
  return total;
}

/* ---- orders ---- */

/* Larger keys first, then larger buffers, then the order of the program. */
static int compare(const void *a, const void *b, void *ctx) {
  const planner *p = ctx;
  int64_t i = *(const int64_t *)a, j = *(const int64_t *)b;
  if (p->key[i] != p->key[j]) return p->key[i] > p->key[j] ? -1 : 1;
  if (p->b[i].bytes != p->b[j].bytes) return p->b[i].bytes > p->b[j].bytes ? -1 : 1;
  return i < j ? -1 : i > j;
}

static void sort(planner *p) {
  for (int64_t i = 0; i < p->n; ++i) p->order[i] = i;
  if (p->n > 1) qsort_r(p->order, (size_t)p->n, sizeof *p->order, compare, p);
}

static int64_t in_order(planner *p) {
  for (int64_t i = 0; i < p->n; ++i) p->order[i] = i;
  return place_all(p);
}

static int64_t by_size(planner *p) {
  for (int64_t i = 0; i < p->n; ++i) p->key[i] = p->b[i].bytes;
  sort(p);
  return place_all(p);
}

static int64_t by_conflicts(planner *p) {
  for (int64_t i = 0; i < p->n; ++i) {
    p->key[i] = 0;
    for (int64_t j = 0; j < p->n; ++j) p->key[i] += together(p, &p->b[i], &p->b[j]);
  }
  sort(p);
  return place_all(p);
}

static int64_t bound_of(const planner *p) {
  return p->conflicts ? p->enough : pack_lower_bound(p->b, p->n, p->align);
}

/* ---- hill climbing ---- */

/* Numbers that are the same in every run (Knuth's MMIX generator). */
static uint64_t next_random(uint64_t *state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return *state >> 33;
}

/* A buffer at the end of a pool, or the one that fits nowhere: it should be placed earlier. */
static int64_t culprit(const planner *p, uint64_t *state) {
  int64_t found = p->unplaced, seen = 0;
  for (int64_t i = 0; i < p->n && p->unplaced < 0; ++i) {
    const pack_buffer *x = &p->b[i];
    if (x->bytes == 0 || x->offset + x->bytes != p->pools[x->pool].used) continue;
    if (next_random(state) % (uint64_t)++seen == 0) found = i;
  }
  return found;
}

/* Moves a buffer to an earlier turn. */
static void promote(planner *p, int64_t buffer, uint64_t *state) {
  int64_t at = 0;
  while (p->order[at] != buffer) ++at;
  if (at == 0) return;
  int64_t to = (int64_t)(next_random(state) % (uint64_t)at);
  memmove(p->order + to + 1, p->order + to, (size_t)(at - to) * sizeof *p->order);
  p->order[to] = buffer;
}

static bool is_better(int64_t a, int64_t b) { return a >= 0 && (b < 0 || a < b); }

static void keep(planner *p) {
  if (p->n) memcpy(p->best, p->order, (size_t)p->n * sizeof *p->best);
}

static void recall(planner *p) {
  if (p->n) memcpy(p->order, p->best, (size_t)p->n * sizeof *p->best);
}

/* From the order there is; `now` is what it needs. */
static int64_t climb(planner *p, int64_t now) {
  uint64_t state = 1;
  int64_t bound = bound_of(p), best = now;
  int64_t rounds = p->n > 256 ? MAX_ROUNDS * 256 / p->n : MAX_ROUNDS;
  keep(p);
  for (int64_t i = 0; i < rounds && p->n > 1 && (best < 0 || best > bound); ++i) {
    int64_t who = culprit(p, &state);
    if (who < 0) break;
    promote(p, who, &state);
    int64_t found = place_all(p);
    if (is_better(found, best)) {
      best = found;
      keep(p);
    } else if (found != best) {
      recall(p);
      (void)place_all(p);
    }
  }
  recall(p);
  return place_all(p);
}

static int64_t hill_climb(planner *p) { return climb(p, by_size(p)); }

/* ---- all ---- */

static int64_t best_of_all(planner *p) {
  int64_t bound = bound_of(p), size = by_size(p);
  if (size >= 0 && size <= bound) return size;
  int64_t conflicts = by_conflicts(p);
  if (!is_better(conflicts, size)) conflicts = by_size(p);
  return climb(p, conflicts);
}

/* The order that was given, unless another one needs less. */
static int64_t first_fit_or_better(planner *p) {
  int64_t first = in_order(p);
  if (first >= 0 && first <= bound_of(p)) return first;
  int64_t best = best_of_all(p);
  return is_better(best, first) ? best : in_order(p);
}

static int64_t (*const algorithms[])(planner *p) = {
    [PACK_BEST] = best_of_all,
    [PACK_IN_ORDER] = in_order,
    [PACK_FIRST_FIT] = first_fit_or_better,
    [PACK_BY_SIZE] = by_size,
    [PACK_BY_CONFLICTS] = by_conflicts,
    [PACK_HILL_CLIMB] = hill_climb,
};

/* Where the buffer would lie if the pool went on: what was placed before it is still there. */
static int too_small(const planner *p) {
  const pack_buffer *x = &p->b[p->unplaced];
  const pack_pool *nearest = p->pools;
  int64_t missing = INT64_MAX, nplaced = 0;
  while (p->order[nplaced] != p->unplaced) ++nplaced;
  for (int32_t i = 0; i < count_of(p, x); ++i) {
    int32_t k = pool_of(x, i);
    int64_t more = lowest(p, x, k, nplaced) + x->bytes - p->pools[k].limit;
    if (more < missing) missing = more, nearest = &p->pools[k];
  }
  return TN_RAISE(ValueError, NULL,
                  "memory plan: %s (%" PRId64 " bytes) fits into none of the pools: %s of %" PRId64
                  " bytes needs %" PRId64 " more",
                  x->name, x->bytes, nearest->name, nearest->limit, missing);
}

static int run(planner *p, pack_algorithm algorithm) {
  int64_t total = algorithms[algorithm](p);
  if (tn_error_pending()) return -1;
  return total < 0 ? too_small(p) : 0;
}

/* Sums of sizes must not overflow. */
static int check_sizes(const planner *p) {
  int64_t total = 0;
  for (int64_t i = 0; i < p->n; ++i) {
    bool ok = p->b[i].bytes >= 0 && p->b[i].bytes <= INT64_MAX / 4 &&
              !__builtin_add_overflow(total, rounded(p->b[i].bytes, align_of(p, &p->b[i])), &total);
    TN_CHECK(ok, ValueError, NULL, "memory plan: %s is too large", p->b[i].name);
  }
  return 0;
}

static int plan(planner p, pack_algorithm algorithm) {
  int64_t n = p.n;
  TN_TRY(check_sizes(&p));
  TN_CHECK(p.npools > 0, ValueError, NULL, "memory plan: no memory pool was given");
  int64_t *lists = tn_alloc_zero((size_t)n + 1, 4 * sizeof *lists);
  if (!lists) return -1;
  p.order = lists;
  p.key = lists + n;
  p.placed = lists + 2 * n;
  p.best = lists + 3 * n;
  int err = run(&p, algorithm);
  tn_free(lists);
  return err;
}

int pack_plan(pack_buffer *buffers, int64_t n, pack_pool *pools, int32_t npools, int64_t align,
              pack_algorithm algorithm) {
  return plan((planner){.b = buffers, .n = n, .pools = pools, .npools = npools, .align = align},
              algorithm);
}

int pack_plan_conflicts(pack_buffer *buffers, int64_t n, const uint8_t *conflicts, int64_t enough,
                        pack_pool *pools, int32_t npools, int64_t align, pack_algorithm algorithm) {
  return plan((planner){.b = buffers,
                        .n = n,
                        .pools = pools,
                        .npools = npools,
                        .align = align,
                        .conflicts = conflicts,
                        .enough = enough},
              algorithm);
}

typedef struct {
  int64_t step, bytes; /* from this step on so many more */
} change;

/* Bytes behind the buffers alive at a step, up to the next place for one: the last buffer of a pool
   has none. */
static int64_t largest_rest(const pack_buffer *b, int64_t n, int64_t align, int64_t step) {
  int64_t most = 0;
  for (int64_t i = 0; i < n; ++i) {
    if (b[i].first > step || b[i].last < step) continue;
    int64_t rest = rounded(b[i].bytes, b[i].align ? b[i].align : align) - b[i].bytes;
    if (rest > most) most = rest;
  }
  return most;
}

static int earlier(const void *a, const void *b) {
  int64_t x = ((const change *)a)->step, y = ((const change *)b)->step;
  return x < y ? -1 : x > y;
}

int64_t pack_lower_bound(const pack_buffer *buffers, int64_t n, int64_t align) {
  int64_t now = 0, most = 0;
  change *list = tn_alloc_zero((size_t)n + 1, 2 * sizeof *list);
  if (!list) return -1;
  for (int64_t i = 0; i < n; ++i) {
    int64_t bytes = rounded(buffers[i].bytes, buffers[i].align ? buffers[i].align : align);
    list[2 * i] = (change){buffers[i].first, bytes};
    list[2 * i + 1] = (change){buffers[i].last + 1, -bytes};
  }
  if (n) qsort(list, 2 * (size_t)n, sizeof *list, earlier);
  for (int64_t i = 0; i < 2 * n; ++i) {
    now += list[i].bytes;
    if ((i + 1 < 2 * n && list[i + 1].step == list[i].step) || now <= most) continue;
    int64_t need = now - largest_rest(buffers, n, align, list[i].step);
    if (need > most) most = need;
  }
  tn_free(list);
  return most;
}
