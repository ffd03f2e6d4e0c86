/* Values: making borrowed ones owned, and the conversions arguments go through. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "object/containers.h"
#include "object/dtype.h"

int tn_any_own(const tn_any *a, tn_any *out) {
  tn_obj *o;
  switch (a->type_index) {
  case TN_CSTR:
    if (!(o = (tn_obj *)tn_str_new(a->v.cstr))) return -1;
    *out = tn_any_obj(o);
    return 0;
  case TN_CBYTES:
    if (!(o = (tn_obj *)tn_bytes_new(a->v.bytes->data, a->v.bytes->size))) return -1;
    *out = tn_any_obj(o);
    return 0;
  case TN_RVALUE:
    *out = tn_any_obj(*a->v.rvalue);
    *a->v.rvalue = NULL;
    return 0;
  case TN_DLTENSOR:
    return TN_RAISE(TypeError, NULL,
                    "a borrowed DLTensor cannot be kept: pass a tensor of the library instead");
  default:
    *out = *a;
    if (tn_any_is_obj(a)) tn_retain(a->v.obj);
    return 0;
  }
}

static int expected(const char *what, const tn_any *a) {
  return TN_RAISE(TypeError, NULL, "expected %s, got %s", what,
                  tn_type_key((uint32_t)a->type_index));
}

/* The value with rvalues looked through and boxed or immediate scalars opened. */
static tn_any open_scalar(const tn_any *a) {
  tn_any out = *a;
  if (a->type_index == TN_RVALUE) out = tn_any_obj(*a->v.rvalue);
  if (tn_any_is_obj(&out) && out.v.obj->type->hooks->scalar)
    out.v.obj->type->hooks->scalar(out.v.obj, &out);
  return out;
}

int tn_any_to_int(const tn_any *a, int64_t *out) {
  tn_any x = open_scalar(a);
  if (x.type_index != TN_INT && x.type_index != TN_BOOL) return expected("int", a);
  *out = x.v.i64;
  return 0;
}

int tn_any_to_bool(const tn_any *a, bool *out) {
  tn_any x = open_scalar(a);
  if (x.type_index != TN_INT && x.type_index != TN_BOOL) return expected("bool", a);
  *out = x.v.i64 != 0;
  return 0;
}

int tn_any_to_float(const tn_any *a, double *out) {
  tn_any x = open_scalar(a);
  if (x.type_index == TN_FLOAT) *out = x.v.f64;
  else if (x.type_index == TN_INT || x.type_index == TN_BOOL) *out = (double)x.v.i64;
  else return expected("float", a);
  return 0;
}

int tn_any_to_ptr(const tn_any *a, void **out) {
  if (a->type_index == TN_NONE) *out = NULL;
  else if (a->type_index == TN_PTR) *out = a->v.ptr;
  else return expected("handle", a);
  return 0;
}

int tn_any_to_cstr(const tn_any *a, const char **out) {
  if (a->type_index == TN_CSTR) *out = a->v.cstr;
  else if (a->type_index == TN_TI_String) *out = ((const tn_str *)a->v.obj)->data;
  else return expected("str", a);
  return 0;
}

int tn_any_to_dtype(const tn_any *a, tn_dtype *out) {
  const char *text;
  if (a->type_index == TN_DTYPE) {
    *out = a->v.dtype;
    return 0;
  }
  if (a->type_index != TN_CSTR && a->type_index != TN_TI_String) return expected("DataType", a);
  TN_TRY(tn_any_to_cstr(a, &text));
  return tn_dtype_parse(text, strlen(text), out);
}

int tn_any_to_device(const tn_any *a, tn_device *out) {
  if (a->type_index != TN_DEVICE) return expected("Device", a);
  *out = a->v.device;
  return 0;
}

int tn_any_to_bytes(const tn_any *a, tn_bytes_view *out) {
  switch (a->type_index) {
  case TN_CBYTES: *out = *a->v.bytes; return 0;
  case TN_TI_Bytes: *out = tn_bytes_get((const tn_bytes *)a->v.obj); return 0;
  case TN_CSTR: *out = (tn_bytes_view){(const uint8_t *)a->v.cstr, strlen(a->v.cstr)}; return 0;
  case TN_TI_String: {
    const tn_str *s = (const tn_str *)a->v.obj;
    *out = (tn_bytes_view){(const uint8_t *)s->data, s->len};
    return 0;
  }
  default: return expected("bytes", a);
  }
}

int tn_any_to_obj(const tn_any *a, const char *key, tn_obj **out) {
  tn_obj *o = a->type_index == TN_RVALUE ? *a->v.rvalue : tn_any_is_obj(a) ? a->v.obj : NULL;
  if (!o && a->type_index != TN_NONE && a->type_index != TN_RVALUE)
    return expected(key ? key : "Object", a);
  for (const tn_type *t = o && key ? o->type : NULL; t; t = t->base) {
    if (strcmp(t->key, key) == 0) break;
    if (!t->base) return expected(key, a);
  }
  *out = o;
  return 0;
}

int tn_check_nargs(const char *name, int32_t n, int32_t want) {
  if (n == want) return 0;
  return TN_RAISE(TypeError, NULL, "%s: expected %d argument%s, got %d", name, want,
                  want == 1 ? "" : "s", n);
}
