/* Buffers of one axis, or of one for each group of axes, over the same memory; where elements are
   in them. "tir.BufferGetFlattenedBuffer", "tir.BufferOffsetOf". */
#include "arith/analyzer.h"
#include "ir/expr.h"
#include "object/functions.h"
#include "tir/tir_impl.h"
#include "tir/rewrite.h"

static tn_expr *expr_at(const tn_arr *a, int64_t i) { return (tn_expr *)tn_arr_obj(a, i); }

/* Does a new group of axes begin at this one? */
static bool begins_group(const tn_Buffer *b, int64_t axis) {
  int64_t at;
  for (int64_t i = 0; i < b->axis_separators->len; ++i) {
    if (tir_as_int(tn_arr_obj(b->axis_separators, i), &at) && at == axis) return true;
  }
  return false;
}

/* Extent of each group of axes; without axes one of extent 1. */
static tn_arr *flat_shape(const tn_Buffer *b) {
  TN_VEC(v);
  int64_t n = b->shape->len;
  tn_expr *e = NULL;
  for (int64_t i = 0; i < n; ++i) {
    if (i > 0 && begins_group(b, i)) {
      TN_TRYP(tn_vec_push_obj(&v, e));
      e = NULL;
    }
    if (b->strides->len) {
      if (!e) TN_GETP(e, tir_mul(expr_at(b->shape, i), expr_at(b->strides, i)));
    } else {
      TN_GETP(e, e ? tir_mul(e, expr_at(b->shape, i)) : expr_at(b->shape, i));
    }
  }
  if (!e) TN_GETP(e, tir_i32(1));
  TN_TRYP(tn_vec_push_obj(&v, e));
  return tn_arr_from(&v);
}

tn_Buffer *tir_buffer_flattened(tn_Buffer *b) {
  int64_t groups = b->axis_separators->len + 1;
  if (b->strides->len == 0 && b->shape->len == groups) return b;
  tn_Buffer copy = *b;
  TN_VEC(separators);
  for (int64_t i = 1; i < groups; ++i) TN_TRYP(tn_vec_push_obj(&separators, tir_i32((int)i)));
  TN_GETP(copy.shape, flat_shape(b));
  TN_GETP(copy.strides, tn_arr_of(0));
  TN_GETP(copy.axis_separators, tn_arr_from(&separators));
  return tn_node_copy(&tn_type_Buffer, &copy);
}

/* ---- quotients and remainders of one number: (x // n) * n + ... + x % n is x + ... ---- */

enum { MAX_TERMS = 64 };

/* Addends, each times a factor; NULL: none. */
typedef struct {
  tn_expr *value[MAX_TERMS], *factor[MAX_TERMS];
  int n;
} terms;

static bool collect(terms *t, tn_expr *e, tn_expr *factor) {
  const tn_Add *sum = TN_AS(Add, e);
  const tn_Mul *product = TN_AS(Mul, e);
  if (sum) return collect(t, sum->a, factor) && collect(t, sum->b, factor);
  if (product && !factor) return collect(t, product->a, product->b);
  if (t->n == MAX_TERMS) return false;
  t->value[t->n] = e;
  t->factor[t->n++] = factor;
  return true;
}

/* The number that both terms are of, or NULL. */
static tn_expr *common_number(const terms *t, int quotient, int remainder) {
  const tn_FloorDiv *q = TN_AS(FloorDiv, t->value[quotient]);
  const tn_FloorMod *r = TN_AS(FloorMod, t->value[remainder]);
  bool pair = q && r && t->factor[quotient] && !t->factor[remainder] &&
              arith_same(t->factor[quotient], q->b) && arith_same(q->b, r->b) &&
              arith_same(q->a, r->a);
  return pair ? q->a : NULL;
}

