/* What executors and runtimes ask of an ahead-of-time program. */
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "driver/aot/aot.h"
#include "ir/imm.h"
#include "ir/module.h"
#include "ir/pass.h"
#include "object/functions.h"

enum { DEFAULT_ALIGN = 16 };

static int64_t int_option(const tn_DictAttrs *attrs, const char *name, int64_t absent) {
  tn_any v;
  int64_t found = absent;
  if (attrs && ir_attrs_get(attrs, name, &v) && tn_any_is_obj(&v)) tir_as_int(v.v.obj, &found);
  return found;
}

static int check_interface(const aot_options *o) {
  const char *api = o->c_interface ? "c" : "packed";
  if (o->crt)
    TN_CHECK(!o->c_interface || o->unpacked, TenonError, NULL,
             "Either need interface_api == \"packed\" (got: %s) or unpacked-api == true (got: %d) "
             "when targeting c runtime",
             api, o->unpacked);
  else
    TN_CHECK(!o->unpacked && !o->c_interface, TenonError, NULL,
             "Need unpacked-api == false (got: %d) and interface-api == \"packed\" (got: %s) when "
             "targeting c++ runtime",
             o->unpacked, api);
  return 0;
}

static int check_align(const char *name, int64_t align) {
  bool ok = align > 0 && align <= 4096 && (align & (align - 1)) == 0;
  TN_CHECK(ok, ValueError, NULL, "%s: expected a power of two from 1 to 4096 bytes, got %" PRId64,
           name, align);
  return 0;
}

static int check_pools(const aot_options *o) {
  TN_CHECK(o->crt || !(o->workspace_pools || o->constant_pools), ValueError, NULL,
           "relay.build: memory pools are for microcontrollers: they need Runtime(\"crt\")");
  TN_CHECK(o->link_params || !o->crt, ValueError, NULL,
           "Executor(\"aot\"): without link-params nobody gives a microcontroller the constants");
  for (int64_t i = 0; o->workspace_pools && i < o->workspace_pools->len; ++i)
    TN_CHECK(TN_IS(WorkspacePoolInfo, tn_arr_obj(o->workspace_pools, i)), TypeError, NULL,
             "workspace_memory_pools: expected WorkspacePoolInfo at %" PRId64, i);
  for (int64_t i = 0; o->constant_pools && i < o->constant_pools->len; ++i)
    TN_CHECK(TN_IS(ConstantPoolInfo, tn_arr_obj(o->constant_pools, i)), TypeError, NULL,
             "constant_memory_pools: expected ConstantPoolInfo at %" PRId64, i);
  return 0;
}

/* Inputs and outputs in pools are for those who ask where they lie. */
static int check_workspace_io(const aot_options *o) {
  TN_CHECK(!o->workspace_io || o->c_interface, TenonError, NULL,
           "tir.usmp.use_workspace_io needs interface-api c, got packed: callers of the packed "
           "interface bring inputs and outputs along");
  TN_CHECK(!o->workspace_io || o->pools, ValueError, NULL,
           "tir.usmp.use_workspace_io: no memory pools: set tir.usmp.enable");
  return 0;
}

static const char *text_option(const tn_PassContext *ctx, const char *name) {
  const tn_obj *o = ir_config_get(ctx, name);
  return o && o->type_index == TN_TI_String ? tn_cstr((const tn_str *)o) : NULL;
}

/* Can code for a target reach the pool? Every target can where none is named. */
static bool is_for(const tn_PoolInfo *p, const tn_target *t) {
  bool found = p->targets->len == 0;
  for (int64_t i = 0; i < p->targets->len; ++i) {
    const tn_target *one = TN_AS(Target, tn_arr_obj(p->targets, i));
    found = found || (one && strcmp(tn_cstr(one->kind->name), tn_cstr(t->kind->name)) == 0);
  }
  return found;
}

/* The pools for a target, in their order; NULL: none were given. */
static int pools_for(const tn_arr *pools, const tn_target *t, const char *what,
                     const tn_arr **out) {
  TN_VEC(list);
  *out = NULL;
  if (!pools || !pools->len) return 0;
  for (int64_t i = 0; i < pools->len; ++i) {
    const tn_obj *o = tn_arr_obj(pools, i);
    bool pool = TN_IS(WorkspacePoolInfo, o) || TN_IS(ConstantPoolInfo, o);
    if (!pool || is_for((const tn_PoolInfo *)o, t)) TN_TRY(tn_vec_push_obj(&list, o));
  }
  TN_CHECK(list.len, ValueError, NULL, "%s: no pool is for the target %s", what,
           tn_cstr(t->kind->name));
  TN_GET(*out, tn_arr_from(&list));
  return 0;
}

int aot_options_from(const tn_Executor *executor, const tn_Runtime *runtime,
                     const tn_WorkspaceMemoryPools *workspace,
                     const tn_ConstantMemoryPools *constant, const tn_target *t, aot_options *out) {
  const tn_DictAttrs *attrs = executor ? executor->attrs : NULL;
  const char *api = attrs ? ir_attrs_str(attrs, "interface-api") : NULL;
  const tn_PassContext *ctx;
  TN_GET(ctx, ir_pass_ctx_current());
  TN_CHECK(!api || strcmp(api, "c") == 0 || strcmp(api, "packed") == 0, ValueError, NULL,
           "interface-api: expected c or packed, got %s", api);
  TN_CHECK(target_device_type(t) == kDLCPU, ValueError, NULL,
           "the ahead-of-time executor runs on processors; target: %s", tn_cstr(t->kind->name));
  *out = (aot_options){
      .crt = runtime && tn_str_eq(runtime->name, "crt"),
      .unpacked = int_option(attrs, "unpacked-api", 0) != 0,
      .c_interface = api && strcmp(api, "c") == 0,
      .pools = ir_config_int(ctx, "tir.usmp.enable", 0) != 0,
      .link_params = int_option(attrs, "link-params", 1) != 0,
      .workspace_io = ir_config_int(ctx, "tir.usmp.use_workspace_io", 0) != 0,
      .algorithm = text_option(ctx, "tir.usmp.algorithm"),
      .custom = text_option(ctx, "tir.usmp.custom_algorithm"),
  };
  TN_TRY(pools_for(workspace ? workspace->pools : NULL, t, "workspace_memory_pools",
                   &out->workspace_pools));
  TN_TRY(pools_for(constant ? constant->pools : NULL, t, "constant_memory_pools",
                   &out->constant_pools));
  /* machine code counts on the alignment that tensors of a host have */
  bool wide = !out->unpacked && target_makes(t, TARGET_MACHINE_CODE);
  int64_t dflt = wide ? TIR_ALIGNMENT : DEFAULT_ALIGN;
  out->workspace_align = int_option(attrs, "workspace-byte-alignment", dflt);
  out->constant_align = int_option(attrs, "constant-byte-alignment", 0);
  TN_TRY(check_align("workspace-byte-alignment", out->workspace_align));
  if (out->constant_align) TN_TRY(check_align("constant-byte-alignment", out->constant_align));
  if (wide && out->workspace_align < TIR_ALIGNMENT) out->workspace_align = TIR_ALIGNMENT;
  out->pools = out->crt && (out->pools || out->workspace_pools);
  TN_TRY(check_interface(out));
  TN_TRY(check_workspace_io(out));
  return check_pools(out);
}
