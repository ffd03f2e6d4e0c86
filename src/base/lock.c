#include "base/lock.h"

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static tn_lock *list; /* every lock that was ever taken */

static void before_fork(void) {
  pthread_mutex_lock(&list_lock);
  for (tn_lock *l = list; l; l = l->next) pthread_rwlock_wrlock(&l->rw);
}

static void after_fork_in_parent(void) {
  for (tn_lock *l = list; l; l = l->next) pthread_rwlock_unlock(&l->rw);
  pthread_mutex_unlock(&list_lock);
}

/* The thread that holds the locks has another identity in the child, so it cannot give them back.
 */
static void after_fork_in_child(void) {
  for (tn_lock *l = list; l; l = l->next) l->rw = (pthread_rwlock_t)PTHREAD_RWLOCK_INITIALIZER;
  list_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

static void make_known(tn_lock *l) {
  static bool watching;
  pthread_mutex_lock(&list_lock);
  if (!watching) watching = !pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
  if (!atomic_load(&l->known)) {
    l->next = list;
    list = l;
    atomic_store(&l->known, 1);
  }
  pthread_mutex_unlock(&list_lock);
}

void tn_lock_read(tn_lock *l) {
  if (!atomic_load_explicit(&l->known, memory_order_acquire)) make_known(l);
  pthread_rwlock_rdlock(&l->rw);
}

void tn_lock_write(tn_lock *l) {
  if (!atomic_load_explicit(&l->known, memory_order_acquire)) make_known(l);
  pthread_rwlock_wrlock(&l->rw);
}

void tn_unlock(tn_lock *l) { pthread_rwlock_unlock(&l->rw); }
