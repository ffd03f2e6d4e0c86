/* Statements of scripts: assignments, loops, conditions, stores. */
#include <string.h>

#include "arith/analyzer.h"
#include "tenon/object.h"
#include "tir/script/build_impl.h"
#include "tir/script/op_names.h"

/* ---- names ---- */

const char *t_name(builder *b, const ast *n) {
  const ast *f = n->kind == AST_CALL ? n->a : n, *root = f;
  val v;
  while (root->kind == AST_ATTR) root = root->a;
  if (f->kind != AST_ATTR || root->kind != AST_NAME) return NULL;
  if (find_name(b, root->text, &v) && v.kind != VAL_T) return NULL;
  if (eval(b, f, &v)) return tn_error_clear(), NULL;
  return v.kind == VAL_T ? v.name : NULL;
}

static tn_str *name_of(const ast *target) {
  return tn_str_from(target->kind == AST_NAME ? target->text : "v");
}

/* A value bound to a name gives the name to variables and buffers that were made without one. */
static int give_name(tn_obj *o, const ast *target) {
  const tn_field *f = TN_AS(Var, o) || TN_AS(SizeVar, o) ? tn_type_field(&tn_type_Var, "name")
                      : TN_AS(Buffer, o)                 ? tn_type_field(&tn_type_Buffer, "name")
                                                         : NULL;
  tn_str *name = f ? name_of(target) : NULL;
  tn_any value = tn_any_obj(name);
  if (!f) return 0;
  return name ? tn_field_set(o, f, &value) : -1;
}

int bind_target(builder *b, const ast *target, val v) {
  if (target->kind == AST_NAME) return bind_name(b, target->text, v);
  if (target->kind != AST_TUPLE && target->kind != AST_LIST)
    return ast_error(b->src, target, "expected a name");
  const tn_arr *items =
      v.kind == VAL_PLAIN && v.v.type_index == TN_TI_Array ? (tn_arr *)v.v.v.obj : NULL;
  if (!items || items->len != target->items.n)
    return ast_error(b->src, target, "expected %d values to unpack, got %lld", target->items.n,
                     items ? (long long)items->len : 1);
  for (int i = 0; i < target->items.n; ++i)
    TN_TRY(bind_target(b, target->items.items[i], PLAIN(items->items[i])));
  return 0;
}

int bind_var(builder *b, const ast *target, tn_Var **out, tn_dtype t) {
  tn_obj *known = declared_as(b, target);
  if (target->kind != AST_NAME) return ast_error(b->src, target, "expected a name");
  bool same = known && TN_IS(Var, known) && tn_dtype_eq(((const tn_Var *)known)->dtype, t);
  *out = same ? (tn_Var *)known : tir_var(target->text, t);
  return *out ? bind_name(b, target->text, PLAIN_OBJ(*out)) : -1;
}

tn_obj *declared_as(const builder *b, const ast *target) {
  val v;
  if (!target || target->kind != AST_NAME || !find_name(b, target->text, &v)) return NULL;
  tn_obj *o = val_obj(&v);
  return o && tn_pmap_get_int(&b->declared, o, 0) ? o : NULL;
}

tn_Var *bound_pointer(const builder *b, const ast *target, const char *other, tn_dtype element,
                      const char *scope) {
  tn_Var *known = (tn_Var *)declared_as(b, target);
  if (TN_IS(Var, known) && tn_dtype_eq(known->dtype, TN_HANDLE)) return known;
  return tir_pointer_var(target && target->kind == AST_NAME ? target->text : other, element, scope);
}

/* ---- assignment ---- */

