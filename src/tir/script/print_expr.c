/* Expressions and types in TVMScript. */
#include <stdlib.h>
#include <string.h>

#include "ir/expr.h"
#include "ir/module.h"
#include "target/target.h"
#include "tenon/runtime.h"
#include "tir/script/const_data.h"
#include "tir/script/op_names.h"
#include "tir/script/printer_impl.h"

int print_exprs(printer *p, const tn_arr *items, tn_vec *out) {
  for (int64_t i = 0; i < items->len; ++i) {
    tn_ExprDoc *doc = print_value(p, &items->items[i]);
    if (!doc || tn_vec_push_obj(out, doc)) return -1;
  }
  return 0;
}

tn_ExprDoc *print_array(printer *p, const tn_arr *items, bool as_tuple) {
  TN_VEC(docs);
  if (print_exprs(p, items, &docs)) return NULL;
  return as_tuple ? tuple_doc(&docs) : list_doc(&docs);
}

/* T.name(a, b, ...) with printed operands */
static tn_ExprDoc *call_of(printer *p, const char *name, int n, const void *const *operands) {
  TN_VEC(args);
  for (int i = 0; i < n; ++i) {
    tn_ExprDoc *doc = print_expr(p, operands[i]);
    if (!doc || tn_vec_push_obj(&args, doc)) return NULL;
  }
  return call_doc(tir_doc(p, name), &args);
}
#define CALL_OF(p, name, ...)                                                                      \
  call_of(p, name, (int)(sizeof((const void *[]){__VA_ARGS__}) / sizeof(void *)),                  \
          (const void *[]){__VA_ARGS__})

static tn_ExprDoc *operation(printer *p, int kind, const void *a, const void *b) {
  tn_ExprDoc *da = print_expr(p, a), *db = b ? print_expr(p, b) : NULL;
  if (!da || (b && !db)) return NULL;
  return (tn_ExprDoc *)TN_DOC(OperationDoc, .kind = kind,
                              .operands = b ? tn_arr_of(2, da, db) : tn_arr_of(1, da));
}

/* ---- operators ---- */

static const struct {
  int doc;            /* operator, 0 when there is none */
  const char *name;   /* T.name that gives this very node */
  const char *folded; /* T.name that may compute it, for what has no operator */
} binaries[] = {
    [TN_TI_Add - TN_TI_Add] = {DOC_ADD, "Add", NULL},
    [TN_TI_Sub - TN_TI_Add] = {DOC_SUB, "Sub", NULL},
    [TN_TI_Mul - TN_TI_Add] = {DOC_MUL, "Mul", NULL},
    [TN_TI_Div - TN_TI_Add] = {DOC_DIV, "Div", NULL},
    [TN_TI_Mod - TN_TI_Add] = {0, "Mod", "truncmod"},
    [TN_TI_FloorDiv - TN_TI_Add] = {DOC_FLOORDIV, "FloorDiv", NULL},
    [TN_TI_FloorMod - TN_TI_Add] = {DOC_MOD, "FloorMod", NULL},
    [TN_TI_Min - TN_TI_Add] = {0, "Min", "min"},
    [TN_TI_Max - TN_TI_Add] = {0, "Max", "max"},
    [TN_TI_EQ - TN_TI_Add] = {DOC_EQ, "EQ", NULL},
    [TN_TI_NE - TN_TI_Add] = {DOC_NE, "NE", NULL},
    [TN_TI_LT - TN_TI_Add] = {DOC_LT, "LT", NULL},
    [TN_TI_LE - TN_TI_Add] = {DOC_LE, "LE", NULL},
    [TN_TI_GT - TN_TI_Add] = {DOC_GT, "GT", NULL},
    [TN_TI_GE - TN_TI_Add] = {DOC_GE, "GE", NULL},
    [TN_TI_And - TN_TI_Add] = {DOC_AND, "And", NULL},
    [TN_TI_Or - TN_TI_Add] = {DOC_OR, "Or", NULL},
};

