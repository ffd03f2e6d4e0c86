/* Passes: sequences and levels, contexts, instruments, options, diagnostics. */
#include "testing.h"

#include "ir/diag.h"
#include "ir/expr.h"
#include "ir/module.h"
#include "ir/pass.h"
#include "ir/span.h"
#include "tenon/compiler.h"

/* A pass that adds an attribute named by its argument, counting its runs. */
static tn_IRModule *mark(tn_IRModule *m, const tn_pass_ctx *c) {
  int64_t had = 0;
  tn_any old;
  const char *key = "ran";
  if (c->nargs > 0) TN_TRYP(tn_any_to_cstr(&c->args[0], &key));
  if (ir_attrs_get(m->attrs, key, &old)) TN_TRYP(tn_any_to_int(&old, &had));
  tn_IRModule proto = *m;
  proto.attrs = ir_attrs_with(m->attrs, key, tn_any_int(had + 1));
  return proto.attrs ? tn_node_copy(&tn_type_IRModule, &proto) : NULL;
}
static tn_IRModule *give_up(tn_IRModule *m, const tn_pass_ctx *c) {
  (void)m, (void)c;
  return TN_RAISEP(ValueError, NULL, "no");
}
static const ir_pass_row rows[] = {
    {"test.Mark", IR_PASS_MODULE, 1, mark, NULL, NULL, "marks"},
    {"test.Fail", IR_PASS_MODULE, 0, give_up, NULL, NULL, "fails"},
    {"test.MarkLate", IR_PASS_MODULE, 3, mark, NULL, NULL, "marks"},
};

static tn_Pass *make(int row, const char *key) {
  tn_any arg = tn_any_cstr(key);
  return ir_pass_new(&rows[row], &arg, 1);
}

static int64_t count(const tn_IRModule *m, const char *key) {
  tn_any v;
  return ir_attrs_get(m->attrs, key, &v) ? v.v.i64 : 0;
}

static tn_PassContext *context(int64_t level, const char *config_key, tn_any config_value) {
  tn_map *config = config_key ? tn_map_with(NULL, tn_any_cstr(config_key), config_value)
                              : tn_scope_own(tn_map_new());
  tn_arr *none = tn_arr_of(0);
  return TN_MAKE(PassContext, .opt_level = level, .required_pass = none, .disabled_pass = none,
                 .instruments = none, .config = config);
}

static void test_sequences_obey_levels(void **state) {
  (void)state;
  TN_SCOPE(s);
  tn_IRModule *m = ir_module_new(NULL, NULL, NULL), *r;
  tn_Pass *seq =
      (tn_Pass *)ir_sequential("all", tn_arr_of(3, make(0, "a"), make(2, "late"), make(0, "a")));
  r = ir_pass_run(seq, m, context(2, NULL, tn_any_none()));
  assert_int_equal(count(r, "a"), 2);
  assert_int_equal(count(r, "late"), 0);
  r = ir_pass_run(seq, m, context(3, NULL, tn_any_none()));
  assert_int_equal(count(r, "late"), 1);
  r = ir_pass_run(seq, m, context(0, NULL, tn_any_none()));
  assert_ptr_equal(r, m);
  assert_int_equal(count(ir_pass_run(make(2, "late"), m, context(0, NULL, tn_any_none())), "late"),
                   1);
  assert_null(m->attrs);
  tn_PassContext *c = context(0, NULL, tn_any_none());
  tn_PassContext proto = *c;
  proto.required_pass = tn_arr_of(1, tn_str_from("test.MarkLate"));
  r = ir_pass_run(seq, m, tn_node_copy(&tn_type_PassContext, &proto));
  assert_int_equal(count(r, "late"), 1);
  assert_int_equal(count(r, "a"), 0);
}

static void test_errors_pass_through(void **state) {
  (void)state;
  TN_SCOPE(s);
  tn_Pass *seq = (tn_Pass *)ir_sequential("all", tn_arr_of(2, make(0, "a"), make(1, "")));
  assert_null(ir_pass_run(seq, ir_module_new(NULL, NULL, NULL), NULL));
  assert_error("ValueError", "no");
}

