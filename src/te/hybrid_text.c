/* The program of a schedule as a function of hybrid script.

     for i in T.parallel(8):                     for i in parallel(8):
       with T.block(""):                    ->       B = allocate((4,), "float32", "global")
         B = T.alloc_buffer((4,))                    ...

   Blocks without iterators are their bodies; hints (attributes, pragmas) are left out. */
#include "te/hybrid_text.h"

#include "base/buf.h"
#include "ir/expr.h"
#include "ir/functor.h"
#include "te/hybrid_impl.h"
#include "te/te.h"

/* Words that names of the program must not be. */
static const char *const reserved[] = {
    "and",         "as",
    "assert",      "break",
    "class",       "continue",
    "def",         "del",
    "elif",        "else",
    "except",      "False",
    "finally",     "for",
    "from",        "global",
    "if",          "import",
    "in",          "is",
    "lambda",      "None",
    "not",         "or",
    "pass",        "raise",
    "return",      "True",
    "try",         "while",
    "with",        "yield",
    "range",       "serial",
    "parallel",    "unroll",
    "vectorize",   "bind",
    "len",         "min",
    "max",         "likely",
    "exp",         "log",
    "log2",        "log10",
    "tanh",        "sigmoid",
    "sqrt",        "rsqrt",
    "power",       "sin",
    "cos",         "tan",
    "atan",        "abs",
    "floor",       "ceil",
    "trunc",       "round",
    "const_range", "popcount",
    "int8",        "int16",
    "int32",       "int64",
    "uint8",       "uint16",
    "uint32",      "uint64",
    "float16",     "float32",
    "float64",     "max_num_threads",
    "ceil_div",    "output_tensor",
    "allocate",
};

