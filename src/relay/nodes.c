/* Relay's nodes: descriptions, checks, and the builders that passes and importers use. */
#include "relay/relay.h"

#include <string.h>

#include "ir/functor.h"
#include "ir/imm.h"
#include "ir/op.h"
#include "object/functions.h"
#include "relay/relay_impl.h"

/* ---- checks ---- */

static int check_items(const tn_arr *a, const tn_type *want, const char *what) {
  for (int64_t i = 0; i < a->len; ++i) {
    const tn_any *x = &a->items[i];
    TN_CHECK(tn_any_is_obj(x) && tn_obj_is(x->v.obj, want), TypeError, NULL,
             "%s: element %lld: expected %s, got %s", what, (long long)i, want->key,
             tn_any_is_obj(x) ? tn_obj_key(x->v.obj) : tn_type_key((uint32_t)x->type_index));
  }
  return 0;
}

/* Extents may be given as plain numbers: these become constants. */
static int check_tensor_type(tn_TensorType *t) {
  TN_VEC(v);
  bool same = true;
  for (int64_t i = 0; i < t->shape->len; ++i) {
    const tn_any *x = &t->shape->items[i];
    tn_expr *e;
    TN_GET(e, ir_expr_from(x));
    TN_CHECK(ir_is_integral(e->dtype), TypeError, NULL,
             "TensorType.shape: extent %lld: expected an integer, got %s", (long long)i,
             TN_DT(e->dtype));
    same = same && tn_any_is_obj(x) && x->v.obj == (tn_obj *)e;
    TN_TRY(tn_vec_push_obj(&v, e));
  }
  if (same) return 0;
  tn_arr *shape = tn_arr_new(v.items, v.len);
  if (!shape) return -1;
  tn_release(t->shape);
  t->shape = shape;
  return 0;
}

/* Constructors get their numbers: unlikely to be those of another type, the same in every process.
 */
static int check_type_data(const tn_TypeData *d) {
  TN_TRY(check_items(d->type_vars, &tn_type_TypeVar, "TypeData.type_vars"));
  TN_TRY(check_items(d->constructors, &tn_type_Constructor, "TypeData.constructors"));
  int32_t prefix = (int32_t)((d->header->name_hint->hash & 0x7f) << 24);
  for (int64_t i = 0; i < d->constructors->len; ++i)
    ((tn_Constructor *)tn_arr_obj(d->constructors, i))->tag = prefix | (int32_t)i;
  return 0;
}

static int check_type(tn_obj *self) {
  switch (self->type_index) {
  case TN_TI_TensorType: return check_tensor_type((tn_TensorType *)self);
  case TN_TI_TypeCall:
    return check_items(((tn_TypeCall *)self)->args, &tn_type_Type, "TypeCall.args");
  case TN_TI_TypeRelation:
    return check_items(((tn_TypeRelation *)self)->args, &tn_type_Type, "TypeRelation.args");
  case TN_TI_Constructor:
    return check_items(((tn_Constructor *)self)->inputs, &tn_type_Type, "Constructor.inputs");
  case TN_TI_TypeData: return check_type_data((const tn_TypeData *)self);
  case TN_TI_PatternConstructor:
    return check_items(((tn_PatternConstructor *)self)->patterns, &tn_type_Pattern,
                       "PatternConstructor.patterns");
  case TN_TI_PatternTuple:
    return check_items(((tn_PatternTuple *)self)->patterns, &tn_type_Pattern,
                       "PatternTuple.patterns");
  default: return 0;
  }
}

static int check_expr(tn_obj *self) {
  switch (self->type_index) {
  case TN_TI_RelayTuple:
    return check_items(((tn_RelayTuple *)self)->fields, &tn_type_RelayExpr, "Tuple.fields");
  case TN_TI_RelayFunction: {
    const tn_RelayFunction *f = (tn_RelayFunction *)self;
    TN_TRY(check_items(f->params, &tn_type_RelayVar, "Function.params"));
    return check_items(f->type_params, &tn_type_TypeVar, "Function.type_params");
  }
  case TN_TI_RelayCall: {
    const tn_RelayCall *c = (tn_RelayCall *)self;
    TN_TRY(check_items(c->args, &tn_type_RelayExpr, "Call.args"));
    return check_items(c->type_args, &tn_type_Type, "Call.type_args");
  }
  case TN_TI_TupleGetItem:
    TN_CHECK(((tn_TupleGetItem *)self)->index >= 0, ValueError, ((tn_TupleGetItem *)self)->span,
             "TupleGetItem: index out of bounds: %lld",
             (long long)((tn_TupleGetItem *)self)->index);
    return 0;
  case TN_TI_Match:
    return check_items(((tn_Match *)self)->clauses, &tn_type_Clause, "Match.clauses");
  default: return 0;
  }
}

