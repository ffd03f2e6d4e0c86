/* An estimate of the operations that a program executes: those on numbers, not those of indices.
   Comparisons and what is compared decide where a value comes from: they count as nothing. Of two
   branches the more expensive one counts, of a loop the largest number of iterations. Nothing
   recurses: each part's count follows from those of its own parts. */
#include "arith/analyzer.h"
#include "base/pmap.h"
#include "ir/expr.h"
#include "ir/functor.h"
#include "object/functions.h"
#include "tir/analysis.h"

typedef struct {
  tn_pmap counts;  /* node -> bits of its count as a double */
  tn_pmap extents; /* For -> the largest number of its iterations */
  arith_analyzer a;
} counter;

static void counter_fini(counter *c) {
  tn_pmap_fini(&c->counts);
  tn_pmap_fini(&c->extents);
  arith_fini(&c->a);
}

static double known(const counter *c, const void *o) {
  union {
    int64_t bits;
    double n;
  } v = {.bits = o ? tn_pmap_get_int(&c->counts, o, 0) : 0};
  return v.n;
}

static int note(counter *c, const tn_obj *o, double n) {
  union {
    double n;
    int64_t bits;
  } v = {.n = n};
  return n != 0 ? tn_pmap_put_int(&c->counts, o, v.bits) : 0;
}

static double larger(double a, double b) { return a > b ? a : b; }

typedef struct {
  const counter *counter;
  double total;
} sum;

static int add_child(void *ctx, tn_obj *o) {
  sum *s = ctx;
  if (o->type_index == TN_TI_Array) return tn_visit_children(o, add_child, ctx);
  s->total += known(s->counter, o);
  return 0;
}

/* Loops from the outside in: what an extent depends on has its bounds already. */
static int measure_loop(void *ctx, tn_obj *o) {
  counter *c = ctx;
  const tn_For *l = TN_AS(For, o);
  tn_Range *r = l ? tir_range(l->min, l->extent) : NULL;
  if (!l) return 0;
  if (!r) return -1;
  int64_t n = 0;
  if (!tir_as_int((const tn_obj *)l->extent, &n)) {
    n = arith_const_bound(&c->a, l->extent).max;
    TN_CHECK(n < INT32_MAX && !arith_is_open(&c->a, l->extent), ValueError, l->span,
             "operations of the loop over %s: expected a constant extent or one with a bound",
             tn_cstr(l->loop_var->name));
  }
  TN_TRY(tn_pmap_put_int(&c->extents, l, n > 0 ? n : 0));
  return arith_bind_range(&c->a, l->loop_var, r, true);
}

static int count_loop(counter *c, const tn_For *l) {
  double n = (double)tn_pmap_get_int(&c->extents, l, 0);
  return note(c, (const tn_obj *)l, known(c, l->body) * n);
}

static bool is_comparison(const tn_obj *o) {
  switch (o->type_index) {
  case TN_TI_EQ:
  case TN_TI_NE:
  case TN_TI_LT:
  case TN_TI_LE:
  case TN_TI_GT:
  case TN_TI_GE: return true;
  default: return false;
  }
}

static bool is_arithmetic(const tn_obj *o) {
  return ir_is_binary(o->type_index) && o->type_index != TN_TI_And && o->type_index != TN_TI_Or;
}

static int count(void *ctx, tn_obj *o) {
  counter *c = ctx;
  if (is_comparison(o)) return 0;
  switch (o->type_index) {
  case TN_TI_Buffer:
  case TN_TI_BufferLoad: return 0;
  case TN_TI_For: return count_loop(c, (const tn_For *)o);
  case TN_TI_BlockRealize: return note(c, o, known(c, ((const tn_BlockRealize *)o)->block));
  case TN_TI_BufferStore: return note(c, o, known(c, ((const tn_BufferStore *)o)->value));
  case TN_TI_Block: {
    const tn_Block *b = (const tn_Block *)o;
    return note(c, o, known(c, b->init) + known(c, b->body));
  }
  case TN_TI_IfThenElse: {
    const tn_IfThenElse *s = (const tn_IfThenElse *)o;
    return note(c, o,
                known(c, s->condition) + larger(known(c, s->then_case), known(c, s->else_case)));
  }
  case TN_TI_Select: {
    const tn_Select *e = (const tn_Select *)o;
    return note(c, o,
                known(c, e->condition) + larger(known(c, e->true_value), known(c, e->false_value)));
  }
  default: break;
  }
  sum s = {c, is_arithmetic(o) ? 1 : 0};
  TN_TRY(tn_visit_children(o, add_child, &s));
  return note(c, o, s.total);
}

/* A function may say itself what it costs. */
static bool told(const tn_PrimFunc *f, double *out) {
  const tn_obj *v = tir_func_attr(f, "estimated_flops");
  const tn_IntImm *i = TN_AS(IntImm, v);
  const tn_FloatImm *x = TN_AS(FloatImm, v);
  if (i) *out = (double)i->value;
  if (x) *out = x->value;
  return i || x;
}

static int estimate(const tn_obj *program, double *out) {
  const tn_PrimFunc *f = TN_AS(PrimFunc, program);
  counter c = {0};
  if (f && told(f, out)) return 0;
  const void *root = f ? (const void *)f->body : program;
  int err = tn_pre_order(root, measure_loop, &c) < 0 || tn_post_order(root, count, &c);
  *out = known(&c, root);
  counter_fini(&c);
  return err ? -1 : 0;
}

int tir_estimate_flops(const tn_obj *program, double *out) {
  const tn_IRModule *m = TN_AS(IRModule, program);
  *out = 0;
  for (int64_t i = 0; i < (m ? m->functions->len : 1); ++i) {
    double n;
    const tn_obj *o = m ? m->functions->entries[i].value.v.obj : program;
    if (m && !TN_AS(PrimFunc, o)) continue;
    TN_TRY(estimate(o, &n));
    *out += n;
  }
  return 0;
}
