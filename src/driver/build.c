/* Building lowered programs: host functions first, then the code generator of the target. */
#include "driver/build.h"

#include "driver/tir_pipeline.h"
#include "object/functions.h"
#include "runtime/module.h"

tn_module *driver_build(tn_IRModule *lowered, tn_target *t) {
  tn_IRModule *m;
  TN_GETP(m, driver_host_pipeline(lowered, (tn_obj *)t));
  return target_build(m, t);
}

static int build(TN_ARGS) {
  TN_NARGS("driver.build", 2);
  TN_ARG_OBJ(IRModule, m, 0);
  tn_target *t;
  TN_CHECK(m, TypeError, NULL, "driver.build: expected a module, got None");
  TN_GET(t, target_from(&args[1]));
  return tn_ret_obj(ret, driver_build(m, t));
}

static const tn_func_row rows[] = {{"driver.build", build}};

int driver_build_init(void) { return tn_func_register_rows(rows, TN_COUNT(rows)); }
