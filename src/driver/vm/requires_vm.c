/* Which programs only the virtual machine can run: those with control flow, functions as values,
   data types, references, or shapes that are known at run time only. */
#include "base/error.h"
#include "base/log.h"
#include "base/scope.h"
#include "driver/vm/build.h"
#include "ir/functor.h"
#include "ir/module.h"
#include "object/functions.h"
#include "relay/infer.h"
#include "relay/expr/expr_info.h"
#include "relay/value_types.h"

typedef struct {
  const tn_obj *main;
  const char *reason; /* NULL: none found */
} search;

static const char *reason_of(const search *s, const tn_obj *e) {
  const tn_Type *t = tn_obj_is(e, &tn_type_RelayExpr) ? relay_type_of(e) : NULL;
  if (t && relay_is_value_type(t)) return "a sequence or an optional value";
  switch (e->type_index) {
  case TN_TI_RelayIf: return "a branch";
  case TN_TI_Match:
  case TN_TI_Constructor: return "an algebraic data type";
  case TN_TI_RefCreate:
  case TN_TI_RefRead:
  case TN_TI_RefWrite: return "a reference";
  case TN_TI_GlobalVar: return "a call of another function";
  case TN_TI_RelayFunction:
    return e == s->main || relay_is_kernel(e) ? NULL : "a function as a value";
  case TN_TI_Op: return NULL;
  default: return t && !relay_is_static(t) ? "a shape that is known at run time only" : NULL;
  }
}

static int look(void *ctx, tn_obj *e) {
  search *s = ctx;
  s->reason = reason_of(s, e);
  return s->reason != NULL;
}

static bool see(const tn_obj *parent, const tn_field *field, const tn_obj *child) {
  (void)field, (void)child;
  return !relay_is_kernel(parent);
}

int driver_needs_vm(tn_IRModule *m, const char **reason) {
  TN_SCOPE(scope);
  search s = {0};
  tn_GlobalVar *v;
  tn_BaseFunc *f;
  *reason = NULL;
  TN_GET(m, relay_infer_module(m));
  TN_GET(v, ir_module_var(m, "main"));
  TN_GET(f, ir_module_lookup(m, v));
  s.main = (const tn_obj *)f;
  TN_TRY(tn_post_order_if(f, see, look, &s) < 0);
  *reason = s.reason;
  return 0;
}

/* (module) -> what only the virtual machine can run, None when there is nothing of it */
static int needs_vm(TN_ARGS) {
  TN_NARGS("driver.needs_vm", 1);
  TN_ARG_OBJ(IRModule, m, 0);
  const char *reason;
  TN_TRY(driver_needs_vm(m, &reason));
  if (!reason) return 0;
  TN_LOG(INFO, "the virtual machine runs this model: it has %s", reason);
  return tn_ret_obj(ret, tn_str_from(reason));
}

static const tn_func_row rows[] = {{"driver.needs_vm", needs_vm}};

int driver_needs_vm_init(void) { return tn_func_register_rows(rows, TN_COUNT(rows)); }
