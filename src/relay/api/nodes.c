/* Constructors of Relay's nodes for other languages: "relay.ir.Call", "ir.TensorType", ... Each
   takes the fields named in its row, in that order; trailing ones may be left out. */
#include <string.h>

#include "ir/functor.h"
#include "object/functions.h"
#include "relay/dataflow/pattern.h"
#include "relay/relay.h"
#include "relay/relay_impl.h"

typedef struct {
  const char *name;
  const tn_type *type;
  const char *fields[8];
} maker;

static const maker makers[] = {
    {"ir.TensorType", &tn_type_TensorType, {"shape", "dtype", "span"}},
    {"ir.IncompleteType", &tn_type_IncompleteType, {"kind", "span"}},
    {"ir.RelayRefType", &tn_type_RefType, {"value", "span"}},
    {"ir.TypeCall", &tn_type_TypeCall, {"func", "args", "span"}},
    {"ir.TypeRelation", &tn_type_TypeRelation, {"func", "args", "num_inputs", "attrs", "span"}},
    {"ir.Constructor", &tn_type_Constructor, {"name_hint", "inputs", "belong_to", "span"}},
    {"ir.TypeData", &tn_type_TypeData, {"header", "type_vars", "constructors", "span"}},
    {"relay.ir.Id", &tn_type_Id, {"name_hint"}},
    {"relay.ir.Constant", &tn_type_Constant, {"data", "span"}},
    {"relay.ir.Tuple", &tn_type_RelayTuple, {"fields", "span"}},
    {"relay.ir.Function",
     &tn_type_RelayFunction,
     {"params", "body", "ret_type", "type_params", "attrs", "span"}},
    {"relay.ir.Call", &tn_type_RelayCall, {"op", "args", "attrs", "type_args", "span"}},
    {"relay.ir.Let", &tn_type_RelayLet, {"var", "value", "body", "span"}},
    {"relay.ir.If", &tn_type_RelayIf, {"cond", "true_branch", "false_branch", "span"}},
    {"relay.ir.TupleGetItem", &tn_type_TupleGetItem, {"tuple_value", "index", "span"}},
    {"relay.ir.RefCreate", &tn_type_RefCreate, {"value", "span"}},
    {"relay.ir.RefRead", &tn_type_RefRead, {"ref", "span"}},
    {"relay.ir.RefWrite", &tn_type_RefWrite, {"ref", "value", "span"}},
    {"relay.ir.PatternWildcard", &tn_type_PatternWildcard, {"span"}},
    {"relay.ir.PatternVar", &tn_type_PatternVar, {"var", "span"}},
    {"relay.ir.PatternConstructor",
     &tn_type_PatternConstructor,
     {"constructor", "patterns", "span"}},
    {"relay.ir.PatternTuple", &tn_type_PatternTuple, {"patterns", "span"}},
    {"relay.ir.Clause", &tn_type_Clause, {"lhs", "rhs"}},
    {"relay._transform.InferCorrectLayoutOutput",
     &tn_type_InferCorrectLayoutOutput,
     {"input_layouts", "output_layouts", "new_attrs"}},
    {"relay.dataflow_pattern.ExprPattern", &tn_type_ExprPattern, {"expr"}},
    {"relay.dataflow_pattern.VarPattern", &tn_type_VarPattern, {"name"}},
    {"relay.dataflow_pattern.ConstantPattern", &tn_type_ConstantPattern, {NULL}},
    {"relay.dataflow_pattern.WildcardPattern", &tn_type_WildcardPattern, {NULL}},
    {"relay.dataflow_pattern.CallPattern", &tn_type_CallPattern, {"op", "args"}},
    {"relay.dataflow_pattern.FunctionPattern", &tn_type_FunctionPattern, {"params", "body"}},
    {"relay.dataflow_pattern.LetPattern", &tn_type_LetPattern, {"var", "value", "body"}},
    {"relay.dataflow_pattern.IfPattern",
     &tn_type_IfPattern,
     {"cond", "true_branch", "false_branch"}},
    {"relay.dataflow_pattern.TuplePattern", &tn_type_TuplePattern, {"fields"}},
    {"relay.dataflow_pattern.TupleGetItemPattern",
     &tn_type_TupleGetItemPattern,
     {"tuple", "index"}},
    {"relay.dataflow_pattern.AltPattern", &tn_type_AltPattern, {"left", "right"}},
    {"relay.dataflow_pattern.AttrPattern", &tn_type_AttrPattern, {"pattern", "attrs"}},
    {"relay.dataflow_pattern.TypePattern", &tn_type_TypePattern, {"pattern", "type"}},
    {"relay.dataflow_pattern.ShapePattern", &tn_type_ShapePattern, {"pattern", "shape"}},
    {"relay.dataflow_pattern.DataTypePattern", &tn_type_DataTypePattern, {"pattern", "dtype"}},
    {"relay.dataflow_pattern.DominatorPattern",
     &tn_type_DominatorPattern,
     {"parent", "path", "child"}},
    {"relay.dataflow_pattern.DFPatternCallback",
     &tn_type_DFPatternCallback,
     {"pattern", "function", "require_type", "rewrite_once"}},
    {"relay.ir.Match", &tn_type_Match, {"data", "clauses", "complete", "span"}},
};

