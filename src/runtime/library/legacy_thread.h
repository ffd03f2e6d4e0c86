/* What the Relay-era interface keeps for each thread: the parked error, the last result lent to
   foreign code, the list of names, the workspace pool. Freed when the thread ends. */
#ifndef TN_RUNTIME_LIBRARY_LEGACY_THREAD_H_
#define TN_RUNTIME_LIBRARY_LEGACY_THREAD_H_

#include "base/error.h"
#include "tvm/runtime/c_runtime_api.h"

/** A block of a thread's workspace pool. */
typedef struct {
  tn_device device;
  void *data;
  size_t size;
  bool used;
} tn_workspace_block;

typedef struct {
  bool parked; /* `error` holds an error */
  tn_error error;
  char *error_text;     /* what TVMGetLastError returned last */
  tn_obj *result;       /* string or bytes object lent to foreign code */
  TVMByteArray bytes;   /* the view of `result` that foreign code sees */
  tn_arr *names;        /* of TVMFuncListGlobalNames */
  const char **strings; /* their texts */
  tn_workspace_block *blocks;
  int64_t nblock, cap;
} tn_legacy_thread;

/** The calling thread's state, made at its first use; NULL: MemoryError. */
tn_legacy_thread *tn_legacy_state(void);
/** Frees the blocks of a thread that ends. */
void tn_workspace_drop(tn_legacy_thread *t);

#endif /* TN_RUNTIME_LIBRARY_LEGACY_THREAD_H_ */
