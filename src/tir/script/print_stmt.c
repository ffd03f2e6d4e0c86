/* Statements in TVMScript. A binding whose statement is the last of its body needs no `with`: what
   follows it is its body (frame.concise). */
#include <string.h>

#include "arith/analyzer.h"
#include "ir/expr.h"
#include "tenon/object.h"
#include "tenon/runtime.h"
#include "tir/script/build.h"
#include "tir/script/printer_impl.h"

int print_body(printer *p, frame *f, const tn_obj *stmt) {
  const tn_SeqStmt *seq = TN_AS(SeqStmt, stmt);
  if (!seq) {
    f->concise = true;
    return print_stmt(p, stmt);
  }
  for (int64_t i = 0; i < seq->seq->len; ++i) {
    f->concise = i + 1 == seq->seq->len;
    TN_TRY(print_stmt(p, tn_arr_obj(seq->seq, i)));
  }
  return 0;
}

/* The statements of `stmt` printed in its own frame. */
static tn_arr *body_in_frame(printer *p, const tn_obj *node, const tn_obj *stmt) {
  frame *f;
  if (!(f = open_frame(p, node))) return NULL;
  tn_arr *stmts = print_body(p, f, stmt) ? NULL : frame_stmts(f);
  close_frame(p, f);
  return stmts;
}

/* `with rhs[ as var]:` around body; or, concise, `statement` and body below it */
static int scope_or_concise(printer *p, const tn_obj *node, tn_StmtDoc *concise_stmt,
                            tn_ExprDoc *rhs, const tn_obj *body) {
  if (p->top->concise) {
    if (emit(p, noted(p, node, concise_stmt))) return -1;
    return print_body(p, p->top, body);
  }
  tn_arr *stmts = rhs ? body_in_frame(p, node, body) : NULL;
  return emit(p, noted(p, node, TN_DOC(ScopeDoc, .rhs = rhs, .body = stmts)));
}

/* A statement that binds obj: `obj = rhs` and body below, or `with rhs as obj:`. The name is
 * visible in body only. */
static int bind(printer *p, const tn_obj *node, const void *obj, const char *hint,
                tn_ExprDoc *concise_rhs, tn_ExprDoc *annotation, tn_ExprDoc *scope_rhs,
                const tn_obj *body) {
  if (!concise_rhs || !scope_rhs) return -1;
  if (p->top->concise) {
    tn_ExprDoc *lhs = bound_name(p, p->top, obj, hint);
    if (emit(p, noted(p, node,
                      TN_DOC(AssignDoc, .lhs = lhs, .rhs = concise_rhs, .annotation = annotation))))
      return -1;
    return print_body(p, p->top, body);
  }
  frame *f;
  TN_TRY(!(f = open_frame(p, node)));
  tn_ExprDoc *lhs = bound_name(p, f, obj, hint);
  tn_arr *stmts = !lhs || print_body(p, f, body) ? NULL : frame_stmts(f);
  close_frame(p, f);
  return emit(p, noted(p, node, TN_DOC(ScopeDoc, .lhs = lhs, .rhs = scope_rhs, .body = stmts)));
}

/* ---- loops ---- */

typedef struct {
  const tn_obj *vars[64];
  int n;
} loop_vars;

static int uses_loop_var(void *ctx, tn_obj *e) {
  const loop_vars *l = ctx;
  for (int i = 0; i < l->n; ++i) {
    if (l->vars[i] == e) return 1;
  }
  return tn_visit_children(e, uses_loop_var, ctx);
}

/* The loops from `loop` inwards that T.grid can stand for. */
static int grid_of(const tn_For *loop, const tn_For **out) {
  loop_vars seen = {0};
  int n = 0;
  for (const tn_For *l = loop; l && n < 64; l = TN_AS(For, l->body)) {
    bool plain = l->kind == TIR_FOR_SERIAL && tir_is_zero(l->min) && l->annotations->len == 0 &&
                 !l->thread_binding;
    if (!plain || uses_loop_var(&seen, (tn_obj *)l->extent)) break;
    seen.vars[seen.n++] = (const tn_obj *)l->loop_var;
    out[n++] = l;
  }
  return n;
}

