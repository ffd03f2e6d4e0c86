/* Objects from JSON (the layout is described in json_save.c). The text may be anything: every
   number of a node is checked before it is used, nodes are made children first with a stack of
   their own, and a node that contains itself is an error. Only what the root needs is looked at.

   Nodes of boxed numbers become plain values again inside containers. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/base64.h"
#include "base/number.h"
#include "base/text.h"
#include "object/dtype.h"
#include "object/functions.h"
#include "object/json_impl.h"
#include "tenon/object.h"

enum { NEW, OPEN, MADE };        /* states of a node */
enum { ABSENT = -1, TEXT = -2 }; /* in place of the number of a child: default, text in the field */

typedef struct {
  const tn_type *type; /* NULL for None and for plain values that no type stands for */
  int64_t first_ref;   /* children in loader.refs: those of all fields, or of `data` */
  int32_t nref, next;  /* next: the child to be made before this one */
  uint8_t state;
  tn_any value; /* owned */
} node;

typedef struct {
  json_t *root, *list, *blobs; /* blobs: may be NULL */
  int version;
  int64_t n;
  node *nodes;
  int32_t *refs;
  int64_t nref, ref_cap;
  int32_t *stack;
  int64_t depth, stack_cap;
  int64_t nblob;
  tn_obj **blob_objs; /* owned, NULL until asked for */
} loader;

static const json_t *node_json(const loader *s, int64_t i) {
  return json_array_get(s->list, (size_t)i);
}

static const char *node_key(const loader *s, int64_t i) {
  return json_string_value(json_object_get(node_json(s, i), "type_key"));
}

/* Puts the node's number and type before the message of the pending error. */
static int in_node(const loader *s, int64_t i) {
  tn_error e;
  tn_error_take(&e);
  if (e.kind == TN_MemoryError || !e.message) {
    tn_error_restore(&e);
  } else {
    const char *key = node_key(s, i);
    tn_raise(e.kind, __FILE__, __LINE__, __func__, NULL, "load_json: node %lld (%.100s): %s",
             (long long)i, key ? key : "without a type key", e.message);
  }
  tn_error_fini(&e);
  return -1;
}

/* ---- numbers in strings ---- */

static int parse_int(const char *what, const char *text, int64_t *out) {
  char *end;
  errno = 0;
  long long x = strtoll(text, &end, 10);
  TN_CHECK(end != text && !*end, ValueError, NULL, "%s: expected an integer, got \"%.60s\"", what,
           text);
  TN_CHECK(errno != ERANGE, ValueError, NULL, "%s: %.60s does not fit 64 bits", what, text);
  *out = x;
  return 0;
}

static int parse_float(const char *what, const char *text, double *out) {
  char *end;
  *out = tn_strtod(text, &end);
  TN_CHECK(end != text && !*end, ValueError, NULL, "%s: expected a number, got \"%.60s\"", what,
           text);
  return 0;
}

static int parse_bool(const char *what, const char *text, bool *out) {
  bool yes = strcmp(text, "1") == 0 || strcmp(text, "true") == 0 || strcmp(text, "True") == 0;
  bool no = strcmp(text, "0") == 0 || strcmp(text, "false") == 0 || strcmp(text, "False") == 0;
  TN_CHECK(yes || no, ValueError, NULL, "%s: expected 0 or 1, got \"%.60s\"", what, text);
  *out = yes;
  return 0;
}

static int parse_device(const char *what, const char *text, tn_device *out) {
  char *end;
  errno = 0;
  long type = strtol(text, &end, 10), id = *end == ':' ? strtol(end + 1, &end, 10) : -1;
  TN_CHECK(
      !*end && end != text && !errno && type >= 0 && type <= INT_MAX && id >= 0 && id <= INT_MAX,
      ValueError, NULL, "%s: expected a device as TYPE:ID in numbers, got \"%.60s\"", what, text);
  *out = (tn_device){(DLDeviceType)type, (int32_t)id};
  return 0;
}

