/* Objects as JSON, in the layout of the Relay-era stack:

     {"root": 1,
      "nodes": [{"type_key": ""},
                {"type_key": "tir.Add", "attrs": {"dtype": "int32", "a": "2", "b": "2"}},
                {"type_key": "IntImm", "attrs": {"dtype": "int32", "value": "1"}}],
      "b64ndarrays": [],
      "attrs": {"tvm_version": "0.14.0", "tenon_version": "0.1.0"}}

   Node 0 is None. References are node numbers, so sharing is kept. The nodes are numbered breadth
   first: the list of nodes is itself the queue of what is still to be looked at. */
#include <string.h>

#include "base/alloc.h"
#include "base/base64.h"
#include "base/number.h"
#include "base/pmap.h"
#include "base/text.h"
#include "object/dtype.h"
#include "object/json_impl.h"
#include "tenon/object.h"

typedef struct {
  tn_vec nodes;   /* objects and plain values, by number; borrowed */
  tn_pmap number; /* object -> number */
  tn_vec blobs;   /* tensors in fields */
  tn_pmap blob_number;
  uint32_t *refs; /* numbers of children, in the order in which the text needs them */
  int64_t nref, ref_cap, next_ref;
  const tn_obj *holder; /* of the value being added, for messages */
} saver;

bool tn_json_is_blob_field(const tn_field *f) {
  const tn_type *t = f->kind == TN_F_REF ? tn_class_type(f->cls) : NULL;
  return t && t->hooks->blob_load;
}

/* ---- numbering ---- */

static int no_form(const saver *s, const tn_any *a) {
  const char *key = tn_type_key((uint32_t)a->type_index);
  if (!s->holder) return TN_RAISE(TypeError, NULL, "save_json: %s has no JSON form", key);
  return TN_RAISE(TypeError, NULL, "save_json: %s has no JSON form (found in %s)", key,
                  tn_obj_key(s->holder));
}

/* Types that share the layout of another are not made by its function: a closure is not a tuple. */
bool tn_json_is_made(const tn_type *t) { return t->kind != TN_KIND_TUPLE || t == &tn_type_ADT; }

static bool has_form(const tn_any *a) {
  if (!tn_any_is_obj(a)) return a->type_index != TN_PTR && a->type_index <= TN_DEVICE;
  const tn_type *t = a->v.obj->type;
  return t->hooks->global_name || t->hooks->blob_save ||
         (t->kind != TN_KIND_FUNC && t->kind != TN_KIND_OPAQUE && t->kind != TN_KIND_ABSTRACT &&
          tn_json_is_made(t));
}

/* The number of an object in a list, which it is added to if it is not there. */
static int64_t number_in(tn_vec *list, tn_pmap *numbers, const tn_obj *o) {
  tn_pmap_slot *slot = tn_pmap_slot_of(numbers, o);
  if (!slot) return -1;
  if (slot->v.i64 == 0) { /* stored plus one */
    if (tn_vec_push_obj(list, o)) return -1;
    slot->v.i64 = list->len;
  }
  return slot->v.i64 - 1;
}

static int add_ref(saver *s, tn_any a) {
  int64_t i = 0;
  if (a.type_index != TN_NONE) {
    if (!has_form(&a)) return no_form(s, &a);
    if (tn_any_is_obj(&a)) {
      i = number_in(&s->nodes, &s->number, a.v.obj);
      if (i < 0) return -1;
    } else {
      i = s->nodes.len;
      TN_TRY(tn_vec_push(&s->nodes, a));
    }
  }
  TN_CHECK(i < INT32_MAX, ValueError, NULL, "save_json: too many nodes");
  TN_GROW(s->refs, s->ref_cap, s->nref + 1, return -1);
  s->refs[s->nref++] = (uint32_t)i;
  return 0;
}

static int add_blob(saver *s, tn_any a) {
  int64_t i = tn_any_is_obj(&a) ? number_in(&s->blobs, &s->blob_number, a.v.obj) : -1;
  if (i < 0 && tn_any_is_obj(&a)) return -1;
  TN_GROW(s->refs, s->ref_cap, s->nref + 1, return -1);
  s->refs[s->nref++] = (uint32_t)i; /* UINT32_MAX for None */
  return 0;
}

/* Keys that can stand in the text as they are: all strings of well-formed UTF-8 without NUL. */
static bool has_text_keys(const tn_map *m) {
  for (int64_t i = 0; i < m->len; ++i) {
    if (m->entries[i].key.type_index != TN_TI_String) return false;
    const tn_str *s = (const tn_str *)m->entries[i].key.v.obj;
    if (memchr(s->data, 0, s->len) || !tn_utf8_valid(s->data, s->len)) return false;
  }
  return m->len > 0;
}

