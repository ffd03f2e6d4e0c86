/* ComputeInFloat32: what is computed with values of float16 or bfloat16 is computed with float32.

     nn.relu(nn.dense(%x, %w)) : float16
   =>
     cast(nn.relu(nn.dense(cast(%x, dtype="float32"), cast(%w, dtype="float32"))), dtype="float16")

   Values are rounded where the program says so (a cast to float16) and where it sees them: results,
   bindings, arguments of functions. Between operators they keep the bits they have. What is only
   moved (taken from a table, say) stays as small as it is stored, and so do weights of float16 for
   few rows. Products of bfloat16 stay such products, with sums of float32, where the operator's row
   (`relax`) has kernels for them.

   Every call is replaced by a cast to its old type, so that types stay as they are; readers that
   are computed in float32 too leave that cast out. */
#include <string.h>

#include "base/error.h"
#include "base/scope.h"
#include "ir/imm.h"
#include "relay/evaluate.h"
#include "relay/infer.h"
#include "relay/layouts.h"
#include "relay/expr/call_builder.h"
#include "relay/expr/expr_info.h"
#include "relay/expr/replace.h"
#include "relay/expr/typed_builder.h"
#include "relay/transforms/transforms.h"

static const tn_dtype wide = {kDLFloat, 32, 1};
enum { FEW_ROWS = 16 };

/* Rows that are multiplied with weights that are kept small: converting them then hides behind
   reading them, from behind the cache or in it. */
enum { ROWS_OF_LARGE = 8, ROWS_OF_SMALL = 2 };
enum { MIN_LANES = 8 }; /* of float32 in vectors of processors that convert by an instruction */

typedef struct {
  tn_map *values; /* narrow expression -> the same of float32: what it is a cast of, or a cast */
  int64_t cache;  /* bytes; 0: no weights are kept small */
} widening;

static bool is_narrow(tn_dtype t) {
  return t.bits == 16 && t.lanes == 1 && (t.code == kDLFloat || t.code == kDLBfloat);
}

static bool has_narrow(const tn_Type *type) {
  const tn_TensorType *t = TN_AS(TensorType, type);
  const tn_TupleType *tuple = TN_AS(TupleType, type);
  for (int64_t i = 0; tuple && i < tuple->fields->len; ++i)
    if (has_narrow((const tn_Type *)tn_arr_obj(tuple->fields, i))) return true;
  return t && is_narrow(t->dtype);
}

static bool is_bfloat(const void *e) {
  const tn_TensorType *t = relay_tensor_type_of_expr(e);
  return t && t->dtype.code == kDLBfloat && t->dtype.bits == 16;
}

/* Is it a value that is stored as what its type says? */
static bool is_stored(const widening *all, const void *e) {
  tn_any found;
  const tn_RelayTuple *tuple = TN_AS(RelayTuple, e);
  for (int64_t i = 0; tuple && i < tuple->fields->len; ++i)
    if (!is_stored(all, tn_arr_obj(tuple->fields, i))) return false;
  if (tuple || !tn_map_get(all->values, tn_any_obj(e), &found)) return true;
  const tn_RelayCall *c = relay_as_call(found.v.obj, "cast");
  return c && relay_arg(c, 0) == e;
}

/* ---- as float32 ---- */

static relay_expr *cast_typed(relay_expr *e, const tn_TensorType *t, tn_dtype to) {
  return relay_typed(relay_cast(e, to), relay_tensor_type(t->shape, to));
}

static relay_expr *widen_tensor(const widening *all, relay_expr *e) {
  const tn_TensorType *t = relay_tensor_type_of_expr(e);
  tn_any found;
  relay_expr *c;
  if (!t || !is_narrow(t->dtype)) return e;
  if (tn_map_get(all->values, tn_any_obj(e), &found)) return (relay_expr *)found.v.obj;
  TN_GETP(c, cast_typed(e, t, wide));
  return tn_map_set(all->values, tn_any_obj(e), tn_any_obj(c)) ? NULL : c;
}

