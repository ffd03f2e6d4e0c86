/* Comparison of two values with a record of where it stopped. Internal to src/object. */
#ifndef TN_OBJECT_EQUAL_IMPL_H_
#define TN_OBJECT_EQUAL_IMPL_H_

#include "base/pmap.h"
#include "object/structure_impl.h"

/* A pair of objects whose children are being compared. */
typedef struct {
  const tn_obj *l, *r;
  int64_t next;       /* position of the next child to compare; of a map: keys first, then values */
  tn_map_rank *ranks; /* of a map: the entries of l, then those of r, in visiting order */
  bool binding;       /* inside a definition */
} tn_eq_frame;

/* What was wrong at the end of the path the frames describe. */
typedef enum {
  TN_EQ_AT_CHILD, /* the two children at the last position */
  TN_EQ_AT_ROOT,  /* the two roots */
  TN_EQ_AT_FIELD, /* `field` of the two children (or roots) at the last position */
  TN_EQ_NO_LHS,   /* an element or entry is missing in lhs */
  TN_EQ_NO_RHS,
} tn_eq_end;

/* Invariant: a variable or shared object has an entry in `met` for its side exactly when it was
   paired, and both of a pair have the same number. `same` and `parent` are a union-find over
   content-compared objects that are referenced more than once: pairs in one class are known to be
   equal (Hopcroft and Karp's test for equivalence of automata), which keeps the work linear however
   differently the two sides share. Keys are addresses, with the lowest bit set for rhs. */
typedef struct {
  bool map_free, stop_early; /* stop_early: only the verdict is wanted, not the first place */
  tn_eq_frame *frames;
  int64_t depth, cap;
  tn_pmap met;
  int64_t nmet;
  tn_pmap same;
  uint32_t *parent;
  int64_t nparent, parent_cap;
  tn_eq_end end;
  const tn_field *field;
  tn_any missing; /* key of the entry, for maps */
} tn_eq;

/** 1 equal, 0 not (the frames and `end` say where), -1 MemoryError. Give `e` to tn_eq_fini after.
 */
int tn_eq_run(tn_eq *e, tn_any lhs, tn_any rhs);
void tn_eq_fini(tn_eq *e);

/** Registers the functions of mismatch.c. */
int tn_equal_init(void);

#endif /* TN_OBJECT_EQUAL_IMPL_H_ */
