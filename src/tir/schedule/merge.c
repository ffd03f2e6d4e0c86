/* merge: loops next to each other become one, where no iteration needs what another one of another
   loop makes.

     for i, j in T.grid(8, 16): B[i, j] = A[i, j] * 2          for i_m, j_m in T.grid(8, 16):
     for i, j in T.grid(8, 16): C[i, j] = A[i, j] + 1    ->      B[i_m, j_m] = A[i_m, j_m] * 2
                                                                 C[i_m, j_m] = A[i_m, j_m] + 1  */
#include "ir/functor.h"
#include "tenon/object.h"
#include "tir/schedule/blocks.h"
#include "tir/schedule/regions.h"
#include "tir/schedule/schedule_impl.h"

enum { MAX_NESTS = 16, MAX_DEPTH = 16 };

/* The loops from the outermost one below what all have in common to the one that was given. */
typedef struct {
  tn_For *loops[MAX_DEPTH];
  int depth;
} nest;

typedef struct {
  nest nests[MAX_NESTS];
  int n;
  const tn_SeqStmt *seq; /* of which the nests are statements */
  int64_t first;         /* place of the first */
} merger;

static int check_plain(const sch_step *e, const tn_For *f) {
  const char *why = f->annotations->len         ? "has annotations"
                    : f->thread_binding         ? "is bound to a thread axis"
                    : f->kind != TIR_FOR_SERIAL ? "is not serial"
                    : !tir_is_zero(f->min)      ? "does not start with 0"
                                                : NULL;
  if (!why) return 0;
  return sch_fail(e, "The loops to merge must be plain", SCH_PLACES(f), "The loop {0} %s", why);
}

/* Up to the sequence: each loop is the only statement of the one around it. */
static int climb(const sch_step *e, merger *m, nest *n, tn_For *from) {
  const tn_obj *up = (tn_obj *)from;
  tn_For *all[MAX_DEPTH];
  for (; up && up->type_index == TN_TI_For; up = sch_parent(e, up)) {
    TN_CHECK(n->depth < MAX_DEPTH, ValueError, NULL, "merge: more than %d loops", MAX_DEPTH);
    all[n->depth++] = (tn_For *)(uintptr_t)up;
    TN_TRY(check_plain(e, all[n->depth - 1]));
  }
  const tn_SeqStmt *seq = TN_AS(SeqStmt, up);
  if (!seq || (m->seq && m->seq != seq))
    return sch_fail(e, "The loops to merge are not next to each other", SCH_PLACES(from),
                    "The loop {0} does not lie in a row with the other loops, each the only "
                    "statement of the one around it");
  m->seq = seq;
  for (int i = 0; i < n->depth; ++i) n->loops[i] = all[n->depth - 1 - i];
  return 0;
}

static int64_t place_of(const tn_SeqStmt *seq, const void *o) {
  for (int64_t i = 0; i < seq->seq->len; ++i)
    if ((const void *)tn_arr_obj(seq->seq, i) == o) return i;
  return -1;
}

static int check_same(const sch_step *e, const merger *m, int i) {
  const nest *a = &m->nests[0], *b = &m->nests[i];
  if (a->depth != b->depth)
    return sch_fail(e, "The loops to merge must have the same nesting depth",
                    SCH_PLACES(a->loops[a->depth - 1], b->loops[b->depth - 1]),
                    "The loops {0} and {1} have %d and %d loops around them", a->depth - 1,
                    b->depth - 1);
  for (int k = 0; k < a->depth; ++k)
    if (tn_equal(a->loops[k]->extent, b->loops[k]->extent, 0) != 1)
      return sch_fail(e, "The loops to merge must have the same extent",
                      SCH_PLACES(a->loops[k], b->loops[k]),
                      "The loops {0} and {1} differ in extent");
  if (place_of(m->seq, b->loops[0]) != m->first + i)
    return sch_fail(e, "The loops to merge are not next to each other",
                    SCH_PLACES(a->loops[0], b->loops[0]),
                    "The loop {1} is not the next but %d after {0}", i - 1);
  return 0;
}

/* Does index `d` of the region take the value of the loop, and no other? */
static bool follows(const tn_arr *region, int64_t d, const tn_For *loop) {
  const tn_Range *r = (const tn_Range *)tn_arr_obj(region, d);
  return tir_is_one(r->extent) && r->min == (const tn_expr *)loop->loop_var;
}

/* Each loop runs along one dimension of both regions: iterations touch their own elements, so
 * what one nest leaves for the other is there when the same iteration comes to it. */
static bool is_aligned(const nest *a, const nest *b, const tn_arr *x, const tn_arr *y) {
  for (int k = 0; k < a->depth; ++k) {
    bool found = tir_is_one(a->loops[k]->extent);
    for (int64_t d = 0; d < x->len && !found; ++d)
      found = follows(x, d, a->loops[k]) && follows(y, d, b->loops[k]);
    if (!found) return false;
  }
  return true;
}

/* Regions of a buffer that both blocks access must be aligned. @param x, y blocks of nests a and b
 * @param in_x, in_y their reads or writes */
