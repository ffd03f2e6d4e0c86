/* Types that a model states, and values that are given another type: sequences and optional values
   (relay/value_types.h), tensors whose rank the model leaves open. */
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/stack.h"
#include "import/onnx/import.h"
#include "relay/infer.h"
#include "tenon/object.h"

/* ---- from the model ---- */

/* Some exporters write -1 for an extent that they leave open. */
bool onnx_dim_given(const Onnx__TensorShapeProto__Dimension *d) {
  return d->has_dim_value && d->dim_value != -1;
}

/* Extents that the caller gives, else those of the model; Any where it leaves them open. */
static tn_Type *tensor_type(const Onnx__TypeProto__Tensor *t, const char *name,
                            const tn_arr *extents, bool *reshaped) {
  tn_dtype dtype;
  TN_VEC(shape);
  TN_TRYP(onnx_dtype(t->elem_type, name, &dtype));
  size_t n = t->shape ? t->shape->n_dim : 0;
  if (!t->shape && !extents) return relay_any_tensor_type(dtype);
  for (size_t i = 0; i < (extents ? (size_t)extents->len : n); ++i) {
    const Onnx__TensorShapeProto__Dimension *d = i < n ? t->shape->dim[i] : NULL;
    tn_expr *e = extents ? ir_expr_from(&extents->items[i]) : NULL;
    if (extents && (!d || (onnx_dim_given(d) && !tir_is_const((tn_obj *)e, d->dim_value))))
      *reshaped = true;
    if (!extents) {
      TN_CHECKP(
          !onnx_dim_given(d) || d->dim_value >= 0, ValueError, NULL,
          "input %s: dimension %zu: expected 0 or more, or -1 where it is dynamic, got %" PRId64,
          name, i, d->dim_value);
      bool small = d->dim_value == (int32_t)d->dim_value;
      e = !onnx_dim_given(d) ? relay_any()
          : small            ? tir_i32((int32_t)d->dim_value)
                             : tir_i64(d->dim_value);
    }
    TN_TRYP(tn_vec_push_obj(&shape, e));
  }
  return (tn_Type *)relay_tensor_type(tn_arr_from(&shape), dtype);
}

static tn_Type *type_of(const onnx_type *t, const char *name, const tn_arr *extents,
                        bool *reshaped) {
  TN_TRYP(tn_stack_check("a type"));
  if (t && t->tensor_type) return tensor_type(t->tensor_type, name, extents, reshaped);
  const onnx_type *inner = t && t->sequence_type   ? t->sequence_type->elem_type
                           : t && t->optional_type ? t->optional_type->elem_type
                                                   : NULL;
  TN_CHECKP(inner, OpNotImplemented, NULL,
            "input %s: only tensors, sequences and optional values of them are supported", name);
  tn_Type *e = type_of(inner, name, extents, reshaped);
  if (!e) return NULL;
  return t->sequence_type ? relay_sequence_type(e) : relay_optional_type(e);
}

tn_Type *onnx_type_of(const onnx_type *t, const char *name) {
  bool reshaped = false;
  return type_of(t, name, NULL, &reshaped);
}

tn_Type *onnx_input_type(const onnx_value *v, const tn_arr *extents, bool *reshaped) {
  tn_dtype dtype;
  TN_CHECKP(!extents || extents->hdr.type_index == TN_TI_Array, TypeError, NULL,
            "input %s: its shape must be a list", v->name);
  tn_Type *t = type_of(v->type, v->name, extents, reshaped);
  TN_CHECKP(!t || !relay_is_any_tensor(t, &dtype), ValueError, NULL,
            "input %s: the model does not tell its rank: give its shape", v->name);
  return t;
}

/* ---- another type ---- */

static void *typed(void *e) { return e ? relay_infer_new(e) : NULL; }

void *onnx_widen(void *e, tn_Type *to) {
  if (!e || !to || tn_equal(relay_type_of(e), to, 0) == 1) return to ? e : NULL;
  void *a = relay_attrs("value.widen", 1, "to", tn_any_obj(to));
  return a ? typed(relay_call("value.widen", a, 1, e)) : NULL;
}

bool onnx_is_sequence(const void *e) {
  const tn_Type *t = e ? relay_type_of(e) : NULL;
  return t && (TN_AS(TupleType, t) || relay_sequence_element(t));
}

void *onnx_as_sequence(void *e) {
  tn_Type *t = relay_type_of(e), *empty = relay_sequence_type(NULL);
  if (!empty || relay_sequence_element(t)) return empty ? e : NULL;
  return onnx_widen(e, relay_join_types(t, empty));
}

/* What the graph says of a value by name. */
static const onnx_type *stated(const onnx_graph *g, const char *name) {
  for (size_t i = 0; i < g->n_value_info + g->n_output; ++i) {
    const onnx_value *v = i < g->n_output ? g->output[i] : g->value_info[i - g->n_output];
    if (v->name && strcmp(v->name, name) == 0) return v->type;
  }
  return NULL;
}

bool onnx_states_rank(const onnx_ctx *c, const char *name) {
  const onnx_type *t = stated(c->graph, name);
  return t && t->tensor_type && t->tensor_type->shape;
}

/* The shape that a type states, with extents where they count: of a tensor, or of the elements. */
static tn_Type *with_stated(tn_Type *have, const onnx_type *t, bool extents) {
  const Onnx__TypeProto__Tensor *said = t ? t->tensor_type : NULL;
  tn_dtype dtype;
  TN_VEC(dims);
  if (!said || !said->shape || !relay_is_any_tensor(have, &dtype)) return have;
  for (size_t i = 0; i < said->shape->n_dim; ++i) {
    const Onnx__TensorShapeProto__Dimension *d = said->shape->dim[i];
    bool known = extents && d->has_dim_value && d->dim_value >= 0 && d->dim_value <= INT32_MAX;
    TN_TRYP(tn_vec_push_obj(&dims, known ? tir_i32((int32_t)d->dim_value) : relay_any()));
  }
  return (tn_Type *)relay_tensor_type(tn_arr_from(&dims), dtype);
}

bool onnx_is_read(const onnx_graph *g, const char *name) {
  for (size_t i = 0; i < g->n_node; ++i) {
    const onnx_node *n = g->node[i];
    for (size_t k = 0; k < n->n_input; ++k)
      if (strcmp(n->input[k], name) == 0) return true;
    for (size_t k = 0; k < n->n_attribute; ++k)
      if (n->attribute[k]->g && onnx_is_read(n->attribute[k]->g, name)) return true;
  }
  return false;
}

/* Of an output of the model nothing depends on its rank, and what is stated may be wrong. */
void *onnx_narrow_stated(const onnx_ctx *c, const char *name, void *e) {
  tn_dtype dtype;
  tn_Type *have = relay_type_of(e), *to;
  if (!have || !relay_is_any_tensor(have, &dtype) || !onnx_is_read(c->graph, name)) return e;
  TN_GETP(to, with_stated(have, stated(c->graph, name), !c->reshaped));
  if (to == have) return e;
  void *a = relay_attrs("value.narrow", 1, "to", tn_any_obj(to));
  return a ? typed(relay_call("value.narrow", a, 1, e)) : NULL;
}
