/* Thread axes, memories and targets as the passes over device code see them. */
#include "tir/transforms/device_impl.h"

#include <string.h>

/* ---- memories ---- */

tir_memory tir_memory_of(const char *scope) {
  if (!*scope || strncmp(scope, "global", 6) == 0) return TIR_MEMORY_GLOBAL;
  if (strcmp(scope, "shared") == 0 || strncmp(scope, "shared.", 7) == 0) return TIR_MEMORY_SHARED;
  return strcmp(scope, "warp") == 0 ? TIR_MEMORY_WARP : TIR_MEMORY_LOCAL;
}

const char *tir_var_scope(const tn_Var *v) {
  const tn_PointerType *t = TN_AS(PointerType, v->type_annotation);
  return t && t->storage_scope && t->storage_scope->len ? tn_cstr(t->storage_scope) : "global";
}

bool tir_is_dynamic_shared(const char *scope) { return strcmp(scope, "shared.dyn") == 0; }

/* ---- thread axes ---- */

const tn_IterVar *tir_launched_axis(const tn_AttrStmt *s) {
  if (!s || !tn_str_eq(s->attr_key, "thread_extent")) return NULL;
  return TN_AS(IterVar, s->node);
}

int tir_axis_dim(const char *tag) {
  const char *dot = strrchr(tag, '.');
  return dot && dot[1] >= 'x' && dot[1] <= 'z' && !dot[2] ? dot[1] - 'x' : -1;
}

bool tir_is_shared_along(tir_memory memory, const char *tag) {
  if (tir_is_block_axis(tag)) return memory == TIR_MEMORY_GLOBAL;
  if (!tir_is_thread_axis(tag)) return false;
  if (memory == TIR_MEMORY_WARP) return tir_axis_dim(tag) == 0;
  return memory <= TIR_MEMORY_SHARED;
}

/* ---- targets ---- */

static tn_any field_of(const tn_obj *o, const char *name) {
  const tn_field *f = o ? tn_type_field(o->type, name) : NULL;
  return f ? tn_field_get(o, f) : tn_any_none();
}

int tir_target_device_type(const tn_obj *target) {
  tn_any kind = field_of(target, "kind"), device = tn_any_none();
  int64_t v;
  if (tn_any_is_obj(&kind)) device = field_of(kind.v.obj, "default_device_type");
  if (device.type_index == TN_NONE || tn_any_to_int(&device, &v)) return kDLCPU;
  return (int)v;
}

const char *tir_target_kind_name(const tn_obj *target) {
  tn_any kind = field_of(target, "kind"), name = tn_any_none();
  const char *text;
  if (tn_any_is_obj(&kind)) name = field_of(kind.v.obj, "name");
  return tn_any_is_obj(&name) && tn_any_to_cstr(&name, &text) == 0 ? text : "";
}

tn_obj *tir_target_host(const tn_obj *target) {
  tn_any host = field_of(target, "host");
  return tn_any_is_obj(&host) ? host.v.obj : NULL;
}

/* Calls a global function with one or two arguments; the object belongs to the scope. */
static tn_obj *call(const char *name, const tn_any *args, int n) {
  tn_any out = tn_any_none();
  tn_func *f = tn_scope_own(tn_func_find(name));
  TN_CHECKP(f, InternalError, NULL, "there is no function %s", name);
  TN_TRYP(tn_func_call(f, args, n, &out));
  TN_CHECKP(tn_any_is_obj(&out), InternalError, NULL, "%s gives no object", name);
  return tn_scope_own(out.v.obj);
}

int tir_current_target(tn_obj **out) {
  tn_any none_is_fine = tn_any_bool(true), target = tn_any_none();
  tn_func *f = tn_scope_own(tn_func_find("target.TargetCurrent"));
  TN_CHECK(f, InternalError, NULL, "there is no function target.TargetCurrent");
  TN_TRY(tn_func_call(f, &none_is_fine, 1, &target));
  *out = tn_any_is_obj(&target) ? tn_scope_own(target.v.obj) : NULL;
  return 0;
}

tn_obj *tir_target_with_host(tn_obj *target, tn_obj *host) {
  return call("target.WithHost", (tn_any[]){tn_any_obj(target), tn_any_obj(host)}, 2);
}

tn_obj *tir_target_without_host(tn_obj *target) {
  if (!tir_target_host(target)) return target;
  return call("target.WithHost", (tn_any[]){tn_any_obj(target), tn_any_none()}, 2);
}

tn_str *tir_target_text(const tn_obj *target) {
  return (tn_str *)call("target.TargetText", (tn_any[]){tn_any_obj(target)}, 1);
}

int64_t tir_target_option(const tn_obj *target, const char *name, int64_t absent) {
  tn_any attrs = field_of(target, "attrs");
  int64_t v;
  if (!tn_any_is_obj(&attrs) || attrs.type_index != TN_TI_Map) return absent;
  const tn_obj *o = tn_map_find((const tn_map *)attrs.v.obj, name);
  return o && tir_as_int(o, &v) ? v : absent;
}

bool tir_is_gpu(int device_type) {
  switch (device_type) {
  case kDLCUDA:
  case kDLOpenCL:
  case kDLVulkan:
  case kDLMetal:
  case kDLROCM:
  case 15: /* WebGPU, as the old interface numbers it */ return true;
  default: return false;
  }
}

/* ---- statements ---- */

tn_Buffer *tir_scratch(const char *name, tn_dtype t, int64_t n, const char *scope) {
  return tir_buffer(tn_arr_of(1, tir_i32((int32_t)n)), t, name, scope);
}

tn_stmt *tir_with_allocation(tn_Buffer *b, tn_stmt *body) {
  if (!b || !body) return NULL;
  tn_stmt *decl = (tn_stmt *)TN_NEW(DeclBuffer, .buffer = b, .body = body);
  return (tn_stmt *)TN_NEW(Allocate, .buffer_var = b->data, .dtype = b->dtype, .extents = b->shape,
                           .condition = tir_bool(true), .body = decl,
                           .annotations = tn_scope_own(tn_map_new()));
}

tn_stmt *tir_sync(const char *scope) {
  return (tn_stmt *)TN_NEW(Evaluate,
                           .value = tir_call(TN_I32, TIR_OP_tvm_storage_sync, 1, tir_str(scope)));
}
