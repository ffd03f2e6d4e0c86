/* TVMValue and type codes to tn_any and back; calls in the old conventions; the parked error. */
#include "runtime/library/legacy_abi.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "object/containers.h"
#include "runtime/library/legacy_thread.h"
#include "runtime/module/module.h"
#include "runtime/tensor/tensor.h"
#include "runtime/tensor/tensor_content.h"

/* ---- the thread's state ---- */

static _Thread_local tn_legacy_thread *mine; /* NULL until something needs it */
static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int key_error;

static void thread_ends(void *state) {
  tn_legacy_thread *t = state;
  mine = NULL; /* a finalizer below may need a new one */
  if (t->parked) tn_error_fini(&t->error);
  tn_free(t->error_text);
  tn_release(t->result);
  tn_release(t->names);
  tn_free(t->strings);
  tn_workspace_drop(t);
  tn_free(t);
}

static void make_key(void) { key_error = pthread_key_create(&key, thread_ends); }

tn_legacy_thread *tn_legacy_state(void) {
  if (mine) return mine;
  pthread_once(&once, make_key);
  tn_legacy_thread *t = key_error ? NULL : tn_alloc_zero(1, sizeof *t);
  if (t && pthread_setspecific(key, t)) {
    tn_free(t);
    t = NULL;
  }
  if (!t) return (void)tn_raise_no_memory(sizeof *t), NULL;
  return mine = t;
}

/* ---- errors ---- */

static void clear_parked(tn_legacy_thread *t) {
  if (!t || !t->parked) return;
  t->parked = false;
  tn_error_fini(&t->error);
}

int tn_legacy_fail(void) {
  tn_legacy_thread *t = tn_legacy_state();
  if (!t) return -1; /* the pending MemoryError stays where it is */
  if (!tn_error_pending()) TN_RAISE(InternalError, NULL, "a function failed without saying why");
  clear_parked(t);
  tn_error_take(&t->error);
  t->parked = true;
  return -1;
}

int tn_legacy_unpark(void) {
  if (tn_error_pending()) return -1; /* raised through tenon/ffi.h: newer than what is parked */
  tn_legacy_thread *t = tn_legacy_state();
  if (!t) return -1;
  if (!t->parked)
    return TN_RAISE(InternalError, NULL,
                    "a compiled or foreign function failed without saying why");
  t->parked = false;
  tn_error_restore(&t->error);
  return -1;
}

void TVMAPISetLastError(const char *msg) {
  tn_raise_text(msg ? msg : "");
  tn_legacy_fail();
}

/* "ValueError: text"; an error of the base class goes back and forth without its name, as it came.
   NULL when there is no memory for it. */
static char *error_text(const tn_error *e) {
  const char *cls = e->cls ? e->cls : tn_error_kind_name(e->kind);
  const char *text = e->message ? e->message : "out of memory";
  size_t size = strlen(cls) + strlen(text) + 3;
  char *out = tn_alloc(size);
  if (!out) return tn_error_clear(), NULL;
  bool named = e->kind != TN_TenonError;
  snprintf(out, size, "%s%s%s", named ? cls : "", named ? ": " : "", text);
  return out;
}

const char *TVMGetLastError(void) {
  static const char no_memory[] = "MemoryError: out of memory";
  tn_legacy_thread *t = tn_legacy_state();
  if (!t) return no_memory;
  if (!t->parked) return "";
  tn_free(t->error_text);
  t->error_text = error_text(&t->error);
  return t->error_text ? t->error_text : no_memory;
}

/* ---- from tn_any ---- */

static void set(TVMValue *value, int *code, int c, void *handle) {
  *code = c;
  value->v_handle = handle;
}

static void object_out(tn_obj *o, TVMValue *value, int *code) {
  switch (o->type_index) {
  case TN_TI_Module: set(value, code, kTVMModuleHandle, o); return;
  case TN_TI_Function: set(value, code, kTVMPackedFuncHandle, o); return;
  case TN_TI_NDArray: set(value, code, kTVMNDArrayHandle, tn_tensor_dl((tn_tensor *)o)); return;
  default: set(value, code, kTVMObjectHandle, o);
  }
}