/* Text of a plain field as a value; strings are borrowed. */
static int parse_plain(const tn_field *f, const char *text, tn_any *out) {
  bool b = false;
  double x = 0;
  int64_t i = 0;
  tn_device d = {0};
  switch ((tn_field_kind)f->kind) {
  case TN_F_I64:
  case TN_F_ENUM:
    TN_TRY(parse_int(f->name, text, &i));
    *out = tn_any_int(i);
    return 0;
  case TN_F_F64:
    TN_TRY(parse_float(f->name, text, &x));
    *out = tn_any_float(x);
    return 0;
  case TN_F_BOOL:
    TN_TRY(parse_bool(f->name, text, &b));
    *out = tn_any_bool(b);
    return 0;
  case TN_F_DEVICE:
    TN_TRY(parse_device(f->name, text, &d));
    *out = tn_any_device(d);
    return 0;
  case TN_F_DTYPE: /* parsed by the field */
  case TN_F_REF:
  case TN_F_ANY: break;
  }
  *out = tn_any_cstr(text);
  return 0;
}

/* ---- what a node refers to ---- */

static int add_ref(loader *s, int64_t child) {
  TN_CHECK(child < s->n, IndexError, NULL,
           "node number %lld is out of range: the file has %lld nodes", (long long)child,
           (long long)s->n);
  TN_GROW(s->refs, s->ref_cap, s->nref + 1, return -1);
  s->refs[s->nref++] = (int32_t)child;
  return 0;
}

static int scan_data(loader *s, const json_t *obj) {
  const json_t *data = json_object_get(obj, "data");
  TN_CHECK(!data || json_is_array(data), ValueError, NULL, "data: expected a list of node numbers");
  for (size_t k = 0; k < json_array_size(data); ++k) {
    const json_t *item = json_array_get(data, k);
    TN_CHECK(json_is_integer(item) && json_integer_value(item) >= 0, ValueError, NULL,
             "data[%zu]: expected a node number", k);
    TN_TRY(add_ref(s, json_integer_value(item)));
  }
  return 0;
}

static bool is_text_node(const loader *s, int64_t i) {
  const char *key = i >= 0 && i < s->n ? node_key(s, i) : NULL;
  return key && (!*key || strcmp(key, tn_type_String.key) == 0);
}

/* The text of a field, or NULL when the file has none for it. */
static int field_text(const loader *s, const json_t *obj, const tn_type *t, const tn_field *f,
                      const char **out) {
  const json_t *attr = tn_json_attr(s->version, t, f, json_object_get(obj, "attrs"), s->list);
  *out = json_string_value(attr);
  TN_CHECK(!attr || *out, ValueError, NULL, "%s: expected a string", f->name);
  return 0;
}

static int scan_field(loader *s, const json_t *obj, const tn_type *t, const tn_field *f) {
  const char *text;
  int64_t child = ABSENT;
  TN_TRY(field_text(s, obj, t, f, &text));
  if (text && tn_field_is_ref(f) && !tn_json_is_blob_field(f) && !(f->flags & TN_NOSAVE)) {
    bool inline_text =
        tn_json_has_inline_text(s->version) && tn_type_by_class(f->cls) == &tn_type_String;
    if (inline_text && (parse_int(f->name, text, &child) || !is_text_node(s, child))) {
      tn_error_clear();
      return add_ref(s, TEXT);
    }
    TN_TRY(parse_int(f->name, text, &child));
    TN_CHECK(child >= 0, IndexError, NULL, "%s: node number %lld is out of range", f->name,
             (long long)child);
  }
  return add_ref(s, child);
}

static int unknown_type(const char *key) {
  tn_near near = {.name = key};
  for (uint32_t i = TN_OBJECT; i < tn_type_end(); ++i) {
    const tn_type *t = tn_type_get(i);
    if (t) tn_near_offer(&near, t->key);
  }
  return TN_RAISE(ValueError, NULL, "no type has the key \"%.100s\"%s", key, tn_near_text(&near));
}