static relay_expr *widen(const widening *all, relay_expr *e) {
  const tn_Type *type = e ? relay_type_of(e) : NULL;
  const tn_TupleType *tuple = TN_AS(TupleType, type);
  const tn_RelayTuple *literal = TN_AS(RelayTuple, e);
  TN_VEC(fields);
  if (!e || !has_narrow(type)) return e;
  if (!tuple) return widen_tensor(all, e);
  for (int64_t i = 0; i < tuple->fields->len; ++i) {
    relay_expr *field;
    TN_GETP(field, literal ? tn_arr_obj(literal->fields, i) : relay_typed_field(e, i));
    TN_GETP(field, widen(all, field));
    TN_TRYP(tn_vec_push_obj(&fields, field));
  }
  return relay_typed_tuple(tn_arr_from(&fields));
}

/* The result of a call in float32 as one of the types that the program gave it. */
static relay_expr *narrowed(const widening *all, relay_expr *e, const tn_Type *type) {
  const tn_TensorType *t = TN_AS(TensorType, type);
  const tn_TupleType *tuple = TN_AS(TupleType, type);
  relay_expr *r;
  TN_VEC(fields);
  if (!e || !has_narrow(type)) return e;
  if (t) {
    TN_GETP(r, cast_typed(e, t, t->dtype));
    return tn_map_set(all->values, tn_any_obj(r), tn_any_obj(e)) ? NULL : r;
  }
  for (int64_t i = 0; i < tuple->fields->len; ++i) {
    relay_expr *field;
    TN_GETP(field, relay_typed_field(e, i));
    TN_GETP(field, narrowed(all, field, (const tn_Type *)tn_arr_obj(tuple->fields, i)));
    TN_TRYP(tn_vec_push_obj(&fields, field));
  }
  return relay_typed_tuple(tn_arr_from(&fields));
}

/* ---- calls ---- */

/* Operators whose result is about the bits of a value, its place or the numbers drawn. */
static bool keeps_types(const tn_RelayCall *c) {
  static const char *const names[] = {"reinterpret", "on_device",    "device_copy",
                                      "annotation.", "memory.",      "vm.",
                                      "random.",     "call_lowered", "qnn."};
  const char *op = relay_called_op(c);
  for (int i = 0; i < TN_COUNT(names); ++i)
    if (strncmp(op, names[i], strlen(names[i])) == 0) return true;
  return !relay_op_row_of((const tn_obj *)c->op);
}

/* Does it read values and nothing else? */
static bool only_moves(const tn_RelayCall *c) {
  return relay_op_pattern((const tn_obj *)c->op) == RELAY_INJECTIVE &&
         RELAY_ASK(values, c) != RELAY_COMPUTED;
}

/* Is `now` the type `before` with float32 for narrow types? */
static bool is_widened(const tn_Type *now, const tn_Type *before) {
  const tn_TensorType *a = TN_AS(TensorType, now), *b = TN_AS(TensorType, before);
  const tn_TupleType *s = TN_AS(TupleType, now), *t = TN_AS(TupleType, before);
  if (a && b)
    return a->shape->len == b->shape->len &&
           tn_dtype_eq(a->dtype, is_narrow(b->dtype) ? wide : b->dtype);
  if (!s || !t || s->fields->len != t->fields->len) return false;
  for (int64_t i = 0; i < s->fields->len; ++i)
    if (!is_widened((tn_Type *)tn_arr_obj(s->fields, i), (tn_Type *)tn_arr_obj(t->fields, i)))
      return false;
  return true;
}

