/* Making one node of a JSON file from its text and its children, which are there already. */
#include <limits.h>
#include <string.h>

#include "base/alloc.h"
#include "base/base64.h"
#include "base/number.h"
#include "object/dtype.h"
#include "object/json_load_impl.h"

/* ---- values as text ---- */

static bool is_one_of(tn_bytes_view text, const char *a, const char *b, const char *c) {
  const char *words[] = {a, b, c};
  for (int i = 0; i < 3; ++i) {
    if (text.size == strlen(words[i]) && memcmp(text.data, words[i], text.size) == 0) return true;
  }
  return false;
}

static int parse_int(const char *what, tn_bytes_view text, int64_t *out) {
  if (tn_text_int((const char *)text.data, text.size, out)) return 0;
  return TN_RAISE(ValueError, NULL, "%s: expected an integer of 64 bits, got \"%.*s\"", what,
                  TN_LOAD_SHOWN(text));
}

static int parse_bool(const char *what, tn_bytes_view text, bool *out) {
  *out = is_one_of(text, "1", "true", "True");
  if (*out || is_one_of(text, "0", "false", "False")) return 0;
  return TN_RAISE(ValueError, NULL, "%s: expected 0 or 1, got \"%.*s\"", what, TN_LOAD_SHOWN(text));
}

static int parse_float(const char *what, tn_bytes_view text, double *out) {
  char copy[400], *end = copy; /* the longest double in full has 327 digits after its point */
  if (text.size < sizeof copy) {
    memcpy(copy, text.data, text.size);
    copy[text.size] = '\0';
    *out = tn_strtod(copy, &end);
  }
  if (end != copy && end == copy + text.size) return 0;
  return TN_RAISE(ValueError, NULL, "%s: expected a number, got \"%.*s\"", what,
                  TN_LOAD_SHOWN(text));
}

static int parse_device(const char *what, tn_bytes_view text, tn_device *out) {
  const char *p = (const char *)text.data;
  const char *colon = memchr(p, ':', text.size);
  size_t left = colon ? (size_t)(colon - p) : 0;
  int64_t type = -1, id = -1;
  bool ok = colon && tn_text_int(p, left, &type) &&
            tn_text_int(colon + 1, text.size - left - 1, &id) && type >= 0 && type <= INT_MAX &&
            id >= 0 && id <= INT_MAX;
  TN_CHECK(ok, ValueError, NULL, "%s: expected a device as TYPE:ID in numbers, got \"%.*s\"", what,
           TN_LOAD_SHOWN(text));
  *out = (tn_device){(DLDeviceType)type, (int32_t)id};
  return 0;
}

/* Text of a field as a value. *out is borrowed for the load. */
static int parse_field(const tn_field *f, tn_bytes_view text, tn_any *out) {
  bool b = false;
  double x = 0;
  int64_t i = 0;
  tn_device d = {0};
  tn_dtype t = {0};
  tn_str *s;
  switch ((tn_field_kind)f->kind) {
  case TN_F_I64:
  case TN_F_ENUM: TN_TRY(parse_int(f->name, text, &i)); return *out = tn_any_int(i), 0;
  case TN_F_F64: TN_TRY(parse_float(f->name, text, &x)); return *out = tn_any_float(x), 0;
  case TN_F_BOOL: TN_TRY(parse_bool(f->name, text, &b)); return *out = tn_any_bool(b), 0;
  case TN_F_DEVICE: TN_TRY(parse_device(f->name, text, &d)); return *out = tn_any_device(d), 0;
  case TN_F_DTYPE:
    TN_TRY(tn_dtype_parse((const char *)text.data, text.size, &t));
    return *out = tn_any_dtype(t), 0;
  case TN_F_REF:
  case TN_F_ANY: break;
  }
  TN_GET(s, tn_scope_own(tn_str_new_n((const char *)text.data, text.size)));
  return *out = tn_any_obj(s), 0;
}

/* ---- nodes that are text ---- */

/* Bytes of repr_str or repr_b64, appended to `out`. */
static int repr_bytes(const tn_loader *s, int64_t i, tn_buf *out) {
  const tn_json *j = &s->json;
  tn_json_at text = tn_json_member(j, s->at[i], "repr_str");
  tn_json_at b64 = tn_json_member(j, s->at[i], "repr_b64");
  if (!text && !b64 && tn_json_has_inline_text(s->version))
    text = tn_json_member(j, s->at[i], "global_key");
  TN_CHECK(tn_json_is(j, text ? text : b64, TN_JSON_STRING), ValueError, NULL,
           "expected a repr_str or repr_b64 of text");
  if (text) {
    tn_json_text(j, text, out);
    return tn_buf_ok(out);
  }
  tn_bytes_view raw;
  TN_TRY(tn_load_text(s, b64, &raw));
  return tn_base64_decode(out, (const char *)raw.data, raw.size);
}

