/* Passes that put one operator in the place of another.

   FastMath: exp(%x) -> fast_exp(%x); tanh, erf and softmax likewise: faster, less exact.
   DivToMul: divide(%x, 4f) -> multiply(%x, 0.25f).
   FoldExplicitPadding: nn.conv2d(nn.pad(%x, 0f), %w) -> nn.conv2d(%x, %w, padding=...), pooling
   too. */
#include "base/error.h"
#include "base/scope.h"
#include "ir/imm.h"
#include "relay/infer.h"
#include "relay/transforms/float_rules.h"
#include "relay/expr/call_builder.h"
#include "relay/expr/expr_info.h"
#include "relay/expr/replace.h"
#include "relay/transforms/transforms.h"

typedef struct {
  const char *pass;
  relay_expr *(*replace)(const tn_RelayCall *c); /* NULL where it has none */
} replacing;

static tn_obj *replace(void *ctx, tn_obj *pre, tn_obj *post) {
  const replacing *x = ctx;
  if (!relay_stands_for(post, pre)) return NULL;
  return relay_replaced(x->pass, x->replace((const tn_RelayCall *)post), post, pre);
}

static tn_RelayFunction *run(tn_RelayFunction *f, const tn_pass_ctx *c, replacing x) {
  static const tn_rewrite_case cases[] = {TN_REWRITE(RelayCall, replace)};
  TN_GETP(f, relay_infer_expr(f, c->mod));
  return tn_rewrite(f, cases, TN_COUNT(cases), &x);
}

/* ---- FastMath ---- */

static relay_expr *faster(const tn_RelayCall *c) {
  const relay_op_row *row = relay_op_row_of(relay_op_of(c));
  return row && row->fast ? relay_call_args(row->fast, c->attrs, c->args) : NULL;
}

tn_RelayFunction *relay_fast_math(tn_RelayFunction *f, const tn_pass_ctx *c) {
  return run(f, c, (replacing){"FastMath", faster});
}

/* ---- DivToMul ---- */

static relay_expr *times_inverse(const tn_RelayCall *c) {
  relay_expr *by = relay_as_call(c, "divide") ? relay_arg(c, 1) : NULL;
  const tn_TensorType *t = TN_AS(Constant, by) ? relay_known_type(by) : NULL;
  if (!t || !ir_is_floating(t->dtype) || !relay_is_moderate(by)) return NULL;
  void *inverse = relay_fold_expr(relay_binary("divide", relay_const_float(t->dtype, 1), by));
  return relay_binary("multiply", relay_arg(c, 0), inverse);
}

tn_RelayFunction *relay_div_to_mul(tn_RelayFunction *f, const tn_pass_ctx *c) {
  return run(f, c, (replacing){"DivToMul", times_inverse});
}

/* ---- FoldExplicitPadding ---- */

enum { MAX_SPATIAL = 3 };

/* Numbers put around each spatial axis: before them all, then after. */
typedef struct {
  int n;
  int64_t before[MAX_SPATIAL], after[MAX_SPATIAL];
} padding;

/* What a nn.pad adds to the spatial axes of a layout; false: it adds something elsewhere. */
static bool read_pad(const tn_RelayCall *pad, const char *layout, padding *p) {
  const tn_arr *width = relay_attr_obj(pad->attrs, "pad_width");
  int64_t ndim = (int64_t)strlen(layout);
  p->n = 0;
  if (!width || width->len != ndim || strcmp(relay_attr_str(pad->attrs, "pad_mode"), "constant"))
    return false;
  for (int64_t i = 0; i < ndim; ++i) {
    const tn_arr *pair = TN_AS(Array, tn_arr_obj(width, i));
    int64_t before = relay_listed(pair, 0), after = relay_listed(pair, 1);
    if (!pair || before < 0 || after < 0) return false;
    if (!strchr("DHW", layout[i])) {
      if (before || after) return false;
      continue;
    }
    if (p->n == MAX_SPATIAL) return false;
    p->before[p->n] = before;
    p->after[p->n++] = after;
  }
  return true;
}

/* Adds the padding that the call has itself: one number, one for each axis, or before and after. */
static void add_own(const tn_arr *own, padding *p) {
  for (int i = 0; i < p->n; ++i) {
    bool pairs = own && own->len == 2 * (int64_t)p->n, one = own && own->len == 1;
    p->before[i] += relay_listed(own, one ? 0 : i);
    p->after[i] += relay_listed(own, one ? 0 : pairs ? i + p->n : i);
  }
}

static bool has_padding(const tn_arr *own) {
  for (int64_t i = 0; own && i < own->len; ++i)
    if (relay_listed(own, i) != 0) return true;
  return false;
}

/* Does the mean of windows count the border, or is there none? */
static bool counts_border(const tn_RelayCall *c) {
  return relay_attr_int(c->attrs, "count_include_pad", 0) ||
         !has_padding(relay_attr_obj(c->attrs, "padding"));
}

/* May zeros (the least number, for a maximum) around the input be the operator's own padding? */
static bool takes_padding(const tn_RelayCall *c, const tn_RelayCall *pad, const char **layout) {
  double value;
  relay_form form = RELAY_ASK(form, c);
  const tn_TensorType *t = relay_known_type(c);
  bool rounds_up = relay_attr_int(c->attrs, "ceil_mode", 0);
  if (!relay_as_scalar(relay_arg(pad, 1), &value)) return false;
  *layout = relay_attr_str(c->attrs, form == RELAY_CONVOLUTION ? "data_layout" : "layout");
  switch (form) {
  case RELAY_CONVOLUTION: return value == 0;
  case RELAY_WINDOW_MEAN: return value == 0 && !rounds_up && counts_border(c);
  case RELAY_WINDOW_MAX:
    return t && ir_is_floating(t->dtype) && value <= -ir_float_limit(t->dtype) && !rounds_up;
  default: return false;
  }
}

static relay_expr *with_padding(const tn_RelayCall *c) {
  const char *op = relay_called_op(c), *layout = "";
  const tn_RelayCall *pad = op && c->args->len ? relay_as_call(relay_arg(c, 0), "nn.pad") : NULL;
  padding p;
  if (!pad || pad->args->len != 2 || !takes_padding(c, pad, &layout) || !read_pad(pad, layout, &p))
    return NULL;
  add_own(relay_attr_obj(c->attrs, "padding"), &p);
  int64_t all[2 * MAX_SPATIAL];
  for (int i = 0; i < p.n; ++i) {
    all[i] = p.before[i];
    all[i + p.n] = p.after[i];
  }
  tn_arr *list;
  void *attrs;
  TN_GETP(list, relay_ints(all, 2 * (int64_t)p.n));
  TN_GETP(attrs, relay_attrs_with(c->attrs, "padding", tn_any_obj(list)));
  if (RELAY_ASK(form, c) == RELAY_WINDOW_MEAN)
    TN_GETP(attrs, relay_attrs_with(attrs, "count_include_pad", tn_any_bool(true)));
  TN_VEC(args);
  TN_TRYP(tn_vec_push_obj(&args, relay_arg(pad, 0)));
  for (int64_t i = 1; i < c->args->len; ++i) TN_TRYP(tn_vec_push(&args, c->args->items[i]));
  return relay_call_args(op, attrs, tn_arr_from(&args));
}

tn_RelayFunction *relay_fold_explicit_padding(tn_RelayFunction *f, const tn_pass_ctx *c) {
  return run(f, c, (replacing){"FoldExplicitPadding", with_padding});
}