/* Finds the node's type and its children. */
static int scan(loader *s, int64_t i) {
  node *nd = &s->nodes[i];
  const json_t *obj = node_json(s, i);
  const char *key = node_key(s, i);
  TN_CHECK(json_is_object(obj) && key, ValueError, NULL, "expected an object with a type_key");
  nd->first_ref = s->nref;
  if (!*key || strcmp(key, TN_JSON_DTYPE) == 0 || strcmp(key, TN_JSON_DEVICE) == 0) return 0;
  const tn_type *t = nd->type = tn_json_type(s->version, key);
  if (!t) return unknown_type(key);
  const json_t *attrs = json_object_get(obj, "attrs");
  TN_CHECK(!attrs || json_is_object(attrs), ValueError, NULL, "attrs: expected an object");
  if (t->kind == TN_KIND_ARRAY || t->kind == TN_KIND_TUPLE || t->kind == TN_KIND_MAP) {
    TN_TRY(scan_data(s, obj));
  } else if (t->kind == TN_KIND_NODE && !t->hooks->from_global_name && !t->hooks->blob_load) {
    for (uint16_t k = 0; k < t->nfield; ++k) TN_TRY(scan_field(s, obj, t, &t->fields[k]));
  }
  TN_CHECK(s->nref - nd->first_ref <= INT32_MAX, ValueError, NULL, "too many children");
  nd->nref = (int32_t)(s->nref - nd->first_ref);
  return 0;
}

/* ---- making one node ---- */

static const tn_any *child_value(const loader *s, const node *nd, int64_t k) {
  static const tn_any none;
  int32_t ref = s->refs[nd->first_ref + k];
  return ref < 0 ? &none : &s->nodes[ref].value;
}

/* Bytes of repr_str or repr_b64, in `out`. */
static int repr_bytes(const loader *s, const json_t *obj, tn_buf *out) {
  const json_t *text = json_object_get(obj, "repr_str"), *b64 = json_object_get(obj, "repr_b64");
  if (!text && !b64 && tn_json_has_inline_text(s->version))
    text = json_object_get(obj, "global_key");
  TN_CHECK(json_is_string(text ? text : b64), ValueError, NULL,
           "expected a repr_str or repr_b64 of text");
  if (!text) return tn_base64_decode(out, json_string_value(b64), json_string_length(b64));
  tn_buf_put(out, json_string_value(text), json_string_length(text));
  return tn_buf_ok(out);
}

static int make_shape(const char *text, tn_any *out) {
  TN_VEC(dims); /* of plain integers */
  const char *p = text;
  bool ok = *p == '[';
  p += ok;
  for (char *end; ok && *p && *p != ']'; p = *end == ',' ? end + 1 : end) {
    errno = 0;
    long long x = strtoll(p, &end, 10);
    ok = end != p && !errno && (*end == ',' || *end == ']');
    if (ok) TN_TRY(tn_vec_push(&dims, tn_any_int(x)));
  }
  TN_CHECK(ok && p[0] == ']' && !p[1], ValueError, NULL,
           "expected a shape as [1, 2], got \"%.60s\"", text);
  tn_shape *shape = tn_shape_new(NULL, 0);
  if (dims.len) {
    tn_release(shape);
    TN_AUTOFREE int64_t *x = tn_alloc((size_t)dims.len * sizeof *x);
    if (!x) return -1;
    for (int64_t i = 0; i < dims.len; ++i) x[i] = dims.items[i].v.i64;
    shape = tn_shape_new(x, dims.len);
  }
  *out = tn_any_obj(shape);
  return shape ? 0 : -1;
}