static const tn_type_hooks relay_type_hooks = {.init = check_type},
                           relay_expr_hooks = {.init = check_expr};

TN_NODES_DEFINE(TN_RELAY_NODES, relay_types)

/* ---- types ---- */

tn_TensorType *relay_tensor_type(tn_arr *shape, tn_dtype dtype) {
  return TN_MAKE(TensorType, .shape = shape, .dtype = dtype);
}

tn_TensorType *relay_tensor_type_of(const int64_t *shape, int ndim, tn_dtype dtype) {
  TN_VEC(v);
  for (int i = 0; i < ndim; ++i) {
    bool small = shape[i] == (int32_t)shape[i];
    TN_TRYP(tn_vec_push_obj(&v, small ? tir_i32((int32_t)shape[i]) : tir_i64(shape[i])));
  }
  return relay_tensor_type(tn_arr_from(&v), dtype);
}

tn_TupleType *relay_tuple_type(tn_arr *fields) { return TN_NEW(TupleType, .fields = fields); }

tn_IncompleteType *relay_incomplete_type(void) {
  return TN_NEW(IncompleteType, .kind = IR_KIND_TYPE);
}

tn_expr *relay_any(void) { return (tn_expr *)TN_MAKE(Any, .dtype = TN_I32); }

bool relay_is_static(const tn_Type *t) {
  const tn_TensorType *tensor = TN_AS(TensorType, t);
  const tn_TupleType *tuple = TN_AS(TupleType, t);
  for (int64_t i = 0; tensor && i < tensor->shape->len; ++i) {
    if (!TN_AS(IntImm, tn_arr_obj(tensor->shape, i))) return false;
  }
  for (int64_t i = 0; tuple && i < tuple->fields->len; ++i) {
    if (!relay_is_static((const tn_Type *)tn_arr_obj(tuple->fields, i))) return false;
  }
  return tensor || tuple;
}

int64_t relay_count_tensors(const tn_Type *t) {
  const tn_TupleType *tuple = TN_AS(TupleType, t);
  int64_t n = tuple ? 0 : 1;
  for (int64_t i = 0; tuple && i < tuple->fields->len; ++i)
    n += relay_count_tensors((const tn_Type *)tn_arr_obj(tuple->fields, i));
  return n;
}

/* ---- expressions ---- */

tn_RelayVar *relay_var(const char *name, tn_Type *type) {
  return TN_NEW(RelayVar, .vid = TN_NEW(Id, .name_hint = tn_str_from(name)),
                .type_annotation = type);
}

tn_RelayTuple *relay_tuple(tn_arr *fields) { return TN_MAKE(RelayTuple, .fields = fields); }

tn_TupleGetItem *relay_get_item(void *tuple, int64_t index) {
  return TN_MAKE(TupleGetItem, .tuple_value = tuple, .index = index);
}

tn_RelayCall *relay_call_new(void *op, tn_arr *args, tn_Attrs *attrs) {
  return TN_MAKE(RelayCall, .op = op, .args = args, .attrs = attrs, .type_args = tn_arr_of(0));
}

tn_RelayFunction *relay_function(tn_arr *params, void *body, tn_Type *ret_type,
                                 tn_DictAttrs *attrs) {
  return TN_MAKE(RelayFunction, .params = params, .type_params = tn_arr_of(0), .ret_type = ret_type,
                 .body = body, .attrs = attrs);
}

tn_RelayLet *relay_let(tn_RelayVar *var, void *value, void *body) {
  return TN_NEW(RelayLet, .var = var, .value = value, .body = body);
}

tn_RelayIf *relay_if(void *cond, void *t, void *f) {
  return TN_NEW(RelayIf, .cond = cond, .true_branch = t, .false_branch = f);
}

const char *relay_called_op(const void *expr) {
  const tn_RelayCall *call = TN_AS(RelayCall, expr);
  const tn_Op *op = call ? TN_AS(Op, call->op) : NULL;
  return op ? tn_cstr(op->name) : NULL;
}

tn_RelayCall *relay_as_call(const void *expr, const char *op) {
  const char *name = relay_called_op(expr);
  return name && strcmp(name, op) == 0 ? TN_AS(RelayCall, expr) : NULL;
}

void *relay_fresh_copy(const void *expr) {
  relay_expr *copy = expr ? tn_node_copy(((const tn_obj *)expr)->type, expr) : NULL;
  if (!copy) return NULL;
  tn_release(copy->_checked_type_);
  copy->_checked_type_ = NULL;
  return copy;
}

int relay_nodes_init(void) {
  TN_TRY(tn_type_register_table(relay_types, TN_COUNT(relay_types)));
  tn_functor_leaf(&tn_type_Id, false);
  return 0;
}
