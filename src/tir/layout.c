/* Layouts of tensors: reading the text, mapping indices and extents between two layouts.

     NCHW -> NCHW16c:   (n, c, h, w) -> (n, c // 16, h, w, c % 16)
                        (1, 32, 7, 7) -> (1, 2, 7, 7, 16)

   A mapping goes over the logical axes: an index of the source gives each logical index as the sum
   of its parts, and an axis of the destination takes its part of that. */
#include "tir/layout.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "arith/analyzer.h"
#include "ir/expr.h"
#include "ir/functor.h"
#include "object/functions.h"
#include "tir/tir_impl.h"

static bool is_primal(char axis) { return axis >= 'A' && axis <= 'Z'; }
static char primal_of(char axis) { return is_primal(axis) ? axis : (char)(axis - 'a' + 'A'); }

static const tn_IterVar *iter(const tn_Layout *l, int64_t i) {
  return (const tn_IterVar *)tn_arr_obj(l->axes, i);
}

/* The last letter of the variable's name: "C", "16c". */
char tir_layout_axis(const tn_Layout *l, int64_t i) {
  const tn_str *name = iter(l, i)->var->name;
  return name->len ? name->data[name->len - 1] : '?';
}

int64_t tir_layout_index(const tn_Layout *l, char axis) {
  for (int64_t i = 0; i < l->axes->len; ++i) {
    if (tir_layout_axis(l, i) == axis) return i;
  }
  return -1;
}

/* Extent of a sub-axis. */
static int64_t block(const tn_Layout *l, int64_t i) {
  int64_t v = -1;
  tir_as_int((const tn_obj *)iter(l, i)->dom->extent, &v);
  return v;
}

int64_t tir_layout_factor(const tn_Layout *l, char axis) {
  int64_t i = tir_layout_index(l, (char)tolower(axis));
  return i < 0 ? -1 : block(l, i);
}

/* ---- reading ---- */

/* Passes read layouts by the thousand: names are put together without printf. */
static tn_IterVar *new_axis(char letter, int64_t factor, tn_dtype t) {
  char name[24] = {letter}, shape[] = "?_shape";
  tn_expr *extent;
  shape[0] = letter;
  if (!is_primal(letter)) snprintf(name, sizeof name, "%lld%c", (long long)factor, letter);
  TN_GETP(extent, is_primal(letter) ? (tn_expr *)tir_var(shape, t) : tir_int(t, factor));
  return tir_iter_var(tir_range(tir_int(t, 0), extent), tir_var(name, t), IR_ITER_DATA_PAR, "");
}

static int invalid(const char *text, const char *why, char letter) {
  return TN_RAISE(ValueError, NULL, "Invalid layout %s: %s %c", text, why, letter);
}

static int read_axes(const char *text, tn_dtype t, tn_vec *axes) {
  int64_t factor = 0;
  bool seen[128] = {false};
  for (const char *p = text; *p; ++p) {
    if (*p >= '0' && *p <= '9') {
      factor = factor * 10 + (*p - '0');
      TN_CHECK(factor <= INT32_MAX, ValueError, NULL, "Invalid layout %s: a factor is too large",
               text);
      continue;
    }
    if (!isalpha((unsigned char)*p)) return invalid(text, "unexpected", *p);
    if (is_primal(*p) && factor) return invalid(text, "there is a factor before dimension", *p);
    if (!is_primal(*p) && !factor) return invalid(text, "missing factor before dimension", *p);
    if (seen[(int)*p]) return invalid(text, "duplicate axis", *p);
    seen[(int)*p] = true;
    tn_IterVar *axis = new_axis(*p, factor, t);
    if (!axis) return -1;
    TN_TRY(tn_vec_push_obj(axes, axis));
    factor = 0;
  }
  TN_CHECK(!factor, ValueError, NULL, "Invalid layout %s: it ends with a factor", text);
  for (char c = 'a'; c <= 'z'; ++c) {
    if (seen[(int)c] && !seen[(int)primal_of(c)])
      return invalid(text, "missing axis", primal_of(c));
  }
  return 0;
}

tn_Layout *tir_layout(const char *text, tn_dtype t) {
  TN_VEC(axes);
  TN_TRYP(read_axes(text, t, &axes));
  return TN_NEW(Layout, .name = tn_str_from(text), .axes = tn_arr_from(&axes));
}