static int finish_loop(printer *p, frame *f, const tn_For *loop, tn_ExprDoc *lhs, tn_ExprDoc *rhs,
                       const tn_For *const *loops, int n) {
  for (int i = 0; i < n; ++i) TN_TRY(tn_pmap_put(&p->loops, loops[i]->loop_var, loops[i]));
  tn_arr *stmts = lhs && rhs && print_body(p, f, (const tn_obj *)loops[n - 1]->body) == 0
                      ? frame_stmts(f)
                      : NULL;
  for (int i = 0; i < n; ++i) TN_TRY(tn_pmap_put(&p->loops, loops[i]->loop_var, NULL));
  close_frame(p, f);
  return emit(p, noted(p, loop, TN_DOC(ForDoc, .lhs = lhs, .rhs = rhs, .body = stmts)));
}

static int print_grid(printer *p, const tn_For *const *loops, int n) {
  TN_VEC(names);
  TN_VEC(extents);
  frame *f;
  for (int i = 0; i < n; ++i) TN_TRY(tn_vec_push_obj(&extents, print_expr(p, loops[i]->extent)));
  TN_TRY(!(f = open_frame(p, (const tn_obj *)loops[0])));
  f->loops = loops;
  f->nloops = n;
  for (int i = 0; i < n; ++i)
    TN_TRY(tn_vec_push_obj(
        &names, bound_name(p, f, loops[i]->loop_var, tn_cstr(loops[i]->loop_var->name))));
  return finish_loop(p, f, loops[0], tuple_doc(&names), call_doc(tir_doc(p, "grid"), &extents),
                     loops, n);
}

static tn_ExprDoc *loop_kind(printer *p, const tn_For *l) {
  static const char *const names[] = {"serial", "parallel", "vectorized", "unroll",
                                      "thread_binding"};
  if (l->kind == TIR_FOR_SERIAL && l->annotations->len == 0) return id_doc("range");
  TN_CHECKP(l->kind >= 0 && l->kind < TN_COUNT(names), ValueError, l->span,
            "tir.For.kind: %d is not a kind of loop", l->kind);
  return tir_doc(p, names[l->kind]);
}

/* The end of a loop that begins above 0, such that the extent is read back as it is. */
static tn_expr *loop_end(const tn_For *l) {
  TN_ARITH(a);
  tn_expr *sum = tir_add(l->min, l->extent), *tries[] = {NULL, sum};
  TN_GETP(tries[0], sum ? arith_simplify(&a, sum) : NULL);
  for (int i = 0; i < TN_COUNT(tries); ++i) {
    const tn_expr *again;
    TN_GETP(again, script_loop_extent(l->min, tries[i]));
    if (tn_equal(again, l->extent, 0) == 1) return tries[i];
  }
  return (tn_expr *)TN_NEW(Add, .dtype = sum->dtype, .a = l->min, .b = l->extent);
}

static int print_for(printer *p, const tn_For *l) {
  const tn_For *loops[64];
  int n = p->cfg->syntax_sugar ? grid_of(l, loops) : 0;
  if (n > 1) return print_grid(p, loops, n);
  TN_VEC(args);
  TN_VEC(keys);
  TN_VEC(values);
  if (!tir_is_zero(l->min)) TN_TRY(tn_vec_push_obj(&args, print_expr(p, l->min)));
  const tn_expr *end = tir_is_zero(l->min) ? l->extent : loop_end(l);
  TN_TRY(!end || tn_vec_push_obj(&args, print_expr(p, end)));
  if (l->thread_binding) {
    TN_TRY(tn_vec_push_obj(&keys, tn_str_from("thread")));
    TN_TRY(tn_vec_push_obj(&values, str_doc(tn_cstr(l->thread_binding->thread_tag))));
  }
  if (l->annotations->len) {
    TN_TRY(tn_vec_push_obj(&keys, tn_str_from("annotations")));
    TN_TRY(tn_vec_push_obj(&values, print_expr(p, l->annotations)));
  }
  tn_ExprDoc *rhs = call_kw_doc(loop_kind(p, l), &args, &keys, &values);
  frame *f;
  TN_TRY(!(f = open_frame(p, (const tn_obj *)l)));
  return finish_loop(p, f, l, bound_name(p, f, l->loop_var, tn_cstr(l->loop_var->name)), rhs, &l,
                     1);
}

static int print_while(printer *p, const tn_While *s) {
  tn_ExprDoc *cond = print_expr(p, s->condition);
  tn_arr *body = cond ? body_in_frame(p, (const tn_obj *)s, (const tn_obj *)s->body) : NULL;
  return emit(p, noted(p, s, TN_DOC(WhileDoc, .predicate = cond, .body = body)));
}

/* ---- conditions ---- */