/* x: T.int32 = e binds a variable of that type over what follows */
static int build_let(builder *b, const ast *at, const ast *target, tn_Type *type, tn_expr *value) {
  const tn_PrimType *prim = TN_AS(PrimType, type);
  const tn_PointerType *ptr = TN_AS(PointerType, type);
  tn_Var *v;
  if (prim && !tn_dtype_eq(prim->dtype, value->dtype) &&
      !(value = tir_cast(prim->dtype, value, NULL)))
    return place_error(b, at);
  if (target->kind != AST_NAME) return ast_error(b->src, target, "expected a name");
  tn_Var *known = (tn_Var *)declared_as(b, target);
  if (type && TN_IS(Var, known) && tn_dtype_eq(known->dtype, value->dtype)) {
    v = known; /* x = T.int32() above, x: T.int32 = value here */
    TN_TRY(tn_pmap_put_int(&b->declared, v, 0));
  } else if (ptr)
    v = TN_NEW(Var, .dtype = TN_HANDLE, .name = name_of(target), .type_annotation = type);
  else v = tir_var(target->text, value->dtype);
  if (!v || bind_name(b, target->text, PLAIN_OBJ(v))) return -1;
  return add_wrap(b, (tn_stmt *)TN_MAKE(LetStmt, .var = v, .value = value, .body = tir_nop()));
}

static int assign_value(builder *b, const ast *at, const ast *target, val v) {
  if (v.kind != VAL_PLAIN || target->kind == AST_TUPLE) return bind_target(b, target, v);
  tn_obj *o = val_obj(&v);
  bool fresh = o && (TN_IS(Var, o) || TN_AS(Buffer, o) || TN_AS(IterVar, o));
  /* `j = i` binds another variable to the value of i */
  if (fresh && TN_IS(Var, o) && at->a->kind == AST_NAME)
    return build_let(b, at, target, NULL, (tn_expr *)o);
  if (fresh) {
    if (tn_use_count(o) <= 2)
      TN_TRY(give_name(o, target)); /* just made: held by the scope (and its maker) only */
    return bind_target(b, target, v);
  }
  bool meta = o && !TN_IS(PrimExpr, o) && o->type_index != TN_TI_BufferRegion;
  if (meta || v.v.type_index == TN_NONE) return bind_target(b, target, v);
  tn_expr *value = to_expr(b, at, &v);
  return value ? build_let(b, at, target, NULL, value) : -1;
}

static bool is_meta(builder *b, const ast *n) {
  const char *name = n->kind == AST_CALL ? t_name(b, n) : NULL;
  return name && strcmp(name, "meta_var") == 0;
}

int build_store(builder *b, const ast *at, const ast *target, tn_expr *value) {
  val base;
  TN_TRY(eval(b, target->a, &base));
  tn_Buffer *buf = TN_AS(Buffer, val_obj(&base));
  if (base.kind != VAL_PLAIN || !tn_any_is_obj(&base.v) || !buf)
    return ast_error(b->src, target->a, "expected a buffer");
  tn_arr *indices = eval_indices(b, target);
  if (!indices) return -1;
  tn_expr *last = indices->len ? (tn_expr *)tn_arr_obj(indices, indices->len - 1) : NULL;
  tn_dtype want = tn_dtype_of(buf->dtype.code, buf->dtype.bits,
                              buf->dtype.lanes * (last ? last->dtype.lanes : 1));
  if (!tn_dtype_eq(value->dtype, want)) {
    tn_expr *same =
        value->dtype.lanes == 1 && want.lanes > 1 ? tir_broadcast(value, want.lanes, NULL) : value;
    if (!same || !(value = tir_cast(want, same, NULL))) return place_error(b, at);
  }
  return add_stmt(b, tir_store(buf, value, indices)) ? place_error(b, at) : 0;
}

static int build_assign(builder *b, const ast *n) {
  for (int i = 0; i < n->items.n; ++i) {
    const ast *target = n->items.items[i];
    val v;
    if (target->kind == AST_INDEX) {
      tn_expr *value = eval_expr(b, n->a);
      if (!value || build_store(b, n, target, value)) return -1;
      continue;
    }
    const char *name = t_name(b, n->a);
    int r = name && n->a->kind == AST_CALL ? build_binding(b, target, n->a, name) : 1;
    if (r < 0) return -1;
    if (r == 0) continue;
    TN_TRY(eval(b, n->a, &v));
    TN_TRY(is_meta(b, n->a) ? bind_target(b, target, v) : assign_value(b, n, target, v));
  }
  return 0;
}

