/* Blocks of memory that hold one buffer at a time.

   First in the order of time: a buffer that ends gives its block back, and the next one takes the
   smallest free block that is large enough, else the largest that is smaller, which grows. Of equal
   ones it takes the one freed last, which caches still have. Where that needs more than the largest
   live set, also the largest buffers first, each in the block nearest in size whose buffers live at
   other times; it is taken only where it needs less. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "pack/pack.h"

enum { MAX_BY_SIZE = 4096 }; /* pairs are looked at */

/* Blocks of a kind that hold nothing, smallest first. */
typedef struct {
  int64_t *free;
  int64_t n, cap;
} free_list;

typedef struct {
  pack_buffer *b;
  int64_t n;
  const pack_sharing *how;
  int64_t *of;          /* of each buffer: its block */
  int64_t *size;        /* of each block */
  int64_t *first;       /* of each block: the buffer it was made for */
  int64_t *newest;      /* of each block: the buffer that got it last */
  int64_t *next;        /* of each buffer: the one before it in its block, -1: none */
  int64_t *order, *end; /* buffers by their first and last steps */
  int64_t nblocks;
  free_list *kinds;
  int32_t nkinds;
} planner;

static void new_block(planner *p, int64_t buffer) {
  int64_t k = p->nblocks++;
  p->of[buffer] = k;
  p->size[k] = p->b[buffer].bytes;
  p->first[k] = p->newest[k] = buffer;
  p->next[buffer] = -1;
}

static void join(planner *p, int64_t block, int64_t buffer) {
  p->of[buffer] = block;
  p->next[buffer] = p->newest[block];
  p->newest[block] = buffer;
  if (p->size[block] < p->b[buffer].bytes) p->size[block] = p->b[buffer].bytes;
}

static bool fits(const planner *p, int64_t block, int64_t buffer) {
  return !p->how->fits || p->how->fits(p->how->ctx, p->first[block], p->size[block], buffer);
}

static bool too_large(const planner *p, int64_t block, int64_t buffer) {
  return p->how->range && p->size[block] / p->how->range > p->b[buffer].bytes;
}

static bool too_small(const planner *p, int64_t block, int64_t buffer) {
  return p->how->range && p->size[block] < p->b[buffer].bytes / p->how->range;
}

/* ---- in the order of time ---- */

/* Position of the first free block of at least that size. */
static int64_t position(const planner *p, const free_list *l, int64_t bytes) {
  int64_t lo = 0, hi = l->n;
  while (lo < hi) {
    int64_t mid = (lo + hi) / 2;
    if (p->size[l->free[mid]] < bytes) lo = mid + 1;
    else hi = mid;
  }
  return lo;
}

static int give_back(planner *p, int64_t buffer) {
  if (p->b[buffer].kind < 0) return 0;
  free_list *l = &p->kinds[p->b[buffer].kind];
  int64_t block = p->of[buffer];
  TN_GROW(l->free, l->cap, l->n + 1, return -1);
  int64_t at = position(p, l, p->size[block]);
  memmove(l->free + at + 1, l->free + at, (size_t)(l->n++ - at) * sizeof *l->free);
  l->free[at] = block;
  return 0;
}

static void take(planner *p, int64_t buffer) {
  const pack_buffer *x = &p->b[buffer];
  free_list *l = x->kind < 0 ? NULL : &p->kinds[x->kind];
  int64_t mid = l ? position(p, l, x->bytes) : 0, at = -1;
  for (int64_t i = mid; l && at < 0 && i < l->n && !too_large(p, l->free[i], buffer); ++i)
    if (fits(p, l->free[i], buffer)) at = i;
  for (int64_t i = mid; at < 0 && i-- > 0 && !too_small(p, l->free[i], buffer);)
    if (fits(p, l->free[i], buffer)) at = i;
  if (at < 0) {
    new_block(p, buffer);
    return;
  }
  join(p, l->free[at], buffer);
  memmove(l->free + at, l->free + at + 1, (size_t)(--l->n - at) * sizeof *l->free);
}

static int by_first(const void *x, const void *y, void *b) {
  int64_t i = *(const int64_t *)x, j = *(const int64_t *)y;
  int64_t a = ((pack_buffer *)b)[i].first, c = ((pack_buffer *)b)[j].first;
  return a != c ? (a < c ? -1 : 1) : (i > j) - (i < j);
}
static int by_last(const void *x, const void *y, void *b) {
  int64_t i = *(const int64_t *)x, j = *(const int64_t *)y;
  int64_t a = ((pack_buffer *)b)[i].last, c = ((pack_buffer *)b)[j].last;
  return a != c ? (a < c ? -1 : 1) : (i > j) - (i < j);
}
/* The largest first; of equal ones those that begin first. */
static int by_size(const void *x, const void *y, void *b) {
  int64_t a = ((pack_buffer *)b)[*(const int64_t *)x].bytes,
          c = ((pack_buffer *)b)[*(const int64_t *)y].bytes;
  return a != c ? (a > c ? -1 : 1) : by_first(x, y, b);
}