static int print_if(printer *p, const tn_IfThenElse *s) {
  tn_ExprDoc *cond = print_expr(p, s->condition);
  const tn_obj *yes = (const tn_obj *)s->then_case, *no = (const tn_obj *)s->else_case;
  tn_arr *then_ = cond ? body_in_frame(p, yes, yes) : NULL;
  tn_arr *else_ = !then_ || !no ? no_paths() : body_in_frame(p, no, no);
  return emit(
      p, noted(p, s, TN_DOC(IfDoc, .predicate = cond, .then_branch = then_, .else_branch = else_)));
}

static int print_assert(printer *p, const tn_AssertStmt *s) {
  tn_ExprDoc *cond = print_expr(p, s->condition), *msg = cond ? print_expr(p, s->message) : NULL;
  if (!msg) return -1;
  TN_VEC(args);
  if (tn_vec_push_obj(&args, cond) || tn_vec_push_obj(&args, msg)) return -1;
  tn_AssertDoc *doc = TN_DOC(AssertDoc, .test = cond, .msg = msg);
  return scope_or_concise(p, (const tn_obj *)s, (tn_StmtDoc *)doc,
                          call_doc(tir_doc(p, "Assert"), &args), (const tn_obj *)s->body);
}

/* ---- bindings ---- */

static int print_let(printer *p, const tn_LetStmt *s) {
  tn_ExprDoc *value = print_expr(p, s->value);
  if (!value) return -1;
  bool sized = TN_AS(SizeVar, s->var) && !is_defined(p, s->var);
  if (sized || count_binders(p, s->var) > 1) TN_TRY(!print_var(p, s->var));
  const tn_obj *t = (const tn_obj *)s->var->type_annotation;
  tn_ExprDoc *annotation = t ? print_type(p, t) : tir_doc(p, TN_DT(s->var->dtype));
  TN_VEC(args);
  TN_VEC(keys);
  TN_VEC(values);
  TN_TRY(!annotation || tn_vec_push_obj(&args, value));
  if (!is_defined(p, s->var) || (p->top->concise && count_binders(p, s->var) == 1)) {
    if (TN_AS(PointerType, t)) TN_TRY(tn_vec_push_obj(&args, annotation));
    return bind(p, (const tn_obj *)s, s->var, tn_cstr(s->var->name), value, annotation,
                call_doc(tir_doc(p, "LetStmt"), &args), (const tn_obj *)s->body);
  }
  /* declared outside because it is used or bound there too */
  TN_TRY(tn_vec_push_obj(&keys, tn_str_from("var")));
  TN_TRY(tn_vec_push_obj(&values, print_expr(p, s->var)));
  tn_ExprDoc *with = call_kw_doc(tir_doc(p, "LetStmt"), &args, &keys, &values);
  tn_arr *body = with ? body_in_frame(p, (const tn_obj *)s, (const tn_obj *)s->body) : NULL;
  return emit(p, noted(p, s, TN_DOC(ScopeDoc, .rhs = with, .body = body)));
}

static const char *scope_of(const tn_Var *v) {
  const tn_PointerType *t = TN_AS(PointerType, v->type_annotation);
  return t && t->storage_scope->len ? t->storage_scope->data : "global";
}

/* A pointer whose type is not what the statement says is declared with its own type first. */
static int declare_unusual(printer *p, const tn_Var *v, tn_dtype element, const char *scope) {
  const tn_PointerType *t = TN_AS(PointerType, v->type_annotation);
  const tn_PrimType *of = t ? TN_AS(PrimType, t->element_type) : NULL;
  bool usual = of && tn_dtype_eq(of->dtype, element) && tn_str_eq(t->storage_scope, scope);
  return !usual && !p->fragment && !print_var(p, v) ? -1 : 0;
}

/* The buffer that is all of the memory: T.decl_buffer without data reads back as both statements. */
static const tn_DeclBuffer *whole_buffer(const printer *p, const tn_Allocate *s) {
  const tn_DeclBuffer *d = TN_AS(DeclBuffer, s->body);
  if (!p->cfg->syntax_sugar || !d || d->buffer->data != s->buffer_var) return NULL;
  if (is_defined(p, s->buffer_var) || count_binders(p, s->buffer_var) != 1 ||
      is_defined(p, d->buffer) || count_binders(p, d->buffer) != 1)
    return NULL;
  bool same = tn_dtype_eq(s->dtype, d->buffer->dtype) && tir_is_one(s->condition) &&
              s->annotations->len == 0 && tn_equal(s->extents, d->buffer->shape, 0) == 1;
  return same && owns_data(d->buffer) ? d : NULL;
}

