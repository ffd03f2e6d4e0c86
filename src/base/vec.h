/* Growing vector of borrowed values: what passes collect before they build an immutable array from
   it.

     TN_VEC(v);
     for (...) TN_TRYP(tn_vec_push_obj(&v, stmt));
     return tn_scope_own(tn_arr_new(v.items, v.len)); */
#ifndef TN_BASE_VEC_H_
#define TN_BASE_VEC_H_

#include "tenon/ffi.h"

typedef struct {
  tn_any *items;
  int64_t len, cap;
} tn_vec;

#define TN_VEC(name) __attribute__((cleanup(tn_vec_fini))) tn_vec name = {0}

TN_API void tn_vec_fini(tn_vec *v);
TN_API int tn_vec_push(tn_vec *v, tn_any x);
/** NULL is None, unless it is what a builder that failed has returned: then -1, its error is
 * pending. */
TN_API int tn_vec_push_obj(tn_vec *v, const void *obj);
TN_API int tn_vec_reserve(tn_vec *v, int64_t n);

#endif /* TN_BASE_VEC_H_ */
