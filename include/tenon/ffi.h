/**
 * Tenon's foreign function interface: values, objects, functions, containers, errors.
 *
 * Everything that crosses a language or library boundary is a tn_any (16 bytes: a type index and a
 * payload) and every call has one shape, tn_call. The header stands alone, compiles as C11 and as
 * C++14, and is all that a C extension needs:
 *
 *     static int add(void *self, const tn_any *args, int32_t n, tn_any *ret) {
 *       int64_t a, b;
 *       (void)self;
 *       if (tn_check_nargs("add", n, 2)) return -1;
 *       if (tn_any_to_int(&args[0], &a) || tn_any_to_int(&args[1], &b)) return -1;
 *       *ret = tn_any_int(a + b);
 *       return 0;
 *     }
 *     ... tn_func_register("add", add, NULL, NULL, 0);
 *
 * Ownership. Arguments are borrowed for the call. A result written to `ret` is owned by the caller,
 * who gives it up with tn_any_release. Functions named *_new return an owned reference; getters
 * return borrowed ones; a function that stores an object retains it. Errors: functions return 0, or
 * -1 (NULL for pointers) with the error in the thread.
 */
#ifndef TENON_FFI_H_
#define TENON_FFI_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tenon/dlpack.h"

#ifdef __cplusplus
#if __cplusplus >= 202302L
#include <stdatomic.h>
#define TN_ATOMIC_U32 _Atomic(uint32_t)
#else
#define TN_ATOMIC_U32 uint32_t /* same size and layout; C++ code never touches it */
#endif
extern "C" {
#else
#define TN_ATOMIC_U32 _Atomic uint32_t
#endif

#if defined(__GNUC__)
#define TN_API               __attribute__((visibility("default")))
#define TN_OWNED             __attribute__((warn_unused_result))
#define TN_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define TN_API
#define TN_OWNED
#define TN_PRINTF(fmt, args)
#endif

/* ---- values ---- */

typedef DLDataType tn_dtype;
typedef DLDevice tn_device;
typedef struct tn_type tn_type;

/** Header of every heap object; the object's own members follow. Exactly 16 bytes. */
typedef struct tn_obj {
  TN_ATOMIC_U32 rc;    /**< strong references */
  uint32_t type_index; /**< dense index, equal to type->index */
  const tn_type *type;
} __attribute__((aligned(8))) tn_obj;

/** Type index of a value that is not an object; objects start at TN_OBJECT. */
enum {
  TN_NONE = 0,
  TN_INT = 1,      /**< i64 */
  TN_BOOL = 2,     /**< i64, 0 or 1 */
  TN_FLOAT = 3,    /**< f64 */
  TN_PTR = 4,      /**< ptr, meaning known to both sides only */
  TN_DTYPE = 5,    /**< dtype */
  TN_DEVICE = 6,   /**< device */
  TN_DLTENSOR = 7, /**< dltensor, borrowed for the call: only as an argument */
  TN_CSTR = 8,     /**< cstr, NUL-terminated UTF-8 borrowed for the call: only as an argument */
  TN_CBYTES = 9,   /**< bytes, borrowed for the call: only as an argument */
  TN_RVALUE = 10, /**< rvalue, address of a reference the callee may take (and set to NULL): only as
                     an argument */
  TN_OBJECT = 64  /**< first index of an object; such values carry `obj` */
};

/** A view of bytes owned by someone else. */
typedef struct {
  const uint8_t *data;
  size_t size;
} tn_bytes_view;

/** A value of any type. 16 bytes. Zero-initialised it is None. */
typedef struct tn_any {
  int32_t type_index;
  uint32_t aux; /**< 0 */
  union {
    int64_t i64;
    double f64;
    void *ptr;
    tn_dtype dtype;
    tn_device device;
    DLTensor *dltensor;
    const char *cstr;
    const tn_bytes_view *bytes;
    tn_obj **rvalue;
    tn_obj *obj;
  } v;
} tn_any;

static inline tn_any tn_any_none(void) {
  tn_any a;
  a.type_index = TN_NONE, a.aux = 0, a.v.i64 = 0;
  return a;
}
static inline tn_any tn_any_int(int64_t value) {
  tn_any a;
  a.type_index = TN_INT, a.aux = 0, a.v.i64 = value;
  return a;
}
static inline tn_any tn_any_bool(bool value) {
  tn_any a;
  a.type_index = TN_BOOL, a.aux = 0, a.v.i64 = value;
  return a;
}
static inline tn_any tn_any_float(double value) {
  tn_any a;
  a.type_index = TN_FLOAT, a.aux = 0, a.v.f64 = value;
  return a;
}
static inline tn_any tn_any_ptr(void *value) {
  tn_any a;
  a.type_index = TN_PTR, a.aux = 0, a.v.ptr = value;
  return a;
}
static inline tn_any tn_any_dtype(tn_dtype value) {
  tn_any a;
  a.type_index = TN_DTYPE, a.aux = 0, a.v.i64 = 0, a.v.dtype = value;
  return a;
}
static inline tn_any tn_any_device(tn_device value) {
  tn_any a;
  a.type_index = TN_DEVICE, a.aux = 0, a.v.device = value;
  return a;
}
static inline tn_any tn_any_cstr(const char *value) {
  tn_any a;
  a.type_index = TN_CSTR, a.aux = 0, a.v.cstr = value;
  return a;
}
/** The value that refers to `obj` (None for NULL). Does not change the count: the value borrows. */
static inline tn_any tn_any_obj(const void *obj) {
  tn_any a;
  a.type_index = obj ? (int32_t)((const tn_obj *)obj)->type_index : TN_NONE, a.aux = 0, a.v.i64 = 0;
  a.v.obj = (tn_obj *)(uintptr_t)obj;
  return a;
}
static inline bool tn_any_is_obj(const tn_any *a) { return a->type_index >= TN_OBJECT; }

/** Makes a borrowed value one that can be kept: retains objects, copies borrowed strings, bytes and
 * moves rvalues.
 *  @return 0, or -1 (MemoryError, TypeError for a borrowed DLTensor). `*out` is owned. */
TN_API int tn_any_own(const tn_any *a, tn_any *out);
/** Gives up an owned value and makes it None. */
TN_API void tn_any_release(tn_any *a);

/** Conversions of an argument, with an error naming what was expected (TypeError, OverflowError as
 * ValueError). Ints are taken from ints, bools, boxed and immediate integers; floats also from
 * ints. */
TN_API int tn_any_to_int(const tn_any *a, int64_t *out);
TN_API int tn_any_to_bool(const tn_any *a, bool *out);
TN_API int tn_any_to_float(const tn_any *a, double *out);
TN_API int tn_any_to_ptr(const tn_any *a, void **out);
TN_API int tn_any_to_dtype(const tn_any *a,
                           tn_dtype *out); /**< also from text such as "float32x4" */
TN_API int tn_any_to_device(const tn_any *a, tn_device *out);
TN_API int tn_any_to_cstr(const tn_any *a, const char **out); /**< valid as long as the argument */
TN_API int tn_any_to_bytes(const tn_any *a, tn_bytes_view *out);
/** @param key type key the object must have or derive from, NULL for any. None gives NULL. `*out`
 * is borrowed. */
TN_API int tn_any_to_obj(const tn_any *a, const char *key, tn_obj **out);

/* ---- objects ---- */

TN_API void tn_retain(const void *obj); /**< one more reference; NULL is allowed */
TN_API void tn_release(
    const void *obj); /**< one less; the last one frees, without recursion; NULL is allowed */
TN_API uint32_t tn_use_count(const void *obj);

TN_API uint32_t tn_type_find(const char *key);     /**< type index of a key, 0 if unknown */
TN_API const tn_type *tn_type_get(uint32_t index); /**< NULL if unknown */
TN_API const char *
tn_type_key(uint32_t type_index); /**< "int", "NoneType", ... also for plain values */
TN_API bool tn_type_is(const tn_type *type, const tn_type *base); /**< same or derived */
TN_API const char *tn_obj_key(const void *obj);

/** An object made outside the library: a pointer with a finalizer (may be NULL). Type key `key` is
 * registered at the first use. Owned, or NULL (MemoryError). */
TN_API TN_OWNED tn_obj *tn_opaque_new(const char *key, void *ptr, void (*fini)(void *ptr));
TN_API void *tn_opaque_get(const tn_obj *obj,
                           const char *key); /**< NULL unless obj is an opaque of that key */

/* ---- strings, bytes, containers ---- */

typedef struct tn_str tn_str;     /**< immutable UTF-8, length and hash kept; may hold NUL bytes */
typedef struct tn_bytes tn_bytes; /**< immutable bytes */
typedef struct tn_arr tn_arr;     /**< immutable array of values */
typedef struct tn_map tn_map;     /**< map that keeps insertion order */
typedef struct tn_shape tn_shape; /**< immutable array of int64 */
typedef struct tn_tuple
    tn_tuple; /**< tag and fields: tuples and constructors of algebraic data types */
typedef struct tn_func tn_func; /**< callable */

TN_API TN_OWNED tn_str *tn_str_new(const char *cstr);
TN_API TN_OWNED tn_str *tn_str_new_n(const char *data, size_t n);
TN_API const char *tn_str_data(const tn_str *s); /**< NUL-terminated */
TN_API size_t tn_str_len(const tn_str *s);

TN_API TN_OWNED tn_bytes *tn_bytes_new(const void *data, size_t n);
TN_API tn_bytes_view tn_bytes_get(const tn_bytes *b);

/** An array of `n` values, each made owned (see tn_any_own). */
TN_API TN_OWNED tn_arr *tn_arr_new(const tn_any *items, int64_t n);
TN_API int64_t tn_arr_len(const tn_arr *a);
TN_API tn_any tn_arr_get(const tn_arr *a, int64_t i); /**< borrowed; None when out of range */

TN_API TN_OWNED tn_map *tn_map_new(void);
/** Only while the map is being built, before anyone else sees it. Keys compare by content when they
 * are strings or numbers, by identity when they are other objects. */
TN_API int tn_map_set(tn_map *m, tn_any key, tn_any value);
TN_API int64_t tn_map_len(const tn_map *m);
TN_API bool tn_map_get(const tn_map *m, tn_any key, tn_any *out); /**< `*out` is borrowed */
/** The i-th entry in insertion order. @return false at the end. */
TN_API bool tn_map_at(const tn_map *m, int64_t i, tn_any *key, tn_any *value);

TN_API TN_OWNED tn_shape *tn_shape_new(const int64_t *dims, int64_t n);
TN_API const int64_t *tn_shape_get(const tn_shape *s, int64_t *n);

TN_API TN_OWNED tn_tuple *tn_tuple_new(uint32_t tag, const tn_any *fields, int64_t n);
TN_API uint32_t tn_tuple_tag(const tn_tuple *t);
TN_API int64_t tn_tuple_len(const tn_tuple *t);
TN_API tn_any tn_tuple_get(const tn_tuple *t, int64_t i); /**< borrowed; None when out of range */

/* ---- functions ---- */

/**
 * The one calling convention.
 * @param self the function's own state
 * @param args n arguments, borrowed; the callee changes none of them except through TN_RVALUE
 * @param ret  None on entry; the callee may store an owned value
 * @return 0, or -1 with the thread's error set and `*ret` None
 */
typedef int (*tn_call)(void *self, const tn_any *args, int32_t n, tn_any *ret);

/** @param fini called once with self when the last reference goes; may be NULL. Owned, or NULL
 * (MemoryError). */
TN_API TN_OWNED tn_func *tn_func_new(tn_call call, void *self, void (*fini)(void *self));
/** Calls f in its own scope, so objects that compiler code makes on the way are freed. */
TN_API int tn_func_call(tn_func *f, const tn_any *args, int32_t n, tn_any *ret);

/** Adds a function to the global table under `name` (copied). TVMError when the name is taken and
 * override is 0. */
TN_API int tn_func_register(const char *name, tn_call call, void *self, void (*fini)(void *self),
                            int override);
TN_API int tn_func_register_obj(const char *name, tn_func *f, int override);
/** @return owned, or NULL: without an error when there is no such function */
TN_API TN_OWNED tn_func *tn_func_find(const char *name);
TN_API int tn_func_remove(const char *name); /**< KeyError when there is no such function */
/** All names, sorted. Owned array of strings, or NULL (MemoryError). */
TN_API TN_OWNED tn_arr *tn_func_names(void);

/** TypeError "NAME: expected N arguments, got M" unless n == expected. */
TN_API int tn_check_nargs(const char *name, int32_t n, int32_t expected);

/* ---- errors ---- */

/** Kinds of errors; the names are those of the Python classes. Rows of tenon/errors.def. */
typedef enum {
#define TN_ERROR_KIND(id, name, base, doc) TN_##id,
#include "tenon/errors.def"
#undef TN_ERROR_KIND
  TN_ERROR_KINDS
} tn_error_kind;

/** Sets the thread's error (replacing any). Always returns -1. `span` may be NULL. */
TN_API int tn_raise(tn_error_kind kind, const char *file, int line, const char *func,
                    const tn_obj *span, const char *fmt, ...) TN_PRINTF(6, 7);
/** Sets an error whose class is named by text before the first ':' of `msg`, RuntimeError-like when
 * there is none. */
TN_API int tn_raise_text(const char *msg);
/** Adds a place to the pending error's trace. Always returns -1. */
TN_API int tn_trace(const char *file, int line, const char *func);
TN_API bool tn_error_pending(void);
TN_API tn_error_kind tn_error_get_kind(void);
TN_API const char *
tn_error_class(void); /**< class name, also of kinds registered at run time; "" without an error */
TN_API const char *
tn_error_message(void); /**< "" without an error; valid until the next call that can fail */
TN_API void tn_error_clear(void);

#define TN_RAISE(kind, span, ...)                                                                  \
  tn_raise(TN_##kind, __FILE__, __LINE__, __func__, (const tn_obj *)(span), __VA_ARGS__)

#ifdef __cplusplus
}
#endif
#endif /* TENON_FFI_H_ */