static int print_whole_buffer(printer *p, const tn_Allocate *s, const tn_DeclBuffer *d) {
  bool concise = p->top->concise;
  frame *f;
  TN_TRY(!(f = concise ? p->top : open_frame(p, (const tn_obj *)s)));
  tn_ExprDoc *lhs = bound_buffer(p, f, d->buffer),
             *rhs = lhs ? whole_buffer_decl(p, f, d->buffer) : NULL;
  if (concise) {
    if (emit(p, noted(p, d, noted(p, s, TN_DOC(AssignDoc, .lhs = lhs, .rhs = rhs))))) return -1;
    return print_body(p, f, (const tn_obj *)d->body);
  }
  tn_arr *stmts = rhs && print_body(p, f, (const tn_obj *)d->body) == 0 ? frame_stmts(f) : NULL;
  close_frame(p, f);
  tn_ScopeDoc *doc = TN_DOC(ScopeDoc, .lhs = lhs, .rhs = rhs, .body = stmts);
  return emit(p, noted(p, d, noted(p, s, doc)));
}

static int print_allocate(printer *p, const tn_Allocate *s) {
  const tn_DeclBuffer *whole = whole_buffer(p, s);
  if (whole) return print_whole_buffer(p, s, whole);
  if (tn_error_pending()) return -1;
  TN_VEC(args);
  TN_VEC(keys);
  TN_VEC(values);
  TN_TRY(tn_vec_push_obj(&args, print_array(p, s->extents, false)));
  TN_TRY(tn_vec_push_obj(&args, dtype_doc(s->dtype)));
  TN_TRY(tn_vec_push_obj(&args, str_doc(scope_of(s->buffer_var))));
  if (!tir_is_one(s->condition)) TN_TRY(tn_vec_push_obj(&args, print_expr(p, s->condition)));
  if (s->annotations->len) {
    TN_TRY(tn_vec_push_obj(&keys, tn_str_from("annotations")));
    TN_TRY(tn_vec_push_obj(&values, print_expr(p, s->annotations)));
  }
  TN_TRY(declare_unusual(p, s->buffer_var, s->dtype, scope_of(s->buffer_var)));
  tn_ExprDoc *rhs = call_kw_doc(tir_doc(p, "allocate"), &args, &keys, &values);
  return bind(p, (const tn_obj *)s, s->buffer_var, tn_cstr(s->buffer_var->name), rhs, NULL, rhs,
              (const tn_obj *)s->body);
}

/* Is the tensor of the shape and type that the statement gives it? */
static bool is_usual_data(const tn_AllocateConst *s) {
  const DLTensor *dl = tn_tensor_dl(s->data);
  bool same = tn_dtype_eq(dl->dtype, s->dtype) && dl->ndim == s->extents->len;
  for (int32_t i = 0; same && i < dl->ndim; ++i) {
    int64_t n;
    same = tir_as_int(tn_arr_obj(s->extents, i), &n) && n == dl->shape[i];
  }
  return same;
}

static int print_allocate_const(printer *p, const tn_AllocateConst *s) {
  TN_VEC(args);
  TN_VEC(keys);
  TN_VEC(values);
  bool list = s->data && is_usual_data(s);
  TN_TRY(tn_vec_push_obj(&args, list ? print_elements(p, s->data) : print_expr(p, s->data)));
  TN_TRY(tn_vec_push_obj(&args, dtype_doc(s->dtype)));
  TN_TRY(tn_vec_push_obj(&args, print_array(p, s->extents, false)));
  if (s->irmod_storage_idx) {
    TN_TRY(tn_vec_push_obj(&keys, tn_str_from("irmod_storage_idx")));
    TN_TRY(tn_vec_push_obj(&values, print_expr(p, s->irmod_storage_idx)));
  }
  if (s->annotations->len) {
    TN_TRY(tn_vec_push_obj(&keys, tn_str_from("annotations")));
    TN_TRY(tn_vec_push_obj(&values, print_expr(p, s->annotations)));
  }
  TN_TRY(declare_unusual(p, s->buffer_var, s->dtype, "global"));
  tn_ExprDoc *rhs = call_kw_doc(tir_doc(p, "allocate_const"), &args, &keys, &values);
  return bind(p, (const tn_obj *)s, s->buffer_var, tn_cstr(s->buffer_var->name), rhs, NULL, rhs,
              (const tn_obj *)s->body);
}

