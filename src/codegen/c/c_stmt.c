/* Statements as C. */
#include <string.h>

#include "ir/functor.h"
#include "codegen/c/gen.h"
#include "tir/script/printer.h"

void c_line(c_gen *g) { tn_buf_pad(g->out, ' ', (size_t)g->indent * 2); }

static int find(void *ctx, tn_obj *o) { return o == ctx ? 2 : 0; }

static int find_in_buffer(void *ctx, tn_obj *o) {
  const tn_BufferLoad *l = TN_AS(BufferLoad, o);
  const tn_BufferStore *s = TN_AS(BufferStore, o);
  const tn_Buffer *b = l ? l->buffer : s ? s->buffer : NULL;
  return o == ctx || (b && (const void *)b->data == ctx) ? 2 : 0;
}

bool c_uses(const void *e, const tn_Var *v) {
  bool pointer = v->dtype.code == kDLOpaqueHandle;
  return tn_pre_order(e, pointer ? find_in_buffer : find, (void *)(uintptr_t)v) != 0;
}

static int block(c_gen *g, const tn_stmt *s) {
  ++g->indent;
  int err = c_stmt(g, s);
  --g->indent;
  return err;
}

static int close_block(c_gen *g) {
  c_line(g);
  tn_buf_puts(g->out, "}\n");
  return 0;
}

static int let_stmt(c_gen *g, const tn_LetStmt *s) {
  tn_str *v, *type, *name;
  if (c_has_vector(g, s->var->dtype)) {
    TN_TRY(c_define_vector(g, s->var, s->value));
    return c_stmt(g, s->body);
  }
  TN_GET(type, c_var_type(g, s->var));
  TN_GET(name, c_name(g, s->var));
  if (g->d->vectors_aligned && ir_is_int(s->var->dtype) && s->var->dtype.lanes == 1)
    TN_TRY(arith_set_modular(&g->known, s->var, arith_modular_set(&g->known, s->value), true));
  for (int i = 0; i < s->var->dtype.lanes; ++i) {
    TN_GET(v, c_expr(g, s->value, i));
    TN_GET(name, c_var(g, s->var, i));
    bool pointer = s->var->dtype.code == kDLOpaqueHandle;
    c_line(g);
    tn_buf_printf(g->out, "%s %s = %s%s%s%s;", tn_cstr(type), tn_cstr(name), pointer ? "(" : "",
                  pointer ? tn_cstr(type) : "", pointer ? ")" : "", tn_cstr(v));
    bool used = g->alone && c_uses(s->body, s->var);
    if (used) tn_buf_putc(g->out, '\n');
    else tn_buf_printf(g->out, " (void)%s;\n", tn_cstr(name));
  }
  return c_stmt(g, s->body);
}

static int assert_stmt(c_gen *g, const tn_AssertStmt *s) {
  const tn_StringImm *message = TN_AS(StringImm, s->message);
  tn_str *c, *text, *condition;
  TN_GET(c, c_expr(g, s->condition, 0));
  TN_GET(condition, script_print((tn_obj *)s->condition, NULL));
  const char *line = strrchr(tn_cstr(condition), '\n');
  TN_GET(text, tn_str_fmt("Assert fail: %s, %s", line ? line + 1 : tn_cstr(condition),
                          message ? tn_cstr(message->value) : ""));
  TN_GET(text, c_string(tn_cstr(text)));
  c_line(g);
  tn_buf_printf(g->out, "if (!%s) {\n", tn_cstr(c));
  ++g->indent;
  c_line(g);
  if (!g->alone) {
    tn_buf_printf(g->out, "TVMAPISetLastError(%s);\n", tn_cstr(text));
    c_line(g);
  }
  tn_buf_puts(g->out, "return -1;\n");
  --g->indent;
  close_block(g);
  return c_stmt(g, s->body);
}

static int allocate(c_gen *g, const tn_Allocate *s) {
  int64_t n;
  tn_str *name;
  const char *type;
  if (g->d->kernels) return c_kernel_allocate(g, s);
  TN_TRY((n = c_allocation_size(g, s)) < 0);
  TN_TRY(c_widen(g, s, n));
  TN_GET(type, c_memory_type(g, c_is_wide(g, s->buffer_var) ? TN_I32 : ir_with_lanes(s->dtype, 1)));
  TN_GET(name, c_name(g, s->buffer_var));
  TN_TRY(tn_pmap_put(&g->stored, s->buffer_var, type));
  c_line(g);
  tn_buf_printf(g->out, "%s %s[%lld];\n", type, tn_cstr(name), (long long)n);
  return c_stmt(g, s->body);
}

static int allocate_const(c_gen *g, const tn_AllocateConst *s) {
  TN_TRY(c_constant(g, s));
  return c_stmt(g, s->body);
}

