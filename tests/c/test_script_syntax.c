/* Syntax of TVMScript: tokens, tree, places, errors. */
#include "testing.h"

#include <stdio.h>

#include "base/buf.h"
#include "tir/script/ast.h"

/* The tree as an s-expression, so that a test is one line. */
static void show(tn_buf *b, const ast *n);

static void show_list(tn_buf *b, const char *name, ast_list l) {
  tn_buf_printf(b, "%s[", name);
  for (int i = 0; i < l.n; ++i) {
    if (i) tn_buf_putc(b, ' ');
    show(b, l.items[i]);
  }
  tn_buf_putc(b, ']');
}

static void show(tn_buf *b, const ast *n) {
  if (!n) {
    tn_buf_putc(b, '_');
    return;
  }
  tn_buf_printf(b, "(%d", (int)n->kind);
  if (n->text) tn_buf_printf(b, " %s", n->text);
  if (n->flag) tn_buf_printf(b, " #%d", n->flag);
  const ast *parts[] = {n->a, n->b, n->c};
  int last = n->c ? 3 : n->b ? 2 : n->a ? 1 : 0;
  for (int i = 0; i < last; ++i) {
    tn_buf_putc(b, ' ');
    show(b, parts[i]);
  }
  for (int i = 0; n->ops && i + 1 < n->items.n; ++i) tn_buf_printf(b, " %s", n->ops[i]);
  if (n->items.n) show_list(b, " ", n->items);
  if (n->body.n) show_list(b, " do", n->body);
  if (n->orelse.n) show_list(b, " else", n->orelse);
  if (n->decorators.n) show_list(b, " @", n->decorators);
  tn_buf_putc(b, ')');
}

static ast_source source_of(const char *text) {
  return (ast_source){"test.py", text, (int)strlen(text), 1, 0};
}

/* Number of the kind stands first; the enumerators keep the expectations readable. */
TN_PRINTF(2, 3) static void expect_expr(const char *text, const char *fmt, ...) {
  char want[1024];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(want, sizeof want, fmt, ap);
  va_end(ap);
  TN_ARENA(arena);
  TN_BUF(b);
  ast_source src = source_of(text);
  ast *e = ast_parse_expr(&src, &arena);
  if (!e) fail_msg("%s", tn_error_message());
  show(&b, e);
  assert_string_equal(tn_buf_cstr(&b), want);
}

static void test_expressions(void **state) {
  (void)state;
  expect_expr("a + b * 2", "(%d + (%d a) (%d * (%d b) (%d 2)))", AST_BINARY, AST_NAME, AST_BINARY,
              AST_NAME, AST_INT);
  expect_expr("-x ** 2", "(%d - (%d ** (%d x) (%d 2)))", AST_UNARY, AST_BINARY, AST_NAME, AST_INT);
  expect_expr("A[i, 0:n]", "(%d #1 (%d A) [(%d i) (%d (%d 0) (%d n))])", AST_INDEX, AST_NAME,
              AST_NAME, AST_SLICE, AST_INT, AST_NAME);
  expect_expr("f(x, *y, k=1)", "(%d (%d f) [(%d x) (%d (%d y)) (%d k (%d 1))])", AST_CALL, AST_NAME,
              AST_NAME, AST_STARRED, AST_NAME, AST_KEYWORD, AST_INT);
  expect_expr("a < b <= c", "(%d < <= [(%d a) (%d b) (%d c)])", AST_COMPARE, AST_NAME, AST_NAME,
              AST_NAME);
  expect_expr("x if c else y", "(%d (%d c) (%d x) (%d y))", AST_IFEXP, AST_NAME, AST_NAME,
              AST_NAME);
  expect_expr("not a and b", "(%d and [(%d not (%d a)) (%d b)])", AST_BOOLOP, AST_UNARY, AST_NAME,
              AST_NAME);
  expect_expr("(1,)", "(%d #1 [(%d 1)])", AST_TUPLE, AST_INT);
  expect_expr("()", "(%d)", AST_TUPLE);
  expect_expr("lambda i, j: i", "(%d (%d i) [(%d i) (%d j)])", AST_LAMBDA, AST_NAME, AST_PARAM,
              AST_PARAM);
  expect_expr("{\"a\": 1}", "(%d [(%d a) (%d 1)])", AST_DICT, AST_STR, AST_INT);
  expect_expr("\"a\\n\" 'b\\x41\\u00e9' r'\\n'", "(%d a\nbA\xc3\xa9\\n)", AST_STR);
  expect_expr("[i for i in x]", "(%d)", AST_COMP);
  expect_expr("f(i for i in x)", "(%d (%d f) [(%d)])", AST_CALL, AST_NAME, AST_COMP);
  expect_expr("1.5e-3", "(%d 1.5e-3)", AST_FLOAT);
  expect_expr("T.float32(\"inf\")", "(%d (%d float32 (%d T)) [(%d inf)])", AST_CALL, AST_ATTR,
              AST_NAME, AST_STR);
}

