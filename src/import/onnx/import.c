/* The importer: inputs, weights, nodes in order, outputs.

   Every value has its type as soon as it is there, and what is computed of constants only is
   computed at once, so that conversions may ask for shapes and for the numbers in constant inputs.
 */
#include "import/onnx/import.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/scope.h"
#include "import/onnx/shape_values.h"
#include "import/onnx/suspect.h"
#include "ir/interrupt.h"
#include "ir/module.h"
#include "object/functions.h"
#include "relay/infer.h"
#include "relay/transforms/transforms.h"

static const onnx_table *const tables[] = {
    &onnx_choice,    &onnx_flow,        &onnx_signal,   &onnx_index, &onnx_math,
    &onnx_more,      &onnx_nn,          &onnx_open,     &onnx_pool,  &onnx_quant,
    &onnx_recurrent, &onnx_resize,      &onnx_sequence, &onnx_shape, &onnx_microsoft,
    &onnx_place,     &onnx_transformer, &onnx_fused,    &onnx_ml,    &onnx_random};

enum {
  MAX_FOLDED = 1 << 14, /* elements of a constant that is computed with at once */
  MAX_NESTED = 32,      /* graphs in attributes of nodes of graphs ... */
  MAX_NODES = 1 << 17   /* that bodies of loops may come to, written out */
};

typedef struct importer importer;
struct importer {
  const importer *outer; /* of the graph around, whose values can be seen */
  int depth;
  int64_t *budget; /* nodes that bodies may still come to */
  const onnx_model *model;
  const onnx_graph *graph;
  const tn_map *shapes;
  onnx_options how;
  tn_map *values;   /* name -> expression */
  tn_map *weights;  /* name -> NDArray */
  tn_map *params;   /* of the result */
  tn_map *declared; /* name -> extents that the model states; NULL: of no use */
  tn_vec inputs;    /* Var */
  tn_vec unfrozen;  /* Var: the weights that are parameters, which come after the inputs */
  bool spans;       /* are expressions to tell what they come from? */
  bool reshaped;    /* the caller gives inputs other extents than the model */
  int64_t opset;
};

static const onnx_row *find_row(const onnx_node *n) {
  const char *domain = n->domain && strcmp(n->domain, "ai.onnx") != 0 ? n->domain : "";
  if (!n->op_type) return NULL;
  for (int t = 0; t < TN_COUNT(tables); ++t)
    for (int i = 0; i < tables[t]->n; ++i)
      if (strcmp(tables[t]->domain, domain) == 0 && strcmp(tables[t]->rows[i].op, n->op_type) == 0)
        return &tables[t]->rows[i];
  return NULL;
}

/* "Relu", "Gelu of the domain com.example". */
static const char *operator_text(const onnx_node *n, char *text, size_t size) {
  const char *op = n->op_type && *n->op_type ? n->op_type : "(node without operator)";
  bool plain = !n->domain || !*n->domain || strcmp(n->domain, "ai.onnx") == 0;
  if (plain) snprintf(text, size, "%s", op);
  else snprintf(text, size, "%s of the domain %s", op, n->domain);
  return text;
}

/* How often each operator occurs that is not known, in a graph and those in its nodes. */
static int count_unknown(const onnx_graph *g, tn_map *seen, int depth) {
  TN_CHECK(depth < MAX_NESTED, ValueError, NULL, "graphs are nested more than %d deep", MAX_NESTED);
  for (size_t i = 0; i < g->n_node; ++i) {
    const onnx_node *n = g->node[i];
    char text[160];
    const char *op = operator_text(n, text, sizeof text);
    tn_any count;
    for (size_t k = 0; k < n->n_attribute; ++k)
      if (n->attribute[k]->g) TN_TRY(count_unknown(n->attribute[k]->g, seen, depth + 1));
    if (find_row(n)) continue;
    int64_t times = tn_map_get(seen, tn_any_cstr(op), &count) ? count.v.i64 : 0;
    TN_TRY(tn_map_set(seen, tn_any_cstr(op), tn_any_int(times + 1)));
  }
  return 0;
}

