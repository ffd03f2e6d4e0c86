/* Where the expressions of an imported program come from: spans whose source is called as the node
   is, or the input or weight. Of a node that becomes several expressions the last one has its name,
   those before it NAME_PART_0, NAME_PART_1, ... Nodes without a name are called Relu_0, Relu_1, ...
   and a model can be written with these names. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/scope.h"
#include "import/onnx/import.h"
#include "ir/functor.h"
#include "ir/pass.h"
#include "ir/span.h"

bool onnx_wants_spans(void) {
  return ir_config_int(ir_pass_ctx_current(), "relay.frontend.fill_span", 0) != 0;
}

/* ---- names ---- */

typedef struct {
  tn_map *counts; /* operator -> how many nodes were named after it */
} naming;

static int name_node(const naming *w, onnx_node *n) {
  char text[200];
  tn_any known;
  int64_t k = tn_map_get(w->counts, tn_any_cstr(n->op_type), &known) ? known.v.i64 : 0;
  int length = snprintf(text, sizeof text, "%.160s_%lld", n->op_type, (long long)k);
  TN_TRY(tn_map_set(w->counts, tn_any_cstr(n->op_type), tn_any_int(k + 1)));
  char *own = tn_alloc((size_t)length + 1); /* given back with the model */
  if (!own) return -1;
  memcpy(own, text, (size_t)length + 1);
  if (n->name) tn_free(n->name);
  n->name = own;
  return 0;
}

static int name_graph(const naming *w, onnx_graph *g) {
  for (size_t i = 0; g && i < g->n_node; ++i) {
    onnx_node *n = g->node[i];
    if (n->op_type && !(n->name && *n->name)) TN_TRY(name_node(w, n));
    for (size_t k = 0; k < n->n_attribute; ++k) {
      TN_TRY(name_graph(w, n->attribute[k]->g));
      for (size_t j = 0; j < n->attribute[k]->n_graphs; ++j)
        TN_TRY(name_graph(w, n->attribute[k]->graphs[j]));
    }
  }
  return 0;
}

int onnx_name_nodes(onnx_model *m) {
  naming w;
  TN_GET(w.counts, tn_scope_own(tn_map_new()));
  return name_graph(&w, m->proto->graph);
}

int onnx_write(const onnx_model *m, const char *path) {
  size_t n = onnx__model_proto__get_packed_size(m->proto);
  TN_AUTOFREE uint8_t *data = tn_alloc(n + 1);
  if (!data) return -1;
  onnx__model_proto__pack(m->proto, data);
  return tn_file_write(path, data, n);
}

/* ---- spans ---- */

static bool is_new(const tn_obj *o) {
  const relay_expr *e = tn_obj_is(o, &tn_type_RelayExpr) ? (const relay_expr *)o : NULL;
  return e && !e->span && !TN_AS(Op, o) && !TN_AS(GlobalVar, o) && !TN_AS(Constructor, o);
}

static bool see(const tn_obj *parent, const tn_field *field, const tn_obj *child) {
  (void)parent, (void)field;
  return child->type_index == TN_TI_Array || is_new(child);
}

static int collect(void *ctx, tn_obj *o) { return is_new(o) ? tn_vec_push_obj(ctx, o) : 0; }

static int place(tn_obj *o, const char *name, int64_t part) {
  tn_str *text;
  tn_SourceName *source;
  tn_Span *span;
  TN_GET(text, part < 0 ? tn_str_from(name) : tn_str_fmt("%s_PART_%lld", name, (long long)part));
  TN_GET(source, ir_source_name(tn_cstr(text)));
  TN_GET(span, ir_span(source, 0, 0, 0, 0));
  tn_retain(span);
  ((relay_expr *)o)->span = span;
  return 0;
}

int onnx_set_spans(const char *name, void *expr) {
  TN_VEC(fresh);
  if (!expr || !name || !is_new(expr)) return 0;
  TN_TRY(tn_post_order_if(expr, see, collect, &fresh) < 0);
  for (int64_t i = 0; i < fresh.len; ++i)
    TN_TRY(place(fresh.items[i].v.obj, name, i + 1 < fresh.len ? i : -1));
  return 0;
}
