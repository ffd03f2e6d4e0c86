/* Walking and rewriting tensor programs from outside: "tir.PostOrderVisit", "tir.IRTransform",
   "tir.Substitute", "tir.renew_defs". C code uses ir/functor.h.

   What these see are the expressions and statements that a program computes with: no definitions of
   variables, no buffers (but what indexes them), no annotations. */
#include "ir/expr.h"
#include "ir/functor.h"
#include "object/functions.h"
#include "tir/analysis.h"
#include "tir/tir_impl.h"

/* Does the definition field hold a variable, or only variables? */
static bool is_definition(const tn_field *field, const tn_obj *child) {
  if (!field || !(field->flags & TN_DEF)) return false;
  if (child->type_index != TN_TI_Array) return TN_IS(Var, child);
  const tn_arr *a = (const tn_arr *)child;
  return a->len == 0 || TN_IS(Var, tn_arr_obj(a, 0));
}

static bool is_computed(const tn_obj *parent, const tn_field *field, const tn_obj *child) {
  (void)parent;
  switch (child->type_index) {
  case TN_TI_Buffer:
  case TN_TI_CommReducer:
  case TN_TI_Map:
  case TN_TI_Op:
  case TN_TI_GlobalVar: return false;
  default: return !TN_IS(DataProducer, child) && !is_definition(field, child);
  }
}

static bool is_program(const tn_obj *o) { return TN_IS(PrimExpr, o) || TN_IS(Stmt, o); }

/* ---- visiting ---- */

typedef struct {
  tn_func *fn;
  bool asks; /* the result says whether to go on below the node */
} visitor;

static int call_visitor(void *ctx, tn_obj *node) {
  const visitor *v = ctx;
  tn_any arg = tn_any_obj(node), ret;
  bool below = true;
  if (!is_program(node)) return 0;
  TN_TRY(tn_func_call(v->fn, &arg, 1, &ret));
  int err = v->asks && ret.type_index != TN_NONE ? tn_any_to_bool(&ret, &below) : 0;
  tn_any_release(&ret);
  return err ? -1 : !below;
}

/* (node, function) */
static int post_order_visit(TN_ARGS) {
  TN_NARGS("tir.PostOrderVisit", 2);
  TN_ARG_OBJ(Object, node, 0);
  TN_ARG_OBJ(Function, fn, 1);
  visitor v = {fn, false};
  return tn_post_order_if(node, is_computed, call_visitor, &v) ? -1 : 0;
}

/* (node, function that returns whether to go on below the node) */
static int pre_order_visit(TN_ARGS) {
  TN_NARGS("tir.PreOrderVisit", 2);
  TN_ARG_OBJ(Object, node, 0);
  TN_ARG_OBJ(Function, fn, 1);
  visitor v = {fn, true};
  return tn_pre_order_if(node, is_computed, call_visitor, &v) < 0 ? -1 : 0;
}

/* ---- transforming ---- */

typedef struct {
  tn_func *before, *after; /* NULL: none */
  const tn_arr *only;      /* type keys, NULL: all */
} transformer;

static bool is_enabled(const transformer *t, const tn_obj *o) {
  if (!t->only || t->only->len == 0) return true;
  for (int64_t i = 0; i < t->only->len; ++i) {
    if (tn_str_eq((const tn_str *)tn_arr_obj(t->only, i), o->type->key)) return true;
  }
  return false;
}

/* Calls a function of the node. *out: its result, NULL when it returned None. */
static int ask(tn_func *f, tn_obj *node, tn_obj **out) {
  tn_any arg = tn_any_obj(node), ret;
  *out = NULL;
  if (!f) return 0;
  TN_TRY(tn_func_call(f, &arg, 1, &ret));
  if (ret.type_index == TN_NONE) return 0;
  if (tn_any_is_obj(&ret) && is_program(ret.v.obj)) {
    *out = tn_scope_own(ret.v.obj);
    return *out ? 0 : -1;
  }
  tn_any_release(&ret);
  return TN_RAISE(TypeError, NULL,
                  "ir_transform: expected a statement, an expression or None, got %s",
                  tn_type_key((uint32_t)ret.type_index));
}