/* Would reading "a op b" back give this very node, or would it be folded into something else? */
static bool survives_folding(const tn_BinaryOp *e) {
  TN_SCOPE(s);
  if (TN_AS(StringImm, e->a) || TN_AS(StringImm, e->b))
    return false; /* the parser compares texts */
  tn_expr *again = tir_binary(e->hdr.type_index, e->a, e->b, NULL);
  const tn_BinaryOp *r = TN_AS_BINARY(again);
  if (!again) tn_error_clear();
  return r && r->hdr.type_index == e->hdr.type_index && r->a == e->a && r->b == e->b;
}

static tn_ExprDoc *print_binary(printer *p, const tn_BinaryOp *e) {
  uint32_t row = e->hdr.type_index - TN_TI_Add;
  bool int_div = e->hdr.type_index == TN_TI_Div && ir_is_integral(e->a->dtype);
  bool survives = survives_folding(e);
  if (binaries[row].doc && !int_div && survives) return operation(p, binaries[row].doc, e->a, e->b);
  const char *folded = survives ? binaries[row].folded : NULL;
  return CALL_OF(p, folded ? folded : binaries[row].name, e->a, e->b);
}

/* Does `not` of the operand give this node again? */
static bool not_survives(const tn_Not *e) {
  TN_SCOPE(s);
  tn_expr *again = tir_not(e->a, NULL);
  const tn_Not *r = TN_AS(Not, again);
  if (!again) tn_error_clear();
  return r && r->a == e->a;
}

/* Printing stays out of scopes: an operand may declare its buffer among the statements around. */
static tn_ExprDoc *print_not(printer *p, const tn_Not *e) {
  return not_survives(e) ? operation(p, DOC_NOT, e->a, NULL) : CALL_OF(p, "Not", e->a);
}

/* ---- constants ---- */

static tn_ExprDoc *typed_literal(printer *p, tn_dtype t, const tn_ExprDoc *literal) {
  if (!tn_dtype_is_custom(t)) return call1_doc(tir_doc(p, TN_DT(t)), literal);
  TN_VEC(args); /* the name of a registered type is not an identifier */
  TN_TRYP(tn_vec_push_obj(&args, typed_literal(p, TN_F64, literal)));
  TN_TRYP(tn_vec_push_obj(&args, dtype_doc(t)));
  return call_doc(tir_doc(p, "cast"), &args);
}

static tn_ExprDoc *print_int(printer *p, const tn_IntImm *e) {
  if (ir_is_bool(e->dtype)) return typed_literal(p, e->dtype, bool_doc(e->value != 0));
  tn_ExprDoc *literal = (tn_ExprDoc *)TN_DOC(LiteralDoc, .value = (tn_obj *)(uintptr_t)e);
  return tn_dtype_eq(e->dtype, p->cfg->int_dtype) ? literal : typed_literal(p, e->dtype, literal);
}

static tn_ExprDoc *print_float(printer *p, const tn_FloatImm *e) {
  bool finite = e->value - e->value == 0;
  const char *text = e->value != e->value ? "nan" : e->value < 0 ? "-inf" : "inf";
  tn_ExprDoc *literal =
      finite ? (tn_ExprDoc *)TN_DOC(LiteralDoc, .value = (tn_obj *)(uintptr_t)e) : str_doc(text);
  return tn_dtype_eq(e->dtype, p->cfg->float_dtype) && finite ? literal
                                                              : typed_literal(p, e->dtype, literal);
}

/* ---- variables ---- */

tn_ExprDoc *var_creation(printer *p, const tn_Var *v) {
  TN_VEC(args);
  TN_VEC(keys);
  TN_VEC(values);
  const tn_PointerType *ptr = TN_AS(PointerType, v->type_annotation);
  if (v->hdr.type_index == TN_TI_SizeVar) {
    TN_TRYP(tn_vec_push_obj(&keys, tn_str_from("is_size_var")));
    TN_TRYP(tn_vec_push_obj(&values, bool_doc(true)));
  }
  if (!ptr && tn_dtype_is_custom(v->dtype))
    return call1_doc(tir_doc(p, "var"), dtype_doc(v->dtype));
  if (!ptr) return call_kw_doc(tir_doc(p, TN_DT(v->dtype)), &args, &keys, &values);
  const tn_PrimType *element = TN_AS(PrimType, ptr->element_type);
  TN_TRYP(tn_vec_push_obj(&args, element
                                     ? (void *)dtype_doc(element->dtype)
                                     : (void *)print_type(p, (const tn_obj *)ptr->element_type)));
  TN_TRYP(tn_vec_push_obj(&args, str_doc(ptr->storage_scope->data)));
  return call_kw_doc(tir_doc(p, "handle"), &args, &keys, &values);
}

