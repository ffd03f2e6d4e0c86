/* The object model: type descriptions, one-row node declarations, construction, release.

   A type is declared once, as a row of a .def table (see node_decl.h), from which its struct,
   index, field table and tn_type follow. Everything generic (visiting, mapping, equality, hash,
   JSON, repr, release, Python attributes) is written once against the field table.

   Type indices are dense: each layer owns a block of the static range, types registered at run time
   come after. */
#ifndef TN_OBJECT_OBJECT_H_
#define TN_OBJECT_OBJECT_H_

#include "base/buf.h"
#include "base/error.h"
#include "base/scope.h"
#include "base/vec.h"

/* First index of each layer's block. A table's end is checked against the next block (node_decl.h).
 */
enum {
  TN_TI_BEGIN_OBJECT = TN_OBJECT, /* src/object/object.def */
  TN_TI_BEGIN_RUNTIME = 112,      /* src/runtime/runtime.def */
  TN_TI_BEGIN_IR = 128,           /* src/ir/ir.def, expr.def */
  TN_TI_BEGIN_ARITH = 212,        /* src/arith/arith.def */
  TN_TI_BEGIN_TIR = 224,          /* src/tir */
  TN_TI_BEGIN_TE = 320,
  TN_TI_BEGIN_RELAY = 336,
  TN_TI_BEGIN_DRIVER = 400,
  TN_TI_BEGIN_OPS = 512,      /* attribute sets of operators, in the order of their registration */
  TN_TI_BEGIN_DYNAMIC = 1024, /* types registered at run time */
  TN_TYPE_MAX = 4096,         /* no index reaches this: the size of side tables */
};

/** What a field holds, and its C type. */
typedef enum {
  TN_F_REF,    /* tn_obj * (or a node struct), retained */
  TN_F_DTYPE,  /* tn_dtype */
  TN_F_I64,    /* int64_t */
  TN_F_F64,    /* double */
  TN_F_BOOL,   /* bool */
  TN_F_ENUM,   /* int32_t */
  TN_F_DEVICE, /* tn_device */
  TN_F_ANY,    /* tn_any, owned */
} tn_field_kind;

/* Field flags. */
enum {
  TN_OPT = 1,    /* a REF that may be None */
  TN_DEF = 2,    /* variables in it are bound here: they map instead of having to be identical */
  TN_NOCMP = 4,  /* not part of structural equality and hash */
  TN_NOSAVE = 8, /* not in JSON */
  TN_MUT = 16,   /* filled in later by its owner (checked_type); never shared state of a hash */
  TN_INTS = 32,  /* an Array of integers, or of lists of them (relay_check_attrs) */
};

typedef struct {
  const char *name;
  uint16_t offset;
  uint8_t kind, flags;
  const char *cls; /* REF: class the value must have, see field_class.c; ENUM: the enumeration */
  const char *doc;
  const char
      *dflt; /* default as a literal ("1", "\"NCHW\"", "[1, 1]", "None"), or NULL: required */
} tn_field;

/** Role in structural equality:
    TREE compares by content; DAG too, but two shared occurrences must be shared on both sides; VAR
   is equal to what it was mapped to at its definition, else only to itself; UNIQUE is equal only to
   itself. */
typedef enum { TN_EQ_TREE, TN_EQ_DAG, TN_EQ_VAR, TN_EQ_UNIQUE } tn_eq_role;

/** How the content of an object is laid out. */
typedef enum {
  TN_KIND_ABSTRACT, /* no instances */
  TN_KIND_NODE,     /* a struct described by its fields */
  TN_KIND_STR,
  TN_KIND_BYTES,
  TN_KIND_ARRAY,
  TN_KIND_MAP,
  TN_KIND_SHAPE,
  TN_KIND_TUPLE,
  TN_KIND_FUNC,
  TN_KIND_OPAQUE, /* known to its hooks only */
} tn_type_kind;

/** Behaviour that the field table cannot express. Every member may be NULL. */
typedef struct {
  /* last reference gone, before the fields are released: frees what is not described by fields */
  void (*fini)(tn_obj *self);
  /* the plain number a boxed or immediate scalar stands for */
  bool (*scalar)(const tn_obj *self, tn_any *out);
  /* content as bytes, for tensors: equality, hash and JSON (base64) */
  int (*blob_save)(const tn_obj *self, tn_buf *out);
  tn_obj *(*blob_load)(const uint8_t *data, size_t n); /* owned */
  bool (*content_equal)(const tn_obj *a, const tn_obj *b);
  uint64_t (*content_hash)(const tn_obj *self);
  /* saved by name and looked up when loaded (Op, EnvFunc); text borrowed from self */
  const char *(*global_name)(const tn_obj *self);
  tn_obj *(*from_global_name)(const char *name); /* owned; NULL with an error when unknown */
  /* after construction by keyword or from JSON: checks invariants, fills derived fields; 0 or -1 */
  int (*init)(tn_obj *self);
} tn_type_hooks;