static void *widened_attrs(const tn_RelayCall *c) {
  const tn_obj *attrs = (const tn_obj *)c->attrs;
  const tn_field *field = attrs ? tn_type_field(attrs->type, "out_dtype") : NULL;
  tn_dtype t;
  if (!field) return c->attrs;
  tn_any value = tn_field_get(attrs, field);
  TN_TRYP(tn_any_to_dtype(&value, &t));
  return is_narrow(t) ? relay_attrs_with(c->attrs, "out_dtype", tn_any_dtype(wide)) : c->attrs;
}

/* The call of products of bfloat16 that its row has kernels for, with a result of float32. */
static relay_expr *of_bfloat(tn_RelayCall *c, const tn_RelayCall *post) {
  const relay_op_row *row = relay_op_row_of((const tn_obj *)c->op);
  relay_replace r = {.row = row, .call = c, .out_type = relay_type_of(c), .narrow = true};
  if (!row->relax || post->args->len < 2 || !is_bfloat(relay_arg(post, 0)) ||
      !is_bfloat(relay_arg(post, 1)))
    return (relay_expr *)c;
  TN_VEC(types);
  for (int64_t i = 0; i < c->args->len; ++i)
    TN_TRYP(tn_vec_push_obj(&types, relay_type_of(relay_arg(c, i))));
  TN_GETP(r.types, tn_arr_from(&types));
  return relay_typed(row->relax(&r), relay_type_of(c));
}

/* Number of rows that are multiplied; -1 where it is dynamic. */
static int64_t rows_of(const relay_expr *data) {
  const tn_TensorType *t = relay_tensor_type_of_expr(data);
  int64_t rows = 1, n;
  for (int64_t i = 0; t && i + 1 < t->shape->len; ++i) {
    if (!tir_as_int(tn_arr_obj(t->shape, i), &n) || __builtin_mul_overflow(rows, n, &rows))
      return -1;
  }
  return t ? rows : -1;
}

/* Weights of float16 that are read for a few rows stay as small as they are: reading them is what
   takes the time. */
static bool keeps_weight(const widening *all, const tn_RelayCall *c) {
  bool matmul = relay_as_call(c, "nn.matmul") && !relay_attr_int(c->attrs, "transpose_a", 0);
  if (!all->cache || (!matmul && !relay_as_call(c, "nn.dense"))) return false;
  const void *weight = relay_arg(c, 1);
  const tn_TensorType *t = relay_tensor_type_of_expr(weight);
  if (!t || t->dtype.code != kDLFloat || !is_narrow(t->dtype) || !is_stored(all, weight) ||
      relay_known_depth(weight) < 0)
    return false;
  bool large = relay_count_elements(t) >= all->cache / 4;
  int64_t rows = rows_of(relay_arg(c, 0));
  return rows > 0 && rows <= (large ? ROWS_OF_LARGE : ROWS_OF_SMALL);
}

/* The call in float32; NULL without an error where the operator has none such. */
static relay_expr *in_float32(const widening *all, const tn_RelayCall *c, const tn_Type *before) {
  tn_RelayCall *r;
  void *attrs;
  TN_VEC(args);
  for (int64_t i = 0; i < c->args->len; ++i) {
    relay_expr *e = relay_arg(c, i);
    if (i != 1 || !keeps_weight(all, c)) TN_GETP(e, widen(all, e));
    TN_TRYP(tn_vec_push_obj(&args, e));
  }
  attrs = widened_attrs(c);
  if (c->attrs && !attrs) return NULL;
  TN_GETP(r, relay_call_new(c->op, tn_arr_from(&args), attrs));
  tn_Type *now = relay_infer_type(r, NULL);
  if (!now && strcmp(tn_error_class(), "MemoryError") != 0) tn_error_clear();
  if (!now || !is_widened(now, before)) return NULL;
  tn_retain(c->span);
  r->span = c->span;
  relay_typed(r, now);
  return of_bfloat(r, c);
}