static int for_stmt(c_gen *g, const tn_For *s) {
  tn_str *name, *begin, *extent;
  const char *type;
  TN_CHECK(s->kind != TIR_FOR_THREAD_BINDING, CodegenError, s->span,
           "%s: %s: loop %s is bound to a thread axis, which a CPU does not have", g->d->name,
           g->name, tn_cstr(s->loop_var->name));
  int dot = c_dot_product(g, s);
  if (dot) return dot < 0 ? -1 : 0;
  tn_stmt *filled = c_fill_first(g, s);
  if (filled || tn_error_pending()) return filled ? c_stmt(g, filled) : -1;
  TN_GET(begin, c_temp(g, s->min, 0));
  TN_GET(extent, c_temp(g, s->extent, 0));
  TN_GET(type, c_type(g, s->loop_var->dtype));
  TN_GET(name, c_name(g, s->loop_var));
  const char *i = tn_cstr(name);
  c_line(g);
  if (g->d->kernels && s->kind == TIR_FOR_UNROLLED) {
    tn_buf_puts(g->out, "#pragma unroll\n");
    c_line(g);
  }
  if (tir_is_zero(s->min)) {
    tn_buf_printf(g->out, "for (%s %s = 0; %s < %s; ++%s) {\n", type, i, i, tn_cstr(extent), i);
  } else {
    tn_buf_printf(g->out, "for (%s %s = %s; %s < %s + %s; ++%s) {\n", type, i, tn_cstr(begin), i,
                  tn_cstr(begin), tn_cstr(extent), i);
  }
  TN_TRY(block(g, s->body));
  return close_block(g);
}

static int while_stmt(c_gen *g, const tn_While *s) {
  tn_str *c;
  c_line(g);
  tn_buf_puts(g->out, "for (;;) {\n");
  ++g->indent;
  TN_GET(c, c_expr(g, s->condition, 0));
  c_line(g);
  tn_buf_printf(g->out, "if (!%s) break;\n", tn_cstr(c));
  --g->indent;
  TN_TRY(block(g, s->body));
  return close_block(g);
}

tn_str *c_condition(c_gen *g, const tn_expr *e, int lane) {
  tn_str *s = c_expr(g, e, lane);
  int depth = 0;
  if (!s || s->len < 2 || s->data[0] != '(') return s;
  for (size_t i = 0; i + 1 < (size_t)s->len; ++i) {
    depth += s->data[i] == '(' ? 1 : s->data[i] == ')' ? -1 : 0;
    if (depth == 0) return s; /* the first parenthesis ends before the last */
  }
  return tn_scope_own(tn_str_new_n(s->data + 1, (size_t)s->len - 2));
}

static int if_stmt(c_gen *g, const tn_IfThenElse *s) {
  tn_str *c;
  TN_GET(c, c_condition(g, s->condition, 0));
  c_line(g);
  tn_buf_printf(g->out, "if (%s) {\n", tn_cstr(c));
  TN_TRY(block(g, s->then_case));
  if (s->else_case) {
    c_line(g);
    tn_buf_puts(g->out, "} else {\n");
    TN_TRY(block(g, s->else_case));
  }
  return close_block(g);
}

static int seq_stmt(c_gen *g, const tn_SeqStmt *s) {
  for (int64_t i = 0; i < s->seq->len; ++i) TN_TRY(c_stmt(g, (tn_stmt *)tn_arr_obj(s->seq, i)));
  return 0;
}

static int evaluate(c_gen *g, const tn_Evaluate *s) {
  tn_str *v;
  if (s->value->hdr.type_index == TN_TI_IntImm) return 0;
  TN_GET(v, c_expr(g, s->value, 0));
  if (v->len == 0) return 0; /* all of it was written as statements */
  c_line(g);
  tn_buf_printf(g->out, "(void)%s;\n", tn_cstr(v));
  return 0;
}

static int decl_buffer(c_gen *g, const tn_DeclBuffer *s) { return c_stmt(g, s->body); }
static int attr_stmt(c_gen *g, const tn_AttrStmt *s) {
  const tn_StringImm *runner = TN_AS(StringImm, s->value);
  TN_CHECK(strcmp(tn_cstr(s->attr_key), "coproc_uop_scope") != 0, CodegenError, s->span,
           "%s: %s: C code cannot give a part of a function to %s (coproc_uop_scope): build for "
           "target llvm",
           g->d->name, g->name, runner ? tn_cstr(runner->value) : tn_obj_key(s->value));
  return g->d->kernels ? c_kernel_attr(g, s) : c_stmt(g, s->body);
}

typedef int (*stmt_case)(c_gen *g, const tn_obj *s);
#define CASE(T, fn) [TN_TI_##T] = (stmt_case)(void (*)(void))(fn)

static const stmt_case cases[] = {
    CASE(LetStmt, let_stmt),    CASE(AttrStmt, attr_stmt), CASE(AssertStmt, assert_stmt),
    CASE(BufferStore, c_store), CASE(Allocate, allocate),  CASE(DeclBuffer, decl_buffer),
    CASE(SeqStmt, seq_stmt),    CASE(IfThenElse, if_stmt), CASE(Evaluate, evaluate),
    CASE(For, for_stmt),        CASE(While, while_stmt),   CASE(AllocateConst, allocate_const),
};

int c_stmt(c_gen *g, const tn_stmt *s) {
  uint32_t i = s->hdr.type_index;
  TN_CHECK(i < (uint32_t)TN_COUNT(cases) && cases[i], CodegenError, tir_stmt_span(s),
           "%s: %s: a statement of type %s is left in the program: lower it first", g->d->name,
           g->name, tn_obj_key(s));
  tn_pmap_fini(&g->vectors); /* what was read before may have changed */
  return cases[i](g, (const tn_obj *)s) ? tir_error_in(s) : 0;
}
