/* The kinds of targets: their options, keys and devices; tags of known devices. */
#include <pthread.h>
#include <string.h>

#include "base/text.h"
#include "object/functions.h"
#include "target/target_impl.h"

/* ---- options ---- */

static const target_option common[] = {
    {"keys", TARGET_STRS},       {"tag", TARGET_STR},
    {"device", TARGET_STR},      {"model", TARGET_STR},
    {"libs", TARGET_STRS},       {"host", TARGET_STR},
    {"from_device", TARGET_INT}, {"target_device_type", TARGET_INT},
    {NULL, TARGET_STR},
};
static const target_option none[] = {{NULL, TARGET_STR}};

#define MACHINE_OPTIONS                                                                            \
  {"mattr", TARGET_STRS}, {"mcpu", TARGET_STR}, {"mtriple", TARGET_STR}, {                         \
    "mfloat-abi", TARGET_STR                                                                       \
  }

static const target_option llvm[] = {
    MACHINE_OPTIONS,
    {"mabi", TARGET_STR},
    {"num-cores", TARGET_INT},
    {"fast-math", TARGET_BOOL},
    {"fast-math-nnan", TARGET_BOOL},
    {"fast-math-ninf", TARGET_BOOL},
    {"fast-math-nsz", TARGET_BOOL},
    {"fast-math-arcp", TARGET_BOOL},
    {"fast-math-contract", TARGET_BOOL},
    {"fast-math-reassoc", TARGET_BOOL},
    {"opt-level", TARGET_INT},
    {"cl-opt", TARGET_STRS},
    {"jit", TARGET_STR},
    {"vector-width", TARGET_INT},
    {"debug-info", TARGET_STR},
    {"system-lib", TARGET_BOOL},
    {"runtime", TARGET_STR},
    {"link-params", TARGET_BOOL},
    {"unpacked-api", TARGET_BOOL},
    {"interface-api", TARGET_STR},
    {NULL, TARGET_STR},
};
static const target_option c[] = {
    {"system-lib", TARGET_BOOL},
    {"link-params", TARGET_BOOL},
    {"runtime", TARGET_STR},
    {"mcpu", TARGET_STR},
    {"march", TARGET_STR},
    {"mattr", TARGET_STRS},
    {"executor", TARGET_STR},
    {"workspace-byte-alignment", TARGET_INT},
    {"constants-byte-alignment", TARGET_INT},
    {"unpacked-api", TARGET_BOOL},
    {"interface-api", TARGET_STR},
    {"mtriple", TARGET_STR},
    {NULL, TARGET_STR},
};
#define GPU_OPTIONS                                                                                \
  {"max_num_threads", TARGET_INT}, {"thread_warp_size", TARGET_INT},                               \
      {"max_shared_memory_per_block", TARGET_INT}, {"max_threads_per_block", TARGET_INT},          \
      {"registers_per_block", TARGET_INT}, {                                                       \
    "max_function_args", TARGET_INT                                                                \
  }
static const target_option cuda[] = {
    {"mcpu", TARGET_STR}, {"arch", TARGET_STR}, {"l2_cache_size_bytes", TARGET_INT},
    GPU_OPTIONS,          {NULL, TARGET_STR},
};
static const target_option gpu[] = {
    {"device_name", TARGET_STR},
    {"device_type", TARGET_STR},
    {"driver_name", TARGET_STR},
    {"texture_spatial_limit", TARGET_INT},
    {"texture_depth_limit", TARGET_INT},
    MACHINE_OPTIONS,
    {"supports_float16", TARGET_BOOL},
    GPU_OPTIONS,
    {NULL, TARGET_STR},
};
static const target_option composite[] = {{"devices", TARGET_TARGETS}, {NULL, TARGET_STR}};
static const target_option hexagon[] = {MACHINE_OPTIONS,
                                        {"llvm-options", TARGET_STRS},
                                        {"num-cores", TARGET_INT},
                                        {"vtcm-capacity", TARGET_INT},
                                        {NULL, TARGET_STR}};

/* ---- what is not given ---- */

static const target_default cuda_defaults[] = {
    {"max_num_threads", 1024}, {"thread_warp_size", 32}, {NULL, 0}};
