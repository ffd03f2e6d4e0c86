/* What type relations are written with (see op.h), and the relations that many operators share. */
#include <stdarg.h>
#include <stdio.h>

#include "arith/analyzer.h"
#include "tenon/object.h"
#include "relay/op.h"
#include "relay/relay_impl.h"
#include "relay/type_text.h"

int relay_rel_fail(const relay_rel *r, const char *fmt, ...) {
  char part[512];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(part, sizeof part, fmt, ap);
  va_end(ap);
  return TN_RAISE(DiagnosticError, r->span, "%s: %s", r->op ? tn_cstr(r->op->name) : "relation",
                  part);
}

int relay_rel_assign(relay_rel *r, int i, tn_Type *type) {
  return type ? r->unify(r, i, type) : -1;
}

/* Elements are those that the operator computes (flags of its row). */
static int check_elements(const relay_rel *r, const tn_TensorType *t) {
  const relay_op_row *row = r->op ? relay_op_row_of((const tn_obj *)r->op) : NULL;
  uint32_t flags = row ? row->flags : 0;
  bool flag = ir_is_bool(t->dtype);
  RELAY_CHECK(r, !(flags & RELAY_FLOATS) || !ir_is_integral(t->dtype),
              "expected floats, got elements of type %s: cast the argument", TN_DT(t->dtype));
  RELAY_CHECK(r, !(flags & RELAY_NUMBERS) || !flag,
              "expected numbers, got elements of type %s: cast the argument", TN_DT(t->dtype));
  RELAY_CHECK(r, !(flags & RELAY_BOOLS) || flag,
              "expected elements of type bool, got %s: compare or cast the argument",
              TN_DT(t->dtype));
  return 0;
}

/* Extents are not negative, and 64 bits count the bytes. */
static int check_result(const relay_rel *r, const tn_Type *t) {
  const tn_TupleType *tuple = TN_AS(TupleType, t);
  const tn_TensorType *tensor = TN_AS(TensorType, t);
  for (int64_t i = 0; tuple && i < tuple->fields->len; ++i)
    TN_TRY(check_result(r, (const tn_Type *)tn_arr_obj(tuple->fields, i)));
  if (tensor) TN_TRY(check_elements(r, tensor));
  int64_t bytes = tensor ? (tensor->dtype.bits * tensor->dtype.lanes + 7) / 8 : 0, n;
  for (int64_t i = 0; tensor && i < tensor->shape->len; ++i) {
    if (!tir_as_int((tn_obj *)relay_dim(tensor, i), &n)) continue;
    RELAY_CHECK(r, n >= 0, "the result would have the extent %lld along axis %lld: %s",
                (long long)n, (long long)i, relay_type_text(tensor));
    RELAY_CHECK(r, n == 0 || !__builtin_mul_overflow(bytes, n, &bytes),
                "the result would have more bytes than 64 bits count: %s", relay_type_text(tensor));
  }
  return 0;
}

int relay_rel_result(relay_rel *r, void *type) {
  if (!type || check_result(r, type)) return RELAY_FAILED;
  return relay_rel_assign(r, r->n - 1, type) ? RELAY_FAILED : RELAY_SOLVED;
}

int relay_rel_tensor(relay_rel *r, int i, tn_TensorType **out) {
  tn_Type *t = r->types[i];
  *out = TN_AS(TensorType, t);
  if (*out) return RELAY_SOLVED;
  if (TN_AS(IncompleteType, t)) return RELAY_WAIT;
  return relay_rel_fail(r, "argument %d: expected a tensor, got %s", i, relay_type_text(t));
}

int relay_rel_tuple(relay_rel *r, int i, tn_TupleType **out) {
  tn_Type *t = r->types[i];
  *out = TN_AS(TupleType, t);
  if (TN_AS(IncompleteType, t)) return RELAY_WAIT;
  if (!*out)
    return relay_rel_fail(r, "argument %d: expected a tuple of tensors, got %s", i,
                          relay_type_text(t));
  for (int64_t k = 0; k < (*out)->fields->len; ++k) {
    const tn_Type *field = (tn_Type *)tn_arr_obj((*out)->fields, k);
    if (TN_AS(IncompleteType, field)) return RELAY_WAIT;
    if (!TN_AS(TensorType, field))
      return relay_rel_fail(r, "argument %d: field %lld: expected a tensor, got %s", i,
                            (long long)k, relay_type_text(field));
  }
  return RELAY_SOLVED;
}

