/* EliminateCommonSubexpr: equal calls of operators with the same arguments become one, as do tuples
   of the same fields.

     add(exp(%x), exp(%x)) with two calls of exp -> %0 = exp(%x); add(%0, %0) */
#include "base/error.h"
#include "base/hash.h"
#include "base/scope.h"
#include "relay/infer.h"
#include "relay/transforms/transforms.h"
#include "tenon/object.h"
#include "tenon/runtime.h"

typedef struct {
  tn_map *known; /* hash -> Array of the expressions that have it */
  tn_func *skip; /* (expression) -> bool, or NULL */
  bool skip_i32; /* casts to int32 are left alone */
} merging;

/* Constants are compared by content: type, extents and the first bytes tell most of them apart. */
static uint64_t hash_constant(uint64_t h, const tn_Constant *c) {
  const DLTensor *t = tn_tensor_dl(c->data);
  int64_t size = tn_tensor_nbytes(t);
  h = tn_hash_add(h, t->dtype.code | (uint64_t)t->dtype.bits << 8 | (uint64_t)t->ndim << 32);
  for (int i = 0; i < t->ndim; ++i) h = tn_hash_add(h, (uint64_t)t->shape[i]);
  if (t->device.device_type != kDLCPU || t->strides) return h;
  const char *data = (const char *)t->data + t->byte_offset;
  return tn_hash_add(h, tn_hash_bytes(data, size < 64 ? (size_t)size : 64));
}

static uint64_t hash_parts(uint64_t h, const tn_arr *parts) {
  for (int64_t i = 0; i < parts->len; ++i) {
    const tn_Constant *k = TN_AS(Constant, tn_arr_obj(parts, i));
    h = k ? hash_constant(h, k) : tn_hash_add(h, (uintptr_t)tn_arr_obj(parts, i));
  }
  return h;
}

static int hash_call(const tn_RelayCall *c, uint64_t *out) {
  uint64_t h = hash_parts(tn_hash_add(0, (uintptr_t)c->op), c->args), attrs = 0;
  if (c->attrs) TN_TRY(tn_hash(c->attrs, 0, &attrs));
  *out = tn_hash_add(h, attrs);
  return 0;
}

/* Parts were rewritten already: equal ones are the same object. */
static bool same_parts(const tn_arr *a, const tn_arr *b) {
  if (a->len != b->len) return false;
  for (int64_t i = 0; i < a->len; ++i) {
    const tn_obj *x = tn_arr_obj(a, i), *y = tn_arr_obj(b, i);
    if (x != y && !(TN_AS(Constant, x) && TN_AS(Constant, y) && tn_equal(x, y, 0))) return false;
  }
  return true;
}

static bool same_call(const tn_RelayCall *a, const tn_RelayCall *b) {
  if (a->op != b->op || !same_parts(a->args, b->args)) return false;
  return a->attrs == b->attrs || (a->attrs && b->attrs && tn_equal(a->attrs, b->attrs, 0));
}

static bool same(const tn_obj *a, const tn_obj *b) {
  const tn_RelayCall *call = TN_AS(RelayCall, a);
  const tn_TupleGetItem *x = TN_AS(TupleGetItem, a), *y = TN_AS(TupleGetItem, b);
  const tn_RelayTuple *t = TN_AS(RelayTuple, a), *u = TN_AS(RelayTuple, b);
  if (t && u) return same_parts(t->fields, u->fields);
  if (call && TN_AS(RelayCall, b)) return same_call(call, (const tn_RelayCall *)b);
  return x && y && x->tuple_value == y->tuple_value && x->index == y->index;
}

/* The expression that is the same as `e` and came before, else `e`, which is remembered. */
static tn_obj *first_of(merging *m, uint64_t hash, tn_obj *e) {
  tn_any key = tn_any_int((int64_t)hash), found;
  const tn_arr *known = tn_map_get(m->known, key, &found) ? (const tn_arr *)found.v.obj : NULL;
  TN_VEC(list);
  for (int64_t i = 0; known && i < known->len; ++i) {
    if (same(tn_arr_obj(known, i), e)) return tn_arr_obj(known, i);
    TN_TRYP(tn_vec_push(&list, known->items[i]));
  }
  TN_TRYP(tn_vec_push_obj(&list, e));
  TN_GETP(known, tn_arr_from(&list));
  return tn_map_set(m->known, key, tn_any_obj(known)) ? NULL : e;
}

static int is_skipped(const merging *m, const tn_obj *e, bool *yes) {
  tn_any arg = tn_any_obj(e), ret = tn_any_none();
  *yes = false;
  if (m->skip_i32 && relay_as_call(e, "cast")) {
    const tn_TensorType *t = relay_tensor_type_of_expr(e);
    *yes = t && tn_dtype_eq(t->dtype, TN_I32);
    return 0;
  }
  if (!m->skip) return 0;
  TN_TRY(tn_func_call(m->skip, &arg, 1, &ret));
  int err = tn_any_to_bool(&ret, yes);
  tn_any_release(&ret);
  return err;
}

static tn_obj *merge(void *ctx, tn_obj *pre, tn_obj *post) {
  merging *m = ctx;
  const tn_RelayCall *c = (const tn_RelayCall *)post;
  bool skip;
  uint64_t hash;
  if (!TN_AS(Op, c->op) || relay_op_is_stateful((const tn_obj *)c->op)) return post;
  TN_TRYP(is_skipped(m, pre, &skip));
  if (skip) return post;
  TN_TRYP(hash_call(c, &hash));
  return first_of(m, hash, post);
}

static tn_obj *merge_tuple(void *ctx, tn_obj *pre, tn_obj *post) {
  (void)pre;
  return first_of(ctx, hash_parts(2, ((const tn_RelayTuple *)post)->fields), post);
}

static tn_obj *merge_get_item(void *ctx, tn_obj *pre, tn_obj *post) {
  const tn_TupleGetItem *e = (const tn_TupleGetItem *)post;
  (void)pre;
  return first_of(ctx, tn_hash_add(tn_hash_add(1, (uintptr_t)e->tuple_value), (uint64_t)e->index),
                  post);
}

static const tn_rewrite_case cases[] = {
    TN_REWRITE(RelayCall, merge),
    TN_REWRITE(TupleGetItem, merge_get_item),
    TN_REWRITE(RelayTuple, merge_tuple),
};

/* argument: function that says which expressions to leave alone, or true: casts to int32, of which
   each becomes part of the kernel that reads it; or None */
tn_RelayFunction *relay_common_subexpr(tn_RelayFunction *f, const tn_pass_ctx *c) {
  merging m = {0};
  if (c->nargs > 0 && c->args[0].type_index != TN_NONE && !tn_any_is_obj(&c->args[0]))
    TN_TRYP(tn_any_to_bool(&c->args[0], &m.skip_i32));
  else if (c->nargs > 0 && tn_any_is_obj(&c->args[0]))
    TN_TRYP(tn_any_to_obj(&c->args[0], "runtime.PackedFunc", (tn_obj **)&m.skip));
  TN_GETP(m.known, tn_scope_own(tn_map_new()));
  return tn_rewrite(f, cases, TN_COUNT(cases), &m);
}