static const target_default rocm_defaults[] = {{"max_num_threads", 256},
                                               {"max_threads_per_block", 256},
                                               {"max_shared_memory_per_block", 65536},
                                               {"thread_warp_size", 64},
                                               {NULL, 0}};
static const target_default opencl_defaults[] = {{"max_num_threads", 256},
                                                 {"max_threads_per_block", 256},
                                                 {"max_shared_memory_per_block", 16384},
                                                 {"thread_warp_size", 1},
                                                 {"texture_spatial_limit", 16384},
                                                 {NULL, 0}};
static const target_default metal_defaults[] = {{"max_num_threads", 256},
                                                {"max_threads_per_block", 256},
                                                {"max_shared_memory_per_block", 32768},
                                                {"thread_warp_size", 16},
                                                {"max_function_args", 31},
                                                {NULL, 0}};
static const target_default vulkan_defaults[] = {
    {"max_num_threads", 256}, {"thread_warp_size", 1}, {NULL, 0}};
static const target_default webgpu_defaults[] = {{"max_num_threads", 256}, {NULL, 0}};

/* ---- kinds ---- */

enum { EXT_DEV = 12, AOCL = 32, HEXAGON = 16, WEBGPU = 15 };

static const target_kind_row kinds[] = {
    {"llvm", kDLCPU, "cpu", llvm, .code = TARGET_MACHINE_CODE},
    {"c", kDLCPU, "cpu", c, .code = TARGET_C_SOURCE},
    {"cuda", kDLCUDA, "cuda,gpu", cuda, cuda_defaults, .complete = target_cuda_complete},
    {"nvptx", kDLCUDA, "cuda,gpu", gpu, cuda_defaults},
    {"rocm", kDLROCM, "rocm,gpu", gpu, rocm_defaults},
    {"opencl", kDLOpenCL, "opencl,gpu", gpu, opencl_defaults},
    {"metal", kDLMetal, "metal,gpu", gpu, metal_defaults},
    {"vulkan", kDLVulkan, "vulkan,gpu", gpu, vulkan_defaults},
    {"webgpu", WEBGPU, "webgpu,gpu", gpu, webgpu_defaults},
    {"sdaccel", kDLOpenCL, "sdaccel,hls", none},
    {"aocl", AOCL, "aocl,hls", none},
    {"aocl_sw_emu", AOCL, "aocl,hls", none},
    {"hexagon", HEXAGON, "hexagon,cpu", hexagon},
    {"stackvm", kDLCPU, "", none},
    {"ext_dev", EXT_DEV, "", none},
    {"hybrid", kDLCPU, "", none},
    {"composite", kDLCPU, "", composite},
    {"test", kDLCPU, "", none, .code = TARGET_FOR_TESTS},
};

static const target_tag_row tags[] = {
    {"nvidia/geforce-rtx-2080-ti", "cuda -arch=sm_75 -max_shared_memory_per_block=49152 "
                                   "-max_threads_per_block=1024 -thread_warp_size=32 "
                                   "-registers_per_block=65536"},
    {"nvidia/geforce-rtx-3090", "cuda -arch=sm_86 -max_shared_memory_per_block=49152 "
                                "-max_threads_per_block=1024 -thread_warp_size=32 "
                                "-registers_per_block=65536"},
    {"nvidia/nvidia-a100", "cuda -arch=sm_80 -max_shared_memory_per_block=49152 "
                           "-max_threads_per_block=1024 -thread_warp_size=32 "
                           "-registers_per_block=65536"},
    {"nvidia/nvidia-h100", "cuda -arch=sm_90a -max_shared_memory_per_block=49152 "
                           "-max_threads_per_block=1024 -thread_warp_size=32 "
                           "-registers_per_block=65536"},
    {"nvidia/jetson-nano", "cuda -arch=sm_53 -max_shared_memory_per_block=49152 "
                           "-max_threads_per_block=1024 -thread_warp_size=32 "
                           "-registers_per_block=32768"},
    {"raspberry-pi/4b-aarch64", "llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a72 -mattr=+neon "
                                "-num-cores=4"},
};

const target_kind_row *target_kind_find(const char *name) {
  for (int i = 0; i < TN_COUNT(kinds); ++i)
    if (strcmp(kinds[i].name, name) == 0) return &kinds[i];
  return NULL;
}

