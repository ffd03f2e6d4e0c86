/* Building lowered programs: the passes below, then the code generator of the target. */
#include "driver/build.h"

#include "ir/pass.h"
#include "object/functions.h"
#include "runtime/module.h"

/* Functions get the packed signature with checks of their arguments, packed calls their stacks,
   and operations that machines lack are replaced. */
static const char *const host_passes[] = {
    "tir.transform.AnnotateEntryFunc",
    "tir.transform.MakePackedAPI",
    "tir.transform.LowerTVMBuiltin",
    "tir.transform.LowerIntrin",
};

/* The pass that a constructor makes of an argument (NULL: of none). */
static tn_Pass *make_pass(const char *constructor, tn_obj *argument) {
  tn_any arg = tn_any_obj(argument), out = tn_any_none();
  tn_func *f = tn_scope_own(tn_func_find(constructor));
  TN_CHECKP(f, InternalError, NULL, "there is no pass %s", constructor);
  TN_TRYP(tn_func_call(f, &arg, argument ? 1 : 0, &out));
  return tn_scope_own(out.v.obj);
}

static tn_IRModule *run(const char *constructor, tn_obj *argument, tn_IRModule *m) {
  tn_Pass *p;
  TN_GETP(p, make_pass(constructor, argument));
  return ir_pass_run(p, m, NULL);
}

tn_module *driver_build(tn_IRModule *lowered, tn_target *t) {
  tn_IRModule *m;
  TN_GETP(m, run("tir.transform.BindTarget", (tn_obj *)t, lowered));
  for (int i = 0; i < TN_COUNT(host_passes); ++i) TN_GETP(m, run(host_passes[i], NULL, m));
  return target_build(m, t);
}

static int build(TN_ARGS) {
  TN_NARGS("driver.build", 2);
  TN_ARG_OBJ(IRModule, m, 0);
  tn_target *t;
  TN_GET(t, target_from(&args[1]));
  return tn_ret_obj(ret, driver_build(m, t));
}

static const tn_func_row rows[] = {{"driver.build", build}};

int driver_build_init(void) { return tn_func_register_rows(rows, TN_COUNT(rows)); }