/* A cast by the program: it rounds, but a value that is narrow already is as it is. */
static relay_expr *rewrite_cast(const widening *all, tn_RelayCall *c, const tn_TensorType *to) {
  relay_expr *arg = relay_arg(c, 0), *e;
  const tn_TensorType *from = relay_tensor_type_of_expr(arg);
  if (!from || tn_dtype_eq(from->dtype, to->dtype)) return arg;
  if (is_stored(all, arg) && !tn_dtype_eq(to->dtype, wide)) return (relay_expr *)c;
  TN_GETP(e, widen(all, arg));
  return tn_dtype_eq(to->dtype, wide) ? e : cast_typed(e, to, to->dtype);
}

static tn_obj *rewrite_call(void *ctx, tn_obj *pre, tn_obj *post) {
  const widening *all = ctx;
  tn_RelayCall *c = relay_stands_for(post, pre);
  const tn_Type *type = relay_type_of(pre);
  bool any = false, stored = true;
  if (!c || !type || !relay_called_op(c)) return post;
  for (int64_t i = 0; i < c->args->len; ++i) {
    const relay_expr *e = relay_arg(c, i);
    if (!relay_type_of(e)) return post;
    any = any || has_narrow(relay_type_of(e));
    stored = stored && is_stored(all, e);
  }
  if (!any || keeps_types(c)) return post;
  bool casts = relay_as_call(c, "cast") || relay_as_call(c, "cast_like");
  if (casts && TN_AS(TensorType, type))
    return (tn_obj *)rewrite_cast(all, c, (const tn_TensorType *)type);
  if (stored && only_moves(c)) return post;
  relay_expr *e = in_float32(all, c, type);
  if (!e) return tn_error_pending() ? NULL : post;
  return relay_stands_for(narrowed(all, e, type), pre);
}

/* ---- the rest ---- */

static tn_obj *keep_type(void *ctx, tn_obj *pre, tn_obj *post) {
  (void)ctx;
  return relay_stands_for(post, pre);
}

static tn_obj *rewrite_field(void *ctx, tn_obj *pre, tn_obj *post) {
  (void)ctx;
  const tn_TupleGetItem *item = (const tn_TupleGetItem *)relay_stands_for(post, pre);
  const tn_RelayTuple *tuple = pre == post ? NULL : TN_AS(RelayTuple, item->tuple_value);
  return tuple ? tn_arr_obj(tuple->fields, item->index) : post;
}

/* Kernels, and functions for other code generators, compute as they are. */
static bool enters(void *ctx, const tn_obj *o) {
  (void)ctx;
  return !relay_is_kernel(o);
}

static const tn_rewrite_case cases[] = {
    TN_REWRITE(RelayCall, rewrite_call),     TN_REWRITE(RelayTuple, keep_type),
    TN_REWRITE(TupleGetItem, rewrite_field), TN_REWRITE(RelayFunction, keep_type),
    TN_REWRITE(RelayLet, keep_type),         TN_REWRITE(RelayIf, keep_type),
    TN_REWRITE(RefCreate, keep_type),        TN_REWRITE(RefRead, keep_type),
    TN_REWRITE(RefWrite, keep_type),         TN_REWRITE(Match, keep_type),
};

/* arguments: threads, bytes of the cache, lanes of float32; none: no weights are kept small */
tn_RelayFunction *relay_compute_in_float32(tn_RelayFunction *f, const tn_pass_ctx *c) {
  widening all = {0};
  int64_t lanes = MIN_LANES;
  if (relay_is_kernel(f)) return f;
  if (c->nargs > 1) TN_TRYP(tn_any_to_int(&c->args[1], &all.cache));
  if (c->nargs > 2) TN_TRYP(tn_any_to_int(&c->args[2], &lanes));
  if (lanes < MIN_LANES) all.cache = 0;
  TN_GETP(f, relay_infer_expr(f, c->mod));
  TN_GETP(all.values, tn_scope_own(tn_map_new()));
  return tn_rewrite_if(f, enters, cases, TN_COUNT(cases), &all);
}