static void sort(const planner *p, int64_t *list,
                 int (*compare)(const void *x, const void *y, void *b)) {
  for (int64_t i = 0; i < p->n; ++i) list[i] = i;
  if (p->n > 1) qsort_r(list, (size_t)p->n, sizeof *list, compare, p->b);
}

static int in_time(planner *p) {
  int64_t k = 0;
  p->nblocks = 0;
  sort(p, p->order, by_first);
  sort(p, p->end, by_last);
  for (int64_t i = 0; i < p->n; ++i) {
    const int64_t x = p->order[i];
    for (; k < p->n && p->b[p->end[k]].last < p->b[x].first; ++k) TN_TRY(give_back(p, p->end[k]));
    take(p, x);
  }
  return 0;
}

/* ---- in the order of size ---- */

/* Do all buffers of the block live at other times? */
static bool is_idle(const planner *p, int64_t block, const pack_buffer *x) {
  for (int64_t i = p->newest[block]; i >= 0; i = p->next[i])
    if (p->b[i].first <= x->last && x->first <= p->b[i].last) return false;
  return true;
}

static void in_size(planner *p) {
  p->nblocks = 0;
  sort(p, p->order, by_size);
  for (int64_t i = 0; i < p->n; ++i) {
    const int64_t buffer = p->order[i];
    const pack_buffer *x = &p->b[buffer];
    int64_t k = x->kind < 0 ? -1 : p->nblocks - 1;
    for (; k >= 0; --k)
      if (p->b[p->first[k]].kind == x->kind && !too_large(p, k, buffer) && fits(p, k, buffer) &&
          is_idle(p, k, x))
        break;
    if (k < 0) new_block(p, buffer);
    else join(p, k, buffer);
  }
}

/* ---- the better one ---- */

static int64_t total(const planner *p) {
  int64_t sum = 0;
  for (int64_t i = 0; i < p->nblocks; ++i)
    if (__builtin_add_overflow(sum, p->size[i], &sum)) return INT64_MAX;
  return sum;
}

/* Numbers in the order of buffers. */
static void write_down(planner *p, int64_t *sizes) {
  int64_t *number = p->first, count = 0; /* no longer needed */
  for (int64_t i = 0; i < p->nblocks; ++i) number[i] = -1;
  for (int64_t i = 0; i < p->n; ++i) {
    int64_t block = p->of[i];
    if (number[block] < 0) {
      number[block] = count;
      sizes[count++] = p->size[block];
    }
    p->b[i].pool = (int32_t)number[block];
    p->b[i].offset = 0;
  }
}

static int run(planner *p, int64_t *sizes) {
  TN_TRY(in_time(p));
  int64_t best = total(p), bound = p->n <= MAX_BY_SIZE ? pack_lower_bound(p->b, p->n, 1) : best;
  if (bound < 0) return -1;
  write_down(p, sizes);
  if (best <= bound) return 0;
  in_size(p);
  if (total(p) < best) write_down(p, sizes);
  return 0;
}

int64_t pack_blocks(pack_buffer *buffers, int64_t n, const pack_sharing *how, int64_t *sizes) {
  static const pack_sharing any = {0};
  planner p = {.b = buffers, .n = n, .how = how ? how : &any};
  int64_t *lists = tn_alloc_zero((size_t)n + 1, 7 * sizeof *lists), blocks = 0;
  for (int64_t i = 0; i < n; ++i)
    if (buffers[i].kind >= p.nkinds) p.nkinds = buffers[i].kind + 1;
  p.kinds = tn_alloc_zero((size_t)p.nkinds + 1, sizeof *p.kinds);
  int err = lists && p.kinds ? 0 : -1;
  if (!err) {
    int64_t **parts[] = {&p.of, &p.size, &p.first, &p.newest, &p.next, &p.order, &p.end};
    for (int i = 0; i < 7; ++i) *parts[i] = lists + i * n;
    err = run(&p, sizes);
  }
  for (int64_t i = 0; i < n && !err; ++i)
    if (buffers[i].pool >= blocks) blocks = buffers[i].pool + 1;
  for (int32_t k = 0; p.kinds && k < p.nkinds; ++k) tn_free(p.kinds[k].free);
  tn_free(p.kinds);
  tn_free(lists);
  return err ? -1 : blocks;
}