static void test_contexts_nest(void **state) {
  (void)state;
  TN_SCOPE(s);
  tn_PassContext *outer = ir_pass_ctx_current(), *a = context(1, NULL, tn_any_none()),
                 *b = context(3, NULL, tn_any_none());
  assert_int_equal(outer->opt_level, 2);
  assert_int_equal(ir_pass_ctx_enter(a), 0);
  assert_int_equal(ir_pass_ctx_enter(b), 0);
  assert_ptr_equal(ir_pass_ctx_current(), b);
  assert_int_equal(ir_pass_ctx_exit(a), -1);
  assert_error("RuntimeError", "innermost");
  assert_int_equal(ir_pass_ctx_exit(b), 0);
  assert_ptr_equal(ir_pass_ctx_current(), a);
  assert_int_equal(ir_pass_ctx_exit(a), 0);
  assert_ptr_equal(ir_pass_ctx_current(), outer);
}

/* Instruments that write what they are told. */
static tn_buf events;
static int on_enter(TN_ARGS) { return tn_buf_printf(&events, "%s> ", (const char *)self), 0; }
static int on_exit(TN_ARGS) { return tn_buf_printf(&events, "<%s ", (const char *)self), 0; }
static int on_before(TN_ARGS) { return tn_buf_printf(&events, "%s( ", (const char *)self), 0; }
static int on_after(TN_ARGS) { return tn_buf_printf(&events, ")%s ", (const char *)self), 0; }
static int broken(TN_ARGS) {
  tn_buf_puts(&events, "! ");
  return TN_RAISE(RuntimeError, NULL, "broken");
}

static tn_PassInstrument *watcher(char *name, tn_call enter, tn_call before) {
  return TN_NEW(PassInstrument, .name = tn_str_from(name),
                .on_enter = tn_scope_own(tn_func_new(enter, name, NULL)),
                .on_exit = tn_scope_own(tn_func_new(on_exit, name, NULL)),
                .on_before_pass = tn_scope_own(tn_func_new(before, name, NULL)),
                .on_after_pass = tn_scope_own(tn_func_new(on_after, name, NULL)));
}

static tn_PassContext *watched(tn_PassInstrument *x, tn_PassInstrument *y) {
  tn_PassContext proto = *context(2, NULL, tn_any_none());
  proto.instruments = tn_arr_of(2, x, y);
  return tn_node_copy(&tn_type_PassContext, &proto);
}

static void assert_events(const char *want) {
  assert_string_equal(tn_buf_cstr(&events), want);
  tn_buf_clear(&events);
}

static void test_instruments(void **state) {
  (void)state;
  TN_SCOPE(s);
  static char x[] = "x", y[] = "y";
  tn_IRModule *m = ir_module_new(NULL, NULL, NULL);
  tn_PassContext *c = watched(watcher(x, on_enter, on_before), watcher(y, on_enter, on_before));
  assert_int_equal(ir_pass_ctx_enter(c), 0);
  assert_non_null(ir_pass_run(make(0, "a"), m, NULL));
  assert_int_equal(ir_pass_ctx_exit(c), 0);
  assert_events("x> y> x( y( )x )y <x <y ");

  c = watched(watcher(x, on_enter, on_before), watcher(y, broken, on_before));
  assert_int_equal(ir_pass_ctx_enter(c), -1);
  assert_error("RuntimeError", "broken");
  assert_events("x> ! <x ");
  assert_int_equal(c->instruments->len, 0);
  assert_ptr_not_equal(ir_pass_ctx_current(), c);

  c = watched(watcher(x, on_enter, broken), watcher(y, on_enter, on_before));
  assert_int_equal(ir_pass_ctx_enter(c), 0);
  assert_null(ir_pass_run(make(0, "a"), m, NULL));
  assert_error("RuntimeError", "broken");
  assert_int_equal(ir_pass_ctx_exit(c), 0);
  assert_events("x> y> ! <x <y ");
  tn_buf_fini(&events);
}

