/* Relay text as global functions, and as the text that objects show. */
#include "base/error.h"
#include "base/scope.h"
#include "object/functions.h"
#include "object/repr.h"
#include "relay/infer.h"
#include "relay/relay_impl.h"
#include "relay/text/text.h"
#include "tir/tir.h"

static int show(const tn_obj *o, const relay_print_options *opt, tn_any *ret) {
  TN_BUF(out);
  TN_TRY(relay_print(o, opt, &out));
  return tn_ret_owned(ret, tn_str_new_n(tn_buf_cstr(&out), out.len));
}

/* What modules of tensor programs show as. */
static tn_repr_fn other_modules;

/* A module that holds tensor programs alone is not Relay's to print. */
static bool is_other_module(const tn_obj *o) {
  const tn_IRModule *m = TN_AS(IRModule, o);
  bool relay = !m || !other_modules || m->type_definitions->len > 0 || m->functions->len == 0;
  for (int64_t i = 0; !relay && i < m->functions->len; ++i)
    relay = TN_AS(RelayFunction, m->functions->entries[i].value.v.obj) != NULL;
  return !relay;
}

/* relay.ir.AsText(object, with metadata, annotate) */
static int as_text(TN_ARGS) {
  bool metadata;
  TN_NARGS("relay.ir.AsText", 3);
  TN_ARG_OBJ(Object, o, 0);
  TN_ARG_OPT(Function, annotate, 2);
  TN_TRY(tn_any_to_bool(&args[1], &metadata));
  if (is_other_module(o) || TN_AS(PrimFunc, o)) {
    TN_BUF(script);
    TN_TRY(tn_repr_print(&script, tn_any_obj(o)));
    return tn_ret_owned(ret, tn_buf_str(&script));
  }
  relay_print_options opt = {true, metadata, annotate};
  return show(o, &opt, ret);
}

static int pretty_print(TN_ARGS) {
  TN_NARGS("relay.ir.PrettyPrint", 1);
  TN_ARG_OBJ(Object, o, 0);
  relay_print_options opt = {0};
  return show(o, &opt, ret);
}

/* (name of the text, text, module or None, metadata or None) */
static int parse_args(const tn_any *args, int32_t n, const char **name, tn_str **text,
                      tn_IRModule **init, tn_map **meta) {
  TN_TRY(tn_any_to_cstr(&args[0], name));
  TN_ARG_OPT(IRModule, m, 2);
  TN_ARG_OPT(Map, table, 3);
  tn_bytes_view bytes;
  TN_TRY(tn_any_to_bytes(&args[1], &bytes));
  TN_GET(*text, tn_scope_own(tn_str_new_n((const char *)bytes.data, bytes.size)));
  *init = m;
  *meta = table;
  return 0;
}

static int read_module(const tn_any *args, int32_t n, tn_IRModule **out) {
  const char *name;
  tn_str *text;
  tn_IRModule *init;
  tn_map *meta;
  TN_TRY(parse_args(args, n, &name, &text, &init, &meta));
  TN_GET(*out, relay_parse(name, text, init, meta));
  return 0;
}

static int parse_module(TN_ARGS) {
  tn_IRModule *m;
  TN_NARGS("parser.ParseModuleInContext", 4);
  TN_TRY(read_module(args, n, &m));
  return tn_ret_obj(ret, relay_infer_module(m));
}

/* Types are left open: what is wrong in a function shows where it is used. */
static int parse_untyped(TN_ARGS) {
  tn_IRModule *m;
  TN_NARGS("parser.ParseModuleUntyped", 4);
  TN_TRY(read_module(args, n, &m));
  return tn_ret_obj(ret, m);
}

static int parse_expr(TN_ARGS) {
  const char *name;
  tn_str *text;
  tn_IRModule *init;
  tn_map *meta;
  TN_NARGS("parser.ParseExprInContext", 4);
  TN_TRY(parse_args(args, n, &name, &text, &init, &meta));
  return tn_ret_obj(ret, relay_parse_expr(name, text, init, meta));
}

static int repr_as_text(tn_repr *r, const tn_obj *o) {
  relay_print_options opt = {0};
  return relay_print(o, &opt, tn_repr_out(r));
}

static int repr_module(tn_repr *r, const tn_obj *o) {
  return is_other_module(o) ? other_modules(r, o) : repr_as_text(r, o);
}

static const tn_type *const shown[] = {
    &tn_type_Constant,      &tn_type_RelayTuple,         &tn_type_RelayVar,
    &tn_type_RelayFunction, &tn_type_RelayCall,          &tn_type_RelayLet,
    &tn_type_RelayIf,       &tn_type_TupleGetItem,       &tn_type_RefCreate,
    &tn_type_RefRead,       &tn_type_RefWrite,           &tn_type_Match,
    &tn_type_TypeData,      &tn_type_PatternVar,         &tn_type_PatternWildcard,
    &tn_type_PatternTuple,  &tn_type_PatternConstructor,
};

static const tn_func_row rows[] = {
    {"relay.ir.AsText", as_text},
    {"relay.ir.PrettyPrint", pretty_print},
    {"parser.ParseModuleInContext", parse_module},
    {"parser.ParseModuleUntyped", parse_untyped},
    {"parser.ParseExprInContext", parse_expr},
};

int relay_text_init(void) {
  for (int i = 0; i < TN_COUNT(shown); ++i) TN_TRY(tn_repr_set(shown[i], repr_as_text));
  other_modules = tn_repr_get(&tn_type_IRModule);
  TN_TRY(tn_repr_set(&tn_type_IRModule, repr_module));
  return tn_func_register_rows(rows, TN_COUNT(rows));
}
