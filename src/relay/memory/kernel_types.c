/* Types of kernels, and kernels that do nothing but give a tensor another shape. */
#include <string.h>

#include "base/error.h"
#include "relay/memory/kernel_shapes.h"
#include "relay/op.h"

int kernel_flat_types(const tn_Type *t, tn_vec *out) {
  const tn_TupleType *tuple = TN_AS(TupleType, t);
  for (int64_t i = 0; tuple && i < tuple->fields->len; ++i)
    TN_TRY(kernel_flat_types((const tn_Type *)tn_arr_obj(tuple->fields, i), out));
  if (tuple) return 0;
  TN_CHECK(t && TN_AS(TensorType, t), ValueError, NULL,
           "relay.vm: a kernel works on tensors, not on %s",
           t ? tn_obj_key(t) : "what has no type");
  return tn_vec_push_obj(out, t);
}

const tn_Type *kernel_param_type(const tn_RelayFunction *f, int64_t i) {
  const tn_RelayVar *v = (const tn_RelayVar *)tn_arr_obj(f->params, i);
  const tn_Type *t = relay_type_of(v);
  return t ? t : v->type_annotation;
}

const tn_Type *kernel_result_type(const tn_RelayFunction *f) {
  const tn_Type *t = relay_type_of(f->body);
  return t ? t : f->ret_type;
}

/* Number of a parameter among others that are tensors; -1: not one of those. */
static int64_t number_of(const tn_RelayFunction *f, const void *param) {
  const tn_RelayVar *v = TN_AS(RelayVar, param);
  int64_t found = -1;
  for (int64_t i = 0; v && i < f->params->len; ++i) {
    if (!TN_AS(TensorType, kernel_param_type(f, i))) return -1;
    if (((const tn_RelayVar *)tn_arr_obj(f->params, i))->vid == v->vid) found = i;
  }
  return found;
}

/* A field of a tuple is one of several tensors: FuseOps makes such a kernel of what an if gives. */
static int64_t number_of_field(const tn_RelayFunction *f, const tn_TupleGetItem *field) {
  const tn_TupleType *tuple =
      f->params->len == 1 ? TN_AS(TupleType, kernel_param_type(f, 0)) : NULL;
  if (!tuple || !TN_AS(RelayVar, field->tuple_value)) return -1;
  for (int64_t i = 0; i <= field->index; ++i)
    if (!TN_AS(TensorType, tn_arr_obj(tuple->fields, i))) return -1;
  return field->index;
}

int64_t kernel_reshaped(const tn_RelayFunction *f) {
  static const char *const ops[] = {"reshape", "contrib_reverse_reshape", "reshape_like"};
  const void *body = f->body;
  const char *op;
  while ((op = relay_called_op(body)) != NULL) {
    int i = 0;
    while (i < TN_COUNT(ops) && strcmp(op, ops[i]) != 0) ++i;
    if (i == TN_COUNT(ops)) return -1;
    body = relay_arg(TN_AS(RelayCall, body), 0);
  }
  if (body == (const void *)f->body) return -1;
  const tn_TupleGetItem *field = TN_AS(TupleGetItem, body);
  return field ? number_of_field(f, field) : number_of(f, body);
}
