/* What several passes do to expressions, see make.h. */
#include "relay/transforms/make.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "base/scope.h"
#include "ir/functor.h"
#include "ir/module.h"
#include "object/functions.h"
#include "relay/analysis/analysis.h"
#include "relay/infer.h"
#include "relay/type_text.h"
#include "tenon/object.h"
#include "tenon/runtime.h"

/* ---- calls ---- */

void *relay_binary(const char *op, void *a, void *b) {
  return a && b ? relay_call(op, NULL, 2, a, b) : NULL;
}

void *relay_cast(void *e, tn_dtype t) {
  return e ? relay_call("cast", relay_attrs("cast", 1, "dtype", tn_any_dtype(t)), 1, e) : NULL;
}

void *relay_reshape(void *e, const tn_arr *shape) {
  bool empty = false;
  if (!e || !shape) return NULL;
  for (int64_t i = 0; i < shape->len; ++i) empty = empty || relay_int_is(shape, i, 0);
  void *attrs = relay_attrs("reshape", 2, "newshape", tn_any_obj(shape), "allowzero",
                            tn_any_bool(empty)); /* else 0 copies an extent */
  return relay_call("reshape", attrs, 1, e);
}

void *relay_spread(void *e, int64_t after) {
  if (!e || after <= 0) return e;
  void *attrs =
      relay_attrs("expand_dims", 2, "axis", tn_any_int(1), "num_newaxis", tn_any_int(after));
  return relay_call("expand_dims", attrs, 1, e);
}

void *relay_concatenate(tn_arr *parts, int64_t axis) {
  void *attrs = relay_attrs("concatenate", 1, "axis", tn_any_int(axis));
  return parts ? relay_call("concatenate", attrs, 1, relay_tuple(parts)) : NULL;
}

/* ---- bindings ---- */

int relay_lets_put(relay_lets *l, tn_RelayVar *var, void *value) {
  if (!var || !value) return -1;
  TN_TRY(tn_vec_push_obj(&l->vars, var));
  return tn_vec_push_obj(&l->values, value);
}

void *relay_lets_bind(relay_lets *l, void *value, tn_Type *type) {
  tn_RelayVar *v;
  if (!value || TN_AS(RelayVar, value)) return value;
  TN_GETP(v, relay_var("x", NULL));
  if (type) {
    tn_retain(type);
    v->_checked_type_ = type;
  }
  return relay_lets_put(l, v, value) ? NULL : v;
}

void *relay_lets_around(const relay_lets *l, void *result) {
  for (int64_t i = l->vars.len; result && i-- > 0;)
    result = relay_let((tn_RelayVar *)l->vars.items[i].v.obj, l->values.items[i].v.obj, result);
  return result;
}

void relay_lets_fini(relay_lets *l) {
  tn_vec_fini(&l->vars);
  tn_vec_fini(&l->values);
}

/* ---- types ---- */

tn_TensorType *relay_known_type(const void *e) {
  if (!e || relay_type_of(e)) return e ? relay_tensor_type_of_expr(e) : NULL;
  tn_Type *t = relay_infer_type(e, NULL);
  if (!t) tn_error_clear();
  return TN_AS(TensorType, t);
}

void *relay_stands_for(void *post, const void *pre) {
  relay_expr *e = post;
  const relay_expr *old = pre;
  if (!e || e == old || e->_checked_type_) return e;
  tn_retain(old->_checked_type_);
  e->_checked_type_ = old->_checked_type_;
  if (!e->span) {
    tn_retain(old->span);
    e->span = old->span;
  }
  return e;
}

void *relay_of_type(const char *pass, void *made, const void *pre) {
  if (!made) return NULL;
  const tn_Type *want = relay_type_of(pre), *is = relay_type_of(made);
  if (made == pre || !want || want == is) return made;
  if (!is) is = relay_infer_type(made, NULL);
  if (is && tn_equal(is, want, 0) == 1) return made;
  const tn_RelayCall *c = TN_AS(RelayCall, pre);
  const char *op = c && relay_called_op(c) ? relay_called_op(c) : "expression";
  if (is)
    TN_LOG(INFO, "%s: a rewrite of %s is dropped: it would be %s, not %s", pass, op,
           relay_type_text(is), relay_type_text(want));
  else if (tn_error_get_kind() == TN_MemoryError) return NULL;
  else TN_LOG(INFO, "%s: a rewrite of %s is dropped: %s", pass, op, tn_error_message());
  tn_error_clear();
  return NULL;
}

