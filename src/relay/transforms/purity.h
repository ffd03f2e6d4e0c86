/* Which expressions have no effects: they may be dropped when nobody reads them. */
#ifndef TN_RELAY_TRANSFORMS_PURITY_H_
#define TN_RELAY_TRANSFORMS_PURITY_H_

#include "base/pmap.h"
#include "relay/relay.h"

typedef struct {
  const tn_IRModule *mod; /* where global functions are looked up, may be NULL */
  tn_pmap functions;      /* Id or GlobalVar -> what is known of the function it stands for */
} purity;

/** Notes what let binds functions to below `root`. */
int purity_note_bindings(purity *p, const void *root);
/** Does computing the value have no effect? 1, 0, -1 with an error. Effects are references,
 * operators that are stateful and calls of functions that are not known. Endless recursion is not
 * one. */
int purity_of(purity *p, const void *value);
void purity_fini(purity *p);

#endif /* TN_RELAY_TRANSFORMS_PURITY_H_ */
