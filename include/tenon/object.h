/**
 * Operations on any object by its declared fields: structural equality and hash, JSON, printing.
 * None of them recurses over the object, so graphs of any depth are safe, and each takes time
 * linear in the size of the graph.
 */
#ifndef TENON_OBJECT_H_
#define TENON_OBJECT_H_

#include "tenon/ffi.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
  /** Variables that are bound nowhere map to one another, instead of being equal only to
     themselves. */
  TN_MAP_FREE_VARS = 1
};

/**
 * Structural equality. Variables map one to one: at their definition, or anywhere with
 * TN_MAP_FREE_VARS. Objects whose sharing counts must be shared alike on both sides. Strings,
 * arrays, tensors and the like compare by content, maps without regard to insertion order (keys
 * that become bound in the map itself and look alike pair in insertion order), numbers by type and
 * bits: a NaN equals any NaN, 0.0 and -0.0 differ. Functions are equal only to themselves.
 * @return 1 if equal, 0 if not, -1 on failure (MemoryError)
 */
TN_API int tn_equal(const void *lhs, const void *rhs, int flags);
/** The same for any values. Boxed numbers equal the plain ones. */
TN_API int tn_equal_any(tn_any lhs, tn_any rhs, int flags);

/**
 * A hash that agrees with tn_equal under the same flags. It is the same in every run for objects
 * without free variables, functions or opaque objects, which are hashed by address.
 * @return 0, or -1 (MemoryError)
 */
TN_API int tn_hash(const void *obj, int flags, uint64_t *out);
TN_API int tn_hash_any(tn_any value, int flags, uint64_t *out);

/**
 * Where two values first differ, in the order of their fields.
 * @param lhs_path,rhs_path ObjectPath in either value (owned), both NULL when they are equal
 * @return 0, or -1 (MemoryError)
 */
TN_API int tn_first_mismatch(tn_any lhs, tn_any rhs, int flags, tn_obj **lhs_path,
                             tn_obj **rhs_path);
/** 0 when equal; else -1 with a ValueError that shows both sides with the place marked. */
TN_API int tn_assert_equal(tn_any lhs, tn_any rhs, int flags);

/* ---- JSON ---- */

/**
 * The value as JSON text in the layout of the Relay-era stack's save_json. Sharing is kept, tensors
 * are saved with their content, numbers exactly. The text is the same for the same graph.
 * @return owned, or NULL (TypeError for functions, modules and pointers; MemoryError)
 */
TN_API TN_OWNED tn_str *tn_json_save(tn_any value);
/**
 * The value that tn_json_save, or the Relay-era stack, wrote. The text may come from anywhere.
 * @param out owned
 * @return 0, or -1: ValueError with line and column for broken JSON; ValueError, TypeError,
 * IndexError or AttributeError naming the node; MemoryError
 */
TN_API int tn_json_load(const char *text, size_t n, tn_any *out);

#ifdef __cplusplus
}
#endif
#endif /* TENON_OBJECT_H_ */
