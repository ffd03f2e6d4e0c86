/* Nodes described by their field table: construction from C (TN_NEW) and by keyword, field access.
 */
#include <string.h>

#include "base/alloc.h"
#include "object/containers.h"
#include "object/dtype.h"

static void *at(const void *node, const tn_field *f) { return (char *)(uintptr_t)node + f->offset; }

/* Makes what fields 0 .. n-1 refer to owned, or gives it up. Values may be borrowed strings, so
   owning can fail (MemoryError); nothing is owned then. */
static void release_fields(const tn_type *t, tn_obj *node, uint16_t n) {
  for (uint16_t i = 0; i < n; ++i) {
    if (t->fields[i].kind == TN_F_REF) tn_release(*(tn_obj **)at(node, &t->fields[i]));
    if (t->fields[i].kind == TN_F_ANY) tn_any_release(at(node, &t->fields[i]));
  }
}

static int own_fields(const tn_type *t, tn_obj *node) {
  for (uint16_t i = 0; i < t->nfield; ++i) {
    const tn_field *f = &t->fields[i];
    if (f->kind == TN_F_REF) tn_retain(*(tn_obj **)at(node, f));
    if (f->kind != TN_F_ANY) continue;
    tn_any own;
    if (tn_any_own(at(node, f), &own)) {
      release_fields(t, node, i);
      return -1;
    }
    *(tn_any *)at(node, f) = own;
  }
  return 0;
}

void *tn_node_copy(const tn_type *type, const void *proto) {
  for (uint16_t i = 0; i < type->nfield; ++i) {
    const tn_field *f = &type->fields[i];
    if (f->kind != TN_F_REF || f->flags & TN_OPT || *(tn_obj **)at(proto, f)) continue;
    if (tn_error_pending()) return NULL; /* a nested builder failed: its error flows through */
    return TN_RAISEP(TypeError, NULL, "%s.%s: expected %s, got None", type->key, f->name, f->cls);
  }
  tn_obj *o = tn_obj_alloc(type, type->size);
  if (!o) return NULL;
  memcpy(o + 1, (const tn_obj *)proto + 1, type->size - sizeof *o);
  if (own_fields(type, o)) {
    tn_free(o);
    return NULL;
  }
  return tn_scope_own(o);
}

tn_any tn_field_get(const tn_obj *node, const tn_field *f) {
  const void *p = at(node, f);
  switch ((tn_field_kind)f->kind) {
  case TN_F_REF: return tn_any_obj(*(tn_obj *const *)p);
  case TN_F_DTYPE: return tn_any_dtype(*(const tn_dtype *)p);
  case TN_F_I64: return tn_any_int(*(const int64_t *)p);
  case TN_F_F64: return tn_any_float(*(const double *)p);
  case TN_F_BOOL: return tn_any_bool(*(const bool *)p);
  case TN_F_ENUM: return tn_any_int(*(const int32_t *)p);
  case TN_F_DEVICE: return tn_any_device(*(const tn_device *)p);
  case TN_F_ANY: return *(const tn_any *)p;
  }
  return tn_any_none();
}

/* Adds the field's name to the conversion error that is pending. */
static int wrong(const tn_obj *node, const tn_field *f) {
  tn_error e;
  tn_error_take(&e);
  if (e.kind == TN_MemoryError || e.kind == TN_TenonError) tn_error_restore(&e);
  else
    TN_RAISE(TypeError, NULL, "%s.%s: %s", node->type->key, f->name,
             e.message ? e.message : "wrong type");
  tn_error_fini(&e);
  return -1;
}

static int set_ref(tn_obj *node, const tn_field *f, const tn_any *value) {
  tn_any own;
  TN_TRY(tn_any_own(value, &own));
  if (own.type_index == TN_NONE) {
    TN_CHECK(f->flags & TN_OPT, TypeError, NULL, "expected %s, got None", f->cls);
  } else if (tn_class_convert(&own, f->cls)) {
    tn_any_release(&own);
    return -1;
  }
  tn_release(*(tn_obj **)at(node, f));
  *(tn_obj **)at(node, f) = tn_any_is_obj(&own) ? own.v.obj : NULL;
  return 0;
}