static int print_decl_buffer(printer *p, const tn_DeclBuffer *s) {
  bool concise = p->top->concise;
  frame *f;
  TN_TRY(!(f = open_frame(p, (const tn_obj *)s)));
  frame *home = concise ? f->up : f;
  if (!print_var(p, s->buffer->data)) return -1; /* without its pointer it would allocate */
  tn_ExprDoc *lhs = bound_buffer(p, home, s->buffer);
  tn_ExprDoc *rhs = lhs ? buffer_decl(p, home, s->buffer, "decl_buffer", NULL) : NULL;
  if (concise) {
    close_frame(p, f);
    if (emit(p, noted(p, s, TN_DOC(AssignDoc, .lhs = lhs, .rhs = rhs)))) return -1;
    return print_body(p, p->top, (const tn_obj *)s->body);
  }
  tn_arr *stmts = rhs && print_body(p, f, (const tn_obj *)s->body) == 0 ? frame_stmts(f) : NULL;
  close_frame(p, f);
  return emit(p, noted(p, s, TN_DOC(ScopeDoc, .lhs = lhs, .rhs = rhs, .body = stmts)));
}

/* T.launch_thread("threadIdx.x", 128) binds the variable of the thread axis. */
static int print_launch_thread(printer *p, const tn_AttrStmt *s, const tn_IterVar *iv) {
  TN_VEC(args);
  TN_TRY(tn_vec_push_obj(&args, str_doc(tn_cstr(iv->thread_tag))));
  TN_TRY(tn_vec_push_obj(&args, print_expr(p, s->value)));
  tn_ExprDoc *rhs = call_doc(tir_doc(p, "launch_thread"), &args);
  return bind(p, (const tn_obj *)s, iv->var, tn_cstr(iv->var->name), rhs, NULL, rhs,
              (const tn_obj *)s->body);
}

/* Does T.launch_thread read back as this very attribute? */
static bool is_launch(const printer *p, const tn_AttrStmt *s, const tn_IterVar *iv) {
  bool vthread = strncmp(tn_cstr(iv->thread_tag), "vthread", 7) == 0;
  if (!tn_str_eq(s->attr_key, vthread ? "virtual_thread" : "thread_extent")) return false;
  if (is_defined(p, iv->var) || count_binders(p, iv->var) > 1) return false;
  return iv->iter_type == IR_ITER_THREAD_INDEX && iv->dom && TN_AS(Var, iv->var) &&
         tir_is_zero(iv->dom->min) && tn_equal(iv->dom->extent, s->value, 0) == 1 &&
         tn_dtype_eq(iv->var->dtype, s->value->dtype);
}

/* with T.realize(A[0:8], "shared"): `around` is the attribute that names the memory, or NULL. */
static int print_realize(printer *p, const tn_BufferRealize *s, const tn_AttrStmt *around) {
  TN_VEC(args);
  tn_BufferRegion *region = TN_NEW(BufferRegion, .buffer = s->buffer, .region = s->bounds);
  tn_ExprDoc *where = region ? print_region(p, region) : NULL,
             *scope = around ? print_expr(p, around->value) : str_doc(tir_buffer_scope(s->buffer));
  TN_TRY(!where || !scope || tn_vec_push_obj(&args, where) || tn_vec_push_obj(&args, scope));
  if (!tir_is_one(s->condition)) TN_TRY(tn_vec_push_obj(&args, print_expr(p, s->condition)));
  tn_ExprDoc *rhs = call_doc(tir_doc(p, "realize"), &args);
  if (around) rhs = (tn_ExprDoc *)noted(p, s, rhs);
  const tn_obj *node = around ? (const tn_obj *)around : (const tn_obj *)s;
  tn_ExprStmtDoc *stmt = TN_DOC(ExprStmtDoc, .expr = rhs);
  return scope_or_concise(p, node, (tn_StmtDoc *)stmt, rhs, (const tn_obj *)s->body);
}

/* The statement inside, when T.realize reads back as both. */
static const tn_BufferRealize *realized(const printer *p, const tn_AttrStmt *s) {
  const tn_BufferRealize *r = TN_AS(BufferRealize, s->body);
  const tn_StringImm *scope = TN_AS(StringImm, s->value);
  if (!p->cfg->syntax_sugar || !r || !scope || !tn_str_eq(s->attr_key, "realize_scope"))
    return NULL;
  bool other = scope->value->len && !tn_str_eq(scope->value, tir_buffer_scope(r->buffer));
  return other && s->node == (const tn_obj *)r->buffer ? r : NULL;
}