static int build_augmented(builder *b, const ast *n) {
  ast op = *n;
  op.kind = AST_BINARY;
  tn_expr *value = eval_expr(b, &op);
  if (!value) return -1;
  if (n->a->kind != AST_INDEX)
    return ast_error(b->src, n->a, "only elements of buffers can be updated in place");
  return build_store(b, n, n->a, value);
}

static int build_annotated(builder *b, const ast *n) {
  tn_Type *type = eval_type(b, n->b);
  if (!type) return -1;
  if (!n->c) return ast_error(b->src, n, "expected a value");
  const char *name = t_name(b, n->c);
  int r = name && n->c->kind == AST_CALL ? build_binding(b, n->a, n->c, name) : 1;
  if (r <= 0) return r;
  tn_expr *value = eval_expr(b, n->c);
  return value ? build_let(b, n, n->a, type, value) : -1;
}

/* ---- conditions ---- */

static tn_stmt *body_of(builder *b, ast_list stmts) {
  if (!open_body(b) || build_stmts(b, stmts)) return NULL;
  return close_body(b);
}

static int build_if(builder *b, const ast *n) {
  val c;
  int64_t known;
  TN_TRY(eval(b, n->a, &c));
  bool plain = c.kind == VAL_PLAIN &&
               (c.v.type_index == TN_INT || c.v.type_index == TN_BOOL || c.v.type_index == TN_NONE);
  if (plain) { /* known while parsing: only one side is part of the program */
    known = c.v.type_index != TN_NONE && c.v.v.i64;
    return build_stmts(b, known ? n->body : n->orelse);
  }
  tn_expr *cond = to_expr(b, n->a, &c);
  if (cond && ir_is_integral(cond->dtype) && !ir_is_bool(cond->dtype))
    cond = tir_ne(cond, tir_zero(cond->dtype));
  tn_stmt *then_ = cond ? body_of(b, n->body) : NULL,
          *else_ = then_ && n->orelse.n ? body_of(b, n->orelse) : NULL;
  if (!then_ || (n->orelse.n && !else_)) return -1;
  return add_stmt(b, (tn_stmt *)TN_MAKE(IfThenElse, .condition = cond, .then_case = then_,
                                        .else_case = else_))
             ? place_error(b, n->a)
             : 0;
}

static int build_while(builder *b, const ast *n) {
  tn_expr *cond = eval_expr(b, n->a);
  tn_stmt *inner = cond ? body_of(b, n->body) : NULL;
  return inner && add_stmt(b, (tn_stmt *)TN_MAKE(While, .condition = cond, .body = inner)) == 0
             ? 0
             : place_error(b, n->a);
}

static int build_assert(builder *b, const ast *n) {
  tn_expr *cond = eval_expr(b, n->a), *msg = cond && n->b ? eval_expr(b, n->b) : tir_str("");
  return cond && msg ? add_wrap(b, (tn_stmt *)TN_MAKE(AssertStmt, .condition = cond, .message = msg,
                                                      .body = tir_nop()))
                     : -1;
}

/* ---- loops ---- */

static const struct {
  const char *name;
  tir_for_kind kind;
} loop_kinds[] = {{"serial", TIR_FOR_SERIAL},
                  {"parallel", TIR_FOR_PARALLEL},
                  {"vectorized", TIR_FOR_VECTORIZED},
                  {"unroll", TIR_FOR_UNROLLED},
                  {"thread_binding", TIR_FOR_THREAD_BINDING}};

static tn_stmt *make_loop(tn_Var *v, tn_expr *min, tn_expr *extent, tir_for_kind kind,
                          tn_stmt *inner, tn_IterVar *thread, tn_map *ann) {
  if (!ann) ann = tn_scope_own(tn_map_new());
  return inner ? (tn_stmt *)TN_MAKE(For, .loop_var = v, .min = min, .extent = extent,
                                    .kind = (int32_t)kind, .body = inner, .thread_binding = thread,
                                    .annotations = ann)
               : NULL;
}

/* The domain of a loop variable, for T.axis.remap. */
static int note_loop(builder *b, tn_Var *v, tn_expr *min, tn_expr *extent) {
  tn_Range *r = tir_range(min, extent);
  return r ? tn_pmap_put(&b->loops, v, r) : -1;
}

