/* Virtual devices: where a value is, as far as a program says so (kind of device, which one, target
   of its code, memory), and what a build knows about the devices it is for. */
#include <string.h>

#include "ir/pass.h"
#include "object/functions.h"
#include "object/repr.h"
#include "target/target_impl.h"

enum { UNKNOWN = -1 };

tn_VirtualDevice *target_virtual_device(int device_type, int64_t id, tn_Target *target,
                                        const char *memory_scope) {
  if (target && device_type == UNKNOWN) device_type = target_device_type(target);
  TN_CHECKP(!target || device_type == target_device_type(target), ValueError, NULL,
            "VirtualDevice: target %s is for device type %d, not %d", tn_cstr(target->kind->name),
            target_device_type(target), device_type);
  return TN_NEW(VirtualDevice, .device_type_int = device_type, .virtual_device_id = id,
                .target = target, .memory_scope = tn_str_from(memory_scope));
}

/* (device, target or None, memory scope) */
static int make(TN_ARGS) {
  tn_device d;
  const char *scope;
  TN_NARGS("target.VirtualDevice_ForDeviceTargetAndMemoryScope", 3);
  TN_TRY(tn_any_to_device(&args[0], &d));
  TN_ARG_OPT(Target, t, 1);
  TN_TRY(tn_any_to_cstr(&args[2], &scope));
  return tn_ret_obj(ret, target_virtual_device((int)d.device_type, d.device_id, t, scope));
}

/* ---- devices of a build ---- */

static tn_Target *find_for_device(const tn_arr *targets, int device_type) {
  for (int64_t i = 0; i < targets->len; ++i) {
    tn_Target *t = (tn_Target *)tn_arr_obj(targets, i);
    if (target_device_type(t) == device_type) return t;
  }
  return NULL;
}

/* The host that a target names, the first for processors, or llvm. */
static tn_Target *host_of(const tn_arr *targets) {
  for (int64_t i = 0; i < targets->len; ++i) {
    const tn_Target *t = (const tn_Target *)tn_arr_obj(targets, i);
    if (t->host) return t->host;
  }
  tn_Target *cpu = find_for_device(targets, kDLCPU);
  return cpu ? target_with_host(cpu, NULL) : target_parse("llvm");
}

static tn_arr *with_host(const tn_arr *targets, tn_Target *host) {
  TN_VEC(out);
  for (int64_t i = 0; i < targets->len; ++i) {
    tn_Target *t = target_with_host((tn_Target *)tn_arr_obj(targets, i), host);
    if (!t || tn_vec_push_obj(&out, t)) return NULL;
  }
  return tn_arr_from(&out);
}

tn_CompilationConfig *target_compilation_config(const tn_arr *given, int64_t fallback) {
  TN_CHECKP(given->len > 0, ValueError, NULL, "MakeCompilationConfig: expected a target");
  tn_Target *host = host_of(given);
  tn_arr *targets = host ? with_host(given, host) : NULL;
  if (!targets) return NULL;
  tn_Target *only = targets->len == 1 ? (tn_Target *)tn_arr_obj(targets, 0) : NULL;
  if (fallback < 0) fallback = only ? target_device_type(only) : kDLCPU;
  tn_Target *dflt = find_for_device(targets, (int)fallback);
  TN_CHECKP(dflt, ValueError, NULL,
            "no target is given for device type %lld, that of what is not "
            "annotated (option relay.fallback_device_type)",
            (long long)fallback);
  tn_VirtualDevice *on_host, *on_default;
  TN_GETP(on_host, target_virtual_device(UNKNOWN, 0, host, ""));
  TN_GETP(on_default, target_virtual_device(UNKNOWN, 0, dflt, ""));
  return TN_NEW(CompilationConfig, .host_target = host, .primitive_targets = targets,
                .default_primitive_virtual_device = on_default, .host_virtual_device = on_host,
                .optional_homogeneous_target = only);
}

/* (pass context, targets) -> CompilationConfig */
static int make_config(TN_ARGS) {
  TN_NARGS("target.MakeCompilationConfig", 2);
  TN_ARG_OBJ(PassContext, ctx, 0);
  TN_ARG_ITEMS(Array(Target), raw, 1);
  int64_t fallback = ir_config_int(ctx, "relay.fallback_device_type", -1);
  return tn_ret_obj(ret, target_compilation_config(raw, fallback));
}

/* ---- text ---- */

static void print_target(tn_buf *out, const tn_Target *t) {
  tn_buf_printf(out, "Target(kind='%s', keys={", tn_cstr(t->kind->name));
  for (int64_t i = 0; i < t->keys->len; ++i)
    tn_buf_printf(out, "%s'%s'", i ? ", " : "", tn_cstr((const tn_str *)tn_arr_obj(t->keys, i)));
  tn_buf_puts(out, "}");
  if (t->host) {
    tn_buf_puts(out, ", host=");
    print_target(out, t->host);
  }
  tn_buf_puts(out, ")");
}

/* VirtualDevice(device_type=1, virtual_device_id=0, target=..., memory_scope='global') */
static int print(tn_repr *r, const tn_obj *o) {
  const tn_VirtualDevice *d = (const tn_VirtualDevice *)o;
  tn_buf *out = tn_repr_out(r);
  const char *sep = "";
  tn_buf_puts(out, "VirtualDevice(");
  bool known = d->device_type_int != UNKNOWN || d->virtual_device_id >= 0 || d->target ||
               d->memory_scope->len;
  if (!known) tn_buf_puts(out, "?");
  if (d->device_type_int != UNKNOWN)
    tn_buf_printf(out, "device_type=%lld", (long long)d->device_type_int), sep = ", ";
  if (d->virtual_device_id >= 0)
    tn_buf_printf(out, "%svirtual_device_id=%lld", sep, (long long)d->virtual_device_id),
        sep = ", ";
  if (d->target) {
    tn_buf_printf(out, "%starget=", sep), sep = ", ";
    print_target(out, d->target);
  }
  if (d->memory_scope->len)
    tn_buf_printf(out, "%smemory_scope='%s'", sep, tn_cstr(d->memory_scope));
  tn_buf_puts(out, ")");
  return tn_buf_ok(out);
}

static const tn_func_row rows[] = {
    {"target.VirtualDevice_ForDeviceTargetAndMemoryScope", make},
    {"target.MakeCompilationConfig", make_config},
};

int target_virtual_device_init(void) {
  TN_TRY(tn_repr_set(&tn_type_VirtualDevice, print));
  return tn_func_register_rows(rows, TN_COUNT(rows));
}