static int make(void *self, const tn_any *args, int32_t n, tn_any *ret) {
  const maker *m = self;
  int known = 0;
  while (known < 8 && m->fields[known]) ++known;
  TN_CHECK(n <= known, TypeError, NULL, "%s: expected at most %d arguments, got %d", m->name, known,
           n);
  const char *names[8];
  tn_any values[8];
  int given = 0;
  for (int i = 0; i < n; ++i) { /* None stands for what is left out */
    if (args[i].type_index == TN_NONE) continue;
    names[given] = m->fields[i];
    values[given++] = args[i];
  }
  return tn_ret_owned(ret, tn_node_make(m->type, given, names, values));
}

/* (name or Id, type annotation, span) */
static int var(TN_ARGS) {
  TN_CHECK(n >= 1, TypeError, NULL, "relay.ir.Var: expected a name");
  tn_Id *vid = tn_any_is_obj(&args[0]) ? TN_AS(Id, args[0].v.obj) : NULL;
  const char *name;
  tn_Type *type = NULL;
  tn_Span *span = NULL;
  if (!vid) {
    TN_TRY(tn_any_to_cstr(&args[0], &name));
    vid = TN_NEW(Id, .name_hint = tn_str_from(name));
  }
  TN_TRY(tn_arg_opt(args, n, 1, &tn_type_Type, (tn_obj **)&type));
  TN_TRY(tn_arg_opt(args, n, 2, &tn_type_Span, (tn_obj **)&span));
  return tn_ret_obj(ret, TN_NEW(RelayVar, .vid = vid, .type_annotation = type, .span = span));
}

/* (node, names, values): a copy with some fields replaced; what passes found out is forgotten. */
static int with_fields(TN_ARGS) {
  TN_NARGS("relay.ir.WithFields", 3);
  TN_ARG_OBJ(RelayExpr, e, 0);
  TN_ARG_ITEMS(Array(String), names, 1);
  TN_ARG_OBJ(Array, values, 2);
  TN_CHECK(e && names && values && names->len == values->len, TypeError, NULL,
           "WithFields: expected an expression, names and values");
  tn_obj *copy = relay_fresh_copy(e);
  for (int64_t i = 0; copy && i < names->len; ++i) {
    const char *name;
    TN_TRY(tn_any_to_cstr(&names->items[i], &name));
    const tn_field *f = tn_type_field(copy->type, name);
    TN_CHECK(f, AttributeError, NULL, "%s has no field '%s'", copy->type->key, name);
    TN_TRY(tn_field_set(copy, f, &values->items[i]));
  }
  return tn_ret_obj(ret, ir_node_check(copy));
}

/* (module, tag): the constructor with that number. */
static int lookup_tag(TN_ARGS) {
  int64_t tag;
  TN_NARGS("ir.Module_LookupTag", 2);
  TN_ARG_OBJ(IRModule, m, 0);
  TN_TRY(!m || tn_any_to_int(&args[1], &tag));
  for (int64_t i = 0; i < m->type_definitions->len; ++i) {
    const tn_TypeData *d = TN_AS(TypeData, m->type_definitions->entries[i].value.v.obj);
    for (int64_t k = 0; d && k < d->constructors->len; ++k) {
      tn_Constructor *c = (tn_Constructor *)tn_arr_obj(d->constructors, k);
      if (c->tag == tag) return tn_ret_obj(ret, c);
    }
  }
  return TN_RAISE(ValueError, NULL, "the module has no constructor with tag %lld", (long long)tag);
}

static const tn_func_row rows[] = {
    {"ir.Module_LookupTag", lookup_tag},
    {"relay.ir.Var", var},
    {"relay.ir.WithFields", with_fields},
};

int relay_api_nodes_init(void) {
  for (int i = 0; i < TN_COUNT(makers); ++i)
    TN_TRY(tn_func_register(makers[i].name, make, (void *)(uintptr_t)&makers[i], NULL, 0));
  return tn_func_register_rows(rows, TN_COUNT(rows));
}