tn_ExprDoc *print_var(printer *p, const tn_Var *v) {
  if (!is_defined(p, v)) {
    frame *f = frame_for(p, v);
    tn_ExprDoc *lhs = define_name(p, f, v, tn_cstr(v->name)),
               *rhs = lhs ? var_creation(p, v) : NULL;
    tn_AssignDoc *decl = TN_DOC(AssignDoc, .lhs = lhs, .rhs = rhs);
    if (!decl || tn_vec_push_obj(&f->stmts, decl) || note_declared(p, v)) return NULL;
  }
  return tn_pmap_get(&p->docs, v);
}

/* ---- calls ---- */

/* A constant beyond int64 is a call that holds its halves: it is shown as the number. NULL without
   an error for anything else. */
static tn_ExprDoc *print_large_uint(printer *p, const tn_Call *e) {
  int64_t low, high;
  if (!tir_as_call((const tn_obj *)e, TIR_OP_large_uint_imm) || e->args->len != 2) return NULL;
  if (!tir_as_int(tn_arr_obj(e->args, 0), &low) || !tir_as_int(tn_arr_obj(e->args, 1), &high))
    return NULL;
  uint64_t value = (uint64_t)high << 32 | ((uint64_t)low & UINT32_MAX);
  if (value <= INT64_MAX || e->dtype.lanes != 1) return NULL; /* reads back as another node */
  tn_str *digits;
  TN_GETP(digits, tn_str_fmt("%llu", (unsigned long long)value));
  return typed_literal(p, e->dtype, id_doc(digits->data));
}

/* callee(args..., dtype="int32") */
static tn_ExprDoc *with_dtype(const tn_Call *e, tn_ExprDoc *callee, const tn_vec *args) {
  TN_VEC(keys);
  TN_VEC(values);
  TN_TRYP(tn_vec_push_obj(&keys, tn_str_from("dtype")));
  TN_TRYP(tn_vec_push_obj(&values, dtype_doc(e->dtype)));
  return call_kw_doc(callee, args, &keys, &values);
}

/* A call whose type is not the one that is meant where nothing is said of it. */
static tn_ExprDoc *call_typed(const tn_Call *e, const tn_Op *op, tn_ExprDoc *callee,
                              const tn_vec *args) {
  tn_dtype usual = tir_op_script_dtype(tir_op_script_name(op), e->args->items, e->args->len);
  return tn_dtype_eq(usual, e->dtype) ? call_doc(callee, args) : with_dtype(e, callee, args);
}

/* The type of a call of a function of the module, where nothing is said of it. */
static tn_dtype result_dtype(const printer *p, const tn_GlobalVar *gv) {
  tn_GlobalVar *v = p->module ? ir_module_find_var(p->module, tn_cstr(gv->name_hint)) : NULL;
  tn_any found;
  bool known = v && tn_map_get(p->module->functions, tn_any_obj(v), &found);
  const tn_PrimFunc *f = known ? TN_AS(PrimFunc, found.v.obj) : NULL;
  const tn_PrimType *t = f ? TN_AS(PrimType, f->ret_type) : NULL;
  return t ? t->dtype : TN_VOID;
}

/* Is T.name(...) of this call read back as the call, or is it computed where it is known? */
static bool call_survives(const tn_Call *e) {
  TN_SCOPE(s);
  tir_op_id id = tir_op_number((const tn_obj *)e->op);
  tn_expr *a[3], *again;
  if (id == TIR_OP_reinterpret)
    return e->args->len != 1 ||
           !tn_dtype_eq(((const tn_expr *)tn_arr_obj(e->args, 0))->dtype, e->dtype);
  if (id != TIR_OP_if_then_else && id != TIR_OP_pow && id != TIR_OP_fmod) return true;
  if (e->args->len != 2 + (id == TIR_OP_if_then_else)) return false;
  for (int i = 0; i < e->args->len; ++i) a[i] = (tn_expr *)tn_arr_obj(e->args, i);
  again = e->args->len == 3 ? tir_if_then_else(a[0], a[1], a[2], NULL)
                            : tir_float_binary(id, a[0], a[1], NULL);
  const tn_Call *r = TN_AS(Call, again);
  if (!again) tn_error_clear();
  bool same = r && r->op == e->op && tn_dtype_eq(r->dtype, e->dtype);
  for (int i = 0; same && i < e->args->len; ++i)
    same = tn_arr_obj(r->args, i) == tn_arr_obj(e->args, i);
  return same;
}

