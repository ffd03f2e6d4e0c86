/* Steps of schedules from C: by the functions that programs call, recorded, as JSON, taken again;
   traces that are not ones; running out of memory. */
#include "testing.h"

#include <stdio.h>

#include "base/scope.h"
#include "failing_alloc.h"
#include "ir/module.h"
#include "tenon/compiler.h"
#include "tenon/object.h"
#include "tir/schedule/trace.h"
#include "tir/script/build.h"

static const char program[] = "@T.prim_func\n"
                              "def main(A: T.Buffer((64,), \"float32\")):\n"
                              "    for i in range(64):\n"
                              "        with T.block(\"B\"):\n"
                              "            vi = T.axis.spatial(64, i)\n"
                              "            A[vi] = A[vi] * T.float32(2)";

static int start_compiler(void **state) {
  (void)state;
  return tn_compiler_init();
}

static tn_TirSchedule *schedule(void) {
  ast_source src = {"test.py", program, (int)sizeof program - 1, 1, 0};
  script_options opt = {0};
  tn_obj *func = script_parse(&src, &opt);
  tn_IRModule *m = ir_module_new(NULL, NULL, NULL);
  if (!func || !m || ir_module_add(m, ir_global_var("main"), (tn_BaseFunc *)func, false))
    fail_msg("%s", tn_error_message());
  return sch_new(m, 0, 2);
}

/* Calls tir.schedule.<kind>; the result belongs to the scope. */
static tn_any call(const char *kind, const tn_any *args, int n) {
  char name[64];
  tn_any ret = tn_any_none();
  snprintf(name, sizeof name, "tir.schedule.%s", kind);
  tn_func *f = tn_scope_own(tn_func_find(name));
  if (!f || tn_func_call(f, args, n, &ret)) fail_msg("%s: %s", kind, tn_error_message());
  if (tn_any_is_obj(&ret)) tn_scope_own(ret.v.obj);
  return ret;
}

static void take_some_steps(tn_TirSchedule *s) {
  tn_any sch = tn_any_obj(s), no = tn_any_bool(false), yes = tn_any_bool(true);
  tn_any loops = call("GetLoops", (tn_any[]){sch, tn_any_cstr("B")}, 2);
  tn_any loop = ((tn_arr *)loops.v.obj)->items[0];
  tn_any factors =
      tn_any_obj(tn_scope_own(tn_arr_new((tn_any[]){tn_any_none(), tn_any_int(8)}, 2)));
  tn_any parts = call("Split", (tn_any[]){sch, loop, factors, yes, no}, 5);
  call("Vectorize", (tn_any[]){sch, ((tn_arr *)parts.v.obj)->items[1]}, 2);
}

static const char json[] = "[[[\"GetBlock\", [], [\"B\", \"main\"], [\"b0\"]], "
                           "[\"GetLoops\", [\"b0\"], [], [\"l1\"]], "
                           "[\"Split\", [\"l1\", \"None\", 8], [1, 0], [\"l2\", \"l3\"]], "
                           "[\"Vectorize\", [\"l3\"], [], []]], []]";

static void test_steps_are_recorded(void **state) {
  (void)state;
  TN_SCOPE(scope);
  tn_TirSchedule *s = schedule(), *again = schedule();
  take_some_steps(s);
  tn_str *text = sch_trace_json(s->trace, false);
  assert_string_equal(tn_cstr(text), json);
  assert_int_equal(sch_trace_apply_json(json, sizeof json - 1, again), 0);
  assert_int_equal(tn_equal(s->mod, again->mod, 0), 1);
  assert_string_equal(tn_cstr(sch_trace_json(again->trace, false)), json);
  tn_arr *lines = sch_trace_python(again->trace, false);
  assert_int_equal(lines->len, 4);
  assert_string_equal(tn_cstr((tn_str *)tn_arr_obj(lines, 2)),
                      "l2, l3 = sch.split(loop=l1, factors=[None, 8], preserve_unit_iters=True, "
                      "disable_predication=False)");
  again = schedule();
  assert_int_equal(sch_trace_apply(s->trace, again, false, NULL), 0);
  assert_int_equal(tn_equal(s->mod, again->mod, 0), 1);
}

/* A schedule goes on with the steps of its own trace. */
static void test_its_own_trace(void **state) {
  (void)state;
  TN_SCOPE(scope);
  tn_TirSchedule *s = schedule();
  call("GetBlock", (tn_any[]){tn_any_obj(s), tn_any_cstr("B")}, 2);
  assert_int_equal(sch_trace_apply(s->trace, s, false, NULL), 0);
  assert_int_equal(s->trace->insts->len, 2);
}

