/* Objects from JSON (the layout is described in json_save.c). The text may be anything: every
   number of a node is checked before it is used, nodes are made children first with a separate
   stack, and a node that contains itself is an error. Only what the root needs is looked at.

   Nodes of boxed numbers become plain values again inside containers. Making one node is in
   json_node.c. */
#include <limits.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "object/functions.h"
#include "object/json_load_impl.h"
#include "tenon/object.h"

/* ---- the text of a node ---- */

int tn_load_text(const tn_loader *s, tn_json_at x, tn_bytes_view *out) {
  *out = tn_json_raw(&s->json, x);
  if (!s->json.tokens[x].escaped) return 0;
  TN_BUF(plain);
  tn_json_text(&s->json, x, &plain);
  tn_str *kept = tn_scope_own(tn_buf_str(&plain)); /* until the load is over */
  if (!kept) return -1;
  *out = (tn_bytes_view){(const uint8_t *)kept->data, kept->len};
  return 0;
}

int tn_load_attr(const tn_loader *s, int64_t i, const tn_field *f, tn_json_at *out) {
  const tn_load_node *nd = &s->nodes[i];
  *out = tn_json_attr(&s->json, s->version, nd->type, f, nd->attrs, s->at, s->n);
  TN_CHECK(!*out || tn_json_is(&s->json, *out, TN_JSON_STRING), ValueError, NULL,
           "%s: expected a string", f->name);
  return 0;
}

/* Copies the type key into `key`; false when it is not text or longer than any type's. */
static bool node_key(const tn_loader *s, int64_t i, char key[TN_LOAD_KEY]) {
  tn_json_at x = tn_json_member(&s->json, s->at[i], "type_key");
  if (!tn_json_is(&s->json, x, TN_JSON_STRING)) return false;
  tn_bytes_view raw = tn_json_raw(&s->json, x);
  if (raw.size >= TN_LOAD_KEY) return false;
  memcpy(key, raw.data, raw.size);
  key[raw.size] = '\0';
  return true;
}

/* Puts the node's number and type before the message of the pending error. */
static int in_node(const tn_loader *s, int64_t i) {
  char key[TN_LOAD_KEY];
  return tn_error_prefix("load_json: node %lld (%s): ", (long long)i,
                         node_key(s, i, key) ? key : "without a type key");
}

/* ---- what a node refers to ---- */

static int add_ref(tn_loader *s, int64_t child) {
  TN_CHECK(child < s->n, IndexError, NULL,
           "node number %lld is out of range: the file has %lld nodes", (long long)child,
           (long long)s->n);
  TN_GROW(s->refs, s->ref_cap, s->nref + 1, return -1);
  s->refs[s->nref++] = (int32_t)child;
  return 0;
}

static int scan_data(tn_loader *s, tn_json_at obj) {
  const tn_json *j = &s->json;
  tn_json_at data = tn_json_member(j, obj, "data");
  int64_t k = 0, child = 0;
  TN_CHECK(!data || tn_json_is(j, data, TN_JSON_ARRAY), ValueError, NULL,
           "data: expected a list of node numbers");
  for (tn_json_at x = data ? tn_json_first(j, data) : 0; x; x = tn_json_after(j, data, x), ++k) {
    TN_CHECK(tn_json_int(j, x, &child) && child >= 0, ValueError, NULL,
             "data[%lld]: expected a node number", (long long)k);
    TN_TRY(add_ref(s, child));
  }
  return 0;
}

static bool is_text_node(const tn_loader *s, int64_t i) {
  char key[TN_LOAD_KEY];
  if (i < 0 || i >= s->n || !node_key(s, i, key)) return false;
  return !*key || strcmp(key, tn_type_String.key) == 0;
}