/* T.call_intrin(dtype, "tir.name", ...) */
static tn_ExprDoc *print_plain_call(printer *p, const tn_Call *e, const tn_Op *op) {
  TN_VEC(args);
  TN_TRYP(tn_vec_push_obj(&args, dtype_doc(e->dtype)));
  TN_TRYP(tn_vec_push_obj(&args, str_doc(tn_cstr(op->name))));
  return print_exprs(p, e->args, &args) ? NULL : call_doc(tir_doc(p, "call_intrin"), &args);
}

static tn_ExprDoc *print_call(printer *p, const tn_Call *e) {
  TN_VEC(args);
  const tn_Op *op = TN_AS(Op, e->op);
  const tn_GlobalVar *gv = TN_AS(GlobalVar, e->op);
  tir_dtype_place where = op ? tir_op_dtype_place(op) : TIR_DTYPE_NONE;
  tn_ExprDoc *callee = print_large_uint(p, e);
  if (callee || tn_error_pending()) return callee;
  bool survives = !op || call_survives(e);
  tir_op_id id = op ? tir_op_number((const tn_obj *)op) : TIR_OP_pow;
  if (!survives && (id == TIR_OP_if_then_else || id == TIR_OP_reinterpret))
    return print_plain_call(p, e, op);
  if (op) {
    callee = tir_doc(p, tir_op_script_name(op));
  } else if (gv) {
    p->uses_module = true;
    callee = attr_doc(id_doc(tn_cstr(p->cfg->module_alias)), tn_cstr(gv->name_hint));
  } else {
    return TN_RAISEP(ValueError, e->span, "tir.Call.op: expected Op or GlobalVar, got %s",
                     tn_obj_key(e->op));
  }
  if (gv && !tn_dtype_eq(e->dtype, result_dtype(p, gv))) {
    if (print_exprs(p, e->args, &args)) return NULL;
    return with_dtype(e, callee, &args);
  }
  if (where == TIR_DTYPE_FIRST) TN_TRYP(tn_vec_push_obj(&args, dtype_doc(e->dtype)));
  if (print_exprs(p, e->args, &args)) return NULL;
  if (!survives) return with_dtype(e, callee, &args);
  if (where == TIR_DTYPE_LAST) TN_TRYP(tn_vec_push_obj(&args, dtype_doc(e->dtype)));
  return op && where == TIR_DTYPE_NONE ? call_typed(e, op, callee, &args) : call_doc(callee, &args);
}

static tn_ExprDoc *print_let(printer *p, const tn_Let *e) {
  TN_VEC(args);
  TN_VEC(keys);
  TN_VEC(values);
  frame *f;
  tn_ExprDoc *value = print_expr(p, e->value);
  /* a bare expression with all that it needs is Python, where the variable has to exist */
  if (value && p->fragment && p->cfg->verbose_expr && !print_var(p, e->var)) return NULL;
  if (!value || !(f = open_frame(p, (const tn_obj *)e))) return NULL;
  tn_ExprDoc *var = bound_name(p, f, e->var, tn_cstr(e->var->name));
  tn_ExprDoc *body = var ? print_expr(p, e->body) : NULL;
  close_frame(p, f);
  tn_arr *key = tn_arr_of(1, var), *val = tn_arr_of(1, value);
  tn_DictDoc *where = body ? TN_DOC(DictDoc, .keys = key, .values = val) : NULL;
  if (!where || tn_vec_push_obj(&args, body) || tn_vec_push_obj(&keys, tn_str_from("where")) ||
      tn_vec_push_obj(&values, where))
    return NULL;
  return call_kw_doc(tir_doc(p, "Let"), &args, &keys, &values);
}

/* ---- reductions ---- */