static void test_statements(void **state) {
  (void)state;
  const char *text = "@T.prim_func\n"
                     "def main(A: T.Buffer((16, 16), 'float32'), n: T.int32) -> None:\n"
                     "    # comment\n"
                     "\n"
                     "    for i, j in T.grid(16,\n"
                     "                       16):\n"
                     "        with T.block(\"B\"), T.x() as y:\n"
                     "            A[i, j] += 1; pass\n"
                     "        if i == 0: pass\n"
                     "        elif j == 1:\n"
                     "            return\n"
                     "        else:\n"
                     "            x: T.int32 = 3\n"
                     "    a = b = c\n";
  TN_ARENA(arena);
  ast_source src = source_of(text);
  ast_list out = {0};
  if (ast_parse(&src, &arena, &out)) fail_msg("%s", tn_error_message());
  assert_int_equal(out.n, 1);
  const ast *def = out.items[0];
  assert_int_equal(def->kind, AST_DEF);
  assert_string_equal(def->text, "main");
  assert_int_equal(def->decorators.n, 1);
  assert_int_equal(def->items.n, 2);
  assert_int_equal(def->body.n, 2);
  const ast *loop = def->body.items[0];
  assert_int_equal(loop->kind, AST_FOR);
  assert_int_equal(loop->line, 5);
  assert_int_equal(loop->a->kind, AST_TUPLE);
  assert_int_equal(loop->body.n, 2);
  const ast *with = loop->body.items[0];
  assert_int_equal(with->items.n, 2);
  assert_string_equal(with->items.items[1]->b->text, "y");
  assert_int_equal(with->body.n, 2);
  const ast *branch = loop->body.items[1];
  assert_int_equal(branch->orelse.n, 1);
  assert_int_equal(branch->orelse.items[0]->orelse.items[0]->kind, AST_ANN);
  assert_int_equal(def->body.items[1]->items.n, 2);
}

static void expect_error(const char *text, const char *part) {
  TN_ARENA(arena);
  ast_source src = source_of(text);
  ast_list out = {0};
  assert_int_equal(ast_parse(&src, &arena, &out), -1);
  assert_error("DiagnosticError", part);
}

static void test_errors_show_the_place(void **state) {
  (void)state;
  expect_error("a = (1, 2", "the bracket is never closed\n --> test.py:1:5");
  expect_error("for i T.grid(2):\n  pass\n",
               "expected 'in' of a for loop, got T\n --> test.py:1:7\n   |\n 1 | for i "
               "T.grid(2):\n   |       ^");
  expect_error("if x:\npass\n", "expected an indented block, got pass\n --> test.py:2:1");
  expect_error("if x:\n    a\n  b\n", "unindent does not match");
  expect_error("x = 'abc\n", "unterminated string literal");
  expect_error("a b\n", "expected the end of the line, got b");
  expect_error("f(1", "never closed");
  expect_error("1x", "invalid number");
  expect_error("a = $", "unexpected character");
}

static void test_deep_nesting_is_refused(void **state) {
  (void)state;
  TN_BUF(b);
  tn_buf_pad(&b, '-', 100000);
  tn_buf_putc(&b, 'x');
  expect_error(tn_buf_cstr(&b), "less deeply nested expression");
  tn_buf_clear(&b);
  tn_buf_pad(&b, '(', 100000);
  expect_error(tn_buf_cstr(&b), "nested too deeply");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_expressions),
      cmocka_unit_test(test_statements),
      cmocka_unit_test(test_errors_show_the_place),
      cmocka_unit_test(test_deep_nesting_is_refused),
  };
  return cmocka_run_group_tests(tests, start_runtime, NULL);
}