struct tn_type {
  const char *key;
  const char
      *name; /* of the row: the C and Python class name; NULL for types registered at run time */
  uint32_t index, size;
  const tn_type *base; /* NULL only for "Object" */
  const tn_field *fields;
  uint16_t nfield;
  uint8_t kind, role;
  const char *doc;
  const tn_type_hooks *hooks; /* never NULL */
};

TN_API extern const tn_type_hooks tn_no_hooks;

/** Adds static types (once, at library initialisation). ValueError when a key or index is taken. */
TN_API int tn_type_register_table(const tn_type *const *types, int n);
/** Adds a type at run time; index 0 asks for the next free one. The description is kept by
 * reference. */
TN_API int tn_type_register(tn_type *type);
/** One past the largest index in use. */
TN_API uint32_t tn_type_end(void);

/** Uninitialised object of `size` bytes with its header set (count 1), or NULL (MemoryError). */
TN_API void *tn_obj_alloc(const tn_type *type, size_t size) __attribute__((warn_unused_result));

/** The copy behind TN_NEW: takes the fields from `proto`, retains references, gives the node to the
   current scope. NULL when a required reference is NULL: the pending error, or TypeError naming the
   field. */
TN_API void *tn_node_copy(const tn_type *type, const void *proto);
/** The same for fields that come from a caller outside: each is checked for its class, containers
   for that of their elements (tn_class_convert). NULL with a TypeError that names the field too. */
TN_API void *tn_node_checked(const tn_type *type, const void *proto);
/** An owned node from field values by name: what Python's keyword construction and JSON use. Checks
   classes, converts scalars, fills defaults; TypeError / AttributeError name the field. */
TN_API TN_OWNED tn_obj *tn_node_make(const tn_type *type, int n, const char *const *names,
                                     const tn_any *values);

/** Field `i` of a node as a borrowed value. */
TN_API tn_any tn_field_get(const tn_obj *node, const tn_field *f);
/** Stores a value in a field of a node under construction (old reference released). TypeError names
 * type and field. */
TN_API int tn_field_set(tn_obj *node, const tn_field *f, const tn_any *value);
TN_API const tn_field *tn_type_field(const tn_type *type, const char *name);
TN_API bool tn_obj_is(const void *obj,
                      const tn_type *type); /**< instance of type or of one derived from it */

/** The type that REF fields of class `cls` ask for: a row's name ("PrimExpr") or its key. NULL when
 * there is none. */
TN_API const tn_type *tn_type_by_class(const char *cls);
/** The type that a class as field tables write it names: of "Array(Var)" the type of arrays. */
TN_API const tn_type *tn_class_type(const char *cls);
/** Checks that an owned value, not None, is what the class of a REF field asks for, elements of
 * containers included. Plain numbers become objects where the class asks for one (tn_scalar_box):
 * *value is then another object.
 * @return 0, or -1 with a TypeError that names the element */
TN_API int tn_class_convert(tn_any *value, const char *cls);
/** Makes a plain owned value an object, for a REF field of class `cls`: a box, or whatever the
   layer above has set with tn_set_scalar_box (immediates). On failure the value is None. */
TN_API int tn_scalar_box(tn_any *value, const char *cls);
TN_API void tn_set_scalar_box(int (*box)(tn_any *value, const char *cls));

/** Parses a default literal of a field table into an owned value. */
TN_API int tn_literal_parse(const char *text, tn_any *out);

/** Calls fn for every child reference (REF fields, container elements) until it returns non-zero;
 * that is returned. */
TN_API int tn_visit_children(const tn_obj *node, int (*fn)(void *ctx, tn_obj *child), void *ctx);
/** `node` itself when fn returns every child unchanged, else a copy with the new children (owned by
   the scope). fn returns a borrowed object, or NULL on failure. */
TN_API tn_obj *tn_map_children(const tn_obj *node, tn_obj *(*fn)(void *ctx, tn_obj *child),
                               void *ctx);

/** Registers the types of this layer; part of tn_object_init. */
int tn_object_types_init(void);
/** Registers the types and functions of this layer. Called once by tn_runtime_init. */
int tn_object_init(void);

#endif /* TN_OBJECT_OBJECT_H_ */