/* The first pair becomes its number, at the place of the quotient; it may be a sum itself. */
static bool merge_one(terms *t) {
  for (int i = 0; i < t->n; ++i) {
    for (int j = 0; j < t->n; ++j) {
      tn_expr *x = common_number(t, i, j);
      terms made = {.n = 0};
      if (!x) continue;
      for (int k = 0; k < t->n; ++k) {
        if (k == j) continue;
        if (!collect(&made, k == i ? x : t->value[k], k == i ? NULL : t->factor[k])) return false;
      }
      *t = made;
      return true;
    }
  }
  return false;
}

/* The index itself where there is no such pair. NULL passes through. */
static tn_expr *merged(tn_expr *e) {
  terms t = {.n = 0};
  if (!e || e->dtype.lanes != 1 || !collect(&t, e, NULL) || !merge_one(&t)) return e;
  while (merge_one(&t)) {
  }
  tn_expr *sum = NULL;
  for (int i = 0; i < t.n; ++i) {
    tn_expr *x = t.factor[i] ? tir_mul(t.value[i], t.factor[i]) : t.value[i];
    TN_GETP(sum, sum ? tir_add(sum, x) : x);
  }
  return sum;
}

tn_arr *tir_buffer_offset(const tn_Buffer *b, const tn_arr *indices) {
  TN_VEC(v);
  tn_expr *at = NULL;
  for (int64_t i = 0; i < indices->len; ++i) {
    tn_expr *e = expr_at(indices, i);
    if (i > 0 && begins_group(b, i)) {
      TN_TRYP(tn_vec_push_obj(&v, at));
      at = NULL;
    }
    if (b->strides->len) {
      e = tir_index_mul(e, expr_at(b->strides, i));
    } else if (at) {
      at = tir_index_mul(at, expr_at(b->shape, i));
    }
    TN_GETP(at, merged(at ? tir_index_add(at, e) : e));
  }
  if (!at) TN_GETP(at, tir_i32(0));
  if (b->elem_offset && !tir_is_zero(b->elem_offset))
    TN_GETP(at, tir_index_add(at, b->elem_offset));
  TN_TRYP(tn_vec_push_obj(&v, at));
  return tn_arr_from(&v);
}

/* tir.BufferGetFlattenedBuffer(buffer) -> Buffer */
static int f_flattened(TN_ARGS) {
  TN_NARGS("tir.BufferGetFlattenedBuffer", 1);
  TN_ARG_OBJ(Buffer, b, 0);
  return tn_ret_obj(ret, tir_buffer_flattened(b));
}

/* tir.BufferOffsetOf(buffer, indices) -> array of PrimExpr, one for each group of axes */
static int f_offset_of(TN_ARGS) {
  TN_NARGS("tir.BufferOffsetOf", 2);
  TN_ARG_OBJ(Buffer, b, 0);
  TN_ARG_ITEMS(Array(PrimExpr), indices, 1);
  TN_CHECK(indices->len == b->shape->len, ValueError, NULL,
           "offset_of: %s has %lld axes, got %lld indices", tn_cstr(b->name),
           (long long)b->shape->len, (long long)indices->len);
  for (int64_t i = 0; i < indices->len; ++i) {
    TN_CHECK(TN_IS(PrimExpr, tn_arr_obj(indices, i)), TypeError, NULL,
             "offset_of: index %lld is not an expression", (long long)i);
  }
  TN_VEC(out);
  TN_ARITH(a);
  tn_arr *offsets;
  TN_GET(offsets, tir_buffer_offset(b, indices));
  for (int64_t i = 0; i < offsets->len; ++i)
    TN_TRY(tn_vec_push_obj(&out, arith_simplify(&a, expr_at(offsets, i))));
  return tn_ret_obj(ret, tn_arr_from(&out));
}

static const tn_func_row rows[] = {
    {"tir.BufferGetFlattenedBuffer", f_flattened},
    {"tir.BufferOffsetOf", f_offset_of},
};

int buffer_flat_init(void) { return tn_func_register_rows(rows, TN_COUNT(rows)); }