static tn_ExprDoc *print_reducer(printer *p, const tn_CommReducer *r) {
  TN_VEC(params);
  frame *f;
  if (!(f = open_frame(p, (const tn_obj *)r))) return NULL;
  const tn_arr *sides[] = {r->lhs, r->rhs};
  for (int s = 0; s < 2; ++s) {
    for (int64_t i = 0; i < sides[s]->len; ++i) {
      const tn_Var *v = (const tn_Var *)tn_arr_obj(sides[s], i);
      TN_TRYP(tn_vec_push_obj(&params, define_name(p, f, v, tn_cstr(v->name))));
    }
  }
  tn_ExprDoc *body = r->result->len == 1 ? print_expr(p, tn_arr_obj(r->result, 0))
                                         : print_array(p, r->result, true);
  close_frame(p, f);
  tn_ExprDoc *lambda =
      body ? (tn_ExprDoc *)TN_DOC(LambdaDoc, .args = tn_arr_from(&params), .body = body) : NULL;
  tn_ExprDoc *identity = lambda ? print_array(p, r->identity_element, false) : NULL;
  TN_VEC(args);
  if (!identity || tn_vec_push_obj(&args, lambda) || tn_vec_push_obj(&args, identity)) return NULL;
  return call_doc(tir_doc(p, "comm_reducer"), &args);
}

static tn_ExprDoc *print_reduce(printer *p, const tn_Reduce *e) {
  TN_VEC(args);
  const tn_obj *parts[] = {(tn_obj *)e->combiner, (tn_obj *)e->source, (tn_obj *)e->init,
                           (tn_obj *)e->axis, (tn_obj *)e->condition};
  for (int i = 0; i < 5; ++i) {
    tn_ExprDoc *doc = print_expr(p, parts[i]);
    if (!doc || tn_vec_push_obj(&args, doc)) return NULL;
  }
  TN_TRYP(tn_vec_push_obj(&args, int_doc(e->value_index)));
  return call_doc(tir_doc(p, "reduce"), &args);
}

static const char *const iter_type_names[] = {"DataPar",    "ThreadIndex",  "CommReduce",
                                              "Ordered",    "Opaque",       "Unrolled",
                                              "Vectorized", "Parallelized", "Tensorized"};

static tn_ExprDoc *print_iter_var(printer *p, const tn_IterVar *v) {
  TN_VEC(args);
  tn_ExprDoc *var = print_expr(p, v->var), *dom = var ? print_expr(p, v->dom) : NULL;
  if (!dom || tn_vec_push_obj(&args, var) || tn_vec_push_obj(&args, dom)) return NULL;
  TN_TRYP(
      tn_vec_push_obj(&args, str_doc(v->iter_type >= 0 && v->iter_type < TN_COUNT(iter_type_names)
                                         ? iter_type_names[v->iter_type]
                                         : "?")));
  TN_TRYP(tn_vec_push_obj(&args, str_doc(tn_cstr(v->thread_tag))));
  return call_doc(tir_doc(p, "iter_var"), &args);
}

static tn_ExprDoc *print_range(printer *p, const tn_Range *r) {
  return CALL_OF(p, "Range", r->min, tir_add(r->min, r->extent));
}

/* ---- types ---- */

tn_ExprDoc *print_type(printer *p, const tn_obj *type) {
  const tn_PrimType *prim = TN_AS(PrimType, type);
  const tn_PointerType *ptr = TN_AS(PointerType, type);
  const tn_TupleType *tuple = TN_AS(TupleType, type);
  TN_VEC(args);
  if (prim)
    return tn_dtype_eq(prim->dtype, TN_VOID) ? (tn_ExprDoc *)TN_DOC(LiteralDoc, .value = NULL)
           : tn_dtype_is_custom(prim->dtype) ? dtype_doc(prim->dtype)
                                             : tir_doc(p, TN_DT(prim->dtype));
  if (ptr) {
    const tn_PrimType *element = TN_AS(PrimType, ptr->element_type);
    tn_ExprDoc *doc =
        element ? dtype_doc(element->dtype) : print_type(p, (const tn_obj *)ptr->element_type);
    if (!doc || tn_vec_push_obj(&args, doc)) return NULL;
    TN_TRYP(tn_vec_push_obj(&args, str_doc(ptr->storage_scope->data)));
    return call_doc(tir_doc(p, "handle"), &args);
  }
  if (tuple && tuple->fields->len == 0) return (tn_ExprDoc *)TN_DOC(LiteralDoc, .value = NULL);
  for (int64_t i = 0; tuple && i < tuple->fields->len; ++i)
    TN_TRYP(tn_vec_push_obj(&args, print_type(p, tn_arr_obj(tuple->fields, i))));
  return tuple ? call_doc(tir_doc(p, "Tuple"), &args)
               : TN_RAISEP(TypeError, NULL, "cannot print a %s as a type", tn_obj_key(type));
}

