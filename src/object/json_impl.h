/* What saving and loading share. Internal to src/object. */
#ifndef TN_OBJECT_JSON_IMPL_H_
#define TN_OBJECT_JSON_IMPL_H_

#include "base/json.h"
#include "object/structure_impl.h"

/* Version that files are written as: of the old stack's releases, the one whose layout it is. */
#define TN_JSON_VERSION "0.14.0"

/* Plain values in containers are nodes of these types. */
#define TN_JSON_DTYPE  "DataType"
#define TN_JSON_DEVICE "Device"

/** Is the field saved as a number in b64ndarrays? (References of a type whose content is a blob.)
 */
bool tn_json_is_blob_field(const tn_field *f);
/** Can objects of this type be made from their elements? */
bool tn_json_is_made(const tn_type *t);

/* ---- old layouts: json_upgrade.c ---- */

/** Release that wrote a file, as major * 100 + minor; larger than any for files of this library. */
int tn_json_version(const tn_json *j);
/** The name under which a field is saved. */
const char *tn_json_saved_name(const tn_type *type, const tn_field *f);
/** The type of a node, renamed where the file's version had another name. NULL when unknown. */
const tn_type *tn_json_type(int version, const char *key);
/** The attribute for a field, looked up where the file's version had it; 0 when it is absent.
    @param attrs of the node, or 0
    @param nodes positions of the file's n nodes */
tn_json_at tn_json_attr(const tn_json *j, int version, const tn_type *type, const tn_field *f,
                        tn_json_at attrs, const tn_json_at *nodes, int64_t n);
/** Are strings in fields the text itself, instead of the index of a node that holds it? */
bool tn_json_has_inline_text(int version);

/** Registers the functions of json_load.c. */
int tn_json_init(void);

#endif /* TN_OBJECT_JSON_IMPL_H_ */