/* Loop variables from..to, named after the target: i_0, i_1, ... where one name takes them all. */
static int bind_grid_vars(builder *b, const ast *target, const tn_vec *extents, int64_t from,
                          int64_t to, bool many, tn_vec *vars) {
  TN_VEC(bound);
  if (target->kind != AST_NAME) return ast_error(b->src, target, "expected a name");
  for (int64_t i = from; i < to; ++i) {
    tn_expr *extent = (tn_expr *)extents->items[i].v.obj;
    tn_str *name = many ? tn_str_fmt("%s_%lld", target->text, (long long)(i - from)) : NULL;
    tn_Var *v = name ? tir_var(name->data, extent->dtype) : NULL;
    if (!many) TN_TRY(bind_var(b, target, &v, extent->dtype));
    if (!v || tn_vec_push_obj(vars, v) || tn_vec_push_obj(&bound, v)) return -1;
    TN_TRY(note_loop(b, v, tir_zero(extent->dtype), extent));
  }
  if (!many) return 0;
  tn_arr *all = tn_arr_from(&bound);
  return all ? bind_name(b, target->text, PLAIN_OBJ(all)) : -1;
}

/* Names to extents: one each, the starred one the rest; a single name for several takes all. */
static int bind_grid(builder *b, const ast *target, const tn_vec *extents, tn_vec *vars) {
  ast_list one = {(ast *[]){(ast *)(uintptr_t)target}, 1};
  ast_list names = target->kind == AST_TUPLE || target->kind == AST_LIST ? target->items : one;
  int starred = 0;
  for (int i = 0; i < names.n; ++i) starred += names.items[i]->kind == AST_STARRED;
  bool all = target->kind == AST_NAME && extents->len != 1;
  int64_t rest = extents->len - (names.n - starred), at = 0;
  if (!all && (starred > 1 || rest < 0 || (!starred && rest != 0)))
    return ast_error(b->src, target, "T.grid of %lld extents needs %lld loop variables, got %d",
                     (long long)extents->len, (long long)extents->len, names.n);
  if (all) return bind_grid_vars(b, target, extents, 0, extents->len, true, vars);
  for (int i = 0; i < names.n; ++i) {
    bool star = names.items[i]->kind == AST_STARRED;
    int64_t next = at + (star ? rest : 1);
    TN_TRY(bind_grid_vars(b, star ? names.items[i]->a : names.items[i], extents, at, next, star,
                          vars));
    at = next;
  }
  return 0;
}

/* for i, j in T.grid(m, n) */
static int build_grid(builder *b, const ast *n) {
  TN_VEC(given);
  TN_VEC(extents);
  TN_VEC(vars);
  TN_TRY(eval_args(b, n->b, &given));
  for (int64_t i = 0; i < given.len; ++i) {
    val e = PLAIN(given.items[i]);
    tn_expr *extent = to_expr(b, n->b, &e);
    if (!extent || tn_vec_push_obj(&extents, extent)) return -1;
  }
  if (!open_body(b) || bind_grid(b, n->a, &extents, &vars)) return -1;
  tn_stmt *s = build_stmts(b, n->body) ? NULL : close_body(b);
  for (int64_t i = extents.len; i-- > 0 && s;) {
    tn_expr *extent = (tn_expr *)extents.items[i].v.obj;
    s = make_loop((tn_Var *)vars.items[i].v.obj, tir_zero(extent->dtype), extent, TIR_FOR_SERIAL, s,
                  NULL, NULL);
    if (s && place_stmt(b, s)) return -1;
  }
  return s ? add_stmt(b, s) : -1;
}

static tn_IterVar *thread_of(builder *b, const ast *call, const ast *thread,
                             const tn_expr *extent) {
  const char *tag = thread ? eval_text(b, thread) : NULL;
  if (!thread)
    return (void)ast_error(b->src, call,
                           "T.thread_binding: thread is missing, \"threadIdx.x\" for example"),
           NULL;
  return tag ? TN_NEW(IterVar, .dom = NULL, .var = tir_var("iter", extent->dtype),
                      .iter_type = IR_ITER_THREAD_INDEX, .thread_tag = tn_str_from(tag))
             : NULL;
}

