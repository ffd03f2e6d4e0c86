/* Asking operators about layouts, and the rules that many of them share (see layouts.h). */
#include "relay/layouts.h"

#include <string.h>

#include "base/error.h"
#include "ir/imm.h"

/* ---- layouts ---- */

static bool is_whole(char axis) { return axis >= 'A' && axis <= 'Z'; }
static char whole(char axis) { return is_whole(axis) ? axis : (char)(axis - 'a' + 'A'); }

bool relay_layout_equal(const tn_Layout *a, const tn_Layout *b) {
  return a == b || (a && b && strcmp(tn_cstr(a->name), tn_cstr(b->name)) == 0);
}

static bool has_axes_of(const tn_Layout *a, const tn_Layout *b) {
  for (int64_t i = 0; i < b->axes->len; ++i)
    if (tir_layout_index(a, whole(tir_layout_axis(b, i))) < 0) return false;
  return true;
}

bool relay_layout_matches(const tn_Layout *a, const tn_Layout *b) {
  return a && b && has_axes_of(a, b) && has_axes_of(b, a);
}

int64_t relay_layout_axis_in(const tn_Layout *from, int64_t axis, const tn_Layout *to) {
  if (axis < 0) axis += from->axes->len;
  if (axis < 0 || axis >= from->axes->len) return -1;
  char letter = tir_layout_axis(from, axis);
  if (tir_layout_factor(to, letter) > 0 || tir_layout_factor(from, letter) > 0) return -1;
  return tir_layout_index(to, letter);
}

static tn_arr *all_of(int64_t n, tn_Layout *l) {
  TN_VEC(v);
  for (int64_t i = 0; i < n; ++i) TN_TRYP(tn_vec_push_obj(&v, l));
  return tn_arr_from(&v);
}

int relay_layouts_answer(relay_layouts *q, tn_Layout *in, tn_Layout *out) {
  if (!in || !out) return tn_error_pending() ? -1 : 0;
  TN_GET(q->in, all_of(q->types->len, in));
  TN_GET(q->out, tn_arr_of(1, out));
  return 1;
}

/* ---- asking ---- */

/* A function in another language: (attributes, layouts now or None, layouts before, types) ->
   InferCorrectLayoutOutput. */
static int ask_function(relay_layouts *q, tn_func *f) {
  tn_any ret, args[] = {tn_any_obj(q->attrs), q->given ? tn_any_obj(q->given) : tn_any_none(),
                        tn_any_obj(q->before), tn_any_obj(q->types)};
  TN_TRY(tn_func_call(f, args, 4, &ret));
  tn_obj *o = tn_any_is_obj(&ret) ? tn_scope_own(ret.v.obj) : NULL;
  const tn_InferCorrectLayoutOutput *said = TN_AS(InferCorrectLayoutOutput, o);
  if (!o) return 0;
  TN_CHECK(said, TypeError, NULL, "layouts of %s: expected an InferCorrectLayoutOutput, got %s",
           tn_cstr(q->op->name), tn_obj_key(o));
  q->in = said->input_layouts;
  q->out = said->output_layouts;
  q->attrs = said->new_attrs;
  return relay_layout_at(q->out, 0) ? 1 : 0;
}

/* The rule that follows from how an operator reads its arguments. */
static relay_layouts_fn rule_of(const relay_op_row *row) {
  if (!row || row->layouts) return row ? row->layouts : NULL;
  if (row->pattern == RELAY_ELEMWISE) return relay_layouts_elementwise;
  return row->pattern == RELAY_BROADCAST && !row->attrs ? relay_layouts_broadcast : NULL;
}