static int scan_field(tn_loader *s, int64_t i, const tn_field *f) {
  tn_json_at attr;
  int64_t child = TN_LOAD_ABSENT;
  TN_TRY(tn_load_attr(s, i, f, &attr));
  if (attr && tn_field_is_ref(f) && !tn_json_is_blob_field(f) && !(f->flags & TN_NOSAVE)) {
    tn_bytes_view raw = tn_json_raw(&s->json, attr);
    bool number = tn_text_int((const char *)raw.data, raw.size, &child);
    if (tn_json_has_inline_text(s->version) && tn_class_type(f->cls) == &tn_type_String &&
        !(number && is_text_node(s, child)))
      return add_ref(s, TN_LOAD_TEXT);
    TN_CHECK(number, ValueError, NULL, "%s: expected a node number, got \"%.*s\"", f->name,
             TN_LOAD_SHOWN(raw));
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
  return TN_RAISE(ValueError, NULL, "no type has the key \"%s\"%s", key, tn_near_text(&near));
}

/* Finds the node's type and its children. */
static int scan(tn_loader *s, int64_t i) {
  tn_load_node *nd = &s->nodes[i];
  char key[TN_LOAD_KEY];
  TN_CHECK(tn_json_is(&s->json, s->at[i], TN_JSON_OBJECT) && node_key(s, i, key), ValueError, NULL,
           "expected an object with a type_key");
  nd->first_ref = s->nref;
  nd->attrs = tn_json_member(&s->json, s->at[i], "attrs");
  TN_CHECK(!nd->attrs || tn_json_is(&s->json, nd->attrs, TN_JSON_OBJECT), ValueError, NULL,
           "attrs: expected an object");
  nd->form = !*key                              ? TN_LOAD_NONE
             : strcmp(key, TN_JSON_DTYPE) == 0  ? TN_LOAD_DTYPE
             : strcmp(key, TN_JSON_DEVICE) == 0 ? TN_LOAD_DEVICE
                                                : TN_LOAD_OBJECT;
  if (nd->form != TN_LOAD_OBJECT) return 0;
  const tn_type *t = nd->type = tn_json_type(s->version, key);
  if (!t) return unknown_type(key);
  if (t->kind == TN_KIND_ARRAY || t->kind == TN_KIND_TUPLE || t->kind == TN_KIND_MAP) {
    TN_TRY(scan_data(s, s->at[i]));
  } else if (t->kind == TN_KIND_NODE && !t->hooks->from_global_name && !t->hooks->blob_load) {
    for (uint16_t k = 0; k < t->nfield; ++k) TN_TRY(scan_field(s, i, &t->fields[k]));
  }
  TN_CHECK(s->nref - nd->first_ref <= INT32_MAX, ValueError, NULL, "too many children");
  nd->nref = (int32_t)(s->nref - nd->first_ref);
  return 0;
}

/* ---- the whole file ---- */

static int open_node(tn_loader *s, int64_t i) {
  TN_GROW(s->stack, s->stack_cap, s->depth + 1, return -1);
  s->stack[s->depth++] = (int32_t)i;
  s->nodes[i].state = TN_LOAD_OPEN;
  return scan(s, i) ? in_node(s, i) : 0;
}

/* Opens the next child that is not made yet, or makes the topmost node. */
static int advance(tn_loader *s) {
  int32_t i = s->stack[s->depth - 1];
  tn_load_node *nd = &s->nodes[i];
  while (nd->next < nd->nref) {
    int32_t child = s->refs[nd->first_ref + nd->next++];
    if (child < 0 || s->nodes[child].state == TN_LOAD_MADE) continue;
    if (s->nodes[child].state == TN_LOAD_OPEN) {
      TN_RAISE(ValueError, NULL, "the node contains itself");
      return in_node(s, child);
    }
    return open_node(s, child);
  }
  s->depth--;
  nd->state = TN_LOAD_MADE;
  return tn_load_make(s, i) ? in_node(s, i) : 0;
}

/* Positions of the elements of a list; *n is 0 when it is none. */
static int positions(const tn_json *j, tn_json_at list, tn_json_at **at, int64_t *n) {
  int64_t i = 0;
  *n = tn_json_is(j, list, TN_JSON_ARRAY) ? tn_json_count(j, list) : 0;
  TN_CHECK(*n <= INT32_MAX, ValueError, NULL, "load_json: too many nodes");
  TN_GET(*at, tn_alloc_array(*n + 1, sizeof **at));
  for (tn_json_at x = *n ? tn_json_first(j, list) : 0; x; x = tn_json_after(j, list, x))
    (*at)[i++] = x;
  return 0;
}

static int start(tn_loader *s) {
  const tn_json *j = &s->json;
  tn_json_at list = tn_json_member(j, TN_JSON_ROOT, "nodes");
  TN_CHECK(tn_json_is(j, list, TN_JSON_ARRAY), ValueError, NULL,
           "load_json: expected an object with nodes");
  s->version = tn_json_version(j);
  TN_TRY(positions(j, list, &s->at, &s->n));
  TN_TRY(positions(j, tn_json_member(j, TN_JSON_ROOT, "b64ndarrays"), &s->blob_at, &s->nblob));
  TN_GET(s->nodes, tn_alloc_zero((size_t)s->n + 1, sizeof *s->nodes));
  TN_GET(s->blobs, tn_alloc_zero((size_t)s->nblob + 1, sizeof *s->blobs));
  return 0;
}

static int load(tn_loader *s, const char *text, size_t n, tn_any *out) {
  TN_TRY(tn_json_parse(&s->json, text, n));
  TN_TRY(start(s));
  tn_json_at root = tn_json_member(&s->json, TN_JSON_ROOT, "root");
  int64_t i = -1;
  TN_CHECK(root && tn_json_int(&s->json, root, &i) && i >= 0 && i < s->n, ValueError, NULL,
           "load_json: root is not the number of a node");
  TN_TRY(open_node(s, i));
  while (s->depth > 0) TN_TRY(advance(s));
  *out = s->nodes[i].value;
  s->nodes[i].value = tn_any_none();
  return 0;
}

static void finish(tn_loader *s) {
  for (int64_t i = 0; s->nodes && i < s->n; ++i) tn_any_release(&s->nodes[i].value);
  for (int64_t i = 0; s->blobs && i < s->nblob; ++i) tn_release(s->blobs[i]);
  tn_free(s->nodes);
  tn_free(s->at);
  tn_free(s->blobs);
  tn_free(s->blob_at);
  tn_free(s->refs);
  tn_free(s->stack);
  tn_json_fini(&s->json);
}

int tn_json_load(const char *text, size_t n, tn_any *out) {
  TN_SCOPE(scope);
  tn_loader s = {0};
  *out = tn_any_none();
  int err = load(&s, text, n, out);
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
  return tn_func_register_rows(rows, TN_COUNT(rows));
}