int64_t relay_rel_axis(const relay_rel *r, int64_t axis, int64_t ndim) {
  if (axis >= -ndim && axis < ndim) return axis < 0 ? axis + ndim : axis;
  return relay_rel_fail(r, "axis %lld is out of range for %lld dimensions", (long long)axis,
                        (long long)ndim);
}

/* ---- extents ---- */

/* ---- what is taken for granted ---- */

static _Thread_local tn_vec *conditions;

void relay_collect_conditions(tn_vec *into) { conditions = into; }

int64_t relay_count_conditions(void) { return conditions ? conditions->len : -1; }

void relay_drop_conditions(int64_t from) {
  while (conditions && conditions->len > from)
    tn_release(conditions->items[--conditions->len].v.obj);
}

void relay_take_for_granted(tn_expr *condition) {
  int64_t known;
  if (!conditions || !condition || tir_as_int((tn_obj *)condition, &known)) return;
  for (int64_t i = 0; i < conditions->len; ++i)
    if (tn_equal(conditions->items[i].v.obj, condition, 0) == 1) return;
  tn_retain(condition);
  if (tn_vec_push_obj(conditions, condition)) tn_release(condition);
}

void relay_take_multiple(tn_expr *extent, int64_t of) {
  if (!conditions || !extent || relay_dim_is_any(extent)) return;
  tn_expr *wide = tir_cast(TN_I64, extent, NULL);
  relay_take_for_granted(tir_eq(tir_floormod(wide, tir_i64(of)), tir_i64(0)));
}

void relay_take_least(tn_expr *extent, int64_t least) {
  if (!conditions || !extent || relay_dim_is_any(extent)) return;
  relay_take_for_granted(tir_ge(tir_cast(TN_I64, extent, NULL), tir_i64(least)));
}

/* ---- extents ---- */

static int compare(tn_expr *a, tn_expr *b) {
  int64_t x, y;
  bool ca = tir_as_int((tn_obj *)a, &x), cb = tir_as_int((tn_obj *)b, &y);
  if (ca && cb) return x == y;
  if (relay_dim_is_any(a) || relay_dim_is_any(b)) return -1;
  if (a == b || arith_same(a, b)) return 1;
  int same = relay_same_choice(a, b);
  if (same) return same;
  TN_ARITH(analyzer);
  tn_expr *d = arith_simplify(&analyzer, tir_sub(a, b));
  if (d && tir_as_int((tn_obj *)d, &x)) return x == 0;
  tn_error_clear();
  return -1;
}

static bool is_unknown(const tn_expr *a, const tn_expr *b, int same) {
  return conditions && same < 0 && !relay_dim_is_any(a) && !relay_dim_is_any(b);
}

static tn_expr *equal_extents(tn_expr *a, tn_expr *b) {
  return tir_eq(tir_cast(TN_I64, a, NULL), tir_cast(TN_I64, b, NULL));
}

int relay_dim_equal(tn_expr *a, tn_expr *b) {
  int same = compare(a, b);
  if (is_unknown(a, b, same)) relay_take_for_granted(equal_extents(a, b));
  return same;
}

int relay_dim_broadcasts(tn_expr *from, tn_expr *to) {
  if (tir_is_one(from)) return 1;
  int same = compare(from, to);
  if (is_unknown(from, to, same))
    relay_take_for_granted(tir_or(equal_extents(from, tir_i64(1)), equal_extents(from, to)));
  return same;
}

tn_expr *relay_dim_int(int64_t n) { return n == (int32_t)n ? tir_i32((int32_t)n) : tir_i64(n); }