static void test_options_are_declared(void **state) {
  (void)state;
  TN_SCOPE(s);
  tn_PassContext *c = context(2, "tir.disable_vectorize", tn_any_bool(true));
  assert_int_equal(ir_config_int(c, "tir.disable_vectorize", 0), 1);
  assert_int_equal(ir_config_int(c, "tir.disable_assert", 7), 7);
  assert_null(context(2, "tir.disable_vectorise", tn_any_bool(true)));
  assert_error("AttributeError", "Invalid config option 'tir.disable_vectorise'; did you mean "
                                 "tir.disable_vectorize? candidates are:");
  assert_null(context(2, "tir.disable_vectorize", tn_any_cstr("yes")));
  assert_error(
      "AttributeError",
      "expect config tir.disable_vectorize to have type IntImm, but instead get runtime.String");
}

static int refuse_bad(tn_IRModule *m) {
  if (count(m, "bad") == 0) return 0;
  return TN_RAISE(ValueError, NULL, "a bad module");
}

/* A pass that changes what it is given. */
static tn_IRModule *spoil(tn_IRModule *m, const tn_pass_ctx *c) {
  (void)c;
  return ir_module_add(m, ir_global_var("new"), (tn_BaseFunc *)ir_global_var("f"), true) ? NULL : m;
}

static void test_modules_are_checked_around_passes(void **state) {
  (void)state;
  TN_SCOPE(s);
  static const ir_pass_row spoiler = {"test.Spoil", IR_PASS_MODULE,     0, spoil, NULL,
                                      NULL,         "changes its input"};
  tn_IRModule *m = ir_module_new(NULL, NULL, NULL);
  ir_pass_add_verifier(1, refuse_bad);
  tn_PassContext *c = context(2, "ir.verify", tn_any_bool(true));
  assert_non_null(ir_pass_run(make(0, "good"), m, c));
  assert_non_null(ir_pass_run(make(0, "bad"), m, NULL));
  assert_null(ir_pass_run(make(0, "bad"), m, c));
  assert_string_equal(tn_cstr((tn_str *)tn_arr_obj(tn_error_get()->notes, 0)),
                      "after pass test.Mark");
  assert_error("ValueError", "a bad module");
  c = context(2, "testing.immutable_module", tn_any_bool(true));
  assert_non_null(ir_pass_run(make(0, "good"), m, c));
  assert_null(ir_pass_run(ir_pass_new(&spoiler, NULL, 0), m, c));
  assert_error("InternalError", "pass test.Spoil changed the module it was given");
}

static void test_diagnostics_show_the_place(void **state) {
  (void)state;
  TN_SCOPE(s);
  tn_IRModule *m = ir_module_new(NULL, NULL, NULL);
  tn_SourceName *name = ir_source_name("model.txt");
  assert_int_equal(ir_source_add(m, name, "first\n%1 = foo(\"\xc3\xa9\", %x);\nlast"), 0);
  tn_DiagnosticContext *d = ir_diag_context(m, NULL);
  assert_int_equal(ir_diag_render(d), 0);
  assert_int_equal(ir_diag_emit(d, IR_DIAG_WARNING, NULL, "mind the %s", "gap"), 0);
  assert_int_equal(ir_diag_render(d), 0);
  assert_int_equal(ir_diag_emit(d, IR_DIAG_ERROR, ir_span(name, 2, 2, 16, 18), "unknown variable"),
                   0);
  assert_int_equal(ir_diag_emit(d, IR_DIAG_NOTE, ir_span(name, 9, 9, 1, 2), "beyond the text"), 0);
  assert_int_equal(ir_diag_render(d), -1);
  assert_error("DiagnosticError", "warning: mind the gap\n"
                                  "error: unknown variable\n"
                                  " --> model.txt:2:16\n"
                                  "  |\n"
                                  "2 | %1 = foo(\"\xc3\xa9\", %x);\n"
                                  "  |               ^^\n"
                                  "note: beyond the text\n"
                                  " --> model.txt:9:1\n");
}

static int start_compiler(void **state) {
  (void)state;
  return tn_compiler_init();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_sequences_obey_levels),
      cmocka_unit_test(test_errors_pass_through),
      cmocka_unit_test(test_contexts_nest),
      cmocka_unit_test(test_instruments),
      cmocka_unit_test(test_options_are_declared),
      cmocka_unit_test(test_modules_are_checked_around_passes),
      cmocka_unit_test(test_diagnostics_show_the_place),
  };
  return cmocka_run_group_tests(tests, start_compiler, NULL);
}