static void test_keys_that_are_numbers(void **state) {
  (void)state;
  TN_SCOPE(scope);
  tn_TirSchedule *s = schedule();
  tn_map *m = tn_scope_own(tn_map_new());
  assert_int_equal(tn_map_set(m, tn_any_int(1), tn_any_int(2)), 0);
  call("Annotate",
       (tn_any[]){tn_any_obj(s), tn_any_cstr("B"), tn_any_obj(m), tn_any_cstr("by number")}, 4);
  assert_null(sch_trace_json(s->trace, false));
  assert_error("TypeError", "a map with keys other than texts cannot be written");
  assert_null(sch_trace_python(s->trace, false));
  assert_error("TypeError", "a map with keys other than texts cannot be written");
}

#define BLOCK "[\"GetBlock\", [], [\"B\", \"main\"], [\"b0\"]]"
#define LOOPS BLOCK ", [\"GetLoops\", [\"b0\"], [], [\"l1\"]]"

static void test_what_is_not_a_trace(void **state) {
  (void)state;
  static const struct {
    const char *text, *kind, *message;
  } bad[] = {
      {"", "ValueError", "this is not a trace"},
      {"[[], [], []]", "ValueError", "expected [[steps], [choices]]"},
      {"{\"a\": 1}", "ValueError", "expected [[steps], [choices]]"},
      {"[[3], []]", "ValueError", "expected [kind, [inputs], [attributes], [outputs]]"},
      {"[[[\"Fly\", [], [], []]], []]", "ValueError", "'Fly' is not a kind of instruction"},
      {"[[[\"Split\", [], [], []]], []]", "ValueError",
       "split takes 1 inputs and 2 attributes, got 0 and 0"},
      {"[[[\"GetLoops\", [\"b0\"], [], []]], []]", "IndexError", "not defined: b0"},
      {"[[[\"GetLoops\", [1], [], []]], []]", "TypeError",
       "get_loops: block: expected a block: its handle (BlockRV) or name, got int"},
      {"[[" BLOCK ", [\"Split\", [\"b0\"], [1, 0], []]], []]", "TypeError",
       "split: loop: expected the handle of a loop (LoopRV), got tir.BlockRV"},
      {"[[" LOOPS ", [\"Split\", [\"l1\", [1]], [1, 0], []]], []]", "TypeError",
       "split: factors[0]"},
      {"[[" LOOPS ", [\"Split\", [\"l1\", 8], [[], 0], []]], []]", "TypeError",
       "split: preserve_unit_iters: expected a bool, got Array"},
      {"[[" LOOPS ", [\"Bind\", [\"l1\"], [null], []]], []]", "TypeError",
       "bind: thread_axis: expected a text, got None"},
      {"[[" BLOCK ", [\"GetLoops\", [\"b0\"], [], [7]]], []]", "ValueError",
       "names of handles are"},
      {"[[" BLOCK ", [\"GetLoops\", [\"b0\"], [], []]], []]", "ValueError",
       "GetLoops gave 1 handles, 0 are recorded"},
      {"[[" BLOCK ", [\"TransformBlockLayout\", [\"b0\"], [\"{}\"], []]], []]", "ValueError",
       "transform_block_layout: index_map"},
      {"[[" BLOCK ", [\"Annotate\", [\"b0\", \"\\\"\"], [\"k\"], []]], []]", "ValueError",
       "line 1"},
      {"[[" BLOCK "], [[1, 0]]]", "ValueError", "it has 1 steps"},
      {"[[" BLOCK "], [[-1, 0]]]", "ValueError", "it has 1 steps"},
      {"[[" LOOPS
       ", [\"SamplePerfectTile\", [\"l1\"], [2, 16], [\"v1\", \"v2\"]]], [[2, [\"None\"]]]]",
       "ValueError", "expected a decision of 2 numbers"},
      {"[[" BLOCK
       ", [\"Annotate\", [\"b0\", [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]"
       "]]]]]]]]]]]]]], [\"k\"], []]], []]",
       "ValueError", "nested more than 32 deep"},
  };
  for (int i = 0; i < TN_COUNT(bad); ++i) {
    TN_SCOPE(scope);
    assert_int_equal(sch_trace_apply_json(bad[i].text, strlen(bad[i].text), schedule()), -1);
    assert_error(bad[i].kind, bad[i].message);
  }
}

static int replay(void *ctx) {
  TN_SCOPE(scope);
  const tn_TirSchedule *of = ctx;
  tn_TirSchedule *s = sch_new(of->mod, 0, 2);
  return s && sch_trace_apply_json(json, sizeof json - 1, s) == 0 &&
                 sch_trace_json(s->trace, false) && sch_trace_python(s->trace, false)
             ? 0
             : -1;
}

static void test_running_out_of_memory(void **state) {
  (void)state;
  TN_SCOPE(scope);
  tn_TirSchedule *s = schedule();
  assert_int_equal(replay(s), 0); /* what is made once is made */
  assert_true(fail_every_allocation(replay, s) > 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_steps_are_recorded),    cmocka_unit_test(test_its_own_trace),
      cmocka_unit_test(test_keys_that_are_numbers), cmocka_unit_test(test_what_is_not_a_trace),
      cmocka_unit_test(test_running_out_of_memory),
  };
  return cmocka_run_group_tests(tests, start_compiler, NULL);
}