/* A name of the language, not in use yet. */
static tn_ExprDoc *fresh(hybrid *h, const char *wanted) {
  tn_buf text __attribute__((cleanup(tn_buf_fini))) = {0};
  tn_str *name;
  if (*wanted >= '0' && *wanted <= '9') tn_buf_putc(&text, '_');
  for (const char *s = wanted; *s; ++s) {
    bool fine = (*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || (*s >= '0' && *s <= '9');
    tn_buf_putc(&text, fine ? *s : '_');
  }
  if (!*wanted) tn_buf_putc(&text, 'v');
  TN_TRYP(tn_buf_ok(&text));
  TN_GETP(name, ir_name_fresh(h->used, tn_buf_cstr(&text), false, true));
  return hybrid_id(tn_cstr(name));
}

static tn_ExprDoc *define(hybrid *h, const void *obj, const char *wanted) {
  tn_ExprDoc *doc = fresh(h, wanted);
  return doc && tn_pmap_put(&h->docs, obj, doc) == 0 ? doc : NULL;
}

static int emit(const hybrid *h, const void *doc) {
  return doc ? tn_vec_push_obj(h->stmts, doc) : -1;
}

static int write_stmt(hybrid *h, const tn_stmt *s);

/* The statements of a body; a body needs one. */
static tn_arr *body_of(hybrid *h, const tn_stmt *s) {
  TN_VEC(stmts);
  tn_vec *outside = h->stmts;
  h->stmts = &stmts;
  int err = write_stmt(h, s);
  if (!err && !stmts.len) err = emit(h, HYBRID_DOC(ExprStmtDoc, .expr = hybrid_id("pass")));
  h->stmts = outside;
  return err ? NULL : tn_arr_from(&stmts);
}

static tn_AssignDoc *assigned(tn_ExprDoc *lhs, tn_ExprDoc *rhs) {
  return lhs && rhs ? HYBRID_DOC(AssignDoc, .lhs = lhs, .rhs = rhs) : NULL;
}

/* ---- memory ---- */

static int allocate(hybrid *h, const tn_Buffer *b) {
  tn_ExprDoc *name, *args[] = {hybrid_tuple(h, b->shape), NULL, NULL};
  TN_CHECK(!b->strides->len, ValueError, b->span,
           "te.hybrid.build: buffer %s has strides, which have no form in hybrid script",
           tn_cstr(b->name));
  args[1] = hybrid_string(TN_DT(b->dtype));
  args[2] = hybrid_string(tir_buffer_scope(b));
  TN_GET(name, define(h, b, tn_cstr(b->name)));
  return emit(h, assigned(name, hybrid_call("allocate", 3, args)));
}

/* The buffer that what is allocated holds: the first that is used. */
typedef struct {
  const tn_Var *data;
  const tn_Buffer *found;
} holder;
static int find_buffer(void *ctx, tn_obj *o) {
  holder *x = ctx;
  const tn_BufferLoad *load = TN_AS(BufferLoad, o);
  const tn_BufferStore *store = TN_AS(BufferStore, o);
  const tn_Buffer *b = load ? load->buffer : store ? store->buffer : NULL;
  if (b && b->data == x->data) x->found = b;
  return x->found ? 1 : 0;
}

static int write_allocate(hybrid *h, const tn_Allocate *s) {
  holder x = {.data = s->buffer_var};
  TN_TRY(tn_pre_order(s->body, find_buffer, &x) < 0);
  if (x.found) TN_TRY(allocate(h, x.found));
  return write_stmt(h, s->body);
}

/* ---- statements ---- */

static int write_store(hybrid *h, const tn_BufferStore *s) {
  tn_ExprDoc *lhs, *rhs;
  TN_GET(rhs, hybrid_expr(h, s->value));
  TN_GET(lhs, hybrid_element(h, s->buffer, s->indices));
  return emit(h, assigned(lhs, rhs));
}

static int write_let(hybrid *h, const tn_LetStmt *s) {
  tn_ExprDoc *name, *value;
  TN_GET(value, hybrid_expr(h, s->value));
  TN_GET(name, define(h, s->var, tn_cstr(s->var->name)));
  TN_TRY(emit(h, assigned(name, value)));
  return write_stmt(h, s->body);
}

static int write_if(hybrid *h, const tn_IfThenElse *s) {
  tn_ExprDoc *test;
  tn_arr *yes, *no = tn_arr_of(0);
  TN_GET(test, hybrid_expr(h, s->condition));
  TN_GET(yes, body_of(h, s->then_case));
  if (s->else_case) TN_GET(no, body_of(h, s->else_case));
  return emit(h, HYBRID_DOC(IfDoc, .predicate = test, .then_branch = yes, .else_branch = no));
}

static int write_loop(hybrid *h, const tn_Var *v, tn_ExprDoc *over, const tn_stmt *body) {
  tn_ExprDoc *name;
  tn_arr *stmts;
  TN_CHECK(over, InternalError, NULL, "te.hybrid.build: a loop over nothing");
  TN_GET(name, define(h, v, tn_cstr(v->name)));
  TN_GET(stmts, body_of(h, body));
  return emit(h, HYBRID_DOC(ForDoc, .lhs = name, .rhs = over, .body = stmts));
}

static int write_for(hybrid *h, const tn_For *s) {
  static const char *const kinds[] = {"range", "parallel", "vectorize", "unroll", "bind"};
  tn_ExprDoc *args[2], *over;
  int n = 0;
  bool thread = s->kind == TIR_FOR_THREAD_BINDING;
  TN_CHECK(s->kind >= 0 && s->kind < TN_COUNT(kinds), ValueError, s->span,
           "te.hybrid.build: kind %lld of a loop", (long long)s->kind);
  if (thread) {
    if (!tir_is_zero(s->min)) return hybrid_no_form(s->span, "a thread axis that begins above 0");
    TN_GET(args[n++], hybrid_string(tn_cstr(s->thread_binding->thread_tag)));
  } else if (!tir_is_zero(s->min)) TN_GET(args[n++], hybrid_expr(h, s->min));
  tn_expr *end = thread ? s->extent : tir_add(s->min, s->extent);
  TN_GET(args[n++], end ? hybrid_expr(h, end) : NULL);
  TN_GET(over, hybrid_call(kinds[s->kind], n, args));
  return write_loop(h, s->loop_var, over, s->body);
}

static int write_attr(hybrid *h, const tn_AttrStmt *s) {
  const tn_IterVar *iv = TN_AS(IterVar, s->node);
  bool thread =
      iv && (tn_str_eq(s->attr_key, "thread_extent") || tn_str_eq(s->attr_key, "virtual_thread"));
  if (!thread || tn_pmap_get(&h->docs, iv->var)) return write_stmt(h, s->body);
  tn_ExprDoc *args[] = {hybrid_string(tn_cstr(iv->thread_tag)), hybrid_expr(h, s->value)}, *over;
  TN_GET(over, hybrid_call("bind", 2, args));
  return write_loop(h, iv->var, over, s->body);
}

static int write_block(hybrid *h, const tn_BlockRealize *s) {
  const tn_Block *b = s->block;
  if (b->init) return hybrid_no_form(b->span, "a reduction that threads do together");
  if (b->match_buffers->len) return hybrid_no_form(b->span, "T.match_buffer");
  for (int64_t i = 0; i < b->iter_vars->len; ++i) {
    tn_ExprDoc *value;
    TN_GET(value, hybrid_expr(h, tn_arr_obj(s->iter_values, i)));
    TN_TRY(tn_pmap_put(&h->docs, ((const tn_IterVar *)tn_arr_obj(b->iter_vars, i))->var, value));
  }
  for (int64_t i = 0; i < b->alloc_buffers->len; ++i)
    TN_TRY(allocate(h, (const tn_Buffer *)tn_arr_obj(b->alloc_buffers, i)));
  if (tir_is_one(s->predicate)) return write_stmt(h, b->body);
  tn_ExprDoc *test;
  tn_arr *yes;
  TN_GET(test, hybrid_expr(h, s->predicate));
  TN_GET(yes, body_of(h, b->body));
  return emit(
      h, HYBRID_DOC(IfDoc, .predicate = test, .then_branch = yes, .else_branch = tn_arr_of(0)));
}

static int write_assert(hybrid *h, const tn_AssertStmt *s) {
  const tn_StringImm *text = TN_AS(StringImm, s->message);
  tn_ExprDoc *test;
  TN_GET(test, hybrid_expr(h, s->condition));
  TN_TRY(emit(h, HYBRID_DOC(AssertDoc, .test = test,
                            .msg = hybrid_string(text ? tn_cstr(text->value) : "assertion"))));
  return write_stmt(h, s->body);
}

static int write_kind(hybrid *h, const tn_stmt *s) {
  switch ((int)s->hdr.type_index) {
  case TN_TI_BufferStore: return write_store(h, (const tn_BufferStore *)s);
  case TN_TI_For: return write_for(h, (const tn_For *)s);
  case TN_TI_IfThenElse: return write_if(h, (const tn_IfThenElse *)s);
  case TN_TI_LetStmt: return write_let(h, (const tn_LetStmt *)s);
  case TN_TI_AttrStmt: return write_attr(h, (const tn_AttrStmt *)s);
  case TN_TI_AssertStmt: return write_assert(h, (const tn_AssertStmt *)s);
  case TN_TI_BlockRealize: return write_block(h, (const tn_BlockRealize *)s);
  case TN_TI_Allocate: return write_allocate(h, (const tn_Allocate *)s);
  case TN_TI_DeclBuffer: return write_stmt(h, ((const tn_DeclBuffer *)s)->body);
  case TN_TI_Evaluate:
    return TN_AS(IntImm, ((const tn_Evaluate *)s)->value)
               ? 0
               : hybrid_no_form(s->span, "a call as a statement");
  case TN_TI_SeqStmt: {
    const tn_arr *all = ((const tn_SeqStmt *)s)->seq;
    for (int64_t i = 0; i < all->len; ++i) TN_TRY(write_stmt(h, (tn_stmt *)tn_arr_obj(all, i)));
    return 0;
  }
  default: return hybrid_no_form(s->span, tn_obj_key(s));
  }
}

static int write_stmt(hybrid *h, const tn_stmt *s) {
  TN_CHECK(h->depth < HYBRID_DEPTH_MAX, ValueError, NULL,
           "te.hybrid.build: the program is nested too deeply");
  h->depth += 1;
  int err = write_kind(h, s);
  h->depth -= 1;
  return err;
}

/* ---- the function ---- */

/* An extent of an input that is a variable by itself: n is a.shape[0]. */
static int define_extents(hybrid *h, const tn_Buffer *b, tn_ExprDoc *name) {
  for (int64_t i = 0; i < b->shape->len; ++i) {
    const tn_obj *n = tn_arr_obj(b->shape, i);
    if (!TN_IS(Var, n) || tn_pmap_get(&h->docs, n)) continue;
    tn_ExprDoc *shape = (tn_ExprDoc *)HYBRID_DOC(AttrAccessDoc, .value = name,
                                                 .name = tn_str_from("shape")),
               *at;
    TN_GET(at, shape ? (tn_ExprDoc *)HYBRID_DOC(IndexDoc, .value = shape,
                                                .indices = tn_arr_of(1, hybrid_int(i)))
                     : NULL);
    TN_TRY(tn_pmap_put(&h->docs, n, at));
  }
  return 0;
}

static const tn_Buffer *param_buffer(const tn_PrimFunc *f, const tn_obj *param) {
  tn_any b;
  return tn_map_get(f->buffer_map, tn_any_obj(param), &b) ? TN_AS(Buffer, b.v.obj) : NULL;
}

static int write_params(hybrid *h, const tn_PrimFunc *f, int64_t ninputs, tn_vec *params) {
  for (int64_t i = 0; i < ninputs; ++i) {
    const tn_Var *v = (const tn_Var *)tn_arr_obj(f->params, i);
    const tn_Buffer *b = param_buffer(f, (const tn_obj *)v);
    tn_ExprDoc *name;
    TN_GET(name, define(h, b ? (const void *)b : v, tn_cstr(b ? b->name : v->name)));
    TN_TRY(tn_vec_push_obj(params, HYBRID_DOC(AssignDoc, .lhs = name)));
  }
  for (int64_t i = 0; i < ninputs; ++i) {
    const tn_Buffer *b = param_buffer(f, tn_arr_obj(f->params, i));
    if (b) TN_TRY(define_extents(h, b, tn_pmap_get(&h->docs, b)));
  }
  return 0;
}

static int write_outputs(hybrid *h, const tn_PrimFunc *f, int64_t from, tn_vec *results) {
  for (int64_t i = from; i < f->params->len; ++i) {
    const tn_Buffer *b = param_buffer(f, tn_arr_obj(f->params, i));
    tn_ExprDoc *args[2], *name;
    TN_CHECK(b, ValueError, NULL, "te.hybrid.build: output %lld is not a tensor",
             (long long)(i - from));
    TN_GET(args[0], hybrid_tuple(h, b->shape));
    TN_GET(args[1], hybrid_string(TN_DT(b->dtype)));
    TN_GET(name, define(h, b, tn_cstr(b->name)));
    TN_TRY(emit(h, assigned(name, hybrid_call("output_tensor", 2, args))));
    TN_TRY(tn_vec_push_obj(results, name));
  }
  return 0;
}

static int write_return(const hybrid *h, const tn_vec *results) {
  tn_ExprDoc *value = (tn_ExprDoc *)results->items[0].v.obj;
  if (results->len > 1)
    value = (tn_ExprDoc *)HYBRID_DOC(TupleDoc, .elements = tn_arr_from(results));
  return emit(h, HYBRID_DOC(ReturnDoc, .value = value));
}

static tn_str *text_of(const tn_Doc *doc) {
  tn_buf out __attribute__((cleanup(tn_buf_fini))) = {0};
  doc_options opt = {.indent_spaces = 4, .num_context_lines = -1};
  TN_TRYP(doc_text(doc, &opt, &out));
  tn_buf_putc(&out, '\n');
  TN_TRYP(tn_buf_ok(&out));
  return tn_scope_own(tn_buf_str(&out));
}

static tn_str *function_text(hybrid *h, const tn_PrimFunc *f, int64_t ninputs, const char *name) {
  TN_VEC(params);
  TN_VEC(stmts);
  TN_VEC(results);
  const tn_FunctionDoc *doc;
  const tn_str *own;
  h->stmts = &stmts;
  TN_GETP(h->used, ir_name_supply(""));
  for (int i = 0; i < TN_COUNT(reserved); ++i)
    if (!ir_name_reserve(h->used, reserved[i], false)) return NULL;
  TN_GETP(own, ir_name_reserve(h->used, name, false));
  TN_TRYP(write_params(h, f, ninputs, &params));
  TN_TRYP(write_outputs(h, f, ninputs, &results));
  TN_TRYP(write_stmt(h, f->body));
  TN_TRYP(write_return(h, &results));
  TN_GETP(doc,
          HYBRID_DOC(FunctionDoc, .name = (tn_IdDoc *)hybrid_id(name), .args = tn_arr_from(&params),
                     .decorators = tn_arr_of(0), .body = tn_arr_from(&stmts)));
  return text_of((const tn_Doc *)doc);
}

tn_str *te_hybrid_text(const tn_PrimFunc *f, int64_t ninputs, const char *name) {
  hybrid h = {.depth = 0};
  TN_CHECKP(ninputs >= 0 && ninputs < f->params->len, ValueError, NULL,
            "te.hybrid.build: expected at least one output");
  tn_str *text = function_text(&h, f, ninputs, name);
  tn_pmap_fini(&h.docs);
  return text;
}
