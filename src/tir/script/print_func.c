/* Functions and modules in TVMScript. */
#include <stdlib.h>

#include <string.h>

#include "ir/expr.h"
#include "tir/script/printer_impl.h"

typedef struct {
  const tn_obj *target;
  int n;
} occurrences;

static int count_occurrences(void *ctx, tn_obj *o) {
  occurrences *c = ctx;
  c->n += o == c->target;
  return o == c->target ? 0 : tn_visit_children(o, count_occurrences, ctx);
}

static bool occurs_in(const tn_obj *target, const void *where) {
  occurrences c = {target, 0};
  if (where) count_occurrences(&c, (tn_obj *)(uintptr_t)where);
  return c.n > 0;
}

static tn_Buffer *buffer_of(const tn_PrimFunc *f, const tn_obj *param) {
  tn_any out;
  return tn_map_get(f->buffer_map, tn_any_obj(param), &out) ? (tn_Buffer *)out.v.obj : NULL;
}

/* Number of buffers of the signature over the same data: a shared pointer needs its own name. */
static int buffers_over(const tn_PrimFunc *f, const tn_Var *data) {
  int n = 0;
  for (int64_t i = 0; i < f->buffer_map->len; ++i) {
    n += ((const tn_Buffer *)f->buffer_map->entries[i].value.v.obj)->data == data;
  }
  return n;
}

/* Is it a handle of which no more is said? */
static bool is_plain_handle(const tn_Var *param) {
  const tn_PrimType *t = TN_AS(PrimType, param->type_annotation);
  return !param->type_annotation || (t && tn_dtype_eq(t->dtype, TN_HANDLE));
}

/* May parameter i be written `A: T.Buffer((16,), "float32")`? */
static bool is_buffer_param(const printer *p, const tn_PrimFunc *f, const tn_obj *param) {
  const tn_Buffer *b = buffer_of(f, param);
  return is_plain_handle((const tn_Var *)param) && p->cfg->syntax_sugar && b &&
         is_simple_buffer(b) && buffers_over(f, b->data) == 1 && !occurs_in(param, f->body);
}

static tn_ExprDoc *param_type(printer *p, const tn_Var *v) {
  if (TN_AS(SizeVar, v)) return var_creation(p, v);
  return v->type_annotation ? print_type(p, (const tn_obj *)v->type_annotation)
                            : tir_doc(p, TN_DT(v->dtype));
}

static int print_params(printer *p, frame *fr, const tn_PrimFunc *f, tn_vec *args) {
  for (int64_t i = 0; i < f->params->len; ++i) {
    const tn_Var *param = (const tn_Var *)tn_arr_obj(f->params, i);
    tn_ExprDoc *lhs, *annotation;
    if (is_buffer_param(p, f, (const tn_obj *)param)) {
      const tn_Buffer *b = buffer_of(f, (const tn_obj *)param);
      lhs = define_buffer(p, fr, b);
      annotation = lhs ? buffer_annotation(p, fr, b) : NULL;
    } else {
      lhs = define_name(p, fr, param, tn_cstr(param->name));
      annotation = lhs ? param_type(p, param) : NULL;
    }
    if (!annotation) return -1;
    TN_TRY(tn_vec_push_obj(args, TN_DOC(AssignDoc, .lhs = lhs, .annotation = annotation)));
  }
  return 0;
}

static int print_match_buffers(printer *p, frame *fr, const tn_PrimFunc *f) {
  for (int64_t i = 0; i < f->params->len; ++i) {
    const tn_obj *param = tn_arr_obj(f->params, i);
    const tn_Buffer *b = buffer_of(f, param);
    if (!b || is_defined(p, b)) continue;
    tn_ExprDoc *lhs = define_buffer(p, fr, b);
    tn_ExprDoc *rhs = lhs ? buffer_decl(p, fr, b, "match_buffer", print_expr(p, param)) : NULL;
    TN_TRY(emit(p, TN_DOC(AssignDoc, .lhs = lhs, .rhs = rhs)));
  }
  return 0;
}

static int contains_realize(void *ctx, tn_obj *o) {
  return o->type_index == TN_TI_BlockRealize ||
         (!TN_IS(PrimExpr, o) && tn_visit_children(o, contains_realize, ctx));
}