/* ---- mapping ---- */

/* Product of the extents of the sub-axes of `letter` behind place i. */
static tn_expr *inner_extent(const tn_Layout *l, int64_t i, char letter, tn_dtype t) {
  tn_expr *product = tir_int(t, 1);
  for (int64_t k = i + 1; k < l->axes->len; ++k) {
    if (tir_layout_axis(l, k) == letter) product = tir_mul(product, iter(l, k)->dom->extent);
  }
  return product;
}

/* The logical index of axis `primal` over the variables of l; NULL when l has no such axis. */
static int logical_index(const tn_Layout *l, char primal, tn_expr **out) {
  *out = NULL;
  for (int64_t i = 0; i < l->axes->len; ++i) {
    char axis = tir_layout_axis(l, i);
    if (primal_of(axis) != primal) continue;
    tn_expr *part = (tn_expr *)iter(l, i)->var;
    int64_t factor = is_primal(axis) ? tir_layout_factor(l, axis) : -1;
    if (factor > 0) part = tir_mul(part, tir_int(part->dtype, factor));
    if (!is_primal(axis)) part = tir_mul(part, inner_extent(l, i, axis, part->dtype));
    TN_GET(*out, *out ? tir_add(*out, part) : part);
  }
  return 0;
}

/* The rules of one direction. *index is NULL when an axis of dst has nothing to come from. */
static int rules(const tn_Layout *src, const tn_Layout *dst, tn_arr **index, tn_arr **shape) {
  TN_VEC(by_index);
  TN_VEC(by_shape);
  *index = *shape = NULL;
  for (int64_t i = 0; i < dst->axes->len; ++i) {
    char axis = tir_layout_axis(dst, i);
    tn_expr *at, *extent;
    TN_TRY(logical_index(src, primal_of(axis), &at));
    if (!at) return 0;
    extent = at;
    int64_t factor = tir_layout_factor(dst, axis);
    tn_dtype t = at->dtype;
    if (is_primal(axis) && factor > 0) {
      extent = tir_ceildiv(at, tir_int(t, factor), NULL);
      at = tir_floordiv(at, tir_int(t, factor));
    } else if (!is_primal(axis)) {
      tn_expr *inner = inner_extent(dst, i, axis, t);
      at = tir_floordiv(tir_floormod(at, tir_mul(inner, iter(dst, i)->dom->extent)), inner);
      extent = at;
    }
    if (!at || !extent) return -1;
    TN_TRY(tn_vec_push_obj(&by_index, at));
    TN_TRY(tn_vec_push_obj(&by_shape, extent));
  }
  TN_GET(*shape, tn_arr_from(&by_shape));
  TN_GET(*index, tn_arr_from(&by_index));
  return 0;
}

int tir_bijective_layout(tn_Layout *src, tn_Layout *dst, tn_BijectiveLayout **out) {
  tn_BijectiveLayout b = {.src_layout = src, .dst_layout = dst};
  *out = NULL;
  if (src->axes->len == 0 || dst->axes->len == 0) return 0;
  TN_TRY(rules(src, dst, &b.index_forward_rule, &b.shape_forward_rule));
  TN_TRY(rules(dst, src, &b.index_backward_rule, &b.shape_backward_rule));
  if (!b.index_forward_rule || !b.index_backward_rule) return 0;
  TN_GET(*out, tn_node_copy(&tn_type_BijectiveLayout, &b));
  return 0;
}

static int check_count(const tn_arr *given, const tn_Layout *l) {
  TN_CHECK(given->len == l->axes->len, ValueError, NULL,
           "Input mismatch with layout %s: expected %lld values, got %lld", tn_cstr(l->name),
           (long long)l->axes->len, (long long)given->len);
  return 0;
}

/* A rule with the variables of the axes replaced, simplified. */
static tn_expr *apply(const tn_obj *rule, const tn_pmap *values) {
  TN_ARITH(a);
  tn_expr *e = tir_substitute(rule, values);
  return e ? arith_simplify(&a, e) : NULL;
}

static int bind(tn_pmap *values, const tn_IterVar *axis, tn_expr *value) {
  tn_expr *e = value ? tir_cast(axis->var->dtype, value, NULL) : NULL;
  return e ? tn_pmap_put(values, axis->var, e) : -1;
}