static bool has_refs(const tn_obj *o) {
  return !o->type->hooks->global_name && !o->type->hooks->blob_save;
}

static int add_children(saver *s, const tn_obj *o) {
  if (!has_refs(o)) return 0;
  bool text_keys = o->type->kind == TN_KIND_MAP && has_text_keys((const tn_map *)o);
  int64_t n = tn_child_count(o);
  s->holder = o;
  for (int64_t i = text_keys ? 1 : 0; i < n; i += text_keys ? 2 : 1) {
    tn_any a = tn_child_at(o, i);
    const tn_field *f = o->type->kind == TN_KIND_NODE ? &o->type->fields[i] : NULL;
    if (f && (!tn_field_is_ref(f) || f->flags & TN_NOSAVE)) continue;
    TN_TRY(f && tn_json_is_blob_field(f) ? add_blob(s, a) : add_ref(s, a));
  }
  return 0;
}

/* ---- text ---- */

static void put_key(tn_buf *b, const char *key) {
  tn_buf_quote(b, key, strlen(key));
  tn_buf_puts(b, ": ");
}

static void put_text(tn_buf *b, const char *key, const char *text, size_t n) {
  put_key(b, key);
  tn_buf_quote(b, text, n);
}

/* Bytes as text where they are printable, else as base64. */
static void put_repr(tn_buf *b, const char *data, size_t n) {
  bool plain = tn_utf8_valid(data, n);
  for (size_t i = 0; plain && i < n; ++i) {
    if ((unsigned char)data[i] < 0x20 || data[i] == 0x7f) plain = false;
  }
  tn_buf_puts(b, ", ");
  if (plain) {
    put_text(b, "repr_str", data, n);
    return;
  }
  tn_buf_puts(b, "\"repr_b64\": \"");
  tn_base64_encode(b, data, n);
  tn_buf_putc(b, '"');
}

static void put_refs(saver *s, tn_buf *b, int64_t n) {
  tn_buf_puts(b, ", \"data\": [");
  for (int64_t i = 0; i < n; ++i) tn_buf_printf(b, i ? ", %u" : "%u", s->refs[s->next_ref++]);
  tn_buf_putc(b, ']');
}

static void put_map(saver *s, tn_buf *b, const tn_map *m) {
  bool text_keys = has_text_keys(m);
  if (text_keys) {
    tn_buf_puts(b, ", \"keys\": [");
    for (int64_t i = 0; i < m->len; ++i) {
      const tn_str *key = (const tn_str *)m->entries[i].key.v.obj;
      if (i) tn_buf_puts(b, ", ");
      tn_buf_quote(b, key->data, key->len);
    }
    tn_buf_putc(b, ']');
  }
  put_refs(s, b, text_keys ? m->len : 2 * m->len);
}

static void put_plain(tn_buf *b, const tn_any *a) {
  char text[TN_DOUBLE_TEXT];
  switch (a->type_index) {
  case TN_FLOAT: tn_buf_puts(b, tn_double_text(a->v.f64, text)); break;
  case TN_DTYPE: tn_buf_puts(b, TN_DT(a->v.dtype)); break;
  case TN_DEVICE:
    tn_buf_printf(b, "%d:%d", (int)a->v.device.device_type, (int)a->v.device.device_id);
    break;
  default: tn_buf_printf(b, "%lld", (long long)a->v.i64);
  }
}

static void put_fields(saver *s, tn_buf *b, const tn_obj *o) {
  bool first = true;
  tn_buf_puts(b, ", \"attrs\": {");
  for (uint16_t i = 0; i < o->type->nfield; ++i) {
    const tn_field *f = &o->type->fields[i];
    if (f->flags & TN_NOSAVE) continue;
    if (!first) tn_buf_puts(b, ", ");
    first = false;
    put_key(b, tn_json_saved_name(o->type, f));
    tn_buf_putc(b, '"');
    if (tn_field_is_ref(f)) {
      tn_buf_printf(b, "%d", (int)s->refs[s->next_ref++]); /* -1: no tensor */
    } else {
      tn_any a = tn_field_get(o, f);
      put_plain(b, &a);
    }
    tn_buf_putc(b, '"');
  }
  tn_buf_putc(b, '}');
}

static int put_blob(tn_buf *b, const tn_obj *o) {
  TN_BUF(raw);
  TN_TRY(o->type->hooks->blob_save(o, &raw));
  TN_TRY(tn_buf_ok(&raw));
  tn_base64_encode(b, raw.data, raw.len);
  return 0;
}

static void put_shape(tn_buf *b, const tn_shape *shape) {
  tn_buf_puts(b, ", \"repr_str\": \"[");
  for (int64_t i = 0; i < shape->len; ++i)
    tn_buf_printf(b, i ? ", %lld" : "%lld", (long long)shape->dims[i]);
  tn_buf_puts(b, "]\"");
}