static tn_obj *transform(tn_mut *m, tn_obj *node) {
  const transformer *t = m->ctx;
  tn_obj *r;
  if (!is_enabled(t, node)) return tn_mut_children(m, node);
  TN_TRYP(ask(t->before, node, &r));
  if (r) return r;
  tn_obj *inner = tn_mut_children(m, node);
  if (!inner) return NULL;
  TN_TRYP(ask(t->after, inner, &r));
  return r ? r : inner;
}

/* (statement, before, after, type keys) */
static int ir_transform(TN_ARGS) {
  tn_mut_case cases[TN_TI_BEGIN_DYNAMIC] = {0};
  transformer t;
  tn_obj *root;
  TN_CHECK(n == 4, TypeError, NULL, "tir.IRTransform: expected 4 arguments, got %d", n);
  TN_TRY(tn_arg_obj(args, n, 0, &tn_type_Object, &root));
  TN_TRY(tn_arg_opt(args, n, 1, &tn_type_Function, (tn_obj **)&t.before));
  TN_TRY(tn_arg_opt(args, n, 2, &tn_type_Function, (tn_obj **)&t.after));
  TN_TRY(tn_arg_items(args, n, 3, "Array(String)", true, (tn_obj **)(uintptr_t)&t.only));
  for (int i = 0; i < TN_TI_BEGIN_DYNAMIC; ++i) {
    const tn_type *type = tn_type_get((uint32_t)i);
    if (type && (tn_type_is(type, &tn_type_Stmt) || tn_type_is(type, &tn_type_PrimExpr)))
      cases[i] = transform;
  }
  TN_MUT(m, cases, &t);
  return tn_ret_obj(ret, tn_mut_visit(&m, root));
}

/* ---- substitution ---- */

/* A variable or buffer, replaced if the table says so. */
static tn_obj *replace(tn_mut *m, tn_obj *o) {
  tn_obj *by = tn_pmap_get(m->ctx, o);
  return by ? by : o;
}

/* Buffers follow what they are made of: data pointer, extents, strides, offset. */
static tn_obj *replace_buffer(tn_mut *m, tn_Buffer *b) {
  tn_obj *by = tn_pmap_get(m->ctx, b), *data = tn_pmap_get(m->ctx, b->data);
  if (by) return by;
  TN_CHECKP(!data || TN_IS(Var, data), TypeError, b->span,
            "substitute: buffer %s needs a variable as data pointer, got %s", tn_cstr(b->name),
            tn_obj_key(data));
  return tn_mut_children(m, b);
}

static void *substitute_all(const void *node, const tn_pmap *table) {
  static const tn_mut_case cases[] = {TN_CASE(Var, replace), TN_CASE(SizeVar, replace),
                                      TN_CASE(Buffer, replace_buffer)};
  TN_MUT(m, cases, (void *)(uintptr_t)table);
  m.pure = true;
  return tn_mut_visit(&m, node);
}

/* Adds one entry of the map that the caller gave. */
static int add_entry(tn_pmap *table, const tn_map_entry *e) {
  const tn_Var *v =
      tn_any_is_obj(&e->key) && TN_IS(Var, e->key.v.obj) ? (tn_Var *)e->key.v.obj : NULL;
  TN_CHECK(v, TypeError, NULL, "substitute: expected variables as keys, got %s",
           tn_type_key((uint32_t)e->key.type_index));
  tn_expr *by = ir_expr_from(&e->value);
  if (!by) return tn_error_pending() ? -1 : 0;
  if (TN_AS(IntImm, by) || TN_AS(FloatImm, by)) TN_GET(by, tir_cast(v->dtype, by, NULL));
  TN_CHECK(tn_dtype_eq(by->dtype, v->dtype), TenonError, v->span,
           "substitute: %s is of type %s, its replacement of type %s", tn_cstr(v->name),
           TN_DT(v->dtype), TN_DT(by->dtype));
  return tn_pmap_put(table, v, by);
}

/* (node, map of variables to expressions) */
static int substitute(TN_ARGS) {
  TN_PMAP(table);
  TN_NARGS("tir.Substitute", 2);
  TN_ARG_OBJ(Object, node, 0);
  TN_ARG_ITEMS(Map(Var, PrimExpr), vars, 1);
  for (int64_t i = 0; i < vars->len; ++i) TN_TRY(add_entry(&table, &vars->entries[i]));
  return tn_ret_obj(ret, substitute_all(node, &table));
}

