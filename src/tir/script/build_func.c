/* Functions of scripts: parameters, types, body. */
#include <string.h>

#include "ir/module.h"
#include "tir/analysis.h"
#include "tir/script/build_impl.h"

/* ---- types ---- */

static tn_Type *prim_type(tn_dtype t) { return (tn_Type *)TN_NEW(PrimType, .dtype = t); }

static tn_Type *type_of_name(builder *b, const ast *n, const char *name) {
  tn_dtype t;
  if (!*name)
    return (void)ast_error(b->src, n, "expected a type such as T.int32 or T.handle"), NULL;
  if (strcmp(name, "boolean") == 0) return prim_type(TN_BOOL1);
  if (strcmp(name, "Ptr") == 0 || strcmp(name, "ptr") == 0) return prim_type(TN_HANDLE);
  if (tn_dtype_parse(name, strlen(name), &t) == 0) return prim_type(t);
  tn_error_clear();
  return (void)ast_error(b->src, n, "T.%s is not a type", name), NULL;
}

/* T.Ptr[T.float32, "global"] */
static tn_Type *pointer_type(builder *b, const ast *n) {
  tn_Type *element = eval_type(b, n->items.items[0]);
  const char *scope = element && n->items.n > 1 ? eval_text(b, n->items.items[1]) : "global";
  return element && scope ? (tn_Type *)TN_NEW(PointerType, .element_type = element,
                                              .storage_scope = tn_str_from(scope))
                          : NULL;
}

tn_Type *eval_type(builder *b, const ast *n) {
  val v;
  if (!n) return TN_RAISEP(DiagnosticError, NULL, "%s: a type is missing", b->src->file);
  const char *name = n->kind == AST_INDEX  ? t_name(b, n->a)
                     : n->kind == AST_CALL ? t_name(b, n)
                                           : NULL;
  if (name && (!strcmp(name, "Ptr") || !strcmp(name, "ptr"))) return pointer_type(b, n);
  if (n->kind == AST_CONST && !strcmp(n->text, "None"))
    return (tn_Type *)TN_NEW(TupleType, .fields = tn_arr_of(0));
  if (eval(b, n, &v)) return NULL;
  if (v.kind == VAL_T) return type_of_name(b, n, v.name);
  const char *text;
  tn_dtype t;
  if (v.kind == VAL_PLAIN && v.v.type_index == TN_TI_String && tn_any_to_cstr(&v.v, &text) == 0 &&
      tn_dtype_parse(text, strlen(text), &t) == 0)
    return prim_type(t);
  tn_error_clear();
  tn_obj *o = val_obj(&v);
  if (o && TN_IS(Type, o)) return (tn_Type *)o;
  /* T.handle("float32") makes a variable: its type is meant */
  if (o && TN_IS(Var, o))
    return ((tn_Var *)o)->type_annotation ? ((tn_Var *)o)->type_annotation
                                          : prim_type(((tn_Var *)o)->dtype);
  return (void)ast_error(b->src, n, "expected a type such as T.int32 or T.handle"), NULL;
}

/* ---- parameters ---- */

static const ast *buffer_annotation(builder *b, const ast *n) {
  const char *name = n && (n->kind == AST_CALL || n->kind == AST_INDEX)
                         ? t_name(b, n->kind == AST_INDEX ? n->a : n)
                         : NULL;
  return name && !strcmp(name, "Buffer") ? n : NULL;
}

/* A: T.Buffer((16,), "float32") is a handle and the buffer it points to */
static int add_buffer_param(builder *b, const ast *param, const ast *annotation) {
  ast call = *annotation;
  call.kind = AST_CALL; /* T.Buffer[(16,), "float32"] means the same */
  tn_Buffer *buf = eval_buffer(b, &call, 0, param->text);
  tn_str *name = tn_str_fmt("%s_handle", param->text);
  tn_Var *handle = buf && name ? tir_var(name->data, TN_HANDLE) : NULL;
  if (!handle || bind_name(b, param->text, PLAIN_OBJ(buf)) ||
      tn_vec_push_obj(&b->func->params, handle))
    return -1;
  b->func->buffer_map = tn_map_with(b->func->buffer_map, tn_any_obj(handle), tn_any_obj(buf));
  return b->func->buffer_map ? 0 : -1;
}

/* n: T.int32(is_size_var=True) */
static bool is_size_var(builder *b, const ast *annotation) {
  val v;
  if (annotation->kind != AST_CALL || !arg_of(annotation, -1, "is_size_var")) return false;
  return eval(b, annotation, &v) == 0 && TN_AS(SizeVar, val_obj(&v));
}

