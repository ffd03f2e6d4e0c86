/* Thread axes, memories and targets as the passes over device code see them. */
#include "tir/device.h"

#include <string.h>

#include "ir/expr.h"
#include "target/target.h"

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

bool tir_is_shared_by(const char *scope, const char *tag) {
  bool known = tir_is_block_axis(tag) || tir_is_thread_axis(tag);
  return tir_is_shared_along(tir_memory_of(scope), known ? tag : "threadIdx");
}

/* ---- targets ---- */

/* Functions may carry anything as their target; what is not one counts as none. */
static tn_target *as_target(const tn_obj *o) { return (tn_target *)TN_AS(Target, o); }

int tir_target_device_type(const tn_obj *target) {
  const tn_target *t = as_target(target);
  return t ? target_device_type(t) : kDLCPU;
}

const char *tir_target_kind_name(const tn_obj *target) {
  const tn_target *t = as_target(target);
  return t ? tn_cstr(t->kind->name) : "";
}

tn_obj *tir_target_host(const tn_obj *target) {
  const tn_target *t = as_target(target);
  return t ? (tn_obj *)t->host : NULL;
}

tn_obj *tir_target_with_host(tn_obj *target, tn_obj *host) {
  tn_target *t = as_target(target), *h = as_target(host);
  TN_CHECKP(t && (h || !host), TypeError, NULL,
            "expected a target and a host that is one, got %s and %s",
            target ? tn_obj_key(target) : "None", host ? tn_obj_key(host) : "None");
  return (tn_obj *)target_with_host(t, h);
}

tn_obj *tir_target_without_host(tn_obj *target) {
  return tir_target_host(target) ? tir_target_with_host(target, NULL) : target;
}

tn_str *tir_target_text(const tn_obj *target) {
  const tn_target *t = as_target(target);
  TN_CHECKP(t, TypeError, NULL, "expected a target, got %s", target ? tn_obj_key(target) : "None");
  return target_text(t);
}

int64_t tir_target_option(const tn_obj *target, const char *name, int64_t absent) {
  const tn_target *t = as_target(target);
  return t ? target_int(t, name, absent) : absent;
}

bool tir_target_feature(const tn_obj *target, const char *name) {
  const tn_target *t = as_target(target);
  bool known;
  return t && target_feature(t, name, &known);
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