/* Nodes that are text: strings, bytes, shapes, tensors, objects known by name. */
static int make_repr(const loader *s, const json_t *obj, const tn_type *t, tn_any *out) {
  TN_BUF(text);
  void *made = NULL;
  TN_TRY(repr_bytes(s, obj, &text));
  const char *data = text.data ? text.data : "";
  if (t->hooks->from_global_name) {
    made = t->hooks->from_global_name(data);
  } else if (t->hooks->blob_load) {
    TN_BUF(raw);
    TN_TRY(tn_base64_decode(&raw, data, text.len));
    made = t->hooks->blob_load((const uint8_t *)raw.data, raw.len);
  } else if (t->kind == TN_KIND_SHAPE) {
    return make_shape(data, out);
  } else {
    made = t->kind == TN_KIND_STR ? (void *)tn_str_new_n(data, text.len)
                                  : (void *)tn_bytes_new(data, text.len);
  }
  *out = tn_any_obj(made);
  return made ? 0 : -1;
}

static int make_plain(const loader *s, int64_t i, tn_any *out) {
  TN_BUF(text);
  if (!*node_key(s, i)) return 0; /* None */
  TN_TRY(repr_bytes(s, node_json(s, i), &text));
  const char *data = text.data ? text.data : "";
  tn_dtype t = {0};
  tn_device d = {0};
  if (strcmp(node_key(s, i), TN_JSON_DTYPE) == 0) {
    TN_TRY(tn_dtype_parse(data, text.len, &t));
    *out = tn_any_dtype(t);
  } else {
    TN_TRY(parse_device("repr_str", data, &d));
    *out = tn_any_device(d);
  }
  return 0;
}

static int make_items(const loader *s, int64_t i, tn_any *out) {
  const node *nd = &s->nodes[i];
  int64_t tag = 0;
  void *made;
  TN_VEC(items);
  TN_TRY(tn_vec_reserve(&items, nd->nref));
  for (int32_t k = 0; k < nd->nref; ++k)
    TN_TRY(tn_vec_push(&items, tn_unboxed(*child_value(s, nd, k))));
  if (nd->type->kind == TN_KIND_ARRAY) {
    made = tn_arr_new(items.items, items.len);
  } else {
    const json_t *attrs = json_object_get(node_json(s, i), "attrs");
    const char *text = json_string_value(json_object_get(attrs, "tag"));
    if (text) TN_TRY(parse_int("tag", text, &tag));
    TN_CHECK(tag >= 0 && tag <= UINT32_MAX, ValueError, NULL, "tag: %lld is out of range",
             (long long)tag);
    made = tn_tuple_new((uint32_t)tag, items.items, items.len);
  }
  *out = tn_any_obj(made);
  return made ? 0 : -1;
}

static int fill_map(const loader *s, int64_t i, tn_map *m) {
  const node *nd = &s->nodes[i];
  const json_t *keys = json_object_get(node_json(s, i), "keys");
  TN_CHECK(!keys || json_is_array(keys), ValueError, NULL, "keys: expected a list of strings");
  int32_t step = keys ? 1 : 2;
  if (keys)
    TN_CHECK(json_array_size(keys) == (size_t)nd->nref, ValueError, NULL, "%zu keys and %d values",
             json_array_size(keys), nd->nref);
  TN_CHECK(nd->nref % step == 0, ValueError, NULL, "data: expected keys and values in turn");
  for (int32_t k = 0; k < nd->nref; k += step) {
    const json_t *text = keys ? json_array_get(keys, (size_t)k) : NULL;
    TN_CHECK(!keys || json_is_string(text), ValueError, NULL, "keys[%d]: expected a string", k);
    tn_any key = keys ? tn_any_cstr(json_string_value(text)) : tn_unboxed(*child_value(s, nd, k));
    TN_TRY(tn_map_set(m, key, tn_unboxed(*child_value(s, nd, k + step - 1))));
    TN_CHECK(tn_map_len(m) == k / step + 1, ValueError, NULL, "the key at %d is there twice", k);
  }
  return 0;
}

static int make_map(const loader *s, int64_t i, tn_any *out) {
  tn_map *m = tn_map_new();
  if (!m) return -1;
  *out = tn_any_obj(m); /* released with the node if it cannot be filled */
  return fill_map(s, i, m);
}