/* "[1, 2, 3]" */
static int make_shape(const char *text, size_t n, tn_any *out) {
  TN_AUTOFREE int64_t *dims = NULL;
  int64_t ndim = 0, cap = 0;
  bool ok = n >= 2 && text[0] == '[' && text[n - 1] == ']';
  for (size_t i = 1; ok && i < n - 1; ++i) {
    size_t end = i;
    while (end < n - 1 && text[end] != ',') ++end;
    while (i < end && text[i] == ' ') ++i;
    TN_GROW(dims, cap, ndim + 1, return -1);
    ok = tn_text_int(text + i, end - i, &dims[ndim++]) && end != n - 2;
    i = end;
  }
  TN_CHECK(ok, ValueError, NULL, "expected a shape as [1, 2], got \"%.60s\"", text);
  tn_shape *shape = tn_shape_new(dims, ndim);
  *out = tn_any_obj(shape);
  return shape ? 0 : -1;
}

static int make_repr(const tn_loader *s, int64_t i, tn_any *out) {
  const tn_type *t = s->nodes[i].type;
  TN_BUF(text);
  TN_BUF(raw);
  void *made = NULL;
  TN_TRY(repr_bytes(s, i, &text));
  const char *data = text.data ? text.data : "";
  if (t->hooks->from_global_name) {
    made = t->hooks->from_global_name(data);
  } else if (t->hooks->blob_load) {
    TN_TRY(tn_base64_decode(&raw, data, text.len));
    made = t->hooks->blob_load((const uint8_t *)(raw.data ? raw.data : ""), raw.len);
  } else if (t->kind == TN_KIND_SHAPE) {
    return make_shape(data, text.len, out);
  } else if (t->kind == TN_KIND_STR) {
    made = tn_str_new_n(data, text.len);
  } else {
    made = tn_bytes_new(data, text.len);
  }
  *out = tn_any_obj(made);
  return made ? 0 : -1;
}

static int make_plain(const tn_loader *s, int64_t i, tn_any *out) {
  TN_BUF(text);
  tn_dtype t = {0};
  tn_device d = {0};
  if (s->nodes[i].form == TN_LOAD_NONE) return 0;
  TN_TRY(repr_bytes(s, i, &text));
  const char *data = text.data ? text.data : "";
  if (s->nodes[i].form == TN_LOAD_DTYPE) {
    TN_TRY(tn_dtype_parse(data, text.len, &t));
    *out = tn_any_dtype(t);
  } else {
    TN_TRY(parse_device("repr_str", (tn_bytes_view){(const uint8_t *)data, text.len}, &d));
    *out = tn_any_device(d);
  }
  return 0;
}

/* ---- containers ---- */

static const tn_any *child_value(const tn_loader *s, const tn_load_node *nd, int64_t k) {
  static const tn_any none;
  int32_t ref = s->refs[nd->first_ref + k];
  return ref < 0 ? &none : &s->nodes[ref].value;
}

static int make_items(const tn_loader *s, int64_t i, tn_any *out) {
  const tn_load_node *nd = &s->nodes[i];
  int64_t tag = 0;
  void *made;
  TN_VEC(items);
  TN_TRY(tn_vec_reserve(&items, nd->nref));
  for (int32_t k = 0; k < nd->nref; ++k)
    TN_TRY(tn_vec_push(&items, tn_unboxed(*child_value(s, nd, k))));
  if (nd->type->kind == TN_KIND_ARRAY) {
    made = tn_arr_new(items.items, items.len);
  } else {
    tn_json_at text = nd->attrs ? tn_json_member(&s->json, nd->attrs, "tag") : 0;
    if (tn_json_is(&s->json, text, TN_JSON_STRING))
      TN_TRY(parse_int("tag", tn_json_raw(&s->json, text), &tag));
    TN_CHECK(tag >= 0 && tag <= UINT32_MAX, ValueError, NULL, "tag: %lld is out of range",
             (long long)tag);
    made = tn_tuple_new((uint32_t)tag, items.items, items.len);
  }
  *out = tn_any_obj(made);
  return made ? 0 : -1;
}

static int set_entry(tn_map *m, tn_any key, tn_any value) {
  int64_t before = tn_map_len(m);
  TN_TRY(tn_map_set(m, key, value));
  TN_CHECK(tn_map_len(m) == before + 1, ValueError, NULL, "entry %lld: its key is there twice",
           (long long)before);
  return 0;
}

/* Keys in the file, values in `data`. */
static int fill_by_text(const tn_loader *s, const tn_load_node *nd, tn_json_at keys, tn_map *m) {
  const tn_json *j = &s->json;
  int32_t k = 0;
  TN_CHECK(tn_json_is(j, keys, TN_JSON_ARRAY), ValueError, NULL,
           "keys: expected a list of strings");
  TN_CHECK(tn_json_count(j, keys) == nd->nref, ValueError, NULL, "%lld keys and %d values",
           (long long)tn_json_count(j, keys), nd->nref);
  for (tn_json_at x = tn_json_first(j, keys); x; x = tn_json_after(j, keys, x), ++k) {
    TN_BUF(text);
    TN_CHECK(tn_json_is(j, x, TN_JSON_STRING), ValueError, NULL, "keys[%d]: expected a string", k);
    tn_json_text(j, x, &text);
    tn_str *key = tn_buf_str(&text);
    if (!key) return -1;
    int err = set_entry(m, tn_any_obj(key), tn_unboxed(*child_value(s, nd, k)));
    tn_release(key);
    TN_TRY(err);
  }
  return 0;
}

