/* Layouts of the built-in types and their index enumeration. The public operations are in
 * tenon/ffi.h. */
#ifndef TN_OBJECT_CONTAINERS_H_
#define TN_OBJECT_CONTAINERS_H_

#include "object/node_decl.h"
#include "object/object.def"

#define TN_AS_BUILTIN_INDEX(Name, key, kind, role, hooks, doc) TN_TI_##Name,
#define TN_AS_BUILTIN_DECL(Name, key, kind, role, hooks, doc)                                      \
  TN_API extern const tn_type tn_type_##Name;
enum {
  TN_TI_BEFORE_BUILTINS = TN_TI_BEGIN_OBJECT - 1,
  TN_OBJECT_BUILTINS(TN_AS_BUILTIN_INDEX) TN_TI_END_BUILTINS
};
TN_OBJECT_BUILTINS(TN_AS_BUILTIN_DECL)

TN_NODES_FORWARD(TN_OBJECT_NODES)
TN_NODES_INDEX(TN_OBJECT_NODES, TN_TI_END_BUILTINS, object)
TN_NODES_DECLARE(TN_OBJECT_NODES)

struct tn_str {
  tn_obj hdr;
  uint64_t hash; /* of the bytes */
  size_t len;
  char data[]; /* len bytes and a NUL */
};

struct tn_bytes {
  tn_obj hdr;
  size_t len;
  uint8_t data[];
};

struct tn_arr {
  tn_obj hdr;
  int64_t len;
  tn_any items[]; /* owned */
};

struct tn_shape {
  tn_obj hdr;
  int64_t len;
  int64_t dims[];
};

struct tn_tuple {
  tn_obj hdr;
  uint32_t tag;
  int64_t len;
  tn_any fields[]; /* owned */
};

typedef struct {
  uint64_t hash;
  tn_any key, value; /* owned */
} tn_map_entry;

/* Entries in insertion order plus an index by hash (the compact dictionary of CPython): order is
   deterministic, which printing and structural hashing rely on. */
struct tn_map {
  tn_obj hdr;
  int64_t len, cap; /* entries */
  tn_map_entry *entries;
  int32_t *index; /* nindex slots, position in entries or -1 */
  int64_t nindex; /* 0 or a power of two > len */
};

struct tn_func {
  tn_obj hdr;
  tn_call call;
  void *self;
  void (*fini)(void *self);
};

/** A string owned by the scope. */
TN_API tn_str *tn_str_from(const char *cstr);
TN_API tn_str *tn_str_fmt(const char *fmt, ...) TN_PRINTF(1, 2);
/** An array owned by the scope. */
TN_API tn_arr *tn_arr_from(const tn_vec *v);
/** An array of n objects owned by the scope:  tn_arr_of(2, a, b). NULL among them is None, or
 * passes on the error that is pending. */
TN_API tn_arr *tn_arr_of(int n, ...);
/** A copy of m with one entry set, owned by the scope. m may be NULL. */
TN_API tn_map *tn_map_with(const tn_map *m, tn_any key, tn_any value);
TN_API tn_map *tn_map_without(const tn_map *m, tn_any key);
/** Entry of a string key as an object, or NULL. */
TN_API tn_obj *tn_map_find(const tn_map *m, const char *key);
TN_API bool tn_str_eq(const tn_str *a, const char *b);

/** Equality and hash of map keys: strings and numbers by content, other objects by identity. */
bool tn_key_equal(const tn_any *a, const tn_any *b);
uint64_t tn_key_hash(const tn_any *a);

/** i-th element as an object (NULL for None or a plain value). */
static inline tn_obj *tn_arr_obj(const tn_arr *a, int64_t i) {
  return tn_any_is_obj(&a->items[i]) ? a->items[i].v.obj : NULL;
}
/* the text of a tn_str field; "" for NULL */
static inline const char *tn_cstr(const tn_str *s) { return s ? s->data : ""; }

#endif /* TN_OBJECT_CONTAINERS_H_ */