/* Of two numbers; the type stays int64 where one of them has it. */
static tn_expr *of_numbers(uint32_t op, int64_t x, int64_t y, bool wide) {
  int64_t n = 0;
  bool over = false;
  switch (op) {
  case TN_TI_Add: over = __builtin_add_overflow(x, y, &n); break;
  case TN_TI_Sub: over = __builtin_sub_overflow(x, y, &n); break;
  case TN_TI_Mul: over = __builtin_mul_overflow(x, y, &n); break;
  case TN_TI_Min: n = x < y ? x : y; break;
  case TN_TI_Max: n = x > y ? x : y; break;
  default:
    TN_CHECKP(op == TN_TI_FloorDiv && y > 0, ValueError, NULL,
              "an extent of %lld cannot be divided by %lld", (long long)x, (long long)y);
    n = x / y - (x % y < 0);
  }
  const char *sign = op == TN_TI_Add ? "+" : op == TN_TI_Sub ? "-" : "*";
  TN_CHECKP(!over, ValueError, NULL, "an extent of %lld %s %lld does not fit into 64 bits",
            (long long)x, sign, (long long)y);
  return wide ? tir_i64(n) : relay_dim_int(n);
}

/* Extents of what lies in memory times a small number fit into 64 bits. */
enum { SMALL_FACTOR = 1 << 20 };

static void take_product(tn_expr *a, tn_expr *b) {
  int64_t n;
  bool second = tir_as_int((tn_obj *)b, &n);
  if ((!second && !tir_as_int((tn_obj *)a, &n)) || n <= SMALL_FACTOR) return;
  relay_take_for_granted(tir_le(tir_cast(TN_I64, second ? a : b, NULL), tir_i64(INT64_MAX / n)));
}

tn_expr *relay_dim_binary(uint32_t op, tn_expr *a, tn_expr *b) {
  int64_t x, y;
  if (!a || !b) return NULL;
  if (relay_dim_is_any(a) || relay_dim_is_any(b)) return relay_any();
  if (tir_as_int((tn_obj *)a, &x) && tir_as_int((tn_obj *)b, &y))
    return of_numbers(op, x, y, a->dtype.bits > 32 || b->dtype.bits > 32);
  TN_TRYP(tir_check_written(op, b, NULL));
  if (op == TN_TI_Mul) take_product(a, b);
  tn_expr *e = tir_binary(op, a, b, NULL);
  TN_ARITH(analyzer);
  return e ? arith_simplify(&analyzer, e) : NULL;
}

tn_expr *relay_dim_divided(tn_expr *e, int64_t n) {
  int64_t v;
  TN_CHECKP(!e || !tir_as_int((tn_obj *)e, &v) || n <= 0 || v % n == 0, ValueError, NULL,
            "an extent of %lld is not divided by %lld", (long long)v, (long long)n);
  if (n > 1) relay_take_multiple(e, n);
  return relay_dim_over(e, n);
}

tn_expr *relay_dim_product(const tn_arr *shape) {
  tn_expr *n = relay_dim_int(1);
  for (int64_t i = 0; i < shape->len; ++i) n = relay_dim_mul(n, (tn_expr *)tn_arr_obj(shape, i));
  return n;
}

/* ---- shared relations ---- */

int relay_rel_identity(relay_rel *r) {
  bool in = !TN_AS(IncompleteType, r->types[0]), out = !TN_AS(IncompleteType, r->types[r->n - 1]);
  if (!in && !out) return RELAY_WAIT;
  if (!in) TN_TRY(relay_rel_assign(r, 0, r->types[r->n - 1]));
  return relay_rel_result(r, r->types[0]);
}

/* Two extents that are symbols: that they fit is taken for granted. */
static tn_expr *broadcast_symbols(tn_expr *a, tn_expr *b) {
  tn_expr *one, *other;
  TN_GETP(a, tir_cast(TN_I64, a, NULL));
  TN_GETP(b, tir_cast(TN_I64, b, NULL));
  TN_GETP(one, relay_extent_is_one(a));
  TN_GETP(other, relay_extent_is_one(b));
  relay_take_for_granted(tir_or(tir_or(one, other), tir_eq(a, b)));
  return relay_broadcast_extent(a, b);
}

/* Outside of programs that check it when they run, symbols that may differ do not fit. */
static bool may_differ(tn_expr *a, tn_expr *b) {
  bool numbers = relay_dim_is(a, 1) == 1 || relay_dim_is(b, 1) == 1;
  return !conditions && !numbers && !relay_dim_is_any(a) && !relay_dim_is_any(b) &&
         compare(a, b) < 0;
}

