/* Layouts of files that older releases wrote, as tables. A row says up to which release it applies;
   what no row mentions keeps its name, and a field that a file lacks gets the default of the type's
   field table. */
#include <limits.h>
#include <stdlib.h>
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

int tn_json_version(const json_t *root) {
  const json_t *attrs = json_object_get(root, "attrs");
  const char *text = json_string_value(json_object_get(attrs, "tvm_version"));
  if (json_object_get(attrs, "tenon_version") || !text) return INT_MAX;
  char *end;
  long major = strtol(text, &end, 10);
  long minor = *end == '.' ? strtol(end + 1, NULL, 10) : 0;
  if (major < 0 || major > 1000 || minor < 0 || minor > 99) return INT_MAX;
  return (int)(major * 100 + minor);
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
static const json_t *inner_attr(const json_t *attr, const char *inner, const json_t *nodes) {
  const char *text = json_string_value(attr);
  char *end;
  long i = text ? strtol(text, &end, 10) : -1;
  if (i < 0 || *end) return NULL;
  return json_object_get(json_object_get(json_array_get(nodes, (size_t)i), "attrs"), inner);
}

const json_t *tn_json_attr(int version, const tn_type *type, const tn_field *f, const json_t *attrs,
                           const json_t *nodes) {
  const json_t *found = json_object_get(attrs, f->name);
  for (size_t i = 0; !found && i < sizeof field_rows / sizeof *field_rows; ++i) {
    if (version > field_rows[i].until && field_rows[i].until != ALWAYS) continue;
    if (strcmp(field_rows[i].type, type->key) != 0 || strcmp(field_rows[i].field, f->name) != 0)
      continue;
    found = json_object_get(attrs, field_rows[i].attr);
    if (field_rows[i].inner) found = inner_attr(found, field_rows[i].inner, nodes);
  }
  return found;
}
