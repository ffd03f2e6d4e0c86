/* Sequences, optional values, tensors of any rank: see value_types.h. */
#include "relay/value_types.h"

#include "base/error.h"
#include "ir/functor.h"
#include "ir/module.h"
#include "object/functions.h"
#include "relay/op.h"
#include "tenon/object.h"

static const char *const names[] = {"Sequence", "Optional", "AnyTensor"};
enum { SEQUENCE, OPTIONAL, ANY_TENSOR };
static const char STORAGE[] = "Storage";

static tn_Type *type_of_name(int which, tn_Type *arg) {
  tn_GlobalTypeVar *v;
  tn_arr *args;
  TN_GETP(arg, arg);
  TN_GETP(
      v, TN_NEW(GlobalTypeVar, .name_hint = tn_str_from(names[which]), .kind = IR_KIND_ADT_HANDLE));
  TN_GETP(args, tn_arr_of(1, arg));
  return (tn_Type *)TN_NEW(TypeCall, .func = (tn_Type *)v, .args = args);
}

static tn_Type *arg_of(const tn_Type *t, int which) {
  const tn_TypeCall *c = TN_AS(TypeCall, t);
  const tn_GlobalTypeVar *v = c ? TN_AS(GlobalTypeVar, c->func) : NULL;
  bool same = v && c->args->len == 1 && tn_str_eq(v->name_hint, names[which]);
  return same ? (tn_Type *)tn_arr_obj(c->args, 0) : NULL;
}

tn_Type *relay_sequence_type(tn_Type *element) {
  if (!element) element = (tn_Type *)relay_tuple_type(tn_arr_of(0));
  return type_of_name(SEQUENCE, element);
}

tn_Type *relay_optional_type(tn_Type *value) {
  return arg_of(value, OPTIONAL) ? value : type_of_name(OPTIONAL, value);
}

tn_Type *relay_any_tensor_type(tn_dtype t) {
  return type_of_name(ANY_TENSOR, (tn_Type *)relay_scalar_type(t));
}

tn_Type *relay_sequence_element(const tn_Type *t) { return t ? arg_of(t, SEQUENCE) : NULL; }
tn_Type *relay_optional_value(const tn_Type *t) { return t ? arg_of(t, OPTIONAL) : NULL; }

tn_Type *relay_storage_type(void) {
  tn_GlobalTypeVar *v;
  TN_GETP(v, TN_NEW(GlobalTypeVar, .name_hint = tn_str_from(STORAGE), .kind = IR_KIND_ADT_HANDLE));
  return (tn_Type *)TN_NEW(TypeCall, .func = (tn_Type *)v, .args = tn_arr_of(0));
}

bool relay_is_storage(const tn_Type *t) {
  const tn_TypeCall *c = t ? TN_AS(TypeCall, t) : NULL;
  const tn_GlobalTypeVar *v = TN_AS(GlobalTypeVar, c ? (const void *)c->func : (const void *)t);
  return v && tn_str_eq(v->name_hint, STORAGE);
}

bool relay_is_no_element(const tn_Type *t) {
  const tn_TupleType *tuple = TN_AS(TupleType, t);
  return tuple && tuple->fields->len == 0;
}

bool relay_is_any_tensor(const tn_Type *t, tn_dtype *dtype) {
  const tn_TensorType *scalar = t ? TN_AS(TensorType, arg_of(t, ANY_TENSOR)) : NULL;
  if (scalar) *dtype = scalar->dtype;
  return scalar != NULL;
}

bool relay_is_value_type(const tn_Type *t) {
  for (int i = 0; t && i < TN_COUNT(names); ++i)
    if (arg_of(t, i)) return true;
  return false;
}

/* ---- joining ---- */

static tn_Type *join_tensors(const tn_TensorType *a, const tn_TensorType *b) {
  TN_VEC(dims);
  for (int64_t i = 0; i < a->shape->len; ++i) {
    tn_expr *d = relay_dim(a, i);
    if (!relay_dim_is_any(d) && relay_dim_equal(d, relay_dim(b, i)) != 1) d = relay_any();
    TN_TRYP(tn_vec_push_obj(&dims, d));
  }
  return (tn_Type *)relay_tensor_type(tn_arr_from(&dims), a->dtype);
}