static int print_attr(printer *p, const tn_AttrStmt *s) {
  TN_VEC(args);
  const tn_IterVar *iv = TN_AS(IterVar, s->node);
  const char *key = tn_cstr(s->attr_key);
  if (iv && is_launch(p, s, iv)) return print_launch_thread(p, s, iv);
  if (realized(p, s)) return print_realize(p, realized(p, s), s);
  tn_ExprDoc *node = print_expr(p, s->node), *value = node ? print_expr(p, s->value) : NULL;
  if (!value || tn_vec_push_obj(&args, node) || tn_vec_push_obj(&args, str_doc(key)) ||
      tn_vec_push_obj(&args, value))
    return -1;
  tn_ExprDoc *rhs = call_doc(tir_doc(p, "attr"), &args);
  tn_ExprStmtDoc *stmt = TN_DOC(ExprStmtDoc, .expr = rhs);
  return scope_or_concise(p, (const tn_obj *)s, (tn_StmtDoc *)stmt, rhs, (const tn_obj *)s->body);
}

/* ---- simple statements ---- */

static int print_evaluate(printer *p, const tn_Evaluate *s) {
  tn_ExprDoc *value = print_expr(p, s->value);
  if (value && !TN_AS(Call, s->value)) value = call1_doc(tir_doc(p, "evaluate"), value);
  return emit(p, noted(p, s, TN_DOC(ExprStmtDoc, .expr = value)));
}

static int print_store(printer *p, const tn_BufferStore *s) {
  tn_ExprDoc *lhs = print_indexed(p, s->buffer, s->indices),
             *rhs = lhs ? print_expr(p, s->value) : NULL;
  return emit(p, noted(p, s, TN_DOC(AssignDoc, .lhs = lhs, .rhs = rhs)));
}

static int print_prefetch(printer *p, const tn_Prefetch *s) {
  TN_VEC(args);
  tn_ExprDoc *buffer = print_expr(p, s->buffer),
             *bounds = buffer ? print_array(p, s->bounds, false) : NULL;
  if (!bounds || tn_vec_push_obj(&args, buffer) || tn_vec_push_obj(&args, bounds)) return -1;
  return emit(p, noted(p, s, TN_DOC(ExprStmtDoc, .expr = call_doc(tir_doc(p, "prefetch"), &args))));
}

static int print_seq(printer *p, const tn_SeqStmt *s) {
  return print_body(p, p->top, (const tn_obj *)s);
}

static int print_bare_stmt(printer *p, const tn_obj *s) {
  switch (s->type_index) {
  case TN_TI_LetStmt: return print_let(p, (const tn_LetStmt *)s);
  case TN_TI_AttrStmt: return print_attr(p, (const tn_AttrStmt *)s);
  case TN_TI_AssertStmt: return print_assert(p, (const tn_AssertStmt *)s);
  case TN_TI_BufferStore: return print_store(p, (const tn_BufferStore *)s);
  case TN_TI_BufferRealize: return print_realize(p, (const tn_BufferRealize *)s, NULL);
  case TN_TI_Allocate: return print_allocate(p, (const tn_Allocate *)s);
  case TN_TI_AllocateConst: return print_allocate_const(p, (const tn_AllocateConst *)s);
  case TN_TI_DeclBuffer: return print_decl_buffer(p, (const tn_DeclBuffer *)s);
  case TN_TI_SeqStmt: return print_seq(p, (const tn_SeqStmt *)s);
  case TN_TI_IfThenElse: return print_if(p, (const tn_IfThenElse *)s);
  case TN_TI_Evaluate: return print_evaluate(p, (const tn_Evaluate *)s);
  case TN_TI_For: return print_for(p, (const tn_For *)s);
  case TN_TI_While: return print_while(p, (const tn_While *)s);
  case TN_TI_Prefetch: return print_prefetch(p, (const tn_Prefetch *)s);
  case TN_TI_Block: return print_block(p, (const tn_Block *)s, NULL);
  case TN_TI_BlockRealize: return print_block_realize(p, (const tn_BlockRealize *)s);
  default: return TN_RAISE(TypeError, NULL, "cannot print a %s as a statement", tn_obj_key(s));
  }
}

int print_stmt(printer *p, const tn_obj *s) {
  TN_CHECK(s, TypeError, NULL, "a statement is missing");
  TN_CHECK(++p->depth <= PRINT_DEPTH_MAX, ValueError, NULL,
           "the program is nested more than %d levels deep", PRINT_DEPTH_MAX);
  TN_TRY(print_bare_stmt(p, s));
  p->depth--;
  return 0;
}
