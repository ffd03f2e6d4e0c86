/* What a function of the executable takes and gives, for those who call it. */
#include "base/error.h"
#include "driver/vm/gen.h"
#include "ir/imm.h"
#include "relay/analysis/analysis.h"
#include "relay/value_types.h"

/* The type of the tensors in it, and which kind of value it is. */
static const tn_Type *without_form(const tn_Type *t, uint32_t *form, tn_dtype *dtype) {
  const tn_Type *inner = relay_optional_value(t);
  if (inner) *form |= TN_VM_OPTIONAL, t = inner;
  if ((inner = relay_sequence_element(t))) *form |= TN_VM_SEQUENCE, t = inner;
  if (t && relay_is_any_tensor(t, dtype)) *form |= TN_VM_ANY_RANK;
  return t;
}

static int type_of(vm_gen *g, const tn_Type *type, tn_vm_type *out) {
  uint32_t form = 0;
  tn_dtype dtype;
  const tn_TensorType *t = TN_AS(TensorType, without_form(type, &form, &dtype));
  int64_t *shape;
  *out = (tn_vm_type){0};
  if (form & TN_VM_ANY_RANK) *out = (tn_vm_type){.dtype = dtype, .form = form};
  if (!t || t->shape->len > TN_VM_MAX_NDIM) return 0;
  TN_GET(shape, tn_arena_array(&g->x->arena, t->shape->len + 1, sizeof *shape));
  for (int64_t d = 0; d < t->shape->len; ++d)
    if (!tir_as_int(tn_arr_obj(t->shape, d), &shape[d])) shape[d] = -1;
  *out = (tn_vm_type){t->dtype, (int32_t)t->shape->len, form, shape};
  return 0;
}

static bool is_read(const tn_arr *vars, const tn_RelayVar *v) {
  for (int64_t i = 0; i < vars->len; ++i)
    if (((const tn_RelayVar *)tn_arr_obj(vars, i))->vid == v->vid) return true;
  return false;
}

int vm_set_types(vm_gen *g, int64_t func, const tn_RelayFunction *f) {
  const tn_Type *result = f->ret_type ? f->ret_type : relay_type_of(f->body);
  const tn_TupleType *many = TN_AS(TupleType, result);
  int64_t nparam = f->params->len, nresult = many ? many->fields->len : 1;
  tn_vm_type *types;
  tn_arr *read;
  if (!result) return 0;
  TN_GET(read, relay_free_vars(f->body));
  TN_GET(types, tn_arena_array(&g->x->arena, nparam + nresult + 1, sizeof *types));
  for (int64_t i = 0; i < nparam; ++i) {
    const tn_RelayVar *v = (const tn_RelayVar *)tn_arr_obj(f->params, i);
    const tn_Type *t = v->type_annotation ? v->type_annotation : relay_type_of(v);
    TN_TRY(type_of(g, t, &types[i]));
    if (!is_read(read, v)) types[i].form |= TN_VM_UNREAD;
  }
  for (int64_t i = 0; i < nresult; ++i) {
    const tn_Type *t = many ? (const tn_Type *)tn_arr_obj(many->fields, i) : result;
    TN_TRY(type_of(g, t, &types[nparam + i]));
  }
  return tn_vm_set_types(g->x, func, types, (int32_t)(nparam + nresult));
}