void *relay_replaced(const char *pass, void *made, void *post, const void *pre) {
  if (!relay_stands_for(post, pre) || (!made && tn_error_pending())) return NULL;
  made = relay_of_type(pass, made, pre);
  if (!made) return tn_error_pending() ? NULL : post;
  return relay_stands_for(made, pre);
}

/* ---- what has types ---- */

void *relay_typed(void *e, const void *type) {
  relay_expr *r = e;
  if (!r || !type) return NULL;
  tn_retain((void *)(uintptr_t)type);
  tn_release(r->_checked_type_);
  r->_checked_type_ = (tn_Type *)(uintptr_t)type;
  return r;
}

static tn_arr *types_of(const tn_arr *all) {
  TN_VEC(types);
  for (int64_t i = 0; i < all->len; ++i)
    TN_TRYP(tn_vec_push_obj(&types, relay_type_of(tn_arr_obj(all, i))));
  return tn_arr_from(&types);
}

/* The types of the arguments are noted in the call: so inference knows that they are still the
   same. */
void *relay_typed_call(const char *op, void *attrs, tn_arr *args, const void *type) {
  tn_RelayCall *c = relay_call_args(op, attrs, args);
  tn_arr *types = c && type ? types_of(args) : NULL;
  return types ? TN_NEW(RelayCall, .op = c->op, .args = args, .attrs = c->attrs, .type_args = types,
                        ._checked_type_ = (tn_Type *)(uintptr_t)type)
               : NULL;
}

void *relay_typed_tuple(tn_arr *fields) {
  tn_arr *types = fields ? types_of(fields) : NULL;
  return types ? relay_typed(relay_tuple(fields), relay_tuple_type(types)) : NULL;
}

void *relay_typed_field(void *tuple, int64_t index) {
  const tn_TupleType *t = tuple ? TN_AS(TupleType, relay_type_of(tuple)) : NULL;
  if (!tuple) return NULL;
  TN_CHECKP(t && index < t->fields->len, TypeError, NULL, "field %lld of what has no such field",
            (long long)index);
  return relay_typed(relay_get_item(tuple, index), tn_arr_obj(t->fields, index));
}

void *relay_typed_let(void *var, void *value, void *body) {
  return var && value && body ? TN_NEW(RelayLet, .var = var, .value = value, .body = body,
                                       ._checked_type_ = relay_type_of(body))
                              : NULL;
}

void *relay_lets_name(relay_lets *l, const char *name, void *value) {
  tn_RelayVar *v;
  TN_GETP(value, value);
  TN_GETP(v, relay_typed(relay_var(name, NULL), relay_type_of(value)));
  return relay_lets_put(l, v, value) ? NULL : v;
}

void *relay_lets_typed(const relay_lets *l, void *result) {
  for (int64_t i = l->vars.len; result && i-- > 0;)
    result = relay_typed_let(l->vars.items[i].v.obj, l->values.items[i].v.obj, result);
  return result;
}

/* ---- programs in blocks ---- */

bool relay_is_kernel(const void *e) {
  const tn_RelayFunction *f = TN_AS(RelayFunction, e);
  tn_any found;
  return f && (ir_attrs_flag(f->attrs, "Primitive") || ir_attrs_get(f->attrs, "Compiler", &found));
}

void *relay_with_blocks(const void *e, void *(*block)(void *ctx, const void *body), void *ctx) {
  const tn_RelayIf *c = TN_AS(RelayIf, e);
  const tn_Match *m = TN_AS(Match, e);
  const tn_RelayFunction *f = relay_is_kernel(e) ? NULL : TN_AS(RelayFunction, e);
  if (f) {
    tn_RelayFunction copy = *f;
    TN_GETP(copy.body, block(ctx, f->body));
    return tn_node_copy(&tn_type_RelayFunction, &copy);
  }
  if (c) {
    tn_RelayIf copy = *c;
    TN_GETP(copy.true_branch, block(ctx, c->true_branch));
    TN_GETP(copy.false_branch, block(ctx, c->false_branch));
    return tn_node_copy(&tn_type_RelayIf, &copy);
  }
  if (!m) return (void *)(uintptr_t)e;
  tn_Match copy = *m;
  TN_VEC(all);
  for (int64_t i = 0; i < m->clauses->len; ++i) {
    const tn_Clause *one = (const tn_Clause *)tn_arr_obj(m->clauses, i);
    void *r;
    TN_GETP(r, block(ctx, one->rhs));
    TN_TRYP(tn_vec_push_obj(&all, TN_NEW(Clause, .lhs = one->lhs, .rhs = r)));
  }
  TN_GETP(copy.clauses, tn_arr_from(&all));
  return tn_node_copy(&tn_type_Match, &copy);
}