/* ---- new definitions ---- */

static int renew(tn_pmap *table, tn_obj *o);
static int renew_each(tn_pmap *table, tn_obj *o);

/* A buffer that is defined where it stands: its own variables are new too. */
static int renew_buffer(tn_pmap *table, tn_Buffer *b) {
  static const tn_mut_case cases[] = {TN_CASE(Var, replace), TN_CASE(SizeVar, replace)};
  if (tn_pmap_has(table, b)) return 0;
  TN_TRY(renew(table, (tn_obj *)b->data));
  TN_TRY(renew_each(table, (tn_obj *)b->shape)); /* extents that are variables are defined here */
  TN_TRY(renew_each(table, (tn_obj *)b->strides));
  if (b->elem_offset) TN_TRY(renew(table, (tn_obj *)b->elem_offset));
  TN_MUT(m, cases, table);
  tn_obj *copy = tn_mut_children(&m, b);
  return copy ? tn_pmap_put(table, b, copy) : -1;
}

/* Makes a new one of a variable, a buffer, or the variable of an iterator, once. */
static int renew(tn_pmap *table, tn_obj *o) {
  if (tn_pmap_has(table, o)) return 0;
  if (o->type_index == TN_TI_Buffer) return renew_buffer(table, (tn_Buffer *)o);
  if (o->type_index == TN_TI_IterVar) return renew(table, (tn_obj *)((tn_IterVar *)o)->var);
  if (!TN_IS(Var, o)) return 0;
  tn_Var *copy = tir_var_like((tn_Var *)o, tn_cstr(((tn_Var *)o)->name));
  return copy ? tn_pmap_put(table, o, copy) : -1;
}

static int renew_each(tn_pmap *table, tn_obj *o) {
  if (o->type_index != TN_TI_Array) return renew(table, o);
  const tn_arr *a = (const tn_arr *)o;
  for (int64_t i = 0; i < a->len; ++i) {
    tn_obj *item = tn_arr_obj(a, i);
    const tn_MatchBufferRegion *r = TN_AS(MatchBufferRegion, item);
    if (item) TN_TRY(renew(table, r ? (tn_obj *)r->buffer : item));
  }
  return 0;
}

/* Definitions stand before their uses, so going down the program meets them in order. */
static int renew_definitions(void *ctx, tn_obj *node) {
  if (node->type_index == TN_TI_Buffer) return 1; /* its own variables belong to its definition */
  for (uint16_t i = 0; i < node->type->nfield; ++i) {
    const tn_field *f = &node->type->fields[i];
    tn_any v = tn_field_get(node, f);
    if (!(f->flags & TN_DEF) || !tn_any_is_obj(&v)) continue;
    if (v.v.obj->type_index != TN_TI_Map) {
      if (renew_each(ctx, v.v.obj)) return -1;
      continue;
    }
    const tn_map *m = (const tn_map *)v.v.obj; /* PrimFunc.buffer_map */
    for (int64_t k = 0; k < m->len; ++k)
      if (renew(ctx, m->entries[k].value.v.obj)) return -1;
  }
  return 0;
}

tn_PrimFunc *tir_renew_defs(tn_PrimFunc *f) {
  TN_PMAP(table);
  return tn_pre_order(f, renew_definitions, &table) < 0
             ? NULL
             : (tn_PrimFunc *)substitute_all((tn_obj *)f, &table);
}

/* (function) */
static int renew_defs(TN_ARGS) {
  TN_NARGS("tir.renew_defs", 1);
  TN_ARG_OBJ(PrimFunc, f, 0);
  return tn_ret_obj(ret, tir_renew_defs(f));
}

static const tn_func_row rows[] = {
    {"tir.PostOrderVisit", post_order_visit}, {"tir.PreOrderVisit", pre_order_visit},
    {"tir.IRTransform", ir_transform},        {"tir.Substitute", substitute},
    {"tir.renew_defs", renew_defs},
};

int stmt_functor_init(void) { return tn_func_register_rows(rows, TN_COUNT(rows)); }
