#include "runtime/threads/thread_affinity.h"

#include <stdbool.h>

/* p->all without the calling thread's processor; false when there is no such choice. */
static bool others(tn_placement *p, cpu_set_t *set) {
  int cpu = sched_getcpu();
  if (cpu < 0 || cpu >= CPU_SETSIZE || !CPU_ISSET((size_t)cpu, &p->all) || CPU_COUNT(&p->all) < 2)
    return false;
  *set = p->all;
  CPU_CLR((size_t)cpu, set);
  p->off = cpu;
  return true;
}

void tn_place_sleep(tn_placement *p) {
  p->off = -1;
  if (sched_getaffinity(0, sizeof p->all, &p->all)) CPU_ZERO(&p->all);
}

void tn_place_new(tn_placement *p, pthread_attr_t *attr) {
  cpu_set_t set;
  tn_place_sleep(p); /* the new thread inherits the caller's mask */
  if (others(p, &set)) pthread_attr_setaffinity_np(attr, sizeof set, &set);
}

void tn_place_off(tn_placement *p, pthread_t thread) {
  cpu_set_t set;
  if (others(p, &set)) pthread_setaffinity_np(thread, sizeof set, &set);
}

void tn_place_awake(tn_placement *p) {
  cpu_set_t now, set = p->all;
  if (p->off < 0) return;
  CPU_CLR((size_t)p->off, &set);
  /* a mask that someone else has set in the meantime stays */
  if (sched_getaffinity(0, sizeof now, &now) == 0 && CPU_EQUAL(&now, &set))
    sched_setaffinity(0, sizeof p->all, &p->all);
}