/* All unknown operators, with their counts and first nodes, in one error. */
static int check_operators(const onnx_graph *g) {
  TN_BUF(list);
  tn_map *seen;
  TN_GET(seen, tn_scope_own(tn_map_new()));
  TN_TRY(count_unknown(g, seen, 0));
  if (seen->len == 0) return 0;
  for (int64_t i = 0; i < seen->len; ++i)
    tn_buf_printf(&list, "%s%s", i ? ", " : "",
                  tn_cstr((const tn_str *)seen->entries[i].key.v.obj));
  TN_TRY(tn_buf_ok(&list));
  (void)TN_RAISE(OpNotImplemented, NULL,
                 "The following operators are not supported for frontend ONNX: %s",
                 tn_buf_cstr(&list));
  for (int64_t i = 0; i < seen->len; ++i) {
    const char *op = tn_cstr((const tn_str *)seen->entries[i].key.v.obj);
    for (size_t k = 0; k < g->n_node; ++k) {
      const onnx_node *n = g->node[k];
      char text[160];
      if (find_row(n) || strcmp(operator_text(n, text, sizeof text), op) != 0) continue;
      (void)tn_error_note("%s: %" PRId64 " times, first in node %s", op,
                          seen->entries[i].value.v.i64, onnx_node_name(n));
      break;
    }
  }
  return -1;
}

/* ---- inputs and weights ---- */

static int set_value(importer *im, const char *name, void *expr) {
  if (!expr || (im->spans && onnx_set_spans(name, expr))) return -1;
  return tn_map_set(im->values, tn_any_cstr(name), tn_any_obj(expr));
}

static int add_weight(importer *im, const char *name, tn_tensor *t) {
  if (!t) return -1;
  TN_CHECK(name && *name, ValueError, NULL, "a weight without a name");
  TN_TRY(tn_map_set(im->weights, tn_any_cstr(name), tn_any_obj(t)));
  if (im->how.freeze)
    return set_value(im, name, relay_infer_expr(relay_constant((tn_NDArray *)t), NULL));
  const DLTensor *dl = tn_tensor_dl(t);
  tn_RelayVar *v;
  TN_GET(v, relay_infer_expr(
                relay_var(name, (tn_Type *)relay_tensor_type_of(dl->shape, dl->ndim, dl->dtype)),
                NULL));
  TN_TRY(tn_vec_push_obj(&im->unfrozen, v));
  TN_TRY(tn_map_set(im->params, tn_any_cstr(name), tn_any_obj(t)));
  return set_value(im, name, v);
}

static int add_weights(importer *im, const onnx_graph *g) {
  for (size_t i = 0; i < g->n_initializer; ++i)
    TN_TRY(add_weight(im, g->initializer[i]->name, onnx_read_tensor(im->model, g->initializer[i])));
  for (size_t i = 0; i < g->n_sparse_initializer; ++i) {
    const onnx_sparse *s = g->sparse_initializer[i];
    TN_TRY(add_weight(im, s->values ? s->values->name : NULL, onnx_read_sparse(im->model, s)));
  }
  return 0;
}

static tn_Type *input_type(importer *im, const onnx_value *v) {
  tn_any given;
  const tn_arr *extents =
      im->shapes && tn_map_get(im->shapes, tn_any_cstr(v->name), &given) && tn_any_is_obj(&given)
          ? (const tn_arr *)given.v.obj
          : NULL;
  return onnx_input_type(v, extents, &im->reshaped);
}

