/* Registering a layer's global functions from one table, and short ways to read their arguments.

     static int shape_size(TN_ARGS) {
       TN_NARGS("runtime.shape_size", 1);
       ...
     }
     static const tn_func_row rows[] = {{"runtime.shape_size", shape_size}, ...};
     TN_TRY(tn_func_register_rows(rows, TN_COUNT(rows))); */
#ifndef TN_OBJECT_FUNCTIONS_H_
#define TN_OBJECT_FUNCTIONS_H_

#include "object/containers.h"

typedef struct {
  const char *name;
  tn_call call;
} tn_func_row;

TN_API int tn_func_register_rows(const tn_func_row *rows, int n);
/** Number of registrations so far: tells whether any happened in between. */
uint64_t tn_func_generation(void);

#define TN_COUNT(a) ((int)(sizeof(a) / sizeof *(a)))
/* parameters of a tn_call that does not use all of them */
#define TN_ARGS                                                                                    \
  __attribute__((unused)) void *self, __attribute__((unused)) const tn_any *args,                  \
      __attribute__((unused)) int32_t n, __attribute__((unused)) tn_any *ret
#define TN_NARGS(name, want) TN_TRY(tn_check_nargs(name, n, want))

/** Argument i as an object of static type T, or of a type derived from it. TypeError where it is
 * missing, None or something else. */
#define TN_ARG_OBJ(T, out, i)                                                                      \
  tn_##T *out;                                                                                     \
  TN_TRY(tn_arg_obj(args, n, i, &tn_type_##T, (tn_obj **)&out))
/** The same for an argument that may be missing or None: `out` is NULL then. */
#define TN_ARG_OPT(T, out, i)                                                                      \
  tn_##T *out;                                                                                     \
  TN_TRY(tn_arg_opt(args, n, i, &tn_type_##T, (tn_obj **)&out))
/** Argument i as a container, each element checked for its class, in the words of field tables:
 * TN_ARG_ITEMS(Array(Var), vars, 0). A container whose elements are cast must come through here.
 * Plain numbers become objects where the class asks for such: needs a scope. */
#define TN_ARG_ITEMS(cls, out, i)                                                                  \
  tn_##cls *out;                                                                                   \
  TN_TRY(tn_arg_items(args, n, i, #cls, false, (tn_obj **)&out))
#define TN_ARG_OPT_ITEMS(cls, out, i)                                                              \
  tn_##cls *out;                                                                                   \
  TN_TRY(tn_arg_items(args, n, i, #cls, true, (tn_obj **)&out))
TN_API int tn_arg_obj(const tn_any *args, int32_t n, int32_t i, const tn_type *type, tn_obj **out);
TN_API int tn_arg_opt(const tn_any *args, int32_t n, int32_t i, const tn_type *type, tn_obj **out);
TN_API int tn_arg_items(const tn_any *args, int32_t n, int32_t i, const char *cls, bool optional,
                        tn_obj **out);

/** Returns an object from a tn_call: `obj` is borrowed (owned by a scope, say); NULL means an error
 * is pending. */
static inline int tn_ret_obj(tn_any *ret, const void *obj) {
  if (!obj) return -1;
  tn_retain(obj);
  *ret = tn_any_obj(obj);
  return 0;
}
/** The same for an owned object. */
static inline int tn_ret_owned(tn_any *ret, const void *obj) {
  if (!obj) return -1;
  *ret = tn_any_obj(obj);
  return 0;
}

#endif /* TN_OBJECT_FUNCTIONS_H_ */