tn_expr *script_loop_extent(tn_expr *begin, tn_expr *end) {
  TN_ARITH(a);
  const tn_Add *sum = TN_AS(Add, end);
  if (sum && tn_equal(sum->a, begin, 0) == 1) return sum->b;
  tn_expr *extent = tir_sub(end, begin);
  return extent ? arith_simplify(&a, extent) : NULL;
}

tn_Range *script_range(tn_expr *begin, tn_expr *end) {
  TN_TRYP(tir_match_types(&begin, &end, NULL));
  tn_expr *extent = script_loop_extent(begin, end);
  return extent ? tir_range(begin, extent) : NULL;
}

static int build_kind_loop(builder *b, const ast *n, tir_for_kind kind) {
  const ast *first = arg_of(n->b, 0, "start"), *second = arg_of(n->b, 1, "stop"),
            *ann = arg_of(n->b, -1, "annotations"), *thread_arg = NULL;
  val notes = {0};
  tn_Var *v;
  if (!first) return ast_error(b->src, n->b, "the loop has no extent");
  if (kind == TIR_FOR_THREAD_BINDING && !(thread_arg = arg_of(n->b, 2, "thread"))) {
    thread_arg = second; /* the extent, then the thread */
    second = NULL;
  }
  tn_expr *from = eval_expr(b, first), *to = from && second ? eval_expr(b, second) : NULL;
  if (!from || (second && !to)) return -1;
  if (second && tir_match_types(&from, &to, NULL)) return place_error(b, n->b);
  tn_expr *min = second ? from : tir_zero(from->dtype),
          *extent = second ? script_loop_extent(from, to) : from;
  if (ann && (eval(b, ann, &notes) || notes.v.type_index != TN_TI_Map))
    return ast_error(b->src, ann, "annotations: expected a dictionary");
  tn_IterVar *thread =
      kind == TIR_FOR_THREAD_BINDING ? thread_of(b, n->b, thread_arg, extent) : NULL;
  if (!extent || (kind == TIR_FOR_THREAD_BINDING && !thread) || !open_body(b)) return -1;
  if (bind_var(b, n->a, &v, extent->dtype) || note_loop(b, v, min, extent) ||
      build_stmts(b, n->body))
    return -1;
  tn_stmt *loop =
      make_loop(v, min, extent, kind, close_body(b), thread, ann ? (tn_map *)notes.v.v.obj : NULL);
  return loop ? add_stmt(b, loop) : place_error(b, n->b);
}

/* for k in [0, 2, 4]: the body once for each value, which is known here. @return 1 when the values
   are not */
static int build_for_each(builder *b, const ast *n) {
  val all;
  if (n->b->kind != AST_LIST && n->b->kind != AST_TUPLE && n->b->kind != AST_NAME &&
      n->b->kind != AST_COMP)
    return 1;
  TN_TRY(eval(b, n->b, &all));
  const tn_arr *items = TN_AS(Array, val_obj(&all));
  if (!items) return 1;
  for (int64_t i = 0; i < items->len; ++i) {
    if (!open_body(b) || bind_target(b, n->a, PLAIN(items->items[i])) || build_stmts(b, n->body))
      return -1;
    tn_stmt *s = close_body(b);
    if (!s || add_stmt(b, s)) return -1;
  }
  return 0;
}

int build_for(builder *b, const ast *n) {
  const char *name = t_name(b, n->b);
  val known;
  bool range = n->b->kind == AST_CALL && n->b->a->kind == AST_NAME &&
               strcmp(n->b->a->text, "range") == 0 && !find_name(b, "range", &known);
  if (range) return build_kind_loop(b, n, TIR_FOR_SERIAL);
  int each = name ? 1 : build_for_each(b, n);
  if (each <= 0) return each;
  if (!name || n->b->kind != AST_CALL)
    return ast_error(b->src, n->b,
                     "expected a loop: range, T.grid, T.serial, T.parallel, T.vectorized, T.unroll "
                     "or T.thread_binding, or a list of values");
  if (strcmp(name, "grid") == 0) return build_grid(b, n);
  for (int i = 0; i < TN_COUNT(loop_kinds); ++i) {
    if (strcmp(loop_kinds[i].name, name) == 0) return build_kind_loop(b, n, loop_kinds[i].kind);
  }
  return ast_error(b->src, n->b,
                   "T.%s is not a loop: expected range, T.grid, T.serial, T.parallel, "
                   "T.vectorized, T.unroll or T.thread_binding",
                   name);
}

