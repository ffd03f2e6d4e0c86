/* How results of analyses are shown: ConstIntBound[0,39], ModularSet(coeff=4, base=2),
   IntervalSet[x, x + 3], IterSum([IterSplit(IterMark(x, extent=8), ...)], 0). */
#include "arith/arith_impl.h"
#include "object/repr.h"

static void put_bound(tn_repr *r, int64_t v) {
  if (v >= ARITH_POS_INF) tn_buf_puts(tn_repr_out(r), "pos_inf");
  else if (v <= ARITH_NEG_INF) tn_buf_puts(tn_repr_out(r), "neg_inf");
  else tn_buf_printf(tn_repr_out(r), "%lld", (long long)v);
}

static int repr_bound(tn_repr *r, const tn_obj *o) {
  const tn_ConstIntBound *b = (const tn_ConstIntBound *)o;
  tn_buf_puts(tn_repr_out(r), "ConstIntBound[");
  put_bound(r, b->min_value);
  tn_buf_puts(tn_repr_out(r), ",");
  put_bound(r, b->max_value);
  tn_buf_puts(tn_repr_out(r), "]");
  return 0;
}

static int repr_modular(tn_repr *r, const tn_obj *o) {
  const tn_ModularSet *s = (const tn_ModularSet *)o;
  tn_buf_printf(tn_repr_out(r), "ModularSet(coeff=%lld, base=%lld)", (long long)s->coeff,
                (long long)s->base);
  return 0;
}

/* text, value, text, value, ..., text */
static int put_parts(tn_repr *r, int n, const char *const *texts, const void *const *values) {
  for (int i = 0; i < n; ++i) {
    tn_buf_puts(tn_repr_out(r), texts[i]);
    TN_TRY(tn_repr_any(r, tn_any_obj(values[i])));
  }
  tn_buf_puts(tn_repr_out(r), texts[n]);
  return 0;
}

static int repr_interval(tn_repr *r, const tn_obj *o) {
  static const char *const texts[] = {"IntervalSet[", ", ", "]"};
  const tn_IntervalSet *s = (const tn_IntervalSet *)o;
  return put_parts(r, 2, texts, (const void *const[]){s->min_value, s->max_value});
}

static int repr_mark(tn_repr *r, const tn_obj *o) {
  static const char *const texts[] = {"IterMark(", ", extent=", ")"};
  const tn_IterMark *m = (const tn_IterMark *)o;
  return put_parts(r, 2, texts, (const void *const[]){m->source, m->extent});
}

static int repr_split(tn_repr *r, const tn_obj *o) {
  static const char *const texts[] = {"IterSplit(",
                                      ", lower_factor=", ", extent=", ", scale=", ")"};
  const tn_IterSplitExpr *s = (const tn_IterSplitExpr *)o;
  return put_parts(r, 4, texts,
                   (const void *const[]){s->source, s->lower_factor, s->extent, s->scale});
}

static int repr_sum(tn_repr *r, const tn_obj *o) {
  static const char *const texts[] = {"IterSum(", ", ", ")"};
  const tn_IterSumExpr *s = (const tn_IterSumExpr *)o;
  return put_parts(r, 2, texts, (const void *const[]){s->args, s->base});
}

int arith_repr_init(void) {
  static const struct {
    const tn_type *type;
    tn_repr_fn repr;
  } all[] = {{&tn_type_ConstIntBound, repr_bound},  {&tn_type_ModularSet, repr_modular},
             {&tn_type_IntervalSet, repr_interval}, {&tn_type_IterMark, repr_mark},
             {&tn_type_IterSplitExpr, repr_split},  {&tn_type_IterSumExpr, repr_sum}};
  for (size_t i = 0; i < sizeof all / sizeof *all; ++i)
    TN_TRY(tn_repr_set(all[i].type, all[i].repr));
  return 0;
}