tn_expr *relay_broadcast_dim(tn_expr *a, tn_expr *b) {
  if (tir_is_one(a)) return b;
  if (tir_is_one(b)) return a;
  if (relay_dim_is_any(a)) return b; /* it is 1 or the same */
  if (relay_dim_is_any(b)) return a;
  int same = compare(a, b);
  if (is_unknown(a, b, same)) return broadcast_symbols(a, b);
  return same == 1 ? a : same == 0 ? NULL : relay_broadcast_extent(a, b);
}

tn_arr *relay_broadcast_shapes(const relay_rel *r, const tn_TensorType *a, const tn_TensorType *b) {
  TN_VEC(out);
  bool first = a->shape->len >= b->shape->len;
  const tn_arr *longer = first ? a->shape : b->shape, *shorter = first ? b->shape : a->shape;
  int64_t more = longer->len - shorter->len;
  for (int64_t i = 0; i < longer->len; ++i) {
    tn_expr *e = (tn_expr *)tn_arr_obj(longer, i);
    tn_expr *other = i >= more ? (tn_expr *)tn_arr_obj(shorter, i - more) : NULL;
    if (other) e = may_differ(e, other) ? NULL : relay_broadcast_dim(e, other);
    if (!e && !tn_error_pending())
      relay_rel_fail(r, "Incompatible broadcast type %s and %s", relay_type_text(a),
                     relay_type_text(b));
    if (!e) return NULL;
    TN_TRYP(tn_vec_push_obj(&out, e));
  }
  return tn_arr_from(&out);
}

/* The shape that arguments 0 and 1 broadcast to, in *out. */
static int broadcast(relay_rel *r, tn_TensorType **first, tn_arr **out) {
  RELAY_TENSOR(a, r, 0);
  RELAY_TENSOR(b, r, 1);
  RELAY_CHECK(r, tn_dtype_eq(a->dtype, b->dtype),
              "The Relay type checker is unable to show the following types match: %s and %s: the "
              "data types differ",
              relay_type_text(a), relay_type_text(b));
  *first = a;
  *out = relay_broadcast_shapes(r, a, b);
  return *out ? RELAY_SOLVED : RELAY_FAILED;
}

int relay_rel_broadcast(relay_rel *r) {
  tn_TensorType *a;
  tn_arr *shape;
  int known = broadcast(r, &a, &shape);
  return known == RELAY_SOLVED ? relay_rel_result(r, relay_tensor_type(shape, a->dtype)) : known;
}

int relay_rel_broadcast_comp(relay_rel *r) {
  tn_TensorType *a;
  tn_arr *shape;
  int known = broadcast(r, &a, &shape);
  return known == RELAY_SOLVED ? relay_rel_result(r, relay_tensor_type(shape, TN_BOOL1)) : known;
}

/* ---- shared shape functions ---- */

tn_arr *relay_shape_same(const relay_shape_query *q) { return tn_arr_of(1, relay_shape_of(q, 0)); }

tn_arr *relay_shape_broadcast(const relay_shape_query *q) {
  tn_arr *a = relay_shape_of(q, 0), *b = relay_shape_of(q, 1);
  if (a->len < b->len) {
    tn_arr *t = a;
    a = b, b = t;
  }
  TN_VEC(out);
  int64_t more = a->len - b->len;
  for (int64_t i = 0; i < a->len; ++i) {
    tn_expr *x = (tn_expr *)tn_arr_obj(a, i);
    if (i >= more) { /* of two that fit, the one that is not 1; they may both be 0 */
      tn_expr *y = (tn_expr *)tn_arr_obj(b, i - more);
      int same = tir_is_one(x) || tir_is_one(y) ? 0 : compare(x, y);
      if (is_unknown(x, y, same)) x = broadcast_symbols(x, y);
      else if (same != 1) x = relay_broadcast_extent(x, y);
    }
    TN_TRYP(tn_vec_push_obj(&out, x));
  }
  return tn_arr_of(1, tn_arr_from(&out));
}