bool relay_same_type(const void *a, const void *b) {
  const tn_TensorType *x = relay_known_type(a), *y = relay_known_type(b);
  return x && y && relay_is_static((const tn_Type *)x) && tn_equal(x, y, 0) == 1;
}

int relay_static_shape(const tn_TensorType *t, int64_t *dims, int max) {
  return t ? relay_known_ints(t->shape, dims, max) : -1;
}

int64_t relay_count_elements(const tn_TensorType *t) {
  int64_t dims[32], n = 1;
  int ndim = relay_static_shape(t, dims, 32);
  for (int i = 0; i < ndim; ++i)
    if (__builtin_mul_overflow(n, dims[i], &n)) return -1;
  return ndim < 0 ? -1 : n;
}

/* ---- constants ---- */

/* Elements of a constant on the host as numbers, one after another, while `fn` says so. */
static bool all_elements(const void *e, bool (*fn)(double x, double *state), double *state) {
  TN_AUTOFREE double *x = NULL;
  int64_t n = 0, i = 0;
  int r = relay_const_numbers(e, &x, &n);
  if (r < 0) tn_error_clear();
  if (r <= 0) return false;
  while (i < n && fn(x[i], state)) ++i;
  return n > 0 && i == n;
}

/* Bits are compared: integers that one double stands for are different numbers, and the first
   difference ends it. */
bool relay_uniform(const void *e, double *value) {
  const tn_Constant *c = TN_AS(Constant, e);
  const DLTensor *t = c ? tn_tensor_dl(c->data) : NULL;
  if (relay_as_scalar(e, value)) return true;
  if (!t || t->device.device_type != kDLCPU || t->dtype.lanes != 1 || t->dtype.bits % 8)
    return false;
  int64_t n = tn_tensor_count(t);
  size_t size = t->dtype.bits / 8;
  char *first = (char *)t->data + t->byte_offset;
  if (n < 1 || memcmp(first, first + size, (size_t)(n - 1) * size) != 0) return false;
  DLTensor x = {.data = first, .device = t->device, .dtype = t->dtype},
           y = {.data = value, .device = t->device, .dtype = TN_F64};
  if (tn_tensor_convert(&x, &y)) return tn_error_clear(), false;
  return *value == *value;
}

static bool is_positive(double x, double *state) {
  (void)state;
  return x > 0;
}

bool relay_all_positive(const void *e) { return all_elements(e, is_positive, NULL); }

void *relay_rename_bound(const void *expr) {
  TN_PMAP(fresh);
  tn_arr *bound;
  TN_GETP(bound, relay_vars_of(expr, RELAY_VARS_BOUND));
  for (int64_t i = 0; i < bound->len; ++i) {
    const tn_RelayVar *v = (const tn_RelayVar *)tn_arr_obj(bound, i);
    tn_RelayVar *copy;
    TN_GETP(copy, relay_var(tn_cstr(v->vid->name_hint), v->type_annotation));
    TN_TRYP(tn_pmap_put(&fresh, v->vid, relay_stands_for(copy, v)));
  }
  return relay_substitute(expr, &fresh);
}

/* ---- readers ---- */

static int count_operands(void *ctx, tn_obj *node) {
  const relay_expr *e;
  if (!TN_IS(RelayExpr, node)) return 0;
  for (int64_t i = 0; (e = relay_operand(node, i)) != NULL; ++i) {
    tn_pmap_slot *slot = tn_pmap_slot_of(ctx, e);
    if (!slot) return -1;
    ++slot->v.i64;
  }
  return 0;
}

int relay_count_readers(const void *root, tn_pmap *readers) {
  return tn_post_order(root, count_operands, readers);
}
