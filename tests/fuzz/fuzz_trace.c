/* Traces of schedules as JSON: whatever the text, its steps are taken or refused with an error. What
   was taken has a text, and taken again from that it makes an equal program. */
#include "base/error.h"
#include "base/scope.h"
#include "fuzz.h"
#include "ir/module.h"
#include "tenon/compiler.h"
#include "tenon/object.h"
#include "tir/schedule/trace.h"
#include "tir/script/build.h"

static const char program[] =
    "@T.prim_func\n"
    "def main(A: T.Buffer((8, 12), \"float32\"), C: T.Buffer((8,), \"float32\")):\n"
    "    B = T.alloc_buffer((8, 12))\n"
    "    for i, j in T.grid(8, 12):\n"
    "        with T.block(\"B\"):\n"
    "            vi, vj = T.axis.remap(\"SS\", [i, j])\n"
    "            B[vi, vj] = A[vi, vj] * T.float32(2)\n"
    "    for i, j in T.grid(8, 12):\n"
    "        with T.block(\"C\"):\n"
    "            vi, vj = T.axis.remap(\"SR\", [i, j])\n"
    "            with T.init():\n"
    "                C[vi] = T.float32(0)\n"
    "            C[vi] = C[vi] + B[vi, vj]";

static tn_IRModule *module;

int LLVMFuzzerInitialize(int *argc, char ***argv) {
  (void)argc, (void)argv;
  if (tn_compiler_init()) return -1;
  TN_SCOPE(s);
  ast_source src = {"fuzz", program, (int)sizeof program - 1, 1, 0};
  script_options opt = {0};
  tn_obj *func = script_parse(&src, &opt);
  module = func ? ir_module_new(NULL, NULL, NULL) : NULL;
  require(module && ir_module_add(module, ir_global_var("main"), (tn_BaseFunc *)func, false) == 0,
          "the program");
  tn_retain(module);
  return 0;
}

static tn_TirSchedule *schedule(void) {
  tn_TirSchedule *s = sch_new(module, 0, 2);
  require(s && sch_seed(s, 1) == 0, "the schedule");
  return s;
}

static void check(const char *text, size_t n) {
  TN_SCOPE(scope);
  tn_TirSchedule *s = schedule(), *again = schedule();
  if (sch_trace_apply_json(text, n, s)) {
    require(tn_error_pending(), "failed without an error");
    tn_error_clear();
  }
  require(sch_trace_python(s->trace, false), "has no text");
  tn_str *json = sch_trace_json(s->trace, false);
  if (!json) { /* infinity, or what only programs can put there */
    tn_error_clear();
    return;
  }
  require(sch_trace_apply_json(json->data, json->len, again) == 0, json->data);
  require(tn_equal(s->mod, again->mod, TN_MAP_FREE_VARS) == 1, json->data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  if (n < 1 << 14) check((const char *)data, n);
  return 0;
}