/* ---- other objects ---- */

static int by_text(const void *a, const void *b) {
  const tn_map_entry *const *x = a, *const *y = b;
  return strcmp(tn_cstr((const tn_str *)(*x)->key.v.obj), tn_cstr((const tn_str *)(*y)->key.v.obj));
}

/* Keys that are texts come in their order. */
static const tn_map_entry **sorted_entries(printer *p, const tn_map *m) {
  const tn_map_entry **all = tn_arena_array(&p->arena, m->len + 1, sizeof *all);
  bool texts = true;
  for (int64_t i = 0; all && i < m->len; ++i) {
    all[i] = &m->entries[i];
    texts &= all[i]->key.type_index == TN_TI_String;
  }
  if (all && texts) qsort(all, (size_t)m->len, sizeof *all, by_text);
  return all;
}

static tn_ExprDoc *print_map(printer *p, const tn_map *m) {
  TN_VEC(keys);
  TN_VEC(values);
  const tn_map_entry **all = sorted_entries(p, m);
  if (!all) return NULL;
  for (int64_t i = 0; i < m->len; ++i) {
    tn_ExprDoc *k = print_value(p, &all[i]->key), *v = k ? print_value(p, &all[i]->value) : NULL;
    if (!v || tn_vec_push_obj(&keys, k) || tn_vec_push_obj(&values, v)) return NULL;
  }
  tn_arr *k = tn_arr_from(&keys), *v = tn_arr_from(&values);
  return (tn_ExprDoc *)TN_DOC(DictDoc, .keys = k, .values = v);
}

/* T.target({"kind": "llvm", ...}) */
static tn_ExprDoc *print_target(printer *p, const tn_target *target) {
  const tn_map *config = target_export(target);
  tn_ExprDoc *doc = config ? print_expr(p, (const tn_obj *)config) : NULL;
  return doc ? call1_doc(tir_doc(p, "target"), doc) : NULL;
}

/* metadata["type key"][i]: what has no syntax of its own is kept beside the text as JSON */
static tn_ExprDoc *print_metadata(printer *p, const tn_obj *o) {
  const char *key = tn_obj_key(o);
  const tn_arr *old = (const tn_arr *)tn_map_find(p->meta, key);
  int64_t at = 0;
  while (old && at < old->len && old->items[at].v.obj != o) ++at;
  if (!old || at == old->len) {
    TN_VEC(all);
    for (int64_t i = 0; i < at; ++i) TN_TRYP(tn_vec_push(&all, old->items[i]));
    TN_TRYP(tn_vec_push_obj(&all, o));
    tn_arr *list = tn_arr_from(&all);
    if (!list || !(p->meta = tn_map_with(p->meta, tn_any_cstr(key), tn_any_obj(list)))) return NULL;
  }
  tn_ExprDoc *k = str_doc(key), *i = int_doc(at), *m = id_doc("metadata");
  tn_ExprDoc *by_key =
      k ? (tn_ExprDoc *)TN_DOC(IndexDoc, .value = m, .indices = tn_arr_of(1, k)) : NULL;
  return (tn_ExprDoc *)TN_DOC(IndexDoc, .value = by_key, .indices = tn_arr_of(1, i));
}

static tn_ExprDoc *print_string(printer *p, const tn_str *s) {
  (void)p;
  return (tn_ExprDoc *)TN_DOC(LiteralDoc, .value = (tn_obj *)(uintptr_t)s);
}