static int add_inputs(importer *im, const onnx_graph *g) {
  for (size_t i = 0; i < g->n_input; ++i) {
    const onnx_value *in = g->input[i];
    tn_any known;
    TN_CHECK(in->name && *in->name, ValueError, NULL, "input %zu has no name", i);
    if (tn_map_get(im->weights, tn_any_cstr(in->name), &known)) continue;
    TN_CHECK(!tn_map_get(im->values, tn_any_cstr(in->name), &known), ValueError, NULL,
             "two inputs are called %s: names must be unique", in->name);
    tn_Type *t;
    tn_RelayVar *v;
    TN_GET(t, input_type(im, in));
    TN_GET(v, relay_infer_expr(relay_var(in->name, t), NULL));
    TN_TRY(tn_vec_push_obj(&im->inputs, v));
    TN_TRY(set_value(im, in->name, v));
  }
  return 0;
}

/* ---- nodes ---- */

/* A value of the graph, or of those around it. */
static bool find_value(const importer *im, const char *name, tn_any *v) {
  for (; im; im = im->outer)
    if (tn_map_get(im->values, tn_any_cstr(name), v)) return true;
  return false;
}

static int get_inputs(const importer *im, const onnx_node *n, void **in) {
  for (size_t i = 0; i < n->n_input; ++i) {
    tn_any v;
    in[i] = NULL;
    if (!*n->input[i]) continue; /* left out */
    TN_CHECK(find_value(im, n->input[i], &v), ValueError, NULL,
             "%s (node %s) reads %s, which is not defined before it: a missing weight, an unknown "
             "name, or a cycle",
             n->op_type, onnx_node_name(n), n->input[i]);
    in[i] = v.v.obj;
  }
  return 0;
}

/* Shapes and what they are computed of; what becomes of weights is left to FoldConstant. */
static bool all_constant(const onnx_ctx *c) {
  for (int i = 0; i < c->nin; ++i) {
    const tn_Constant *k = TN_AS(Constant, c->in[i]);
    if (c->in[i] && (!k || tn_tensor_count(tn_tensor_dl(k->data)) > MAX_FOLDED)) return false;
  }
  return true;
}

/* Results with types; of constants they are computed now. */
static void *settle(const onnx_ctx *c, void *e) {
  if (e && all_constant(c)) e = relay_fold_expr(e);
  if (!e || !(e = relay_infer_new(e))) return NULL;
  void *known = onnx_known_numbers(e);
  return known && known != e ? relay_infer_new(known) : known;
}

static int set_result(importer *im, const onnx_ctx *c, size_t i, void *e) {
  const char *name = c->node->output[i];
  return set_value(im, name, e ? onnx_narrow_stated(c, name, e) : NULL);
}

static int set_results(importer *im, const onnx_ctx *c, void *e) {
  const onnx_node *n = c->node;
  const tn_TupleType *tuple = TN_AS(TupleType, relay_type_of(e));
  const tn_RelayTuple *parts = TN_AS(RelayTuple, e);
  if (!tuple) return n->n_output ? set_result(im, c, 0, e) : 0;
  for (size_t i = 0; i < n->n_output; ++i) {
    if (!*n->output[i]) continue;
    TN_CHECK((int64_t)i < tuple->fields->len, OpNotImplemented, NULL,
             "%s: output %zu (%s) is not supported", n->op_type, i, n->output[i]);
    void *part = parts ? (void *)tn_arr_obj(parts->fields, (int64_t)i)
                       : (void *)relay_get_item(e, (int64_t)i);
    TN_TRY(set_result(im, c, i, settle(c, part)));
  }
  return 0;
}

/* Most operators work on tensors whose rank is known. */
static int check_tensors(const onnx_ctx *c) {
  tn_dtype t;
  for (int i = 0; i < c->nin; ++i) {
    const tn_Type *type = onnx_in(c, i) ? relay_type_of(onnx_in(c, i)) : NULL;
    if (!type || TN_AS(TensorType, type)) continue;
    const char *what = relay_is_any_tensor(type, &t)
                           ? "a tensor whose rank the model does not state"
                       : relay_optional_value(type) ? "an optional value"
                                                    : "a sequence";
    return onnx_fail(c, "input %d (%s) is %s, expected a tensor", i, c->node->input[i], what), -1;
  }
  return 0;
}