/* Everything but strings and bytes, which the two directions treat differently. */
static void plain_out(const tn_any *a, TVMValue *value, int *code) {
  value->v_int64 = a->v.i64;
  switch (a->type_index) {
  case TN_NONE: set(value, code, kTVMNullptr, NULL); return;
  case TN_INT:
  case TN_BOOL: *code = kTVMArgInt; return;
  case TN_FLOAT: *code = kTVMArgFloat; return;
  case TN_DTYPE: *code = kTVMDataType; return;
  case TN_DEVICE: *code = kDLDevice; return;
  case TN_PTR: *code = kTVMOpaqueHandle; return;
  case TN_DLTENSOR: *code = kTVMDLTensorHandle; return;
  case TN_RVALUE: *code = kTVMObjectRValueRefArg; return;
  default: break;
  }
  if (tn_any_is_obj(a)) object_out(a->v.obj, value, code);
  else set(value, code, kTVMNullptr, NULL); /* text and bytes are the callers' */
}

static void argument_out(const tn_any *a, TVMValue *value, int *code, TVMByteArray *bytes,
                         bool unbox) {
  tn_any number;
  switch (a->type_index) {
  case TN_CSTR: set(value, code, kTVMStr, (void *)(uintptr_t)a->v.cstr); return;
  case TN_TI_String: set(value, code, kTVMStr, ((tn_str *)a->v.obj)->data); return;
  case TN_CBYTES:
  case TN_TI_Bytes: {
    tn_bytes_view v =
        a->type_index == TN_CBYTES ? *a->v.bytes : tn_bytes_get((const tn_bytes *)a->v.obj);
    *bytes = (TVMByteArray){(const char *)v.data, v.size};
    set(value, code, kTVMBytes, bytes);
    return;
  }
  default: break;
  }
  if (unbox && tn_any_is_obj(a) && a->v.obj->type->hooks->scalar &&
      a->v.obj->type->hooks->scalar(a->v.obj, &number))
    a = &number;
  plain_out(a, value, code);
}

static bool is_read_only(const tn_any *a) {
  const tn_tensor *t = a->type_index == TN_TI_NDArray ? (const tn_tensor *)a->v.obj : NULL;
  return t && t->read_only && tn_device_is_host(t->dl.device);
}

/* The function gets a copy of argument i. */
static int lend_copy(tn_legacy_args *a, int32_t i) {
  const DLTensor *dl = tn_tensor_dl((tn_tensor *)a->from[i].v.obj);
  if (!a->copies) TN_GET(a->copies, tn_alloc_zero((size_t)a->n, sizeof(tn_tensor *)));
  TN_GET(a->copies[i], tn_tensor_clone(dl, dl->device, NULL));
  a->values[i].v_handle = tn_tensor_dl(a->copies[i]);
  return 0;
}

int tn_legacy_args_init(tn_legacy_args *a, const tn_any *args, int32_t n, bool unbox) {
  a->heap = NULL;
  a->values = a->inline_values;
  a->codes = a->inline_codes;
  a->bytes = a->inline_bytes;
  if (n > TN_LEGACY_INLINE_ARGS) {
    size_t each = sizeof(TVMValue) + sizeof(TVMByteArray) + sizeof(int);
    if (!(a->heap = tn_alloc_zero((size_t)n, each))) return -1;
    a->values = a->heap;
    a->bytes = (TVMByteArray *)(a->values + n);
    a->codes = (int *)(a->bytes + n);
  }
  a->from = args;
  a->n = n;
  a->copies = NULL;
  for (int32_t i = 0; i < n; ++i) {
    argument_out(&args[i], &a->values[i], &a->codes[i], &a->bytes[i], unbox);
    if (unbox && is_read_only(&args[i]) && lend_copy(a, i)) return tn_legacy_args_end(a, -1);
  }
  return 0;
}

int tn_legacy_args_end(tn_legacy_args *a, int err) {
  int32_t written = -1;
  for (int32_t i = 0; a->copies && i < a->n; ++i) {
    const tn_tensor *t = a->copies[i];
    if (t && !err && written < 0 && !tn_tensor_content_equal(a->from[i].v.obj, &t->hdr))
      written = i;
    tn_release(t);
  }
  tn_free(a->copies);
  tn_free(a->heap);
  TN_CHECK(written < 0, ValueError, NULL,
           "argument %d is a read-only tensor, and the function writes to it (copy it first)",
           written);
  return err;
}

int tn_legacy_set_result(tn_any *ret, TVMValue *value, int *code) {
  tn_any a = *ret;
  *ret = tn_any_none();
  if (a.type_index != TN_TI_String && a.type_index != TN_TI_Bytes) {
    plain_out(&a, value, code); /* the reference goes with it */
    return 0;
  }
  tn_legacy_thread *t = tn_legacy_state();
  if (!t) {
    tn_any_release(&a);
    return -1;
  }
  tn_obj *old = t->result;
  t->result = a.v.obj;
  if (a.type_index == TN_TI_String) {
    set(value, code, kTVMStr, ((tn_str *)a.v.obj)->data);
  } else {
    tn_bytes_view v = tn_bytes_get((const tn_bytes *)a.v.obj);
    t->bytes = (TVMByteArray){(const char *)v.data, v.size};
    set(value, code, kTVMBytes, &t->bytes);
  }
  tn_release(old);
  return 0;
}