static int add_param(builder *b, const ast *param) {
  const ast *annotation = param->a;
  if (param->flag) return ast_error(b->src, param, "a tensor program has no variable arguments");
  if (param->b)
    return ast_error(b->src, param->b,
                     "parameter %s: a tensor program has no default values; callers give every "
                     "argument",
                     param->text);
  if (!annotation)
    return ast_error(b->src, param, "parameter %s: expected a type, T.handle or T.Buffer(...)",
                     param->text);
  if (buffer_annotation(b, annotation)) return add_buffer_param(b, param, annotation);
  val v;
  /* an annotation made by Python may be a buffer or variable already */
  if (annotation->kind != AST_CALL && annotation->kind != AST_INDEX &&
      eval(b, annotation, &v) == 0 && TN_AS(Buffer, val_obj(&v))) {
    tn_Var *handle = tir_var(tn_cstr(tn_str_fmt("%s_handle", param->text)), TN_HANDLE);
    if (!handle || bind_name(b, param->text, v) || tn_vec_push_obj(&b->func->params, handle))
      return -1;
    return (b->func->buffer_map = tn_map_with(b->func->buffer_map, tn_any_obj(handle), v.v)) ? 0
                                                                                             : -1;
  }
  tn_error_clear();
  tn_Type *type = eval_type(b, annotation);
  if (!type) return -1;
  tn_str *name = tn_str_from(param->text);
  tn_Var *var = is_size_var(b, annotation)
                    ? (tn_Var *)TN_MAKE(SizeVar, .name = name, .type_annotation = type)
                    : TN_MAKE(Var, .name = name, .type_annotation = type);
  return !var || bind_name(b, param->text, PLAIN_OBJ(var)) ? -1
                                                           : tn_vec_push_obj(&b->func->params, var);
}

static tn_Type *param_type(builder *b, const ast *param) {
  tn_Type *t = !param->a || buffer_annotation(b, param->a) ? NULL : eval_type(b, param->a);
  tn_error_clear(); /* it is shown when the function itself is read */
  return t ? t : prim_type(TN_HANDLE);
}

tn_Type *signature_of(builder *b, const ast *def) {
  TN_VEC(types);
  tn_Type *ret =
      def->b ? eval_type(b, def->b) : (tn_Type *)TN_NEW(TupleType, .fields = tn_arr_of(0));
  if (!ret) return tn_error_clear(), NULL;
  for (int i = 0; i < def->items.n; ++i)
    TN_TRYP(tn_vec_push_obj(&types, param_type(b, def->items.items[i])));
  tn_arr *args = tn_arr_from(&types), *none = tn_arr_of(0);
  return (tn_Type *)TN_NEW(FuncType, .arg_types = args, .ret_type = ret, .type_params = none,
                           .type_constraints = none);
}

/* ---- the function ---- */

static bool is_private(builder *b, const ast *def) {
  for (int i = 0; i < def->decorators.n; ++i) {
    const ast *d = def->decorators.items[i],
              *flag = d->kind == AST_CALL ? arg_of(d, -1, "private") : NULL;
    val v;
    if (flag && eval(b, flag, &v) == 0 && v.kind == VAL_PLAIN && v.v.type_index == TN_BOOL &&
        v.v.v.i64)
      return true;
  }
  tn_error_clear();
  return false;
}

/* The block that is the whole function is opaque like one that is added unless it tells what it
   accesses: what its blocks access is inside. */
static tn_stmt *without_regions(const func_info *f, tn_stmt *all) {
  const tn_BlockRealize *r = TN_AS(BlockRealize, all);
  if (!r || r->block != f->untold || r->block->iter_vars->len) return all;
  tn_Block block = *r->block;
  tn_BlockRealize copy = *r;
  block.reads = block.writes = tn_arr_of(0);
  if (!block.reads || !(copy.block = tn_node_copy(&tn_type_Block, &block))) return NULL;
  return (tn_stmt *)tn_node_copy(&tn_type_BlockRealize, &copy);
}

static tn_PrimFunc *finish(builder *b, const ast *def, tn_stmt *inner) {
  func_info *f = b->func;
  tn_stmt *all = inner ? tir_with_root_block(inner, &f->root_alloc) : NULL;
  if (all && all == inner && !(all = without_regions(f, all))) return NULL;
  bool named = f->attrs && tn_map_find(f->attrs, "global_symbol"), hidden = is_private(b, def);
  if (named && hidden)
    return (void)ast_error(b->src, def,
                           "a private function cannot have a global_symbol: leave out private=True "
                           "or the attribute"),
           NULL;
  if (all && !named && !hidden) {
    tn_str *name = f->name ? f->name : tn_str_from(def->text);
    f->attrs = name ? tn_map_with(f->attrs, tn_any_cstr("global_symbol"), tn_any_obj(name)) : NULL;
    if (!f->attrs) return NULL;
  }
  tn_map *buffers = f->buffer_map ? f->buffer_map : tn_scope_own(tn_map_new());
  tn_arr *params = tn_arr_from(&f->params);
  if (!all) return NULL;
  return TN_MAKE(PrimFunc, .params = params, .buffer_map = buffers, .body = all,
                 .ret_type = f->ret_type, .attrs = ir_attrs_new(f->attrs));
}

static tn_PrimFunc *build_in(builder *b, const ast *def) {
  if (!open_body(b)) return NULL;
  for (int i = 0; i < def->items.n; ++i) {
    const ast *param = def->items.items[i];
    for (int j = 0; j < i; ++j)
      if (strcmp(def->items.items[j]->text, param->text) == 0)
        return (void)ast_error(b->src, param, "parameter %s is there twice", param->text), NULL;
    TN_TRYP(add_param(b, param));
  }
  if (def->b && !(b->func->ret_type = eval_type(b, def->b))) return NULL;
  if (build_stmts(b, def->body) || args_are_seen(b, def->body)) return NULL;
  return finish(b, def, close_body(b));
}

tn_PrimFunc *build_func(builder *b, const ast *def) {
  func_info info = {0}, *outer = b->func;
  block_info *outer_block = b->block;
  b->func = &info;
  b->block = NULL;
  tn_PrimFunc *f = build_in(b, def);
  tn_vec_fini(&info.params);
  tn_vec_fini(&info.root_alloc);
  b->func = outer;
  if (f) b->block = outer_block;
  return f;
}
