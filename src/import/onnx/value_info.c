/* Extents that a model states of its values. Where an operand that decides them is computed at run
   time, they keep the program static.

     ReduceSum(x, axes) -> s, Sqrt(s) -> y, and y is declared as [3, 1, 2]: then s is [3, 1, 2] too
 */
#include <string.h>

#include "base/error.h"
#include "import/onnx/import.h"

/* Operators of which the result has the extents of the first input. */
static const char *const keeps_shape[] = {
    "Abs", "Cast", "CastLike",   "Ceil", "Exp",   "Floor",   "Identity", "Log",
    "Neg", "Not",  "Reciprocal", "Relu", "Round", "Sigmoid", "Sqrt",     "Tanh"};

static int declare(tn_map *out, const char *name, const tn_arr *shape) {
  return shape ? tn_map_set(out, tn_any_cstr(name), tn_any_obj(shape)) : -1;
}

/* Only what is known in full is of use. */
static int add_value(tn_map *out, const onnx_value *v) {
  const Onnx__TypeProto__Tensor *t = v->type ? v->type->tensor_type : NULL;
  int64_t dims[ONNX_MAX_NDIM];
  if (!v->name || !*v->name || !t || !t->shape || t->shape->n_dim > ONNX_MAX_NDIM) return 0;
  for (size_t i = 0; i < t->shape->n_dim; ++i) {
    const Onnx__TensorShapeProto__Dimension *d = t->shape->dim[i];
    if (!d->has_dim_value || d->dim_value < 0 || d->dim_value > INT32_MAX) return 0;
    dims[i] = d->dim_value;
  }
  return declare(out, v->name, relay_ints(dims, (int64_t)t->shape->n_dim));
}

static bool same_shape(const onnx_node *n) {
  for (int i = 0; n->op_type && i < TN_COUNT(keeps_shape); ++i)
    if (strcmp(keeps_shape[i], n->op_type) == 0) return n->n_input > 0 && n->n_output > 0;
  return false;
}

int onnx_declared(const onnx_graph *g, tn_map *out) {
  for (size_t i = 0; i < g->n_output; ++i) TN_TRY(add_value(out, g->output[i]));
  for (size_t i = 0; i < g->n_value_info; ++i) TN_TRY(add_value(out, g->value_info[i]));
  for (size_t i = g->n_node; i-- > 0;) {
    const onnx_node *n = g->node[i];
    tn_any known, before;
    if (!same_shape(n) || !tn_map_get(out, tn_any_cstr(n->output[0]), &known)) continue;
    if (!tn_map_get(out, tn_any_cstr(n->input[0]), &before))
      TN_TRY(declare(out, n->input[0], (const tn_arr *)known.v.obj));
  }
  return 0;
}

const tn_arr *onnx_declared_shape(const onnx_ctx *c, int output) {
  tn_any known;
  bool there = c->declared && (size_t)output < c->node->n_output && *c->node->output[output] &&
               tn_map_get(c->declared, tn_any_cstr(c->node->output[output]), &known);
  return there ? (const tn_arr *)known.v.obj : NULL;
}
