/* What conversions ask of a node: its attributes, types and constant inputs. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "import/onnx/import.h"

tn_TensorType *onnx_in_type(const onnx_ctx *c, int i) {
  const void *e = onnx_in(c, i);
  return e ? relay_tensor_type_of_expr(e) : NULL;
}

int64_t onnx_rank(const onnx_ctx *c, int i) {
  const tn_TensorType *t = onnx_in_type(c, i);
  return t ? t->shape->len : -1;
}

int onnx_known_extent(const onnx_ctx *c, int i, int64_t axis, int64_t *out) {
  const tn_TensorType *t = onnx_in_type(c, i);
  if (t && relay_known_int(t->shape, axis, out)) return 0;
  return TN_RAISE(OpNotImplemented, NULL,
                  "%s (node %s): dimension %" PRId64 " of input %d (%s) must be known while "
                  "compiling: give the inputs of the model shapes",
                  c->node->op_type, onnx_name(c), axis, i, c->node->input[i]);
}

int64_t onnx_known_shape(const onnx_ctx *c, int i, int64_t *out, int64_t cap) {
  int64_t rank = onnx_rank(c, i);
  if (rank < 0 || rank > cap)
    return onnx_fail(c, "input %d has %" PRId64 " dimensions, expected at most %" PRId64, i, rank,
                     cap),
           -1;
  for (int64_t k = 0; k < rank; ++k) TN_TRY(onnx_known_extent(c, i, k, &out[k]));
  return rank;
}

const char *onnx_node_name(const onnx_node *n) {
  if (n->name && *n->name) return n->name;
  return n->n_output ? n->output[0] : "?";
}

const char *onnx_name(const onnx_ctx *c) { return onnx_node_name(c->node); }

void *onnx_fail(const onnx_ctx *c, const char *fmt, ...) {
  char text[256];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  return TN_RAISEP(ValueError, NULL, "%s (node %s): %s", c->node->op_type, onnx_name(c), text);
}

const onnx_attr *onnx_node_attr(const onnx_ctx *c, const char *name) {
  for (size_t i = 0; i < c->node->n_attribute; ++i)
    if (c->node->attribute[i]->name && strcmp(c->node->attribute[i]->name, name) == 0)
      return c->node->attribute[i];
  return NULL;
}

int64_t onnx_int(const onnx_ctx *c, const char *name, int64_t absent) {
  const onnx_attr *a = onnx_node_attr(c, name);
  return a && a->has_i ? a->i : a ? 0 : absent;
}

/* Attributes are of 32 bits, and so are their defaults: 0.01 is 0.009999999776... for float64 too.
 */
double onnx_float(const onnx_ctx *c, const char *name, double absent) {
  const onnx_attr *a = onnx_node_attr(c, name);
  return a && a->has_f ? (double)a->f : a ? 0 : (double)(float)absent;
}

const char *onnx_text(const onnx_ctx *c, const char *name, const char *absent, char *buffer,
                      size_t size) {
  const onnx_attr *a = onnx_node_attr(c, name);
  if (!a || !a->has_s) return absent;
  size_t n = a->s.len < size - 1 ? a->s.len : size - 1;
  if (n) memcpy(buffer, a->s.data, n);
  buffer[n] = '\0';
  return buffer;
}

const int64_t *onnx_ints(const onnx_ctx *c, const char *name, int64_t *n) {
  const onnx_attr *a = onnx_node_attr(c, name);
  *n = a ? (int64_t)a->n_ints : 0;
  return a ? a->ints : NULL;
}

int onnx_values(const onnx_ctx *c, int i, const char *what, int64_t *out, int64_t cap, int64_t *n) {
  const tn_Constant *k = TN_AS(Constant, onnx_in(c, i));
  const char *name = onnx_name(c);
  TN_CHECK(k, OpNotImplemented, NULL,
           "%s (node %s): %s must be known while compiling: it is computed at run time",
           c->node->op_type, name, what);
  const DLTensor *t = tn_tensor_dl(k->data);
  *n = tn_tensor_count(t);
  TN_CHECK(t->dtype.code == kDLInt && t->dtype.bits >= 32, ValueError, NULL,
           "%s (node %s): %s must be integers", c->node->op_type, name, what);
  TN_CHECK(t->ndim <= 1 && *n <= cap, ValueError, NULL,
           "%s (node %s): %s: the rank or size is too large: %" PRId64 " numbers", c->node->op_type,
           name, what, *n);
  for (int64_t k_ = 0; k_ < *n; ++k_)
    out[k_] = t->dtype.bits == 64 ? ((const int64_t *)t->data)[k_] : ((const int32_t *)t->data)[k_];
  return 0;
}

int onnx_axes(const onnx_ctx *c, int i, const char *name, int64_t *out, int64_t cap, int64_t *n) {
  if (onnx_in(c, i)) return onnx_values(c, i, name, out, cap, n);
  const onnx_attr *a = onnx_node_attr(c, name);
  *n = a ? (int64_t)a->n_ints : -1;
  TN_CHECK(*n <= cap, ValueError, NULL, "%s: %s has %" PRId64 " numbers", c->node->op_type, name,
           *n);
  for (int64_t k = 0; k < *n; ++k) out[k] = a->ints[k];
  return 0;
}