/* Tensor number `text` of the file. *out is borrowed. */
static int blob_field(loader *s, const tn_field *f, const char *text, tn_any *out) {
  int64_t i = 0;
  TN_TRY(parse_int(f->name, text, &i));
  if (i == -1) return 0;
  TN_CHECK(i >= 0 && i < s->nblob, IndexError, NULL, "%s: the file has no tensor %lld", f->name,
           (long long)i);
  if (!s->blob_objs[i]) {
    TN_BUF(raw);
    const json_t *b64 = json_array_get(s->blobs, (size_t)i);
    TN_CHECK(json_is_string(b64), ValueError, NULL, "b64ndarrays[%lld]: expected a string",
             (long long)i);
    TN_TRY(tn_base64_decode(&raw, json_string_value(b64), json_string_length(b64)));
    const tn_type *t = tn_type_by_class(f->cls);
    TN_GET(s->blob_objs[i], t->hooks->blob_load((const uint8_t *)raw.data, raw.len));
  }
  *out = tn_any_obj(s->blob_objs[i]);
  return 0;
}

/* Value of a field that the file has a text for. */
static int field_value(loader *s, const node *nd, uint16_t k, const char *text, tn_any *out) {
  const tn_field *f = &nd->type->fields[k];
  if (tn_json_is_blob_field(f)) return blob_field(s, f, text, out);
  if (!tn_field_is_ref(f) || s->refs[nd->first_ref + k] == TEXT) return parse_plain(f, text, out);
  *out = *child_value(s, nd, k);
  if (f->kind == TN_F_ANY) *out = tn_unboxed(*out);
  return 0;
}

static int make_node(loader *s, int64_t i, tn_any *out) {
  const node *nd = &s->nodes[i];
  const tn_type *t = nd->type;
  const char *names[64], *text;
  tn_any values[64];
  int n = 0;
  TN_ICHECK(t->nfield <= 64);
  for (uint16_t k = 0; k < t->nfield; ++k) {
    const tn_field *f = &t->fields[k];
    if (f->flags & TN_NOSAVE) continue;
    TN_TRY(field_text(s, node_json(s, i), t, f, &text));
    TN_CHECK(text || f->dflt || tn_field_is_ref(f), ValueError, NULL, "the attribute %s is missing",
             tn_json_saved_name(t, f));
    if (!text) continue; /* the default, or an error that names the field */
    values[n] = tn_any_none();
    TN_TRY(field_value(s, nd, k, text, &values[n]));
    names[n++] = f->name;
  }
  tn_obj *made = tn_node_make(t, n, names, values);
  *out = tn_any_obj(made);
  return made ? 0 : -1;
}

static int make(loader *s, int64_t i) {
  node *nd = &s->nodes[i];
  const tn_type *t = nd->type;
  if (!t) return make_plain(s, i, &nd->value);
  if (t->hooks->from_global_name || t->hooks->blob_load || t->kind == TN_KIND_STR ||
      t->kind == TN_KIND_BYTES || t->kind == TN_KIND_SHAPE)
    return make_repr(s, node_json(s, i), t, &nd->value);
  if (t->kind == TN_KIND_MAP) return make_map(s, i, &nd->value);
  if (t->kind == TN_KIND_ARRAY || t->kind == TN_KIND_TUPLE) return make_items(s, i, &nd->value);
  TN_CHECK(t->kind == TN_KIND_NODE, ValueError, NULL, "objects of this type are not saved in JSON");
  return make_node(s, i, &nd->value);
}

/* ---- the whole file ---- */

static int open_node(loader *s, int64_t i) {
  TN_GROW(s->stack, s->stack_cap, s->depth + 1, return -1);
  s->stack[s->depth++] = (int32_t)i;
  s->nodes[i].state = OPEN;
  return scan(s, i) ? in_node(s, i) : 0;
}