int relay_op_layouts(relay_layouts *q) {
  tn_any found;
  q->row = relay_op_row_of((const tn_obj *)q->op);
  if (ir_op_attr(q->op, "FInferCorrectLayout", &found) && tn_any_is_obj(&found)) {
    tn_func *f = TN_AS(Function, found.v.obj);
    TN_CHECK(f, TypeError, NULL, "FInferCorrectLayout of %s is not a function",
             tn_cstr(q->op->name));
    return ask_function(q, f);
  }
  relay_layouts_fn rule = rule_of(q->row);
  return rule ? rule(q) : 0;
}

/* ---- elementwise ---- */

static bool same_ranks(const relay_layouts *q) {
  if (!q->out_type) return false;
  for (int64_t i = 0; i < q->types->len; ++i)
    if (relay_layouts_type(q, i)->shape->len != q->out_type->shape->len) return false;
  return q->types->len > 0;
}

/* The first argument that is in another layout than before; else the first that has any: -1 none.
 */
static int64_t leading(const relay_layouts *q) {
  for (int64_t i = 0; i < q->types->len; ++i)
    if (relay_layout_at(q->given, i)) return i;
  for (int64_t i = 0; i < q->types->len; ++i)
    if (relay_layout_at(q->before, i)) return i;
  return -1;
}

int relay_layouts_elementwise(relay_layouts *q) {
  int64_t i = same_ranks(q) ? leading(q) : -1;
  return i < 0 ? 0 : relay_layouts_answer(q, relay_layout_now(q, i), relay_layout_now(q, i));
}

/* ---- broadcasting ---- */

static int64_t extent_of(const tn_TensorType *t, const tn_Layout *l, char letter) {
  int64_t v;
  return relay_known_int(t->shape, tir_layout_index(l, letter), &v) ? v : -1;
}

/* Does the argument have, along all axes that its layout blocks, the extents of the result? */
static bool can_lead(const relay_layouts *q, int64_t i) {
  const tn_Layout *l = relay_layout_now(q, i), *before = relay_layout_at(q->before, i);
  const tn_TensorType *t = relay_layouts_type(q, i);
  if (!l || !before || !q->out_type || t->shape->len != q->out_type->shape->len) return false;
  for (int64_t k = 0; k < l->axes->len; ++k) {
    char letter = tir_layout_axis(l, k);
    if (is_whole(letter)) continue;
    if (!is_whole(letter) && tir_layout_index(before, letter) >= 0) continue;
    if (extent_of(t, before, whole(letter)) != extent_of(q->out_type, before, whole(letter)))
      return false;
  }
  return true;
}

static int64_t leader(const relay_layouts *q) {
  for (int64_t i = 0; i < q->types->len; ++i)
    if (relay_layout_at(q->given, i) && can_lead(q, i)) return i;
  for (int64_t i = 0; !q->given && i < q->types->len; ++i)
    if (can_lead(q, i)) return i;
  return -1;
}

/* The layout of an argument that has the last axes of `l`, with blocks of 1 where it is repeated in
 * them; NULL without an error when blocks lose their axis. */
static tn_Layout *last_axes(const tn_Layout *l, const tn_TensorType *t) {
  TN_BUF(text);
  int64_t n = t->shape->len;
  int64_t first = l->axes->len - n;
  for (int64_t i = first; i < l->axes->len; ++i) {
    char letter = tir_layout_axis(l, i);
    if (tir_layout_index(l, whole(letter)) < first) return NULL;
    if (is_whole(letter)) tn_buf_printf(&text, "%c", letter);
    else {
      bool repeated = relay_dim_is(relay_dim(t, i - first), 1) == 1;
      tn_buf_printf(&text, "%lld%c", repeated ? 1LL : (long long)tir_layout_factor(l, letter),
                    letter);
    }
  }
  TN_TRYP(tn_buf_ok(&text));
  return tir_layout(tn_buf_cstr(&text), TN_I32);
}

static bool is_single(const tn_TensorType *t) {
  for (int64_t i = 0; i < t->shape->len; ++i)
    if (relay_dim_is(relay_dim(t, i), 1) != 1) return false;
  return true;
}

