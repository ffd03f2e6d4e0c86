/* Layouts of files that older releases wrote, as tables. A row says up to which release it applies;
   what no row mentions keeps its name, and a field that a file lacks gets the default of the type's
   field table. */
#include <limits.h>
#include <string.h>

#include "object/json_impl.h"

enum { ALWAYS = INT_MAX };

/* Types: {last release, name in the file, name now}. "relay.*" and "tir.*" stand for every type
   that exists under the other name. */
static const struct {
  int until;
  const char *old, *now;
} type_rows[] = {
    {6, "Variable", "tir.Var"},
    {6, "UIntImm", "IntImm"},
    {6, "StrMap", "Map"},
    {6, "relay.Module", "IRModule"},
    {6, "relay.Pass", "transform.Pass"},
    {6, "relay.PassInfo", "transform.PassInfo"},
    {6, "relay.PassContext", "transform.PassContext"},
    {6, "relay.ModulePass", "transform.ModulePass"},
    {6, "relay.Sequential", "transform.Sequential"},
    {6, "relay.*", "*"},
    {6, "*", "tir.*"},
};

/* Fields: {last release, type, field, attribute in the file, attribute of the node that this one
   refers to, if the text is there}. */
static const struct {
  int until;
  const char *type, *field, *attr, *inner;
} field_rows[] = {
    {ALWAYS, "DictAttrs", "dict", "__dict__", NULL},
    {6, "TypeVar", "name_hint", "var", "name"},
    {6, "GlobalTypeVar", "name_hint", "var", "name"},
    {6, "relay.Var", "name_hint", "vid", "name_hint"},
};

int tn_json_version(const tn_json *j) {
  tn_json_at attrs = tn_json_member(j, TN_JSON_ROOT, "attrs");
  tn_json_at version = attrs ? tn_json_member(j, attrs, "tvm_version") : 0;
  if (!tn_json_is(j, version, TN_JSON_STRING) || tn_json_member(j, attrs, "tenon_version"))
    return INT_MAX;
  tn_bytes_view text = tn_json_raw(j, version);
  int part[2] = {0, 0}; /* major, minor */
  size_t at = 0;
  for (int i = 0; i < 2; ++i) {
    for (; at < text.size && text.data[at] >= '0' && text.data[at] <= '9' && part[i] < 100; ++at)
      part[i] = part[i] * 10 + (text.data[at] - '0');
    if (at == text.size || text.data[at] != '.') break;
    ++at;
  }
  return part[0] * 100 + (part[1] < 99 ? part[1] : 99);
}

bool tn_json_has_inline_text(int version) { return version != INT_MAX; }

static const tn_type *find(const char *prefix, const char *name) {
  char key[128];
  size_t n = strlen(prefix), m = strlen(name);
  if (n + m >= sizeof key) return NULL;
  memcpy(key, prefix, n);
  memcpy(key + n, name, m + 1);
  return tn_type_get(tn_type_find(key));
}

/* The type that a pattern stands for: "x.*" as old strips "x." from the key, as now puts it there.
 */
static const tn_type *by_pattern(const char *old, const char *now, const char *key) {
  char prefix[32] = "";
  size_t n = strlen(old) - 1;
  if (strncmp(key, old, n) != 0) return NULL;
  memcpy(prefix, now, strlen(now) - 1);
  return find(prefix, key + n);
}

const tn_type *tn_json_type(int version, const char *key) {
  const tn_type *t = tn_type_get(tn_type_find(key));
  for (size_t i = 0; !t && i < sizeof type_rows / sizeof *type_rows; ++i) {
    const char *old = type_rows[i].old, *now = type_rows[i].now;
    if (version > type_rows[i].until) continue;
    if (strchr(old, '*')) t = by_pattern(old, now, key);
    else if (strcmp(old, key) == 0) t = find("", now);
  }
  return t;
}

const char *tn_json_saved_name(const tn_type *type, const tn_field *f) {
  for (size_t i = 0; i < sizeof field_rows / sizeof *field_rows; ++i) {
    if (field_rows[i].until == ALWAYS && strcmp(field_rows[i].type, type->key) == 0 &&
        strcmp(field_rows[i].field, f->name) == 0)
      return field_rows[i].attr;
  }
  return f->name;
}

/* Attribute `inner` of the node whose index is in `attr`. */
static tn_json_at inner_attr(const tn_json *j, tn_json_at attr, const char *inner,
                             const tn_json_at *nodes, int64_t n) {
  int64_t i;
  if (!tn_json_is(j, attr, TN_JSON_STRING)) return 0;
  tn_bytes_view text = tn_json_raw(j, attr);
  if (!tn_text_int((const char *)text.data, text.size, &i) || i < 0 || i >= n) return 0;
  tn_json_at attrs = tn_json_member(j, nodes[i], "attrs");
  return attrs ? tn_json_member(j, attrs, inner) : 0;
}

tn_json_at tn_json_attr(const tn_json *j, int version, const tn_type *type, const tn_field *f,
                        tn_json_at attrs, const tn_json_at *nodes, int64_t n) {
  tn_json_at found = attrs ? tn_json_member(j, attrs, f->name) : 0;
  if (!attrs || found) return found;
  for (size_t i = 0; !found && i < sizeof field_rows / sizeof *field_rows; ++i) {
    if (version > field_rows[i].until || strcmp(field_rows[i].type, type->key) != 0 ||
        strcmp(field_rows[i].field, f->name) != 0)
      continue;
    found = tn_json_member(j, attrs, field_rows[i].attr);
    if (field_rows[i].inner) found = inner_attr(j, found, field_rows[i].inner, nodes, n);
  }
  return found;
}