/* ---- to tn_any ---- */

static tn_any handle_in(int type_index, void *handle) {
  tn_any a = tn_any_none();
  if (handle) a.type_index = type_index, a.v.ptr = handle;
  return a;
}

int tn_legacy_to_any(const TVMValue *value, int code, tn_any *out) {
  switch (code) {
  case kTVMArgInt:
  case kDLUInt: *out = tn_any_int(value->v_int64); return 0;
  case kTVMArgFloat: *out = tn_any_float(value->v_float64); return 0;
  case kTVMOpaqueHandle: *out = tn_any_ptr(value->v_handle); return 0;
  case kTVMNullptr: *out = tn_any_none(); return 0;
  case kTVMDataType: *out = tn_any_dtype(value->v_type); return 0;
  case kDLDevice: *out = tn_any_device(value->v_device); return 0;
  case kTVMDLTensorHandle: *out = handle_in(TN_DLTENSOR, value->v_handle); return 0;
  case kTVMObjectHandle:
  case kTVMModuleHandle:
  case kTVMPackedFuncHandle: *out = tn_any_obj(value->v_handle); return 0;
  case kTVMStr: *out = handle_in(TN_CSTR, value->v_handle); return 0;
  case kTVMBytes: *out = handle_in(TN_CBYTES, value->v_handle); return 0;
  case kTVMNDArrayHandle:
    *out = tn_any_obj(value->v_handle ? tn_tensor_of_dl(value->v_handle) : NULL);
    return 0;
  case kTVMObjectRValueRefArg: *out = handle_in(TN_RVALUE, value->v_handle); return 0;
  case kTVMExtBegin: *out = tn_any_bool(value->v_int64 != 0); return 0; /* truth value in 0.17 */
  default:
    *out = tn_any_none();
    return TN_RAISE(TypeError, NULL, "unknown type code %d of a value", code);
  }
}

int tn_legacy_take_result(const TVMValue *value, int code, tn_any *ret) {
  tn_any a;
  TN_TRY(tn_legacy_to_any(value, code, &a));
  if (tn_any_is_obj(&a)) {
    *ret = a;
    return 0;
  }
  return tn_any_own(&a, ret);
}

/* ---- calls ---- */

int tn_legacy_call(TVMBackendPackedCFunc f, const tn_any *args, int32_t n, tn_any *ret) {
  tn_legacy_args a;
  TVMValue value = {0};
  int code = kTVMNullptr;
  TN_TRY(tn_legacy_args_init(&a, args, n, true));
  clear_parked(mine); /* what is parked afterwards is of this call */
  int err = f(a.values, a.codes, n, &value, &code, NULL) ? tn_legacy_unpark() : 0;
  if (tn_legacy_args_end(&a, err)) return -1;
  return code == kTVMNullptr ? 0 : tn_legacy_take_result(&value, code, ret);
}

int tn_legacy_compiled_call(void *self, const tn_any *args, int32_t n, tn_any *ret) {
  TVMBackendPackedCFunc f;
  memcpy(&f, &self, sizeof f);
  return tn_legacy_call(f, args, n, ret);
}

int tn_legacy_call_values(TVMBackendPackedCFunc f, TVMValue *values, int *codes, int32_t n) {
  TVMValue value = {0};
  int code = kTVMNullptr;
  tn_any ret = tn_any_none();
  clear_parked(mine);
  if (f(values, codes, n, &value, &code, NULL)) return tn_legacy_unpark();
  if (code == kTVMNullptr || code == kTVMArgInt) return 0;
  TN_TRY(tn_legacy_take_result(&value, code, &ret));
  tn_any_release(&ret);
  return 0;
}

int tn_legacy_call_c(TVMPackedCFunc f, void *resource, const tn_any *args, int32_t n, tn_any *ret) {
  tn_legacy_args a;
  TN_TRY(tn_legacy_args_init(&a, args, n, false));
  clear_parked(mine);
  int err = f(a.values, a.codes, n, ret, resource) ? tn_legacy_unpark() : 0;
  return tn_legacy_args_end(&a, err);
}
