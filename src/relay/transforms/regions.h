/* Regions between annotation.compiler_begin and compiler_end: what other code generators get. */
#ifndef TN_RELAY_TRANSFORMS_REGIONS_H_
#define TN_RELAY_TRANSFORMS_REGIONS_H_

#include "base/pmap.h"
#include "base/vec.h"
#include "relay/op.h"

typedef struct {
  const char *compiler; /* its code generator */
  tn_vec begins, ends;  /* calls, in the order of evaluation */
  int64_t into;         /* the region it has become part of, -1: itself */
} region;

typedef struct {
  region *items;
  int64_t len, cap;
  tn_pmap of; /* expression -> 1 + number of the region it was found in */
} regions;

/** The regions of a function. Parts with a value in common are one region. */
int regions_find(regions *r, const tn_RelayFunction *f);
void regions_fini(regions *r);
/** The region of an expression, with those it has become part of; NULL: none. */
region *regions_of(const regions *r, const void *e);
/** compiler_begin / compiler_end: the call, or NULL. */
const tn_RelayCall *region_begin(const void *e);
const tn_RelayCall *region_end(const void *e);
/** Two regions become one. */
int regions_join(regions *r, region *a, region *b);

#endif /* TN_RELAY_TRANSFORMS_REGIONS_H_ */