/* ---- expression statements ---- */

static int build_expr_stmt(builder *b, const ast *n);

/* T.evaluate(x) if known else T.evaluate(y): one of two statements, when it is known which */
static int build_chosen(builder *b, const ast *n) {
  val c;
  ast chosen = *n;
  TN_TRY(eval(b, n->a->a, &c));
  if (c.kind == VAL_PLAIN && (c.v.type_index == TN_INT || c.v.type_index == TN_BOOL)) {
    chosen.a = c.v.v.i64 ? n->a->b : n->a->c;
    return build_expr_stmt(b, &chosen);
  }
  tn_expr *e = eval_expr(b, n->a);
  return e ? add_stmt(b, (tn_stmt *)TN_NEW(Evaluate, .value = e)) : -1;
}

static int build_expr_stmt(builder *b, const ast *n) {
  const char *name = n->a->kind == AST_CALL ? t_name(b, n->a) : NULL;
  val v;
  if (n->a->kind == AST_STR) return 0; /* documentation */
  if (n->a->kind == AST_IFEXP) return build_chosen(b, n);
  int r = name ? build_call_stmt(b, n->a, name) : n->a->kind == AST_CALL ? build_macro(b, n->a) : 1;
  if (r <= 0) return r;
  TN_TRY(eval(b, n->a, &v));
  if (v.kind == VAL_PLAIN && v.v.type_index == TN_NONE) return 0;
  if (TN_IS(Stmt, val_obj(&v))) return add_stmt(b, (tn_stmt *)v.v.v.obj);
  tn_expr *e = to_expr(b, n->a, &v);
  return e ? add_stmt(b, (tn_stmt *)TN_NEW(Evaluate, .value = e)) : -1;
}

static int build_return(builder *b, const ast *n) {
  tn_expr *e = n->a ? eval_expr(b, n->a) : NULL;
  if (!n->a)
    return ast_error(b->src, n,
                     "a tensor program returns nothing: write T.ret(value) for a number");
  return e ? add_stmt(b, (tn_stmt *)TN_NEW(Evaluate, .value = tir_call(e->dtype, TIR_OP_ret, 1, e)))
           : -1;
}

static int build_any(builder *b, const ast *n) {
  switch (n->kind) {
  case AST_ASSIGN: return build_assign(b, n);
  case AST_AUG: return build_augmented(b, n);
  case AST_ANN: return build_annotated(b, n);
  case AST_EXPR: return build_expr_stmt(b, n);
  case AST_WITH: return build_with(b, n);
  case AST_FOR: return build_for(b, n);
  case AST_WHILE: return build_while(b, n);
  case AST_IF: return build_if(b, n);
  case AST_ASSERT: return build_assert(b, n);
  case AST_RETURN: return build_return(b, n);
  case AST_PASS:
  case AST_IMPORT: return 0;
  default: return ast_error(b->src, n, "this statement has no meaning in a tensor program");
  }
}

/* What no expression of the statement is blamed for is blamed on the statement. */
int build_stmt(builder *b, const ast *n) {
  const ast *outer = b->stmt;
  b->stmt = n;
  int err = build_any(b, n) ? place_error(b, n) : 0;
  b->stmt = outer;
  return err;
}

int build_stmts(builder *b, ast_list stmts) {
  for (int i = 0; i < stmts.n; ++i) {
    if (++b->depth > BUILD_DEPTH_MAX)
      return ast_error(b->src, stmts.items[i], "the program is nested too deeply");
    TN_TRY(one_step(b, stmts.items[i]));
    TN_TRY(build_stmt(b, stmts.items[i]));
    b->depth--;
  }
  return 0;
}
