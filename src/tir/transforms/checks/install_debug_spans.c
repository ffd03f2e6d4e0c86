/* Places of statements and expressions become lines of the program's own script.

     A[i] = B[i]    ->    the same, its span: line 4 of "main.tir"

   The name of the text is the function's symbol and ".tir". Expressions are on the line of the
   statement around them; variables keep the places they were declared at. */
#include "ir/span.h"
#include "tenon/object.h"
#include "tir/transforms/transforms.h"

typedef struct {
  tn_SourceName *source;
  tn_pmap lines; /* statements -> line */
  int64_t line;  /* of the statement that is visited */
} installer;

static tn_Span *place(const installer *x) { return ir_span(x->source, x->line, x->line, 1, 1); }

/* A copy of the node at the current line. */
static tn_obj *placed(const installer *x, const tn_obj *node) {
  tn_obj *copy = node ? tn_node_copy(node->type, node) : NULL;
  tn_Span *span = copy ? place(x) : NULL;
  if (!span) return NULL;
  tn_any value = tn_any_obj(span);
  return tn_field_set(copy, tn_type_field(copy->type, "span"), &value) ? NULL : copy;
}

static tn_obj *install_stmt(tn_mut *m, tn_obj *op) {
  installer *x = m->ctx;
  int64_t outer = x->line;
  x->line = tn_pmap_get_int(&x->lines, op, outer);
  tn_obj *r = placed(x, tn_mut_children(m, op));
  x->line = outer;
  return r;
}

static tn_obj *install_expr(tn_mut *m, tn_obj *op) {
  return placed(m->ctx, tn_mut_children(m, op));
}

static int note(void *ctx, tn_obj *node) {
  return tn_type_is(node->type, &tn_type_Stmt) ? tn_vec_push_obj(ctx, node) : 0;
}

/* The line of every statement in the function's script. */
static int find_lines(installer *x, tn_PrimFunc *f) {
  TN_VEC(stmts);
  tn_arr *list;
  tn_str *text;
  TN_TRY(tn_post_order(f->body, note, &stmts));
  TN_GET(list, tn_arr_from(&stmts));
  TN_GET(text, script_print_lines((tn_obj *)f, list, &x->lines));
  return 0;
}

#define STMT(T) TN_CASE(T, install_stmt)
#define EXPR(T) TN_CASE(T, install_expr)

tn_PrimFunc *tir_install_debug_spans(tn_PrimFunc *f, const tn_pass_ctx *c) {
  static const tn_mut_case cases[] = {STMT(LetStmt),
                                      STMT(AttrStmt),
                                      STMT(AssertStmt),
                                      STMT(BufferStore),
                                      STMT(Allocate),
                                      STMT(BufferRealize),
                                      STMT(AllocateConst),
                                      STMT(DeclBuffer),
                                      STMT(SeqStmt),
                                      STMT(IfThenElse),
                                      STMT(Evaluate),
                                      STMT(For),
                                      STMT(While),
                                      STMT(Prefetch),
                                      STMT(Block),
                                      STMT(BlockRealize),
                                      EXPR(Cast),
                                      EXPR(Add),
                                      EXPR(Sub),
                                      EXPR(Mul),
                                      EXPR(Div),
                                      EXPR(Mod),
                                      EXPR(FloorDiv),
                                      EXPR(FloorMod),
                                      EXPR(Min),
                                      EXPR(Max),
                                      EXPR(EQ),
                                      EXPR(NE),
                                      EXPR(LT),
                                      EXPR(LE),
                                      EXPR(GT),
                                      EXPR(GE),
                                      EXPR(And),
                                      EXPR(Or),
                                      EXPR(Not),
                                      EXPR(Select),
                                      EXPR(Ramp),
                                      EXPR(Broadcast),
                                      EXPR(Shuffle),
                                      EXPR(Let),
                                      EXPR(Call),
                                      EXPR(Reduce),
                                      EXPR(BufferLoad),
                                      EXPR(ProducerLoad)};
  (void)c;
  const tn_str *symbol = (const tn_str *)tir_func_attr(f, "global_symbol");
  TN_CHECKP(symbol, ValueError, f->span,
            "tir.InstallDebugSpans: Expected PrimFunc to have the global_symbol attribute");
  installer x = {.line = 1};
  const tn_str *name;
  TN_GETP(name, tn_str_fmt("%s.tir", tn_cstr(symbol)));
  TN_GETP(x.source, ir_source_name(tn_cstr(name)));
  TN_MUT(m, cases, &x);
  tn_stmt *body = find_lines(&x, f) ? NULL : tn_mut_visit(&m, f->body);
  tn_pmap_fini(&x.lines);
  return body ? tir_with_body(f, body) : NULL;
}