tn_arr *tir_layout_map_index(const tn_BijectiveLayout *b, bool forward, const tn_arr *index) {
  TN_PMAP(values);
  TN_VEC(out);
  const tn_Layout *from = forward ? b->src_layout : b->dst_layout;
  const tn_arr *rule = forward ? b->index_forward_rule : b->index_backward_rule;
  TN_TRYP(check_count(index, from));
  for (int64_t i = 0; i < index->len; ++i)
    TN_TRYP(bind(&values, iter(from, i), (tn_expr *)tn_arr_obj(index, i)));
  for (int64_t i = 0; i < rule->len; ++i) {
    tn_expr *e = apply(tn_arr_obj(rule, i), &values);
    if (!e || tn_vec_push_obj(&out, e)) return NULL;
  }
  return tn_arr_from(&out);
}

/* An extent of the source: sub-axes count nothing by themselves, but must have the layout's size.
 */
static int bind_extent(tn_pmap *values, const tn_Layout *l, int64_t i, tn_expr *extent) {
  int64_t given;
  if (is_primal(tir_layout_axis(l, i))) return bind(values, iter(l, i), extent);
  TN_CHECK(!tir_as_int((tn_obj *)extent, &given) || given == block(l, i), ValueError, NULL,
           "Input shape mismatch at index %lld. Expected %lld, get %lld", (long long)i,
           (long long)block(l, i), (long long)given);
  return bind(values, iter(l, i), tir_int(iter(l, i)->var->dtype, 0));
}

/* Is the extent that axis `axis` of the destination comes from only known at run time? */
static bool is_any(const tn_Layout *from, const tn_arr *shape, char axis) {
  int64_t i = tir_layout_index(from, primal_of(axis));
  return i >= 0 && TN_AS(Any, tn_arr_obj(shape, i));
}

tn_arr *tir_layout_map_shape(const tn_BijectiveLayout *b, bool forward, const tn_arr *shape) {
  TN_PMAP(values);
  TN_VEC(out);
  const tn_Layout *from = forward ? b->src_layout : b->dst_layout;
  const tn_Layout *to = forward ? b->dst_layout : b->src_layout;
  const tn_arr *rule = forward ? b->shape_forward_rule : b->shape_backward_rule;
  TN_TRYP(check_count(shape, from));
  for (int64_t i = 0; i < shape->len; ++i)
    TN_TRYP(bind_extent(&values, from, i, (tn_expr *)tn_arr_obj(shape, i)));
  for (int64_t i = 0; i < rule->len; ++i) {
    char axis = tir_layout_axis(to, i);
    tn_expr *e = !is_primal(axis)            ? iter(to, i)->dom->extent
                 : is_any(from, shape, axis) ? (tn_expr *)TN_MAKE(Any)
                                             : apply(tn_arr_obj(rule, i), &values);
    if (!e || tn_vec_push_obj(&out, e)) return NULL;
  }
  return tn_arr_from(&out);
}

/* ---- global functions ---- */

static int arg_layout(const tn_any *args, int32_t n, int32_t i, const tn_type *type, void *out) {
  return tn_arg_obj(args, n, i, type, out);
}

/* (text, dtype); "__undef__" is None */
static int make_layout(TN_ARGS) {
  const char *text;
  tn_dtype t = TN_I32;
  TN_CHECK(n >= 1, TypeError, NULL, "layout: expected a text");
  TN_TRY(tn_any_to_cstr(&args[0], &text));
  if (n > 1) TN_TRY(tn_any_to_dtype(&args[1], &t));
  TN_CHECK(t.code == kDLInt && t.bits > 1 && t.lanes == 1, TypeError, NULL,
           "layout: expected an integer type for the axes, got %s", TN_DT(t));
  if (strcmp(text, "__undef__") == 0) return 0;
  return tn_ret_obj(ret, tir_layout(text, t));
}

static int layout_ndim(TN_ARGS) {
  tn_Layout *l;
  TN_TRY(arg_layout(args, n, 0, &tn_type_Layout, &l));
  *ret = tn_any_int(l->axes->len);
  return 0;
}