/* Opens the next child that is not made yet, or makes the topmost node. */
static int advance(loader *s) {
  int32_t i = s->stack[s->depth - 1];
  node *nd = &s->nodes[i];
  while (nd->next < nd->nref) {
    int32_t child = s->refs[nd->first_ref + nd->next++];
    if (child < 0 || s->nodes[child].state == MADE) continue;
    if (s->nodes[child].state == OPEN) {
      TN_RAISE(ValueError, NULL, "the node contains itself");
      return in_node(s, child);
    }
    return open_node(s, child);
  }
  s->depth--;
  nd->state = MADE;
  return make(s, i) ? in_node(s, i) : 0;
}

static int start(loader *s) {
  s->list = json_object_get(s->root, "nodes");
  s->blobs = json_object_get(s->root, "b64ndarrays");
  TN_CHECK(json_is_array(s->list), ValueError, NULL, "load_json: expected an object with nodes");
  s->version = tn_json_version(s->root);
  s->n = (int64_t)json_array_size(s->list);
  s->nblob = (int64_t)json_array_size(s->blobs);
  TN_CHECK(s->n <= INT32_MAX, ValueError, NULL, "load_json: too many nodes");
  TN_GET(s->nodes, tn_alloc_zero((size_t)s->n, sizeof *s->nodes));
  TN_GET(s->blob_objs, tn_alloc_zero((size_t)s->nblob, sizeof *s->blob_objs));
  return 0;
}

static int load(loader *s, tn_any *out) {
  TN_TRY(start(s));
  const json_t *root = json_object_get(s->root, "root");
  int64_t i = json_is_integer(root) ? json_integer_value(root) : -1;
  TN_CHECK(i >= 0 && i < s->n, ValueError, NULL, "load_json: root is not the number of a node");
  TN_TRY(open_node(s, i));
  while (s->depth > 0) TN_TRY(advance(s));
  *out = s->nodes[i].value;
  s->nodes[i].value = tn_any_none();
  return 0;
}

static void finish(loader *s) {
  for (int64_t i = 0; s->nodes && i < s->n; ++i) tn_any_release(&s->nodes[i].value);
  for (int64_t i = 0; s->blob_objs && i < s->nblob; ++i) tn_release(s->blob_objs[i]);
  tn_free(s->nodes);
  tn_free(s->blob_objs);
  tn_free(s->refs);
  tn_free(s->stack);
  json_decref(s->root);
}

static int broken(const json_error_t *e) {
  if (json_error_code(e) == json_error_out_of_memory) return tn_raise_no_memory(0);
  return TN_RAISE(ValueError, NULL, "load_json: line %d, column %d: %s", e->line, e->column,
                  e->text);
}

int tn_json_load(const char *text, size_t n, tn_any *out) {
  TN_SCOPE(scope);
  json_error_t where;
  loader s = {0};
  *out = tn_any_none();
  s.root = json_loadb(text, n, JSON_REJECT_DUPLICATES, &where);
  if (!s.root) return broken(&where);
  int err = load(&s, out);
  finish(&s);
  return err;
}

/* ---- functions ---- */

static int save_json(TN_ARGS) {
  tn_any value;
  TN_NARGS("node.SaveJSON", 1);
  TN_TRY(tn_any_own(&args[0], &value));
  tn_str *text = tn_json_save(value);
  tn_any_release(&value);
  return tn_ret_owned(ret, text);
}

static int load_json(TN_ARGS) {
  tn_bytes_view text = {0};
  tn_any value;
  TN_NARGS("node.LoadJSON", 1);
  TN_TRY(tn_any_to_bytes(&args[0], &text));
  TN_TRY(tn_json_load((const char *)text.data, text.size, &value));
  *ret = value;
  return 0;
}

int tn_json_init(void) {
  static const tn_func_row rows[] = {
      {"node.SaveJSON", save_json},
      {"node.LoadJSON", load_json},
  };
  /* the library's allocator serves the parser too, so that a host meters it and tests can make it
     fail; the hash seed is set before any thread needs it */
  json_set_alloc_funcs(tn_alloc, tn_free);
  json_object_seed(0);
  return tn_func_register_rows(rows, TN_COUNT(rows));
}
