/* Scopes own what compiler code makes. A returned object is borrowed and kept alive by the current
   scope; what must outlive it is retained, or handed to the enclosing scope with tn_scope_return.

     tn_expr *simplify(tn_expr *e) {
       TN_SCOPE(s);                        closes at every return
       tn_expr *r = rewrite(e);            owned by s
       return tn_scope_return(s, r);       now owned by the caller's scope
     }

   A scope is a mark in the thread's stack of owned references, so opening and closing cost a few
   nanoseconds. */
#ifndef TN_BASE_SCOPE_H_
#define TN_BASE_SCOPE_H_

#include "tenon/ffi.h"

typedef struct {
  int64_t mark; /* height of the thread's stack when the scope was opened */
} tn_scope;

TN_API tn_scope tn_scope_open(void);
TN_API void tn_scope_close(tn_scope *s);
/** Gives an owned reference to the current scope. @return obj, or NULL (MemoryError; the reference
   is released). NULL passes through. InternalError when no scope is open. */
TN_API void *tn_scope_own(void *obj);
/** Keeps obj for the scope that encloses `s`; `s` must be the current one. @return obj, or NULL
 * (MemoryError). */
TN_API void *tn_scope_return(tn_scope *s, void *obj);
/** For frames that are left by an exception, whose scopes are not all closed: where the thread is,
 *  and back to there. */
typedef struct {
  int64_t top, depth;
} tn_scope_mark;
TN_API tn_scope_mark tn_scope_here(void);
TN_API void tn_scope_unwind(tn_scope_mark here);
/** Number of references the thread's scopes own. */
TN_API int64_t tn_scope_height(void);

#define TN_SCOPE(name)                                                                             \
  __attribute__((cleanup(tn_scope_close))) tn_scope name##_ = tn_scope_open();                     \
  tn_scope *const name __attribute__((unused)) = &name##_

#endif /* TN_BASE_SCOPE_H_ */
