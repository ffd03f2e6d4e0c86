/* Where a worker wakes up. Linux often puts a woken thread on the processor of the thread that woke
   it, above all in virtual machines, where an idle processor looks as if the host had taken it
   away. The two would then take turns until a timer tick parts them, milliseconds later. So a
   sleeping worker is kept off its waker's processor until it is awake; then its affinity mask is
   what it was.

   All of this is best effort: where the mask cannot be changed the kernel decides alone. */
#ifndef TN_RUNTIME_THREADS_THREAD_AFFINITY_H_
#define TN_RUNTIME_THREADS_THREAD_AFFINITY_H_

#include <pthread.h>
#include <sched.h>

typedef struct {
  cpu_set_t all; /* the thread's mask */
  int off;       /* the processor it was kept off, or -1 */
} tn_placement;

/** Before pthread_create: the thread will start on another processor than the caller's. */
void tn_place_new(tn_placement *p, pthread_attr_t *attr);
/** By the thread, before it sleeps. */
void tn_place_sleep(tn_placement *p);
/** By the waker, while `thread` sleeps: keeps it off the calling thread's processor. */
void tn_place_off(tn_placement *p, pthread_t thread);
/** By the thread, when it is awake. */
void tn_place_awake(tn_placement *p);

#endif /* TN_RUNTIME_THREADS_THREAD_AFFINITY_H_ */
