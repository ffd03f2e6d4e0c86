/* Mistakes in a model that do not keep it from being read: a warning, or with `strict` an error.

     names     two nodes, or two weights, with the same name; a node that writes a weight or an
               input
     inputs    weights whose shape differs from that of the input, shapes for unknown inputs
     outputs   declared types that differ from the computed ones
     opset     an operator set newer than this importer

   Converters of single operators report theirs through onnx_suspect. */
#include "import/onnx/suspect.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "base/scope.h"
#include "base/text.h"
#include "object/functions.h"
#include "relay/infer.h"
#include "relay/type_text.h"

int onnx_suspect(const onnx_ctx *c, const char *fmt, ...) {
  char text[320];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  TN_SUSPECT(c->strict, "%s (node %s): %s", c->node->op_type, onnx_name(c), text);
  return 0;
}

/* ---- constant indices ---- */

static int64_t index_at(const DLTensor *t, int64_t i) {
  const char *p = (const char *)t->data + t->byte_offset;
  return t->dtype.bits == 64 ? ((const int64_t *)p)[i] : ((const int32_t *)p)[i];
}

int onnx_suspect_indices(const onnx_ctx *c, int input, int64_t axis, bool coordinates) {
  const tn_Constant *k = TN_AS(Constant, onnx_in(c, input));
  const tn_TensorType *t = onnx_in_type(c, 0);
  const DLTensor *dl = k ? tn_tensor_dl(k->data) : NULL;
  if (!dl || !t || dl->dtype.code != kDLInt || dl->dtype.bits < 32) return 0;
  int64_t n = tn_tensor_count(dl), row = coordinates && dl->ndim ? dl->shape[dl->ndim - 1] : 1;
  for (int64_t i = 0; i < n; ++i) {
    int64_t at = axis + (row ? i % row : 0), v = index_at(dl, i), extent;
    if (!relay_known_int(t->shape, at, &extent) || (v >= -extent && v < extent)) continue;
    return onnx_suspect(c,
                        "input %d (%s): index %" PRId64 " (element %" PRId64
                        ") is out of range of axis %" PRId64 ", which has %" PRId64
                        " elements; ONNX does not define the result",
                        input, c->node->input[input], v, i, at, extent);
  }
  return 0;
}

/* ---- names ---- */

static int node_name(const onnx_node *n, size_t at, char *text, size_t size) {
  return snprintf(text, size, "%s (node %zu, %s)", n->op_type ? n->op_type : "?", at,
                  onnx_node_name(n));
}

static int check_writers(const onnx_graph *g, tn_map *others, bool strict) {
  char text[200], first[200];
  tn_map *seen;
  TN_GET(seen, tn_scope_own(tn_map_new()));
  for (size_t i = 0; i < g->n_node; ++i)
    for (size_t k = 0; k < g->node[i]->n_output; ++k) {
      const char *name = g->node[i]->output[k];
      tn_any before;
      if (!*name) continue;
      node_name(g->node[i], i, text, sizeof text);
      if (tn_map_get(others, tn_any_cstr(name), &before))
        TN_SUSPECT(strict,
                   "%s writes %s, which is also %s of the graph: later readers get the result of "
                   "the node; rename it",
                   text, name, before.v.i64 ? "a weight" : "an input");
      else if (tn_map_get(seen, tn_any_cstr(name), &before)) {
        node_name(g->node[before.v.i64], (size_t)before.v.i64, first, sizeof first);
        TN_SUSPECT(strict,
                   "%s writes %s, which %s writes too: later readers get the later result; give "
                   "each result its own name",
                   text, name, first);
      }
      TN_TRY(tn_map_set(seen, tn_any_cstr(name), tn_any_int((int64_t)i)));
    }
  return 0;
}

static int add_weight(tn_map *others, const char *name, bool strict) {
  tn_any before;
  if (!name || !*name) return 0;
  if (tn_map_get(others, tn_any_cstr(name), &before))
    TN_SUSPECT(strict, "two weights (initializers) are called %s: the last one is used", name);
  return tn_map_set(others, tn_any_cstr(name), tn_any_int(1));
}

int onnx_suspect_names(const onnx_graph *g, bool strict) {
  tn_map *others;
  tn_any before;
  TN_GET(others, tn_scope_own(tn_map_new()));
  for (size_t i = 0; i < g->n_initializer; ++i)
    TN_TRY(add_weight(others, g->initializer[i]->name, strict));
  for (size_t i = 0; i < g->n_sparse_initializer; ++i) {
    const onnx_tensor *values = g->sparse_initializer[i]->values;
    TN_TRY(add_weight(others, values ? values->name : NULL, strict));
  }
  for (size_t i = 0; i < g->n_input; ++i) {
    const char *name = g->input[i]->name;
    if (name && !tn_map_get(others, tn_any_cstr(name), &before))
      TN_TRY(tn_map_set(others, tn_any_cstr(name), tn_any_int(0)));
  }
  return check_writers(g, others, strict);
}

/* ---- shapes ---- */

static const onnx_value *find(onnx_value *const *v, size_t n, const char *name) {
  for (size_t i = 0; i < n; ++i)
    if (v[i]->name && strcmp(v[i]->name, name) == 0) return v[i];
  return NULL;
}