static int convert_node(importer *im, const onnx_node *n, void **in) {
  onnx_ctx c = {.model = im->model,
                .node = n,
                .opset = im->opset,
                .in = in,
                .nin = (int)n->n_input,
                .declared = im->declared,
                .graph = im->graph,
                .reshaped = im->reshaped,
                .strict = im->how.strict,
                .importer = im};
  const onnx_row *row = find_row(n);
  TN_CHECK(n->n_input <= ONNX_MAX_INPUTS, ValueError, NULL, "%s: %zu inputs", n->op_type,
           n->n_input);
  TN_TRY(get_inputs(im, n, in));
  bool fits = c.nin >= row->least && (row->most < 0 || c.nin <= row->most);
  TN_CHECK(fits, ValueError, NULL, "%s (node %s): %d inputs, expected %d to %d", n->op_type,
           n->name ? n->name : "", c.nin, row->least, row->most);
  for (int i = 0; i < row->least; ++i)
    TN_CHECK(in[i], ValueError, NULL, "%s: input %d must be given", n->op_type, i);
  if (!row->values) TN_TRY(check_tensors(&c));
  void *e;
  TN_GET(e, settle(&c, row->convert(&c)));
  if (im->spans) TN_TRY(onnx_set_spans(n->name, e));
  return set_results(im, &c, e);
}

static bool is_known(const void *im, const char *name) {
  tn_any v;
  return find_value(im, name, &v);
}

static int convert_nodes(importer *im, const onnx_graph *g) {
  void *in[ONNX_MAX_INPUTS];
  TN_VEC(order);
  TN_TRY(onnx_order(g, is_known, im, &order));
  for (int64_t i = 0; i < order.len; ++i) {
    int64_t at = order.items[i].v.i64;
    const onnx_node *n = g->node[at];
    int64_t interrupts = ir_interrupt_count();
    TN_TRY(ir_interrupt_check());
    if (convert_node(im, n, in) == 0) {
      TN_TRY(ir_interrupt_dropped(interrupts));
      continue;
    }
    if (!strstr(tn_error_message(), "(node "))
      (void)tn_error_prefix("%s (node %s): ", n->op_type, onnx_node_name(n));
    (void)tn_error_note("in node %" PRId64 ", %s (%s)", at, n->op_type, onnx_node_name(n));
    return tn_trace(__FILE__, __LINE__, __func__), -1;
  }
  return 0;
}

/* ---- graphs in nodes ---- */

static int bind_inputs(importer *im, const onnx_ctx *c, const onnx_graph *g, void *const *inputs,
                       int64_t n) {
  TN_CHECK((int64_t)g->n_input == n, ValueError, NULL,
           "%s: a graph of %zu inputs, expected %" PRId64, c->node->op_type, g->n_input, n);
  for (int64_t i = 0; i < n; ++i) {
    TN_CHECK(g->input[i]->name && inputs[i], ValueError, NULL, "%s: an input without a name",
             c->node->op_type);
    TN_TRY(set_value(im, g->input[i]->name, inputs[i]));
  }
  return 0;
}

tn_arr *onnx_subgraph(const onnx_ctx *c, const char *attr, void *const *inputs, int64_t n) {
  const onnx_attr *a = onnx_node_attr(c, attr);
  const importer *outer = c->importer;
  TN_VEC(results);
  TN_CHECKP(a && a->g, ValueError, NULL, "%s: the attribute %s is not a graph", c->node->op_type,
            attr);
  TN_CHECKP(outer->depth < MAX_NESTED, ValueError, NULL, "graphs are nested too deep");
  *outer->budget -= (int64_t)a->g->n_node;
  TN_CHECKP(*outer->budget > 0, ValueError, NULL,
            "%s: the size of the program is too large, with the loop written out",
            c->node->op_type);
  importer im = {.outer = outer,
                 .depth = outer->depth + 1,
                 .budget = outer->budget,
                 .model = outer->model,
                 .graph = a->g,
                 .reshaped = outer->reshaped,
                 .spans = outer->spans,
                 .how = {.freeze = true, .strict = outer->how.strict},
                 .opset = outer->opset};
  TN_GETP(im.values, tn_scope_own(tn_map_new()));
  TN_GETP(im.weights, tn_scope_own(tn_map_new()));
  TN_TRYP(onnx_suspect_names(a->g, im.how.strict));
  TN_TRYP(add_weights(&im, a->g));
  TN_TRYP(bind_inputs(&im, c, a->g, inputs, n));
  TN_TRYP(convert_nodes(&im, a->g));
  for (size_t i = 0; i < a->g->n_output; ++i) {
    tn_any v;
    const char *name = a->g->output[i]->name;
    TN_CHECKP(name && find_value(&im, name, &v), ValueError, NULL,
              "%s: %s: the output %s is not defined", c->node->op_type, attr, name ? name : "?");
    TN_TRYP(tn_vec_push(&results, v));
  }
  return tn_arr_from(&results);
}

