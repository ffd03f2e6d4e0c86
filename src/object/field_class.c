/* The class of a REF field, checked and converted to. A class names a type, and for a container its
   elements too:

     Var    Array(PrimExpr)    Map(Var, Range)    Array(Array(Span))    Map(String, Object)

   C code casts elements to that class without asking. So a node made from outside (JSON, keywords,
   Python attributes) gets a value only after this file has looked at every element of it. `Object`
   stands for anything, None included. Nodes that C code makes (TN_NEW) are not checked. */
#include <string.h>

#include "object/containers.h"
#include "object/functions.h"

enum { MAX_CLASS_NAME = 64 };

/* Part of the text of a class in a field table. */
typedef struct {
  const char *text;
  size_t n;
} class_text;

static size_t name_length(class_text c) {
  const char *open = memchr(c.text, '(', c.n);
  return open ? (size_t)(open - c.text) : c.n;
}

static bool copy_name(class_text c, char name[MAX_CLASS_NAME]) {
  size_t n = name_length(c);
  if (n >= MAX_CLASS_NAME) return false;
  memcpy(name, c.text, n);
  name[n] = '\0';
  return true;
}

/* The class of the elements (`which` 0), or of the values of a map (1); false when c names none. */
static bool element_class(class_text c, int which, class_text *out) {
  size_t begin = name_length(c) + 1;
  int depth = 0;
  for (size_t i = begin; i < c.n; ++i) {
    char at = c.text[i];
    if (depth == 0 && (at == ',' || at == ')')) {
      *out = (class_text){c.text + begin, i - begin};
      if (which-- == 0) return true;
      begin = i + 1 + (c.text[i + 1] == ' ');
    }
    depth += (at == '(') - (at == ')');
  }
  return false;
}

static bool is_any_object(class_text c) {
  return c.n == strlen("Object") && memcmp(c.text, "Object", c.n) == 0;
}

static int convert(tn_any *value, class_text cls);

/* *copy is NULL until an element is converted: then it is the array with the new elements. */
static int convert_item(const tn_arr *a, int64_t i, class_text cls, tn_arr **copy) {
  tn_any own;
  TN_TRY(tn_any_own(&a->items[i], &own));
  const void *before = tn_any_is_obj(&own) ? own.v.obj : NULL;
  int err = convert(&own, cls);
  bool changed = !err && own.v.obj != before;
  if (changed && !*copy && !(*copy = tn_arr_new(a->items, a->len))) err = -1;
  if (changed && !err) {
    tn_any_release(&(*copy)->items[i]);
    (*copy)->items[i] = own;
    return 0;
  }
  tn_any_release(&own);
  return err;
}

static int convert_array(tn_any *value, class_text cls) {
  const tn_arr *a = (const tn_arr *)value->v.obj;
  tn_arr *copy = NULL;
  for (int64_t i = 0; i < a->len; ++i) {
    if (convert_item(a, i, cls, &copy)) {
      tn_release(copy);
      return tn_error_prefix("element %lld: ", (long long)i);
    }
  }
  if (!copy) return 0;
  tn_any_release(value);
  *value = tn_any_obj(copy);
  return 0;
}

/* Keys and values of maps are objects already: they are not converted. */
static int check_object(const tn_any *value, class_text cls) {
  tn_any own;
  TN_TRY(tn_any_own(value, &own));
  const void *before = tn_any_is_obj(&own) ? own.v.obj : NULL;
  int err = convert(&own, cls);
  bool same = own.v.obj == before;
  tn_any_release(&own);
  if (err || same) return err;
  return TN_RAISE(TypeError, NULL, "expected %.*s, got %s", (int)cls.n, cls.text,
                  tn_type_key((uint32_t)value->type_index));
}

static int check_map(const tn_map *m, class_text keys, class_text values) {
  tn_any key, value;
  for (int64_t i = 0; tn_map_at(m, i, &key, &value); ++i) {
    if (!is_any_object(keys) && check_object(&key, keys))
      return tn_error_prefix("key %lld: ", (long long)i);
    if (!is_any_object(values) && check_object(&value, values))
      return tn_error_prefix("value %lld: ", (long long)i);
  }
  return 0;
}

static int convert(tn_any *value, class_text cls) {
  char name[MAX_CLASS_NAME];
  class_text first, second;
  if (is_any_object(cls) && value->type_index == TN_NONE) return 0;
  TN_ICHECK(copy_name(cls, name));
  TN_CHECK(value->type_index != TN_NONE, TypeError, NULL, "expected %s, got None", name);
  if (!tn_any_is_obj(value)) TN_TRY(tn_scalar_box(value, name));
  const tn_type *want = tn_type_by_class(name); /* NULL: the layer that has it is not loaded */
  TN_CHECK(!want || tn_obj_is(value->v.obj, want), TypeError, NULL, "expected %s, got %s",
           want->key, tn_obj_key(value->v.obj));
  if (!element_class(cls, 0, &first)) return 0;
  if (want == &tn_type_Array && !is_any_object(first)) return convert_array(value, first);
  if (want == &tn_type_Map && element_class(cls, 1, &second))
    return check_map((const tn_map *)value->v.obj, first, second);
  return 0;
}

int tn_class_convert(tn_any *value, const char *cls) {
  return convert(value, (class_text){cls, strlen(cls)});
}

const tn_type *tn_class_type(const char *cls) {
  char name[MAX_CLASS_NAME];
  return copy_name((class_text){cls, strlen(cls)}, name) ? tn_type_by_class(name) : NULL;
}