static tn_ExprDoc *print_index_map(printer *p, const tn_IndexMap *m) {
  TN_VEC(params);
  frame *f;
  if (!(f = open_frame(p, (const tn_obj *)m))) return NULL;
  for (int64_t i = 0; i < m->initial_indices->len; ++i) {
    const tn_Var *v = (const tn_Var *)tn_arr_obj(m->initial_indices, i);
    TN_TRYP(tn_vec_push_obj(&params, define_name(p, f, v, tn_cstr(v->name))));
  }
  tn_ExprDoc *body = print_array(p, m->final_indices, true);
  close_frame(p, f);
  tn_ExprDoc *lambda =
      body ? (tn_ExprDoc *)TN_DOC(LambdaDoc, .args = tn_arr_from(&params), .body = body) : NULL;
  return lambda ? call1_doc(tir_doc(p, "index_map"), lambda) : NULL;
}

tn_ExprDoc *print_elements(printer *p, const tn_NDArray *data) {
  tn_arr *list = tir_const_list(data);
  return list ? print_array(p, list, false) : NULL;
}

/* T.NDArray([1, 2], "int32", (2,)) */
static tn_ExprDoc *print_tensor(printer *p, const tn_NDArray *data) {
  TN_VEC(args);
  TN_VEC(dims);
  const DLTensor *dl = tn_tensor_dl(data);
  for (int32_t i = 0; i < dl->ndim; ++i) TN_TRYP(tn_vec_push_obj(&dims, int_doc(dl->shape[i])));
  TN_TRYP(tn_vec_push_obj(&args, print_elements(p, data)));
  TN_TRYP(tn_vec_push_obj(&args, dtype_doc(dl->dtype)));
  TN_TRYP(tn_vec_push_obj(&args, tuple_doc(&dims)));
  return call_doc(tir_doc(p, "NDArray"), &args);
}

/* Types that are not one row of a family. */
static tn_ExprDoc *print_other(printer *p, const tn_obj *o) {
  if (TN_IS(Type, o) && p->fragment) return print_type(p, o);
  TN_VEC(none);
  if (TN_AS(Any, o) && p->fragment) return call_doc(tir_doc(p, "Any"), &none);
  if (o->type_index == (uint32_t)tn_tensor_type_index())
    return print_tensor(p, (const tn_NDArray *)o);
  if (TN_IS(Target, o)) return print_target(p, (const tn_target *)o);
  if (o->type->hooks->scalar) {
    tn_any plain;
    if (o->type->hooks->scalar(o, &plain)) return print_value(p, &plain);
  }
  return print_metadata(p, o);
}

/* An element of a tensor expression, by the name of what computes it; scripts have no such value,
 * so that a text that is to be read back holds it as metadata. */
static tn_ExprDoc *print_producer_load(printer *p, const tn_ProducerLoad *e) {
  const tn_field *op = tn_type_field(e->producer->hdr.type, "op");
  tn_any of = op ? tn_field_get((const tn_obj *)e->producer, op) : tn_any_none();
  const tn_field *name = tn_any_is_obj(&of) ? tn_type_field(of.v.obj->type, "name") : NULL;
  tn_any text = name ? tn_field_get(of.v.obj, name) : tn_any_none();
  TN_VEC(indices);
  if (p->cfg->show_meta || text.type_index != TN_TI_String)
    return print_other(p, (const tn_obj *)e);
  if (print_exprs(p, e->indices, &indices)) return NULL;
  if (!indices.len) TN_TRYP(tn_vec_push_obj(&indices, tuple_doc(&indices)));
  return (tn_ExprDoc *)TN_DOC(IndexDoc, .value = id_doc(tn_cstr((const tn_str *)text.v.obj)),
                              .indices = tn_arr_from(&indices));
}

#define FIELD(T, o, f) (((const tn_##T *)(o))->f)