static tn_IRModule *finish(importer *im, const onnx_graph *g) {
  TN_VEC(results);
  TN_CHECKP(g->n_output > 0, ValueError, NULL, "the ONNX graph has no outputs");
  for (size_t i = 0; i < g->n_output; ++i) {
    tn_any v;
    TN_CHECKP(g->output[i]->name && tn_map_get(im->values, tn_any_cstr(g->output[i]->name), &v),
              ValueError, NULL, "the output %s is not defined by any node",
              g->output[i]->name ? g->output[i]->name : "?");
    TN_TRYP(tn_vec_push(&results, v));
  }
  if (!im->reshaped) TN_TRYP(onnx_suspect_outputs(g, im->values, im->how.strict));
  void *body = results.len == 1 ? (void *)results.items[0].v.obj
                                : (void *)relay_tuple(tn_arr_from(&results));
  tn_RelayFunction *f;
  tn_GlobalVar *v;
  tn_IRModule *m;
  for (int64_t i = 0; i < im->unfrozen.len; ++i)
    TN_TRYP(tn_vec_push(&im->inputs, im->unfrozen.items[i]));
  TN_GETP(f, body ? relay_function(tn_arr_from(&im->inputs), body, NULL, NULL) : NULL);
  TN_GETP(m, ir_module_new(NULL, NULL, NULL));
  TN_GETP(v, ir_global_var("main"));
  TN_TRYP(ir_module_add(m, v, (tn_BaseFunc *)f, false));
  TN_TRYP(relay_define_value_types(m));
  return relay_infer_module(m);
}

static tn_IRModule *import_graph(importer *im) {
  const onnx_graph *g = im->model->proto->graph;
  TN_GETP(im->values, tn_scope_own(tn_map_new()));
  TN_GETP(im->weights, tn_scope_own(tn_map_new()));
  TN_CHECKP(im->opset > 0, ValueError, NULL, "the model's operator set has the version %" PRId64,
            im->opset);
  TN_TRYP(check_operators(g));
  TN_TRYP(onnx_suspect_opset(im->opset, im->how.strict));
  TN_TRYP(onnx_suspect_names(g, im->how.strict));
  TN_TRYP(add_weights(im, g));
  TN_TRYP(onnx_suspect_weights(g, im->weights, im->how.strict));
  TN_TRYP(onnx_suspect_shapes(g, im->shapes, im->weights, im->how.command ? "--input" : "shape",
                              im->how.strict || im->how.command));
  TN_TRYP(add_inputs(im, g));
  if (!im->reshaped) {
    TN_GETP(im->declared, tn_scope_own(tn_map_new()));
    TN_TRYP(onnx_declared(g, im->declared));
  }
  TN_TRYP(convert_nodes(im, g));
  return finish(im, g);
}

/* Does a model say anything about the version of the operators of ONNX itself? One of operators of
   other domains only need not. */
static bool names_opset(const onnx_model_proto *p) {
  for (size_t i = 0; i < p->n_opset_import; ++i) {
    const char *domain = p->opset_import[i]->domain;
    if (!domain || !*domain || strcmp(domain, "ai.onnx") == 0) return true;
  }
  return false;
}

