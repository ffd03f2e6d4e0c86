/* The target that a device of this machine has:  cpu(0)  =>  llvm -mcpu=skylake -mtriple=...;
   cuda(0)  =>  cuda -arch=sm_80 -max_shared_memory_per_block=49152 ... */
#include <string.h>

#include "object/functions.h"
#include "tenon/runtime.h"
#include "codegen/codegen.h"
#include "codegen/codegen_impl.h"
#include "target/target.h"

/* What the device says, as options. */
static const struct {
  const char *option;
  tn_device_attr attr;
} limits[] = {
    {"max_shared_memory_per_block", TN_DEV_MAX_SHARED_MEMORY_PER_BLOCK},
    {"max_threads_per_block", TN_DEV_MAX_THREADS_PER_BLOCK},
    {"thread_warp_size", TN_DEV_WARP_SIZE},
};

static tn_map *with_kind(const char *kind) {
  return tn_map_with(NULL, tn_any_cstr("kind"), tn_any_obj(tn_str_from(kind)));
}

/* The machine that runs this: the plug-in knows its processor. Without it there is C. */
static tn_target *host(void) {
  tn_any ret;
  if (!codegen_has_llvm()) return target_parse("c");
  tn_func *f = tn_scope_own(tn_func_find("target.llvm_host"));
  TN_CHECKP(f, InternalError, NULL, "the LLVM plug-in does not say what the host is");
  TN_TRYP(tn_func_call(f, NULL, 0, &ret));
  tn_map *config = tn_scope_own(ret.v.obj);
  TN_GETP(config, tn_map_with(config, tn_any_cstr("kind"), tn_any_cstr("llvm")));
  return target_from_map(config);
}

static int add_limits(tn_map *config, tn_device dev) {
  for (int i = 0; i < TN_COUNT(limits); ++i) {
    tn_any value;
    int64_t n;
    TN_TRY(tn_device_get_attr(dev, limits[i].attr, &value));
    if (value.type_index != TN_INT) continue;
    n = value.v.i64;
    TN_TRY(tn_map_set(config, tn_any_cstr(limits[i].option), tn_any_int(n)));
  }
  return 0;
}

/* CUDA names what it compiles for by the version: "8.0" is sm_80. */
static int add_arch(tn_map *config, tn_device dev) {
  tn_any value;
  const char *version;
  TN_TRY(tn_device_get_attr(dev, TN_DEV_COMPUTE_VERSION, &value));
  if (value.type_index == TN_NONE) return 0;
  if (tn_any_is_obj(&value)) tn_scope_own(value.v.obj);
  TN_TRY(tn_any_to_cstr(&value, &version));
  const char *dot = strchr(version, '.');
  tn_str *arch =
      tn_str_fmt("sm_%.*s%s", (int)(dot ? dot - version : 64), version, dot ? dot + 1 : "");
  return arch ? tn_map_set(config, tn_any_cstr("arch"), tn_any_obj(arch)) : -1;
}

static tn_target *of_device(tn_device dev) {
  static const struct {
    int type;
    const char *kind;
  } kinds[] = {{kDLCUDA, "cuda"},
               {kDLOpenCL, "opencl"},
               {kDLVulkan, "vulkan"},
               {kDLMetal, "metal"},
               {kDLROCM, "rocm"}};
  tn_any exists;
  tn_map *config;
  int i = 0;
  if (dev.device_type == kDLCPU) return host();
  while (i < TN_COUNT(kinds) && kinds[i].type != (int)dev.device_type) ++i;
  TN_CHECKP(i < TN_COUNT(kinds), ValueError, NULL,
            "no target is known for devices of type %d: name the target instead",
            (int)dev.device_type);
  TN_TRYP(tn_device_get_attr(dev, TN_DEV_EXIST, &exists));
  TN_CHECKP(exists.type_index != TN_NONE && exists.v.i64, ValueError, NULL, "unknown device %s(%d)",
            kinds[i].kind, (int)dev.device_id);
  TN_GETP(config, with_kind(kinds[i].kind));
  TN_TRYP(add_limits(config, dev));
  if (dev.device_type == kDLCUDA) TN_TRYP(add_arch(config, dev));
  return target_from_map(config);
}

static int from_device(TN_ARGS) {
  tn_device dev;
  TN_NARGS("target.FromDevice", 1);
  TN_TRY(tn_any_to_device(&args[0], &dev));
  return tn_ret_obj(ret, of_device(dev));
}

static const tn_func_row rows[] = {{"target.FromDevice", from_device}};

int codegen_from_device_init(void) { return tn_func_register_rows(rows, TN_COUNT(rows)); }