static int set(tn_obj *node, const tn_field *f, const tn_any *value) {
  void *p = at(node, f);
  int64_t i;
  switch ((tn_field_kind)f->kind) {
  case TN_F_REF: return set_ref(node, f, value);
  case TN_F_DTYPE: return tn_any_to_dtype(value, p);
  case TN_F_I64: return tn_any_to_int(value, p);
  case TN_F_F64: return tn_any_to_float(value, p);
  case TN_F_BOOL: return tn_any_to_bool(value, p);
  case TN_F_DEVICE: return tn_any_to_device(value, p);
  case TN_F_ENUM:
    if (tn_any_to_int(value, &i)) return -1;
    TN_CHECK(i >= INT32_MIN && i <= INT32_MAX, ValueError, NULL, "%lld is not a %s", (long long)i,
             f->cls);
    *(int32_t *)p = (int32_t)i;
    return 0;
  case TN_F_ANY: {
    tn_any own;
    TN_TRY(tn_any_own(value, &own));
    tn_any_release(p);
    *(tn_any *)p = own;
    return 0;
  }
  }
  return -1;
}

int tn_field_set(tn_obj *node, const tn_field *f, const tn_any *value) {
  return set(node, f, value) ? wrong(node, f) : 0;
}

void *tn_node_checked(const tn_type *type, const void *proto) {
  tn_obj *node = tn_node_copy(type, proto);
  for (uint16_t i = 0; node && i < type->nfield; ++i) {
    const tn_field *f = &type->fields[i];
    if (f->kind != TN_F_REF) continue;
    tn_any value = tn_field_get(node, f);
    if (value.v.obj && tn_field_set(node, f, &value)) return NULL;
  }
  return node;
}

static int set_default(tn_obj *node, const tn_field *f) {
  tn_any value = tn_any_none();
  if (f->dflt) {
    TN_TRY(tn_literal_parse(f->dflt, &value));
  } else if (f->kind == TN_F_REF && !(f->flags & TN_OPT)) {
    return TN_RAISE(TypeError, NULL, "%s: missing field '%s' (%s)", node->type->key, f->name,
                    f->cls);
  } else {
    return 0; /* zeroed */
  }
  int err = value.type_index == TN_NONE && f->kind != TN_F_REF ? 0 : tn_field_set(node, f, &value);
  tn_any_release(&value);
  return err;
}

/* "known: a, b, c" of a type's fields. */
static void known_fields(tn_buf *b, const tn_type *type) {
  for (uint16_t i = 0; i < type->nfield; ++i)
    tn_buf_printf(b, "%s%s", i ? ", " : "", type->fields[i].name);
}

static int unknown_field(const tn_type *type, const char *name) {
  TN_BUF(known);
  known_fields(&known, type);
  return TN_RAISE(AttributeError, NULL, "%s has no field '%s'; known: %s", type->key, name,
                  known.data ? known.data : "none");
}

static int fill(tn_obj *node, int n, const char *const *names, const tn_any *values) {
  const tn_type *type = node->type;
  uint64_t given = 0;
  for (int i = 0; i < n; ++i) {
    const tn_field *f = tn_type_field(type, names[i]);
    if (!f) return unknown_field(type, names[i]);
    TN_TRY(tn_field_set(node, f, &values[i]));
    given |= UINT64_C(1) << (f - type->fields);
  }
  for (uint16_t i = 0; i < type->nfield; ++i) {
    if (!(given >> i & 1)) TN_TRY(set_default(node, &type->fields[i]));
  }
  return type->hooks->init ? type->hooks->init(node) : 0;
}

tn_obj *tn_node_make(const tn_type *type, int n, const char *const *names, const tn_any *values) {
  TN_CHECKP(type->kind == TN_KIND_NODE, TypeError, NULL, "%s cannot be made from fields",
            type->key);
  TN_ICHECKP(type->nfield <= 64);
  tn_obj *node = tn_obj_alloc(type, type->size);
  if (!node) return NULL;
  memset(node + 1, 0, type->size - sizeof *node);
  if (fill(node, n, names, values)) {
    tn_release(node);
    return NULL;
  }
  return node;
}
