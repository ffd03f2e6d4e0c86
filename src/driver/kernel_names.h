/* Names of the kernels of a program: equal primitive functions are one kernel. */
#ifndef TN_DRIVER_KERNEL_NAMES_H_
#define TN_DRIVER_KERNEL_NAMES_H_

#include "relay/relay.h"
#include "target/target.h"

/** Owned by the scope in which it was begun. */
typedef struct {
  const char *prefix; /* of all names; borrowed */
  tn_map *kernels;    /* name -> relay Function */
  tn_map *externals;  /* symbol -> relay Function, of those for another code generator */
  tn_map *targets;    /* name -> Target, of those that were given one */
  tn_map *taken;      /* names in use, also of other things */
  tn_map *by_hash;    /* hash of a kernel -> Array of [function, name, target or None, ...] */
} kernel_names;

int kernel_names_init(kernel_names *k, const char *prefix);
/** The name itself the first time, then name_1, name_2, ...; NULL (MemoryError). Scope-owned. */
const char *kernel_names_unique(kernel_names *k, const char *name);
/** The name of a kernel, the same for equal ones; the symbol of one for another code generator.
 * @param t where it runs; NULL: there is one target for all */
const char *kernel_names_of(kernel_names *k, const tn_RelayFunction *f, tn_target *t);

#endif /* TN_DRIVER_KERNEL_NAMES_H_ */
