/* Object paths: places in an object, as steps from its root. They are objects themselves (types in
   object.def), each step pointing to the one before. Results are owned by the scope. */
#ifndef TN_OBJECT_PATH_H_
#define TN_OBJECT_PATH_H_

#include "object/containers.h"

/** @param name shown in place of <root>; may be NULL */
TN_API tn_ObjectPath *tn_path_root(tn_str *name);
/** @param name NULL for a field whose name is not known */
TN_API tn_ObjectPath *tn_path_attr(tn_ObjectPath *p, tn_str *name);
TN_API tn_ObjectPath *tn_path_index(tn_ObjectPath *p, int64_t index);
TN_API tn_ObjectPath *tn_path_missing_index(tn_ObjectPath *p, int64_t index);
TN_API tn_ObjectPath *tn_path_value(tn_ObjectPath *p, tn_any key);
TN_API tn_ObjectPath *tn_path_missing_entry(tn_ObjectPath *p);

/** The first `length` steps of p, borrowed from it. IndexError unless 1 <= length <= p's. */
TN_API tn_ObjectPath *tn_path_prefix(tn_ObjectPath *p, int64_t length);
TN_API bool tn_path_equal(const tn_ObjectPath *a, const tn_ObjectPath *b);
TN_API bool tn_path_is_prefix(const tn_ObjectPath *prefix, const tn_ObjectPath *p);
/** "<root>.body[2]["k"]" */
TN_API void tn_path_text(tn_buf *out, const tn_ObjectPath *p);

int tn_path_init(void);

#endif /* TN_OBJECT_PATH_H_ */