static int put_object(saver *s, tn_buf *b, const tn_obj *o) {
  const tn_type *t = o->type;
  put_text(b, "type_key", t->key, strlen(t->key));
  if (t->hooks->global_name) {
    const char *name = t->hooks->global_name(o);
    put_repr(b, name, strlen(name));
    return 0;
  }
  if (t->hooks->blob_save) {
    tn_buf_puts(b, ", \"repr_str\": \"");
    TN_TRY(put_blob(b, o));
    tn_buf_putc(b, '"');
    return 0;
  }
  switch ((tn_type_kind)t->kind) {
  case TN_KIND_STR: put_repr(b, ((const tn_str *)o)->data, ((const tn_str *)o)->len); break;
  case TN_KIND_BYTES:
    tn_buf_puts(b, ", \"repr_b64\": \"");
    tn_base64_encode(b, ((const tn_bytes *)o)->data, ((const tn_bytes *)o)->len);
    tn_buf_putc(b, '"');
    break;
  case TN_KIND_SHAPE: put_shape(b, (const tn_shape *)o); break;
  case TN_KIND_ARRAY: put_refs(s, b, ((const tn_arr *)o)->len); break;
  case TN_KIND_TUPLE:
    tn_buf_printf(b, ", \"attrs\": {\"tag\": \"%u\"}", ((const tn_tuple *)o)->tag);
    put_refs(s, b, ((const tn_tuple *)o)->len);
    break;
  case TN_KIND_MAP: put_map(s, b, (const tn_map *)o); break;
  case TN_KIND_NODE: put_fields(s, b, o); break;
  case TN_KIND_ABSTRACT:
  case TN_KIND_FUNC:
  case TN_KIND_OPAQUE: break; /* refused while numbering */
  }
  return 0;
}

static void put_plain_node(tn_buf *b, const tn_any *a) {
  const char *key = a->type_index == TN_INT     ? tn_type_BoxInt.key
                    : a->type_index == TN_BOOL  ? tn_type_BoxBool.key
                    : a->type_index == TN_FLOAT ? tn_type_BoxFloat.key
                    : a->type_index == TN_DTYPE ? TN_JSON_DTYPE
                                                : TN_JSON_DEVICE;
  put_text(b, "type_key", key, strlen(key));
  bool boxed = a->type_index <= TN_FLOAT;
  tn_buf_puts(b, boxed ? ", \"attrs\": {\"value\": \"" : ", \"repr_str\": \"");
  put_plain(b, a);
  tn_buf_puts(b, boxed ? "\"}" : "\"");
}

static int put_nodes(saver *s, tn_buf *b) {
  for (int64_t i = 1; i < s->nodes.len; ++i) {
    const tn_any *a = &s->nodes.items[i];
    tn_buf_puts(b, ",\n    {");
    if (tn_any_is_obj(a)) TN_TRY(put_object(s, b, a->v.obj));
    else put_plain_node(b, a);
    tn_buf_putc(b, '}');
  }
  return 0;
}

static int put_file(saver *s, tn_buf *b) {
  tn_buf_printf(b, "{\n  \"root\": %u,\n  \"nodes\": [\n    {\"type_key\": \"\"}", s->refs[0]);
  s->next_ref = 1;
  TN_TRY(put_nodes(s, b));
  tn_buf_puts(b, "\n  ],\n  \"b64ndarrays\": [");
  for (int64_t i = 0; i < s->blobs.len; ++i) {
    tn_buf_puts(b, i ? ",\n    \"" : "\n    \"");
    TN_TRY(put_blob(b, s->blobs.items[i].v.obj));
    tn_buf_putc(b, '"');
  }
  tn_buf_printf(b, "%s],\n  \"attrs\": {\"tvm_version\": \"%s\", \"tenon_version\": \"%s\"}\n}",
                s->blobs.len ? "\n  " : "", TN_JSON_VERSION, TN_VERSION);
  return tn_buf_ok(b);
}

static int save(saver *s, tn_any value, tn_buf *out) {
  TN_TRY(tn_vec_push(&s->nodes, tn_any_none()));
  TN_TRY(add_ref(s, value));
  for (int64_t i = 1; i < s->nodes.len; ++i) {
    if (tn_any_is_obj(&s->nodes.items[i])) TN_TRY(add_children(s, s->nodes.items[i].v.obj));
  }
  return put_file(s, out);
}

tn_str *tn_json_save(tn_any value) {
  TN_BUF(out);
  saver s = {0};
  int err = save(&s, value, &out);
  tn_vec_fini(&s.nodes);
  tn_vec_fini(&s.blobs);
  tn_pmap_fini(&s.number);
  tn_pmap_fini(&s.blob_number);
  tn_free(s.refs);
  return err ? NULL : tn_buf_str(&out);
}
