/* Something that is done once in a process, by code that is not ours and may take long:

     static tn_once once;
     if (tn_once_begin(&once)) tn_once_end(&once, foreign() == 0);

   No lock is held meanwhile. Other threads wait between the host's wait hooks, so that the foreign
   code may need what they hold (the lock of an interpreter). The thread that runs it may come back:
   it is not told to run it again. After a fork, a run that stayed behind in the parent counts as
   not begun. */
#ifndef TN_RUNTIME_THREADS_ONCE_H_
#define TN_RUNTIME_THREADS_ONCE_H_

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/** Zero at first: static and cleared memory needs no initialisation. */
typedef _Atomic uintptr_t tn_once;

/** @return whether the caller is to do it, and then to call tn_once_end */
bool tn_once_begin(tn_once *o);
/** @param done false: the next who asks is to try again */
void tn_once_end(tn_once *o, bool done);

#endif /* TN_RUNTIME_THREADS_ONCE_H_ */