/* Tensors whose ranks are known or not; NULL without an error: they are of different dtypes. */
static tn_Type *join_any_tensors(const tn_Type *a, const tn_Type *b) {
  const tn_TensorType *s = TN_AS(TensorType, a), *t = TN_AS(TensorType, b);
  tn_dtype x, y;
  if (s) x = s->dtype;
  else if (!relay_is_any_tensor(a, &x)) return NULL;
  if (t) y = t->dtype;
  else if (!relay_is_any_tensor(b, &y)) return NULL;
  if (!tn_dtype_eq(x, y)) return NULL;
  return s && t && s->shape->len == t->shape->len ? join_tensors(s, t) : relay_any_tensor_type(x);
}

/* Type of the elements of a sequence or tuple. */
static tn_Type *element_of(tn_Type *t) {
  const tn_TupleType *tuple = TN_AS(TupleType, t);
  tn_Type *e = NULL;
  if (!tuple) return relay_sequence_element(t);
  for (int64_t i = 0; i < tuple->fields->len; ++i) {
    tn_Type *field = (tn_Type *)tn_arr_obj(tuple->fields, i);
    e = e ? relay_join_types(e, field) : field;
    if (!e) return NULL;
  }
  return e ? e : (tn_Type *)relay_tuple_type(tn_arr_of(0));
}

static tn_Type *join_sequences(tn_Type *a, tn_Type *b) {
  tn_Type *x = element_of(a), *y = element_of(b);
  if (!x || !y) return NULL;
  tn_Type *both = relay_is_no_element(x) ? y : relay_is_no_element(y) ? x : relay_join_types(x, y);
  return both ? relay_sequence_type(both) : NULL;
}

tn_Type *relay_join_types(tn_Type *a, tn_Type *b) {
  if (!a || !b || a == b || tn_equal(a, b, 0) == 1) return b ? a : NULL;
  tn_Type *x = relay_optional_value(a), *y = relay_optional_value(b);
  if (x || y) {
    tn_Type *both = relay_join_types(x ? x : a, y ? y : b);
    return both ? relay_optional_type(both) : NULL;
  }
  bool first = TN_AS(TupleType, a) || relay_sequence_element(a);
  bool second = TN_AS(TupleType, b) || relay_sequence_element(b);
  if (first != second) return NULL;
  return first ? join_sequences(a, b) : join_any_tensors(a, b);
}

/* ---- definitions ---- */

static int look(void *ctx, tn_obj *node) {
  const tn_Type *t = tn_obj_is(node, &tn_type_RelayExpr) ? relay_type_of(node) : NULL;
  *(bool *)ctx = t && relay_is_value_type(t);
  return *(bool *)ctx;
}

static int define(tn_IRModule *m, const char *name, tn_arr *params) {
  tn_GlobalTypeVar *v;
  tn_TypeData *d;
  TN_GET(params, params);
  if (tn_map_find(m->global_type_var_map_, name)) return 0;
  TN_GET(v, TN_NEW(GlobalTypeVar, .name_hint = tn_str_from(name), .kind = IR_KIND_ADT_HANDLE));
  TN_GET(d, TN_MAKE(TypeData, .header = v, .type_vars = params, .constructors = tn_arr_of(0)));
  return ir_module_add_type(m, v, (tn_Type *)d, true);
}

static tn_arr *one_param(void) {
  tn_TypeVar *arg;
  TN_GETP(arg, TN_NEW(TypeVar, .name_hint = tn_str_from("A"), .kind = IR_KIND_TYPE));
  return tn_arr_of(1, arg);
}

int relay_define_storage(tn_IRModule *m) { return define(m, STORAGE, tn_arr_of(0)); }

int relay_define_value_types(tn_IRModule *m) {
  bool found = false;
  for (int64_t i = 0; i < m->functions->len && !found; ++i)
    if (tn_post_order(m->functions->entries[i].value.v.obj, look, &found) < 0) return -1;
  for (int i = 0; found && i < TN_COUNT(names); ++i) TN_TRY(define(m, names[i], one_param()));
  return 0;
}