/* The outermost block when it says nothing but that it is there: printed as a comment. */
static const tn_Block *implicit_root(const printer *p, const tn_PrimFunc *f) {
  const tn_BlockRealize *r = TN_AS(BlockRealize, f->body);
  if (!p->cfg->syntax_sugar || !r || r->iter_values->len || !tir_is_one(r->predicate)) return NULL;
  const tn_Block *b = r->block;
  if (b->annotations->len || b->match_buffers->len || b->reads->len || b->writes->len || b->init)
    return NULL;
  const tn_BlockRealize *inner = TN_AS(BlockRealize, b->body);
  bool root = b->alloc_buffers->len || (inner && inner->block->iter_vars->len) ||
              (!inner && contains_realize(NULL, (tn_obj *)b->body));
  return root ? b : NULL;
}

static int print_func_body(printer *p, frame *fr, const tn_PrimFunc *f) {
  const tn_Block *root = implicit_root(p, f);
  if (!root) return print_body(p, fr, (const tn_obj *)f->body);
  TN_TRY(emit(p, TN_DOC(CommentDoc, .comment = tn_str_from("with T.block(\"root\"):"))));
  for (int64_t i = 0; i < root->alloc_buffers->len; ++i) {
    const tn_Buffer *b = (const tn_Buffer *)tn_arr_obj(root->alloc_buffers, i);
    tn_ExprDoc *lhs = bound_buffer(p, fr, b),
               *rhs = lhs ? buffer_decl(p, fr, b, "alloc_buffer", NULL) : NULL;
    TN_TRY(emit(p, noted(p, b, TN_DOC(AssignDoc, .lhs = lhs, .rhs = rhs))));
  }
  return print_body(p, fr, (const tn_obj *)root->body);
}

/* The attributes; global_symbol is the function's name already and needs no mention when it is the
 * same. */
static int print_func_attrs(printer *p, const tn_PrimFunc *f, const char *name) {
  TN_VEC(args);
  const tn_map *attrs = f->attrs ? f->attrs->dict : NULL;
  const tn_obj *symbol = attrs ? tn_map_find(attrs, "global_symbol") : NULL;
  if (symbol && symbol->type_index == TN_TI_String && tn_str_eq((const tn_str *)symbol, name)) {
    attrs = tn_map_without(attrs, tn_any_cstr("global_symbol"));
    if (!attrs) return -1;
  }
  if (!attrs || attrs->len == 0) return 0;
  tn_ExprDoc *doc = print_expr(p, attrs);
  if (!doc || tn_vec_push_obj(&args, doc)) return -1;
  return emit(p, TN_DOC(ExprStmtDoc, .expr = call_doc(tir_doc(p, "func_attr"), &args)));
}

static tn_ExprDoc *decorator(printer *p, const tn_PrimFunc *f) {
  TN_VEC(args);
  TN_VEC(keys);
  TN_VEC(values);
  if (f->attrs && tn_map_find(f->attrs->dict, "global_symbol")) return tir_doc(p, "prim_func");
  if (tn_vec_push_obj(&keys, tn_str_from("private")) || tn_vec_push_obj(&values, bool_doc(true)))
    return NULL;
  return call_kw_doc(tir_doc(p, "prim_func"), &args, &keys, &values);
}

static int has_result(const tn_PrimFunc *f) {
  const tn_TupleType *tuple = TN_AS(TupleType, f->ret_type);
  const tn_PrimType *prim = TN_AS(PrimType, f->ret_type);
  if (prim && tn_dtype_eq(prim->dtype, TN_VOID)) return 0;
  return f->ret_type && !(tuple && tuple->fields->len == 0);
}

/* The name that the settings give to what is printed, or NULL. */
static const char *binding_name(const printer *p) {
  const tn_arr *names = p->cfg->binding_names;
  const tn_obj *last = names->len ? tn_arr_obj(names, names->len - 1) : NULL;
  return last && last->type_index == TN_TI_String ? ((const tn_str *)last)->data : NULL;
}

static const char *module_name(const printer *p) {
  const char *name = binding_name(p);
  return name ? name : "Module";
}

/* `cls = Module` at the top of a function that calls others of its module */
static tn_arr *with_alias(printer *p, tn_arr *stmts) {
  TN_VEC(all);
  tn_ExprDoc *lhs = id_doc(tn_cstr(p->cfg->module_alias)), *rhs = id_doc(module_name(p));
  TN_TRYP(tn_vec_push_obj(&all, TN_DOC(AssignDoc, .lhs = lhs, .rhs = rhs)));
  for (int64_t i = 0; i < stmts->len; ++i) TN_TRYP(tn_vec_push(&all, stmts->items[i]));
  return tn_arr_from(&all);
}