static int check_regions(const sch_step *e, const nest *a, const nest *b, const tn_BlockRealize *x,
                         const tn_BlockRealize *y, const tn_arr *in_x, const tn_arr *in_y) {
  for (int64_t i = 0; i < in_x->len * in_y->len; ++i) {
    const tn_BufferRegion *p = (const tn_BufferRegion *)tn_arr_obj(in_x, i % in_x->len),
                          *q = (const tn_BufferRegion *)tn_arr_obj(in_y, i / in_x->len);
    const tn_arr *at_x, *at_y;
    if (p->buffer != q->buffer) continue;
    TN_GET(at_x, sch_bound_region(x, p->region));
    TN_GET(at_y, sch_bound_region(y, q->region));
    if (!is_aligned(a, b, at_x, at_y))
      return sch_fail(e, "The loops to merge depend on each other", SCH_PLACES(x->block, y->block),
                      "The blocks {0} and {1} depend on each other by way of %s, where one "
                      "iteration uses what another one has written: their loops stay apart",
                      tn_cstr(p->buffer->name));
  }
  return 0;
}

/* What one nest writes another may only use in the same iteration: others would meet it half done.
 */
static int check_independent(const sch_step *e, const nest *a, const nest *b) {
  TN_VEC(first);
  TN_VEC(second);
  TN_TRY(sch_blocks_below((const tn_obj *)a->loops[0], &first));
  TN_TRY(sch_blocks_below((const tn_obj *)b->loops[0], &second));
  for (int64_t k = 0; k < first.len * second.len; ++k) {
    const tn_BlockRealize *x = (tn_BlockRealize *)first.items[k % first.len].v.obj,
                          *y = (tn_BlockRealize *)second.items[k / first.len].v.obj;
    const tn_Block *p = x->block, *q = y->block;
    TN_TRY(check_regions(e, a, b, x, y, p->writes, q->reads) ||
           check_regions(e, a, b, x, y, p->reads, q->writes) ||
           check_regions(e, a, b, x, y, p->writes, q->writes));
  }
  return 0;
}

static int find_nests(sch_step *e, merger *m, const tn_arr *rvs) {
  TN_CHECK(rvs->len >= 2 && rvs->len <= MAX_NESTS, ValueError, NULL,
           "merge: expected 2 to %d loops, got %lld", MAX_NESTS, (long long)rvs->len);
  for (m->n = 0; m->n < rvs->len; ++m->n) {
    tn_For *f;
    TN_GET(f, sch_loop_of(e, TN_AS(LoopRV, tn_arr_obj(rvs, m->n))));
    TN_TRY(climb(e, m, &m->nests[m->n], f));
  }
  m->first = place_of(m->seq, m->nests[0].loops[0]);
  for (int i = 1; i < m->n; ++i) TN_TRY(check_same(e, m, i));
  for (int i = 1; i < m->n; ++i)
    for (int j = 0; j < i; ++j) TN_TRY(check_independent(e, &m->nests[j], &m->nests[i]));
  return 0;
}

static tn_For *merged(sch_step *e, const merger *m, tn_For **innermost) {
  TN_VEC(bodies);
  tn_Var *vars[MAX_DEPTH];
  int depth = m->nests[0].depth;
  for (int k = 0; k < depth; ++k) {
    const tn_Var *old = m->nests[0].loops[k]->loop_var;
    tn_str *name = tn_str_fmt("%s_m", tn_cstr(old->name));
    TN_GETP(vars[k], name ? tir_var_like(old, name->data) : NULL);
    for (int i = 0; i < m->n; ++i)
      TN_TRYP(sch_put_var(e, m->nests[i].loops[k]->loop_var, (tn_expr *)vars[k]));
  }
  for (int i = 0; i < m->n; ++i)
    TN_TRYP(tn_vec_push_obj(&bodies, sch_rewrite(e, m->nests[i].loops[depth - 1]->body)));
  tn_stmt *s = tir_seq(&bodies);
  for (int k = depth; k-- > 0 && s;) {
    const tn_For *f = m->nests[0].loops[k];
    s = (tn_stmt *)sch_loop(f, vars[k], f->min, f->extent, s);
    if (k == depth - 1) *innermost = (tn_For *)s;
  }
  return (tn_For *)s;
}

tn_LoopRV *sch_merge(tn_TirSchedule *s, const tn_arr *rvs) {
  SCH_STEP(e, s, "merge");
  TN_VEC(stmts);
  merger m = {.n = 0};
  tn_For *inner = NULL;
  if (find_nests(&e, &m, rvs)) return NULL;
  const tn_For *all = merged(&e, &m, &inner);
  for (int64_t i = 0; all && i < m.seq->seq->len; ++i) {
    const void *stmt = i == m.first ? (const void *)all : tn_arr_obj(m.seq->seq, i);
    if (i <= m.first || i >= m.first + m.n) TN_TRYP(tn_vec_push_obj(&stmts, stmt));
  }
  tn_stmt *rest = all ? tir_seq(&stmts) : NULL;
  if (!rest || sch_replace(&e, (const tn_stmt *)m.seq, rest) || sch_commit(&e)) return NULL;
  return (tn_LoopRV *)sch_handle(s, (tn_obj *)inner);
}