tn_IRModule *onnx_import(const onnx_model *m, const tn_map *shapes, onnx_options how,
                         tn_map *params) {
  int64_t budget = MAX_NODES;
  importer im = {.model = m,
                 .graph = m->proto->graph,
                 .budget = &budget,
                 .shapes = shapes,
                 .how = how,
                 .params = params,
                 .spans = onnx_wants_spans(),
                 .opset = onnx_opset(m->proto, "")};
  if (im.opset == 0 && !names_opset(m->proto)) im.opset = 1;
  tn_IRModule *r = import_graph(&im);
  tn_vec_fini(&im.inputs);
  tn_vec_fini(&im.unfrozen);
  return r;
}

/* The model with a name for each node, to a file too where one is given. */
static int name_nodes(onnx_model *m, const tn_any *file) {
  const char *path = NULL;
  bool write = file && file->type_index != TN_NONE;
  if (!write && !onnx_wants_spans()) return 0;
  TN_TRY(write && tn_any_to_cstr(file, &path));
  TN_TRY(onnx_name_nodes(m));
  return write ? onnx_write(m, path) : 0;
}

/* (path or bytes, is it a path?, shapes or None, freeze[, file for the model with the names of its
   nodes[, strict[, are the shapes from --input?]]]) -> [module, params] */
static int from_onnx(TN_ARGS) {
  bool is_path;
  onnx_options how = {0};
  const char *path;
  tn_bytes_view bytes;
  TN_CHECK(n >= 4 && n <= 7, TypeError, NULL,
           "relay.frontend.FromONNX: expected 4 to 7 arguments, got %d", n);
  TN_TRY(tn_any_to_bool(&args[1], &is_path));
  TN_ARG_OPT_ITEMS(Map(String, Object), shapes, 2);
  TN_TRY(tn_any_to_bool(&args[3], &how.freeze));
  if (n > 5) TN_TRY(tn_any_to_bool(&args[5], &how.strict));
  if (n > 6) TN_TRY(tn_any_to_bool(&args[6], &how.command));
  onnx_model model = {0};
  tn_map *params;
  TN_GET(params, tn_scope_own(tn_map_new()));
  int err = is_path ? tn_any_to_cstr(&args[0], &path) || onnx_model_read(&model, path)
                    : tn_any_to_bytes(&args[0], &bytes) ||
                          onnx_model_parse(&model, bytes.data, bytes.size);
  err = err || name_nodes(&model, n > 4 ? &args[4] : NULL);
  tn_IRModule *m = err ? NULL : onnx_import(&model, shapes, how, params);
  onnx_model_fini(&model);
  return m ? tn_ret_obj(ret, tn_arr_of(2, m, params)) : -1;
}

/* -> [[domain, operator, fewest inputs, most inputs or -1], ...] */
static int operators(TN_ARGS) {
  TN_NARGS("relay.frontend.OnnxOperators", 0);
  (void)args;
  TN_VEC(all);
  for (int t = 0; t < TN_COUNT(tables); ++t)
    for (int i = 0; i < tables[t]->n; ++i) {
      const onnx_row *r = &tables[t]->rows[i];
      TN_VEC(one);
      TN_TRY(tn_vec_push_obj(&one, tn_str_from(tables[t]->domain)));
      TN_TRY(tn_vec_push_obj(&one, tn_str_from(r->op)));
      TN_TRY(tn_vec_push(&one, tn_any_int(r->least)));
      TN_TRY(tn_vec_push(&one, tn_any_int(r->most)));
      TN_TRY(tn_vec_push_obj(&all, tn_arr_from(&one)));
    }
  return tn_ret_obj(ret, tn_arr_from(&all));
}

static const tn_func_row functions[] = {{"relay.frontend.FromONNX", from_onnx},
                                        {"relay.frontend.OnnxOperators", operators}};

int onnx_import_init(void) { return tn_func_register_rows(functions, TN_COUNT(functions)); }