/* Along `letter`, which `now` blocks: is the argument repeated (1), has it all of the result's
 * elements (0), or neither, as where the same block comes again and again (-1)? */
static int repeats(const relay_layouts *q, const tn_TensorType *t, const tn_Layout *old,
                   const tn_Layout *full, char letter) {
  char block = (char)(letter - 'A' + 'a');
  if (tir_layout_index(old, letter) < 0) return 1;
  int64_t own = extent_of(t, old, letter);
  if (tir_layout_index(old, block) < 0) return own == 1;
  int64_t inner = extent_of(t, old, block);
  if (own == 1 && inner == 1) return 1;
  bool all =
      own == extent_of(q->out_type, full, letter) && inner == extent_of(q->out_type, full, block);
  return all && own > 0 && inner > 0 ? 0 : -1;
}

/* What an argument that had the last axes of the layout before (`old`, of `full`) must become:
   `now`, with blocks of 1 where it is repeated. Axes that it does not have stand there too, to be
   added with extent 1. NULL without an error where it cannot. */
static tn_Layout *follow(const relay_layouts *q, const tn_TensorType *t, const tn_Layout *old,
                         const tn_Layout *full, const tn_Layout *now) {
  TN_BUF(text);
  for (int64_t i = 0; i < now->axes->len; ++i) {
    char letter = tir_layout_axis(now, i);
    if (is_whole(letter)) {
      tn_buf_printf(&text, "%c", letter);
      continue;
    }
    int repeated = repeats(q, t, old, full, whole(letter));
    if (repeated < 0) return NULL;
    tn_buf_printf(&text, "%lld%c", repeated ? 1LL : (long long)tir_layout_factor(now, letter),
                  letter);
  }
  TN_TRYP(tn_buf_ok(&text));
  return tir_layout(tn_buf_cstr(&text), TN_I32);
}

int relay_layouts_broadcast(relay_layouts *q) {
  int64_t lead = leader(q);
  if (lead < 0) return 0;
  tn_Layout *before = relay_layout_at(q->before, lead), *now = relay_layout_now(q, lead);
  TN_VEC(in);
  for (int64_t i = 0; i < q->types->len; ++i) {
    const tn_TensorType *t = relay_layouts_type(q, i);
    tn_Layout *l = t->shape->len > before->axes->len ? NULL : last_axes(before, t);
    if (!l && tn_error_pending()) return -1;
    bool own = relay_layout_at(q->given, i) && relay_layout_equal(l, relay_layout_at(q->before, i));
    if (is_single(t) && !own) l = NULL; /* fits as it is, whatever the layout */
    else if (!l && q->given) return 0;
    else if (l && q->given && !relay_layout_equal(before, now)) {
      l = i == lead ? now : follow(q, t, l, before, now);
      if (!l) return tn_error_pending() ? -1 : 0;
    }
    TN_TRY(tn_vec_push_obj(&in, l));
  }
  TN_GET(q->in, tn_arr_from(&in));
  TN_GET(q->out, tn_arr_of(1, now));
  return 1;
}

/* ---- operators that say their layout ---- */

int relay_layouts_by_attr(relay_layouts *q) {
  const char *text = relay_attr_str(q->attrs, "layout");
  tn_Layout *own, *now = relay_layout_at(q->given, 0);
  TN_GET(own, tir_layout(text, TN_I32));
  bool fits = now && relay_layout_matches(own, now);
  for (const char *p = "DHW"; fits && *p; ++p) fits = tir_layout_factor(now, *p) < 0;
  if (!fits) return relay_layouts_answer(q, own, own);
  TN_GET(q->attrs, relay_attrs_with(q->attrs, "layout", tn_any_obj(now->name)));
  const char *out = relay_attr_str(q->attrs, "out_layout");
  if (*out) TN_GET(q->attrs, relay_attrs_with(q->attrs, "out_layout", tn_any_obj(now->name)));
  return relay_layouts_answer(q, now, now);
}