static tn_arr *func_stmts(printer *p, frame *fr, const tn_PrimFunc *f, const char *name,
                          bool in_module, tn_vec *args) {
  if (print_params(p, fr, f, args) || print_func_attrs(p, f, name) || print_match_buffers(p, fr, f))
    return NULL;
  p->uses_module = false;
  if (print_func_body(p, fr, f)) return NULL;
  tn_arr *stmts = frame_stmts(fr);
  bool alias =
      in_module && p->uses_module && strcmp(tn_cstr(p->cfg->module_alias), module_name(p)) != 0;
  return stmts && alias ? with_alias(p, stmts) : stmts;
}

tn_Doc *print_prim_func(printer *p, const tn_PrimFunc *f, const char *name) {
  TN_VEC(args);
  frame *fr;
  bool in_module = p->top->up != NULL;
  const tn_obj *symbol = f->attrs ? tn_map_find(f->attrs->dict, "global_symbol") : NULL;
  if (!name) name = binding_name(p);
  if (!name)
    name = symbol && symbol->type_index == TN_TI_String ? ((const tn_str *)symbol)->data : "main";
  if (!(fr = open_frame(p, (const tn_obj *)f))) return NULL;
  tn_arr *stmts = func_stmts(p, fr, f, name, in_module, &args);
  tn_ExprDoc *ret = stmts && has_result(f) ? print_type(p, (const tn_obj *)f->ret_type) : NULL;
  close_frame(p, fr);
  if (!stmts || (has_result(f) && !ret)) return NULL;
  tn_IdDoc *id = TN_DOC(IdDoc, .name = tn_str_from(name));
  tn_arr *decorators = tn_arr_of(1, decorator(p, f));
  tn_arr *params = tn_arr_from(&args);
  return noted(p, f,
               TN_DOC(FunctionDoc, .name = id, .args = params, .decorators = decorators,
                      .return_type = ret, .body = stmts));
}

/* ---- modules ---- */

static int by_name(const void *a, const void *b) {
  const tn_map_entry *const *x = a, *const *y = b;
  return strcmp(tn_cstr(((const tn_GlobalVar *)(*x)->key.v.obj)->name_hint),
                tn_cstr(((const tn_GlobalVar *)(*y)->key.v.obj)->name_hint));
}

static int print_functions(printer *p, const tn_IRModule *m) {
  int64_t n = m->functions->len;
  TN_ARENA(arena);
  const tn_map_entry **sorted = tn_arena_array(&arena, n + 1, sizeof *sorted);
  if (!sorted) return -1;
  for (int64_t i = 0; i < n; ++i) sorted[i] = &m->functions->entries[i];
  qsort(sorted, (size_t)n, sizeof *sorted, by_name);
  for (int64_t i = 0; i < n; ++i) {
    const tn_PrimFunc *f = TN_AS(PrimFunc, sorted[i]->value.v.obj);
    const char *name = tn_cstr(((const tn_GlobalVar *)sorted[i]->key.v.obj)->name_hint);
    TN_CHECK(f, TypeError, NULL, "module function %s: expected tir.PrimFunc, got %s", name,
             tn_obj_key(sorted[i]->value.v.obj));
    TN_TRY(emit(p, print_prim_func(p, f, name)));
  }
  return 0;
}

static int print_module_attrs(printer *p, const tn_IRModule *m) {
  TN_VEC(args);
  if (!m->attrs || m->attrs->dict->len == 0) return 0;
  tn_ExprDoc *doc = print_expr(p, m->attrs);
  if (!doc || tn_vec_push_obj(&args, doc)) return -1;
  return emit(p, TN_DOC(ExprStmtDoc,
                        .expr = call_doc(
                            attr_doc(id_doc(tn_cstr(p->cfg->ir_prefix)), "module_attrs"), &args)));
}

tn_Doc *print_module(printer *p, const tn_IRModule *m) {
  frame *f;
  p->uses_ir = true;
  p->module = m;
  if (!(f = open_frame(p, (const tn_obj *)m))) return NULL;
  tn_arr *stmts = print_module_attrs(p, m) || print_functions(p, m) ? NULL : frame_stmts(f);
  close_frame(p, f);
  tn_IdDoc *id = TN_DOC(IdDoc, .name = tn_str_from(module_name(p)));
  tn_arr *decorators = tn_arr_of(1, attr_doc(id_doc(tn_cstr(p->cfg->ir_prefix)), "ir_module"));
  return noted(p, m, TN_DOC(ClassDoc, .name = id, .decorators = decorators, .body = stmts));
}