/* (layout, i); negative ones count from the end */
static int layout_item(TN_ARGS) {
  TN_NARGS("tir.LayoutGetItem", 2);
  tn_Layout *l;
  int64_t i;
  TN_TRY(arg_layout(args, n, 0, &tn_type_Layout, &l));
  TN_TRY(tn_any_to_int(&args[1], &i));
  if (i < 0) i += l->axes->len;
  TN_CHECK(i >= 0 && i < l->axes->len, IndexError, NULL, "Layout index out of range");
  char text[2] = {tir_layout_axis(l, i), 0};
  return tn_ret_owned(ret, tn_str_new(text));
}

/* self: tir_layout_index or tir_layout_factor. (layout, axis) */
typedef int64_t (*axis_question)(const tn_Layout *, char);
static int ask(axis_question question, const tn_any *args, int32_t n, tn_any *ret) {
  tn_Layout *l;
  const char *axis;
  TN_TRY(arg_layout(args, n, 0, &tn_type_Layout, &l));
  TN_CHECK(n == 2, TypeError, NULL, "expected a layout and an axis");
  TN_TRY(tn_any_to_cstr(&args[1], &axis));
  TN_CHECK(isalpha((unsigned char)axis[0]) && !axis[1], ValueError, NULL,
           "expected the letter of an axis, got \"%s\"", axis);
  *ret = tn_any_int(question(l, axis[0]));
  return 0;
}
static int layout_index_of(TN_ARGS) { return ask(tir_layout_index, args, n, ret); }
static int layout_factor_of(TN_ARGS) { return ask(tir_layout_factor, args, n, ret); }

/* (source, destination): None where one of them is None or there is no mapping */
static int make_bijective(TN_ARGS) {
  tn_Layout *src, *dst;
  tn_BijectiveLayout *b;
  TN_TRY(tn_arg_opt(args, n, 0, &tn_type_Layout, (tn_obj **)&src));
  TN_TRY(tn_arg_opt(args, n, 1, &tn_type_Layout, (tn_obj **)&dst));
  if (!src || !dst) return 0;
  TN_TRY(tir_bijective_layout(src, dst, &b));
  return b ? tn_ret_obj(ret, b) : 0;
}

typedef tn_arr *(*mapping)(const tn_BijectiveLayout *, bool, const tn_arr *);

/* (layout, values) */
static int map_values(mapping map, bool forward, const tn_any *args, int32_t n, tn_any *ret) {
  tn_BijectiveLayout *b;
  tn_arr *values;
  TN_VEC(exprs);
  TN_TRY(arg_layout(args, n, 0, &tn_type_BijectiveLayout, &b));
  TN_TRY(arg_layout(args, n, 1, &tn_type_Array, &values));
  for (int64_t i = 0; i < values->len; ++i) {
    tn_expr *e = ir_expr_from(&values->items[i]);
    TN_CHECK(e || tn_error_pending(), TypeError, NULL, "expected numbers, got None");
    if (!e || tn_vec_push_obj(&exprs, e)) return -1;
  }
  tn_arr *all = tn_arr_from(&exprs);
  return all ? tn_ret_obj(ret, map(b, forward, all)) : -1;
}
static int forward_index(TN_ARGS) { return map_values(tir_layout_map_index, true, args, n, ret); }
static int backward_index(TN_ARGS) { return map_values(tir_layout_map_index, false, args, n, ret); }
static int forward_shape(TN_ARGS) { return map_values(tir_layout_map_shape, true, args, n, ret); }
static int backward_shape(TN_ARGS) { return map_values(tir_layout_map_shape, false, args, n, ret); }

static const tn_func_row rows[] = {
    {"tir.Layout", make_layout},
    {"tir.LayoutNdim", layout_ndim},
    {"tir.LayoutGetItem", layout_item},
    {"tir.LayoutIndexOf", layout_index_of},
    {"tir.LayoutFactorOf", layout_factor_of},
    {"tir.BijectiveLayout", make_bijective},
    {"tir.BijectiveLayoutForwardIndex", forward_index},
    {"tir.BijectiveLayoutBackwardIndex", backward_index},
    {"tir.BijectiveLayoutForwardShape", forward_shape},
    {"tir.BijectiveLayoutBackwardShape", backward_shape},
};

int layout_init(void) { return tn_func_register_rows(rows, TN_COUNT(rows)); }
