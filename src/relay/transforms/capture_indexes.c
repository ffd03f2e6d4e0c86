/* CapturePostDfsIndexInSpans: the place of an expression is its number in the order in which
   operands come before what uses them, and the number of its dominator: the nearest expression
   through which all its uses lead, -1 for the function itself. So printed programs show the
   numbers:

     %0 = exp(%x)  / * span=index:2:5 * / */
#include "base/alloc.h"
#include "base/error.h"
#include "ir/functor.h"
#include "relay/transforms/transforms.h"

typedef struct {
  const tn_obj *expr;
  int32_t operand;   /* while walking: the next one to look at */
  int32_t dominator; /* UNUSED: nothing uses it yet */
  int32_t depth;     /* below the function, along dominators */
} node;
enum { UNUSED = -2, NONE = -1 };

typedef struct {
  node *nodes, *stack;
  int64_t n, cap, nstack, stack_cap;
  tn_pmap index; /* expression -> number + 1; 0: being walked */
  tn_SourceName *source;
} capture;

static int64_t number_of(const capture *c, const void *e) {
  return tn_pmap_get_int(&c->index, e, 0) - 1;
}

static int push(capture *c, const void *e) {
  if (tn_pmap_has(&c->index, e)) return 0;
  TN_TRY(tn_pmap_put_int(&c->index, e, 0));
  TN_GROW(c->stack, c->stack_cap, c->nstack + 1, return -1);
  c->stack[c->nstack++] = (node){.expr = e, .dominator = UNUSED};
  return 0;
}

static int number_all(capture *c, const void *root) {
  TN_TRY(push(c, root));
  while (c->nstack > 0) {
    node *top = &c->stack[c->nstack - 1];
    const void *next = relay_operand(top->expr, top->operand++);
    if (next) {
      TN_TRY(push(c, next));
      continue;
    }
    TN_GROW(c->nodes, c->cap, c->n + 1, return -1);
    c->nodes[c->n] = c->stack[--c->nstack];
    TN_TRY(tn_pmap_put_int(&c->index, c->nodes[c->n].expr, c->n + 1));
    ++c->n;
  }
  return 0;
}

static int32_t common(const capture *c, int32_t a, int32_t b) {
  while (a != b && a >= 0 && b >= 0) {
    int32_t da = c->nodes[a].depth, db = c->nodes[b].depth;
    if (da >= db) a = c->nodes[a].dominator;
    if (db >= da) b = c->nodes[b].dominator;
  }
  return a == b ? a : NONE;
}

/* What uses an expression comes after it. */
static void find_dominators(capture *c) {
  for (int64_t i = c->n; i-- > 0;) {
    node *n = &c->nodes[i];
    const void *operand;
    if (n->dominator == UNUSED) n->dominator = NONE;
    n->depth = n->dominator < 0 ? 0 : c->nodes[n->dominator].depth + 1;
    for (int64_t k = 0; (operand = relay_operand(n->expr, k)) != NULL; ++k) {
      int64_t of = number_of(c, operand);
      int32_t *d = &c->nodes[of].dominator;
      if (of < i) *d = *d == UNUSED ? (int32_t)i : common(c, *d, (int32_t)i);
    }
  }
}

/* Operators and constructors are shared by all programs. */
static tn_obj *mark(void *ctx, tn_obj *pre, tn_obj *post) {
  const capture *c = ctx;
  int64_t i = number_of(c, pre);
  tn_Span *span;
  if (i < 0) return post;
  int64_t d = c->nodes[i].dominator;
  TN_GETP(span, TN_NEW(Span, .source_name = c->source, .line = i, .end_line = i, .column = d,
                       .end_column = d));
  relay_expr *r = (relay_expr *)(post == pre ? tn_node_copy(pre->type, pre) : post);
  if (!r) return NULL;
  tn_retain(span);
  tn_release(r->span);
  r->span = span;
  return (tn_obj *)r;
}

static const tn_rewrite_case cases[] = {
    TN_REWRITE(Constant, mark),     TN_REWRITE(RelayTuple, mark),    TN_REWRITE(RelayVar, mark),
    TN_REWRITE(RelayCall, mark),    TN_REWRITE(RelayFunction, mark), TN_REWRITE(RelayLet, mark),
    TN_REWRITE(TupleGetItem, mark), TN_REWRITE(RefCreate, mark),     TN_REWRITE(RefRead, mark),
    TN_REWRITE(RefWrite, mark),     TN_REWRITE(RelayIf, mark),       TN_REWRITE(Match, mark),
};

tn_RelayFunction *relay_capture_indexes(tn_RelayFunction *f, const tn_pass_ctx *ctx) {
  capture c = {0};
  tn_RelayFunction *r = NULL;
  (void)ctx;
  c.source = TN_NEW(SourceName, .name = tn_str_from("index"));
  if (c.source && number_all(&c, f) == 0) {
    find_dominators(&c);
    r = tn_rewrite(f, cases, TN_COUNT(cases), &c);
  }
  tn_free(c.nodes);
  tn_free(c.stack);
  tn_pmap_fini(&c.index);
  return r;
}