static const Onnx__TensorShapeProto *shape_of(const onnx_value *v) {
  const onnx_type *t = v->type;
  while (t && !t->tensor_type)
    t = t->sequence_type   ? t->sequence_type->elem_type
        : t->optional_type ? t->optional_type->elem_type
                           : NULL;
  return t ? t->tensor_type->shape : NULL;
}

int onnx_suspect_shapes(const onnx_graph *g, const tn_map *shapes, const tn_map *weights,
                        const char *what, bool strict) {
  for (int64_t i = 0; shapes && i < shapes->len; ++i) {
    const tn_map_entry *e = &shapes->entries[i];
    const char *name = tn_cstr((const tn_str *)e->key.v.obj);
    const tn_arr *extents = tn_any_is_obj(&e->value) ? (const tn_arr *)e->value.v.obj : NULL;
    const onnx_value *in = find(g->input, g->n_input, name);
    tn_near near = {.name = name};
    tn_any weight;
    bool is_weight = tn_map_get(weights, tn_any_cstr(name), &weight);
    for (size_t k = 0; k < g->n_input; ++k)
      if (g->input[k]->name) tn_near_offer(&near, g->input[k]->name);
    if (!in || is_weight)
      TN_SUSPECT(strict, "%s: the model has no input %s%s%s", what, name,
                 is_weight ? ": it is a weight" : "", is_weight ? "" : tn_near_text(&near));
    const Onnx__TensorShapeProto *s = in && !is_weight ? shape_of(in) : NULL;
    if (s && extents && extents->hdr.type_index == TN_TI_Array && (int64_t)s->n_dim != extents->len)
      TN_SUSPECT(strict,
                 "%s: the input %s has %zu dimensions in the model, %" PRId64 " are given: give "
                 "an extent for each",
                 what, name, s->n_dim, extents->len);
  }
  return 0;
}

static bool same_extents(const Onnx__TensorShapeProto *s, const tn_arr *have) {
  bool same = (int64_t)s->n_dim == have->len;
  for (size_t k = 0; same && k < s->n_dim; ++k) {
    int64_t n;
    if (onnx_dim_given(s->dim[k]) && relay_known_int(have, (int64_t)k, &n))
      same = n == s->dim[k]->dim_value;
  }
  return same;
}

/* Does the type of a value agree with the declared one, as far as that is declared? */
static int check_stated(const char *what, const onnx_value *v, tn_TensorType *have, bool strict) {
  const Onnx__TypeProto__Tensor *t = v->type ? v->type->tensor_type : NULL;
  tn_dtype dtype = have ? have->dtype : TN_F32;
  TN_BUF(text);
  if (!t || !have) return 0;
  if (t->elem_type && onnx_dtype(t->elem_type, v->name, &dtype)) tn_error_clear();
  bool typed = memcmp(&dtype, &have->dtype, sizeof dtype) == 0;
  if (typed && (!t->shape || same_extents(t->shape, have->shape))) return 0;
  tn_buf_printf(&text, "%s", TN_DT(dtype));
  for (size_t k = 0; t->shape && k < t->shape->n_dim; ++k) {
    const Onnx__TensorShapeProto__Dimension *d = t->shape->dim[k];
    tn_buf_puts(&text, k ? ", " : "[");
    if (onnx_dim_given(d)) tn_buf_printf(&text, "%" PRId64, d->dim_value);
    else tn_buf_puts(&text, "?");
  }
  if (t->shape) tn_buf_puts(&text, t->shape->n_dim ? "]" : "[]");
  TN_TRY(tn_buf_ok(&text));
  TN_SUSPECT(strict, "%s %s: the model declares %s, but it is %s, which is used", what, v->name,
             tn_buf_cstr(&text), relay_type_text(have));
  return 0;
}

int onnx_suspect_weights(const onnx_graph *g, const tn_map *weights, bool strict) {
  for (size_t i = 0; i < g->n_input; ++i) {
    tn_any found;
    const char *name = g->input[i]->name;
    if (!name || !tn_map_get(weights, tn_any_cstr(name), &found)) continue;
    const DLTensor *dl = tn_tensor_dl((const tn_tensor *)found.v.obj);
    tn_TensorType *t;
    TN_GET(t, relay_tensor_type_of(dl->shape, dl->ndim, dl->dtype));
    TN_TRY(check_stated("weight", g->input[i], t, strict));
  }
  return 0;
}

int onnx_suspect_outputs(const onnx_graph *g, const tn_map *values, bool strict) {
  for (size_t i = 0; i < g->n_output; ++i) {
    tn_any v;
    if (!tn_map_get(values, tn_any_cstr(g->output[i]->name), &v)) continue;
    tn_TensorType *t = TN_AS(TensorType, relay_type_of(v.v.obj));
    TN_TRY(check_stated("output", g->output[i], t, strict));
  }
  return 0;
}

int onnx_suspect_opset(int64_t opset, bool strict) {
  if (opset > ONNX_NEWEST_OPSET)
    TN_SUSPECT(strict,
               "the model uses operator set %" PRId64 ", the newest known one is %d: its operators "
               "are read as in %d; export the model with opset_version=%d",
               opset, ONNX_NEWEST_OPSET, ONNX_NEWEST_OPSET, ONNX_NEWEST_OPSET);
  return 0;
}