static tn_ExprDoc *print_bare(printer *p, const tn_obj *o) {
  if (ir_is_binary(o->type_index)) return print_binary(p, (const tn_BinaryOp *)o);
  switch (o->type_index) {
  case TN_TI_IntImm: return print_int(p, (const tn_IntImm *)o);
  case TN_TI_FloatImm: return print_float(p, (const tn_FloatImm *)o);
  case TN_TI_StringImm: return print_string(p, FIELD(StringImm, o, value));
  case TN_TI_Var:
  case TN_TI_SizeVar: return print_var(p, (const tn_Var *)o);
  case TN_TI_Not: return print_not(p, (const tn_Not *)o);
  case TN_TI_Cast: {
    tn_ExprDoc *value = print_expr(p, FIELD(Cast, o, value)), *t = dtype_doc(FIELD(Cast, o, dtype));
    TN_VEC(args);
    if (!value || !t || tn_vec_push_obj(&args, t) || tn_vec_push_obj(&args, value)) return NULL;
    return call_doc(tir_doc(p, "Cast"), &args);
  }
  case TN_TI_Select:
    return CALL_OF(p, "Select", FIELD(Select, o, condition), FIELD(Select, o, true_value),
                   FIELD(Select, o, false_value));
  case TN_TI_Ramp:
    return CALL_OF(p, "Ramp", FIELD(Ramp, o, base), FIELD(Ramp, o, stride),
                   tir_lanes(TN_I32, FIELD(Ramp, o, lanes), 0));
  case TN_TI_Broadcast:
    return CALL_OF(p, "Broadcast", FIELD(Broadcast, o, value),
                   tir_lanes(TN_I32, FIELD(Broadcast, o, lanes), 0));
  case TN_TI_Shuffle:
    return CALL_OF(p, "Shuffle", FIELD(Shuffle, o, vectors), FIELD(Shuffle, o, indices));
  case TN_TI_Let: return print_let(p, (const tn_Let *)o);
  case TN_TI_Call: return print_call(p, (const tn_Call *)o);
  case TN_TI_CommReducer: return print_reducer(p, (const tn_CommReducer *)o);
  case TN_TI_Reduce: return print_reduce(p, (const tn_Reduce *)o);
  case TN_TI_Range: return print_range(p, (const tn_Range *)o);
  case TN_TI_IterVar: return print_iter_var(p, (const tn_IterVar *)o);
  case TN_TI_Buffer: return print_buffer(p, (const tn_Buffer *)o);
  case TN_TI_BufferLoad:
    return print_indexed(p, FIELD(BufferLoad, o, buffer), FIELD(BufferLoad, o, indices));
  case TN_TI_ProducerLoad: return print_producer_load(p, (const tn_ProducerLoad *)o);
  case TN_TI_BufferRegion: return print_region(p, (const tn_BufferRegion *)o);
  case TN_TI_String: return print_string(p, (const tn_str *)o);
  case TN_TI_Array: return print_array(p, (const tn_arr *)o, false);
  case TN_TI_Map: return print_map(p, (const tn_map *)o);
  case TN_TI_DictAttrs: return print_map(p, FIELD(DictAttrs, o, dict));
  case TN_TI_IndexMap: return print_index_map(p, (const tn_IndexMap *)o);
  case TN_TI_GlobalVar: return str_doc(tn_cstr(FIELD(GlobalVar, o, name_hint)));
  default: return print_other(p, o);
  }
}

tn_ExprDoc *print_expr(printer *p, const void *obj) {
  if (!obj) return tn_error_pending() ? NULL : (tn_ExprDoc *)TN_DOC(LiteralDoc, .value = NULL);
  TN_CHECKP(++p->depth <= PRINT_DEPTH_MAX, ValueError, NULL,
            "the program is nested more than %d levels deep", PRINT_DEPTH_MAX);
  tn_ExprDoc *doc = print_bare(p, obj);
  p->depth--;
  return (tn_ExprDoc *)noted(p, obj, doc);
}

tn_ExprDoc *print_value(printer *p, const tn_any *v) {
  switch (v->type_index) {
  case TN_NONE: return (tn_ExprDoc *)TN_DOC(LiteralDoc, .value = NULL);
  case TN_INT: return int_doc(v->v.i64);
  case TN_BOOL: return bool_doc(v->v.i64 != 0);
  case TN_FLOAT: {
    tn_FloatImm *f = TN_NEW(FloatImm, .dtype = TN_F64, .value = v->v.f64);
    if (v->v.f64 - v->v.f64 != 0) return f ? print_float(p, f) : NULL;
    return (tn_ExprDoc *)TN_DOC(LiteralDoc, .value = (tn_obj *)f);
  }
  case TN_DTYPE: return dtype_doc(v->v.dtype);
  default:
    return tn_any_is_obj(v) ? print_expr(p, v->v.obj)
                            : TN_RAISEP(TypeError, NULL, "cannot print a %s",
                                        tn_type_key((uint32_t)v->type_index));
  }
}
