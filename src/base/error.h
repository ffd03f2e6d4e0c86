/* Errors travel as return values (NULL or -1); the error itself is in the thread. In functions that
   return int:

     if (n < 0) return TN_RAISE(ValueError, span, "arange: step is zero");
     TN_CHECK(n >= 0, ValueError, span, "arange: expected a length, got %d", n);   the same
     TN_TRY(tn_vec_push(&v, x));                                      passes an error on
     tn_expr *e;
     TN_GET(e, tir_add(a, b));                                        the same for a pointer

   In functions that return a pointer, use the macros ending in P: they return NULL. Every TN_TRY
   and TN_GET on the way appends its place, so the trace is the way the error came, without an
   unwinder and in release builds too. */
#ifndef TN_BASE_ERROR_H_
#define TN_BASE_ERROR_H_

#include <stdarg.h>

#include "tenon/ffi.h"

enum { TN_TRACE_MAX = 32 };

typedef struct {
  const char *file, *func; /* static strings */
  int line;
} tn_frame;

/** The thread's error. Text is owned by it. */
typedef struct {
  tn_error_kind kind;
  char *cls;     /* class name of a CustomError, else NULL */
  char *message; /* NULL when it could not be allocated */
  tn_obj *span;  /* place in a source text, or NULL */
  tn_obj *cause; /* foreign exception that this error stands for (opaque), or NULL */
  tn_arr *notes; /* array of strings, or NULL */
  int ntrace;
  tn_frame trace[TN_TRACE_MAX]; /* innermost first; later places are dropped */
} tn_error;

#define TN_RAISEP(kind, span, ...) (TN_RAISE(kind, span, __VA_ARGS__), NULL)
#define TN_CHECK(cond, kind, span, ...)                                                            \
  do {                                                                                             \
    if (!(cond)) return (void)TN_RAISE(kind, span, __VA_ARGS__), -1;                               \
  } while (0)
#define TN_CHECKP(cond, kind, span, ...)                                                           \
  do {                                                                                             \
    if (!(cond)) return TN_RAISEP(kind, span, __VA_ARGS__);                                        \
  } while (0)
#define TN_ICHECK(cond)                                                                            \
  TN_CHECK(cond, InternalError, NULL, "Check failed: (%s) is false: please report this", #cond)
#define TN_ICHECKP(cond)                                                                           \
  TN_CHECKP(cond, InternalError, NULL, "Check failed: (%s) is false: please report this", #cond)

/* Evaluate; on failure add this place to the trace and return from the enclosing function. The -1
   is written out so that the compiler knows that what a failed function leaves unset is not used.
 */
#define TN_TRY(e)                                                                                  \
  do {                                                                                             \
    if (e) return (void)tn_trace(__FILE__, __LINE__, __func__), -1;                                \
  } while (0)
#define TN_TRYP(e)                                                                                 \
  do {                                                                                             \
    if (e) return (void)tn_trace(__FILE__, __LINE__, __func__), NULL;                              \
  } while (0)
#define TN_GET(x, e)                                                                               \
  do {                                                                                             \
    if (!((x) = (e))) return (void)tn_trace(__FILE__, __LINE__, __func__), -1;                     \
  } while (0)
#define TN_GETP(x, e)                                                                              \
  do {                                                                                             \
    if (!((x) = (e))) return (void)tn_trace(__FILE__, __LINE__, __func__), NULL;                   \
  } while (0)

/** The pending error, or NULL. Borrowed. */
TN_API const tn_error *tn_error_get(void);
/** Takes the pending error out of the thread (into `out`, which the caller gives to tn_error_fini
   or tn_error_restore), so that clean-up code may fail without hiding it. */
TN_API void tn_error_take(tn_error *out);
TN_API void tn_error_restore(tn_error *err);
TN_API void tn_error_fini(tn_error *err);
/** Puts text before the message of the pending error: the place within what the caller was given
 * ("element 2: "). Leaves MemoryError alone. Always -1. */
TN_API int tn_error_prefix(const char *fmt, ...) TN_PRINTF(1, 2);

int tn_vraise(tn_error_kind kind, const char *cls, const char *file, int line, const char *func,
              const tn_obj *span, const char *fmt, va_list ap) TN_PRINTF(7, 0);
/** Raises a foreign exception: class name, message and the exception object itself, kept until it
 * is handed back. */
TN_API int tn_raise_foreign(const char *cls, const char *message, tn_obj *cause);
/** Adds a line below the message of the pending error ("help: ..."). */
TN_API int tn_error_note(const char *fmt, ...) TN_PRINTF(1, 2);
/** Says where the pending error is, unless it says so already: `span` becomes its place. What a
 * script or a callback reports, and errors of schedules, have their own places. Passes NULL
 * through. Always returns -1. */
TN_API int tn_error_at(const tn_obj *span);
/** Sets what shows a place: it adds a note to the pending error. At start, by the layer of spans.
 */
TN_API void tn_error_set_place(void (*show)(const tn_obj *span));
/** MemoryError from static storage. */
TN_API int tn_raise_no_memory(size_t size);

/** Name and base-class name of a kind, from errors.def. */
TN_API const char *tn_error_kind_name(tn_error_kind kind);
TN_API const char *tn_error_kind_base(tn_error_kind kind);

#endif /* TN_BASE_ERROR_H_ */