static int make_map(const tn_loader *s, int64_t i, tn_any *out) {
  const tn_load_node *nd = &s->nodes[i];
  tn_map *m = tn_map_new();
  if (!m) return -1;
  *out = tn_any_obj(m); /* released with the node if it cannot be filled */
  tn_json_at keys = tn_json_member(&s->json, s->at[i], "keys");
  if (keys) return fill_by_text(s, nd, keys, m);
  TN_CHECK(nd->nref % 2 == 0, ValueError, NULL, "data: expected keys and values in turn");
  for (int32_t k = 0; k < nd->nref; k += 2)
    TN_TRY(
        set_entry(m, tn_unboxed(*child_value(s, nd, k)), tn_unboxed(*child_value(s, nd, k + 1))));
  return 0;
}

/* ---- nodes of fields ---- */

/* The tensor of the file whose number is in `text`. *out is borrowed. */
static int blob_field(tn_loader *s, const tn_field *f, tn_bytes_view text, tn_any *out) {
  int64_t i = 0;
  TN_TRY(parse_int(f->name, text, &i));
  if (i == -1) return 0;
  TN_CHECK(i >= 0 && i < s->nblob, IndexError, NULL, "%s: the file has no tensor %lld", f->name,
           (long long)i);
  if (!s->blobs[i]) {
    TN_BUF(raw);
    tn_bytes_view b64;
    TN_CHECK(tn_json_is(&s->json, s->blob_at[i], TN_JSON_STRING), ValueError, NULL,
             "b64ndarrays[%lld]: expected a string", (long long)i);
    TN_TRY(tn_load_text(s, s->blob_at[i], &b64));
    TN_TRY(tn_base64_decode(&raw, (const char *)b64.data, b64.size));
    const tn_type *t = tn_class_type(f->cls);
    TN_GET(s->blobs[i], t->hooks->blob_load((const uint8_t *)(raw.data ? raw.data : ""), raw.len));
  }
  *out = tn_any_obj(s->blobs[i]);
  return 0;
}

/* Value of a field that the file has a text for. */
static int field_value(tn_loader *s, const tn_load_node *nd, uint16_t k, tn_json_at attr,
                       tn_any *out) {
  const tn_field *f = &nd->type->fields[k];
  tn_bytes_view text;
  if (tn_field_is_ref(f) && !tn_json_is_blob_field(f) &&
      s->refs[nd->first_ref + k] != TN_LOAD_TEXT) {
    *out = *child_value(s, nd, k);
    if (f->kind == TN_F_ANY) *out = tn_unboxed(*out);
    return 0;
  }
  TN_TRY(tn_load_text(s, attr, &text));
  return tn_json_is_blob_field(f) ? blob_field(s, f, text, out) : parse_field(f, text, out);
}

static int make_node(tn_loader *s, int64_t i, tn_any *out) {
  const tn_load_node *nd = &s->nodes[i];
  const tn_type *t = nd->type;
  const char *names[64];
  tn_any values[64];
  int n = 0;
  TN_ICHECK(t->nfield <= 64);
  for (uint16_t k = 0; k < t->nfield; ++k) {
    const tn_field *f = &t->fields[k];
    tn_json_at attr;
    if (f->flags & TN_NOSAVE) continue;
    TN_TRY(tn_load_attr(s, i, f, &attr));
    TN_CHECK(attr || f->dflt || tn_field_is_ref(f), ValueError, NULL, "the attribute %s is missing",
             tn_json_saved_name(t, f));
    if (!attr) continue; /* the default, or an error that names the field */
    values[n] = tn_any_none();
    TN_TRY(field_value(s, nd, k, attr, &values[n]));
    names[n++] = f->name;
  }
  tn_obj *made = tn_node_make(t, n, names, values);
  *out = tn_any_obj(made);
  return made ? 0 : -1;
}

int tn_load_make(tn_loader *s, int64_t i) {
  tn_load_node *nd = &s->nodes[i];
  if (nd->form != TN_LOAD_OBJECT) return make_plain(s, i, &nd->value);
  const tn_type *t = nd->type;
  if (t->hooks->from_global_name || t->hooks->blob_load) return make_repr(s, i, &nd->value);
  switch ((tn_type_kind)t->kind) {
  case TN_KIND_STR:
  case TN_KIND_BYTES:
  case TN_KIND_SHAPE: return make_repr(s, i, &nd->value);
  case TN_KIND_ARRAY:
  case TN_KIND_TUPLE:
    if (!tn_json_is_made(t)) break;
    return make_items(s, i, &nd->value);
  case TN_KIND_MAP: return make_map(s, i, &nd->value);
  case TN_KIND_NODE: return make_node(s, i, &nd->value);
  case TN_KIND_ABSTRACT:
  case TN_KIND_FUNC:
  case TN_KIND_OPAQUE: break;
  }
  return TN_RAISE(ValueError, NULL, "objects of this type are not saved in JSON");
}
