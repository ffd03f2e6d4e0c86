/* A lock for the tables of the process: many readers or one writer, for a few lines.

     static tn_lock lock = TN_LOCK_INIT;
     tn_lock_write(&lock);
     ...
     tn_unlock(&lock);

   Locks are static: once taken they are known for the life of the process. A fork waits until
   nobody holds such a lock, so the child finds every table whole and every lock free. For that to
   work, a thread that holds one takes no other and runs no foreign code: no callback, no finalizer.
   So raise errors and release objects after unlocking: an error that is replaced may hold an
   exception of the host, whose release may wait for another thread. */
#ifndef TN_BASE_LOCK_H_
#define TN_BASE_LOCK_H_

#include <pthread.h>
#include <stdatomic.h>

#include "tenon/ffi.h"

typedef struct tn_lock {
  pthread_rwlock_t rw;
  _Atomic int known;    /* to the handlers of fork */
  struct tn_lock *next; /* in their list */
} tn_lock;

#define TN_LOCK_INIT                                                                               \
  { .rw = PTHREAD_RWLOCK_INITIALIZER }

TN_API void tn_lock_read(tn_lock *l);
TN_API void tn_lock_write(tn_lock *l);
TN_API void tn_unlock(tn_lock *l);

#endif /* TN_BASE_LOCK_H_ */