const char *target_tag_find(const char *name) {
  for (int i = 0; i < TN_COUNT(tags); ++i)
    if (strcmp(tags[i].name, name) == 0) return tags[i].target;
  return NULL;
}

static const target_option *search(const target_option *o, const char *name, tn_near *near) {
  for (; o->name; ++o) {
    if (strcmp(o->name, name) == 0) return o;
    tn_near_offer(near, o->name);
  }
  return NULL;
}

const target_option *target_option_find(const target_kind_row *kind, const char *name) {
  tn_near near = {.name = name};
  const target_option *o = search(common, name, &near);
  if (!o) o = search(kind->options, name, &near);
  TN_CHECKP(o, ValueError, NULL, "target %s: unknown option '%s'%s", kind->name, name,
            tn_near_text(&near));
  return o;
}

/* ---- nodes of the kinds, made once ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static tn_TargetKind *nodes[TN_COUNT(kinds)]; /* retained for good */

static tn_TargetKind *node_of(int i) {
  tn_TargetKind *k = nodes[i];
  if (k) return k;
  k = TN_NEW(TargetKind, .name = tn_str_from(kinds[i].name),
             .default_device_type = kinds[i].device_type,
             .default_keys = target_split(kinds[i].keys));
  if (!k) return NULL;
  tn_retain(k);
  return nodes[i] = k;
}

tn_TargetKind *target_kind_get(const char *name) {
  tn_near near = {.name = name};
  const target_kind_row *row = target_kind_find(name);
  for (int i = 0; !row && i < TN_COUNT(kinds); ++i) tn_near_offer(&near, kinds[i].name);
  TN_CHECKP(row, ValueError, NULL, "Target kind \"%s\" is not defined%s", name,
            tn_near_text(&near));
  pthread_mutex_lock(&lock);
  tn_TargetKind *k = node_of((int)(row - kinds));
  pthread_mutex_unlock(&lock);
  return k;
}

static const char *kind_name(const tn_obj *self) {
  return tn_cstr(((const tn_TargetKind *)self)->name);
}
static tn_obj *kind_from_name(const char *name) {
  TN_SCOPE(s);
  tn_TargetKind *k = target_kind_get(name);
  tn_retain(k);
  return (tn_obj *)k;
}
const tn_type_hooks target_kind_hooks = {.global_name = kind_name,
                                         .from_global_name = kind_from_name};

/* ---- lists ---- */

tn_arr *target_split(const char *text) {
  TN_VEC(v);
  while (*text) {
    size_t n = strcspn(text, ",");
    tn_str *s = tn_scope_own(tn_str_new_n(text, n));
    if (!s) return NULL;
    if (n > 0) TN_TRYP(tn_vec_push_obj(&v, s));
    text += n + (text[n] == ',');
  }
  return tn_arr_from(&v);
}

tn_arr *target_kind_names(void) {
  TN_VEC(v);
  for (int i = 0; i < TN_COUNT(kinds); ++i) {
    tn_str *s;
    TN_GETP(s, tn_str_from(kinds[i].name));
    TN_TRYP(tn_vec_push_obj(&v, s));
  }
  return tn_arr_from(&v);
}

tn_map *target_tags(void) {
  tn_map *m;
  TN_GETP(m, tn_scope_own(tn_map_new()));
  for (int i = 0; i < TN_COUNT(tags); ++i) {
    tn_target *t;
    TN_GETP(t, target_parse(tags[i].name));
    TN_TRYP(tn_map_set(m, tn_any_cstr(tags[i].name), tn_any_obj(t)));
  }
  TN_TRYP(target_tags_add(m));
  return m;
}

static int add_options(tn_map *m, const target_option *o) {
  static const char *const types[] = {"runtime.String",        "IntImm",        "bool",
                                      "Array<runtime.String>", "Array<IntImm>", "Array<Target>"};
  for (; o->name; ++o) {
    tn_str *s;
    TN_GET(s, tn_str_from(types[o->type]));
    TN_TRY(tn_map_set(m, tn_any_cstr(o->name), tn_any_obj(s)));
  }
  return 0;
}

tn_map *target_kind_options(const target_kind_row *kind) {
  tn_map *m;
  TN_GETP(m, tn_scope_own(tn_map_new()));
  TN_TRYP(add_options(m, common));
  TN_TRYP(add_options(m, kind->options));
  return m;
}
