/* Axes by letter (see layout.h). */
#include "ops/layout.h"

#include "ir/imm.h"

static bool is_primal(char letter) { return letter >= 'A' && letter <= 'Z'; }
static char primal_of(char letter) {
  return is_primal(letter) ? letter : (char)(letter - 'a' + 'A');
}

/* What value `v` of an axis of the layout adds to the logical axis. */
static tn_expr *part(const tn_Layout *l, char letter, tn_expr *v, bool extents) {
  int64_t factor = tir_layout_factor(l, letter);
  if (!is_primal(letter)) return extents ? NULL : v; /* an extent is in the factor already */
  if (factor < 0) return v;
  return extents ? relay_dim_times(v, factor) : tir_mul(v, tir_const_int(v->dtype, factor));
}

int ops_axes_of(const char *layout, const tn_arr *values, bool extents, ops_axes *out) {
  const tn_Layout *l;
  *out = (ops_axes){{NULL}};
  TN_GET(l, tir_layout(layout, TN_I32));
  TN_CHECK(l->axes->len == values->len, ValueError, NULL,
           "layout %s has %lld axes, but there are %lld dimensions", layout,
           (long long)l->axes->len, (long long)values->len);
  for (int64_t i = 0; i < values->len; ++i) {
    char letter = tir_layout_axis(l, i);
    tn_expr *v = part(l, letter, (tn_expr *)tn_arr_obj(values, i), extents);
    tn_expr **sum = &OPS_AXIS(out, primal_of(letter));
    if (!v && tn_error_pending()) return -1;
    if (v) TN_GET(*sum, *sum ? tir_add(*sum, v) : v);
  }
  return 0;
}

static tn_expr *axis_value(const tn_Layout *l, char letter, tn_expr *v, bool extents) {
  int64_t factor = tir_layout_factor(l, letter);
  if (factor < 0) return v;
  tn_expr *f = tir_const_int(v->dtype, factor);
  if (!is_primal(letter)) return extents ? f : tir_floormod(v, f);
  return extents ? relay_dim_divided(v, factor) : tir_floordiv(v, f);
}

tn_arr *ops_axes_to(const char *layout, const ops_axes *a, bool extents) {
  TN_VEC(out);
  const tn_Layout *l;
  TN_GETP(l, tir_layout(layout, TN_I32));
  for (int64_t i = 0; i < l->axes->len; ++i) {
    char letter = tir_layout_axis(l, i);
    tn_expr *v = OPS_AXIS(a, primal_of(letter));
    if (!v && tn_error_pending()) return NULL;
    TN_CHECKP(v, ValueError, NULL, "layout %s: unknown axis %c", layout, letter);
    TN_TRYP(tn_vec_push_obj(&out, axis_value(l, letter, v, extents)));
  }
  return tn_arr_from(&out);
}

/* ---- layouts rules ---- */

int ops_layouts_axis(relay_layouts *q) {
  tn_Layout *before = relay_layout_at(q->before, 0), *now = relay_layout_now(q, 0);
  if (!before) return 0;
  int64_t axis = relay_layout_axis_in(before, relay_attr_int(q->attrs, "axis", 0), now);
  if (axis < 0) return relay_layouts_answer(q, before, before);
  if (!relay_layout_equal(before, now))
    TN_GET(q->attrs, relay_attrs_with(q->attrs, "axis", tn_any_int(axis)));
  return relay_layouts_answer(q, now, now);
}

int ops_layouts_channels(relay_layouts *q) {
  tn_Layout *before = relay_layout_at(q->before, 0), *now = relay_layout_now(q, 0), *vector;
  if (!before) return 0;
  int64_t own = relay_attr_int(q->attrs, "axis", -1), axis = relay_layout_axis_in(before, own, now);
  if (axis < 0) now = before;
  else if (!relay_layout_equal(before, now))
    TN_GET(q->attrs, relay_attrs_with(q->attrs, "axis", tn_any_int(axis)));
  if (own < 0) own += before->axes->len;
  if (own < 0 || own >= before->axes->len) return 0;
  TN_GET(vector, tir_layout((const char[]){tir_layout_axis(before, own), 0}, TN_I32));
  TN_VEC(in);
  TN_TRY(tn_vec_push_obj(&in, now));
  for (int64_t i = 1; i < q->types->len; ++i)
    TN_TRY(tn_vec_push_obj(&in, relay_layouts_type(q, i)->shape->len == 1 ? vector : NULL));
  TN_GET(q->in, tn_arr_from(&in));
  TN_GET(q->out, tn_arr_of(2, now, vector));
  return 1;
}

static tn_arr *first_of(const tn_arr *a, int64_t n) {
  return a ? tn_arr_new(a->items, a->len < n ? a->len : n) : NULL;
}

int ops_layouts_of_first(relay_layouts *q, int64_t n, relay_layouts_fn rule) {
  relay_layouts first = *q;
  if (q->types->len < n) return 0;
  TN_GET(first.types, tn_scope_own(first_of(q->types, n)));
  if (q->before) TN_GET(first.before, tn_scope_own(first_of(q->before, n)));
  if (q->given) TN_GET(first.given, tn_scope_own(first_of(q->given, n)));
  int known = rule(&first);
  if (known != 1) return known;
  TN_VEC(in);
  for (int64_t i = 0; i < q->types->len; ++i)
    TN_TRY(tn_vec_push_obj(&in, relay_layout_at(first.in, i)));
  TN_GET(q->in, tn_arr_from(&in));
  q->out = first.out;
  q->attrs = first.attrs;
  return 1;
}

int ops_layouts_regions(relay_layouts *q) {
  relay_layouts own = *q;
  own.given = NULL;
  int known = ops_layouts_of_first(&own, 1, relay_layouts_by_attr);
  q->in = own.in, q->out = own.out;
  return known;
}

bool ops_blocks_fit(const relay_layouts *q, const tn_Layout *to, char letter) {
  int64_t factor = tir_layout_factor(to, letter), extent;
  for (int64_t i = 0; factor > 0 && i < q->types->len; ++i) {
    const tn_Layout *before = relay_layout_at(q->before, i);
    int64_t axis = before ? tir_layout_index(before, letter) : -1;
    if (axis < 0 || !tir_as_int((tn_obj *)relay_dim(relay_layouts_type(q, i), axis), &extent) ||
        extent % factor != 0)
      return false;
  }
  return true;
}
