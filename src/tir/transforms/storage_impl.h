/* What the parts of tir.StorageRewrite share: when allocations live (storage_live.c), whether a
   statement may compute in place (storage_inplace.c), which memory they get (storage_rewrite.c). */
#ifndef TN_TIR_TRANSFORMS_STORAGE_IMPL_H_
#define TN_TIR_TRANSFORMS_STORAGE_IMPL_H_

#include "base/arena.h"
#include "tir/transforms/transforms.h"

/** A place that allocations are moved to: the body of the function, of a parallel loop, or of the
 * outermost attribute of threads. */
typedef struct storage_place {
  const struct storage_place *up; /**< NULL for the function */
  const tn_obj *node;             /**< the loop or attribute */
  tn_vec made;                    /**< new allocations (tn_Allocate), outermost first */
} storage_place;

/** One piece of memory, for one allocation after the other. */
typedef struct storage_entry {
  storage_place *place;
  tn_Var *var;
  const char *scope;
  tn_dtype dtype; /**< of the first allocation, with the most lanes of all */
  int64_t bits;   /**< size, -1 when it is not constant */
  tn_vec allocs;  /**< the allocations */
} storage_entry;

/** An allocation of the program. Times count statements; a use inside a loop that the allocation is
 * not in lasts as long as the loop. */
typedef struct storage_var {
  const tn_Allocate *op;
  const char *scope; /**< memory it is in */
  storage_place *place;
  int64_t level;                         /**< number of loops around it */
  int64_t frame;                         /**< last loop that noted it */
  bool pinned;                           /**< stays as it is */
  int64_t first, last;                   /**< times of use, 0: none */
  const tn_stmt *first_stmt, *last_stmt; /**< loop or store of these uses, or NULL */
  int64_t bits;                          /**< size, -1 when it is not constant */
  storage_entry *entry;
  bool passed_on; /**< its memory went to what is computed in place */
} storage_var;

/** What storage_live finds. */
typedef struct {
  tn_arena arena;
  tn_pmap vars;   /**< tn_Var -> storage_var */
  tn_pmap places; /**< node -> storage_place */
  storage_place root;
  storage_var **all; /**< in order of allocation */
  int64_t n, cap;
} storage_live;

/** Fills `x`, which is zero. 0, or -1 with an error. */
int storage_find_live(storage_live *x, tn_PrimFunc *f);
void storage_live_fini(storage_live *x);

/** May the statement store to dst in the memory of src? It must store each element of dst once,
 * from the same element of src only. */
bool storage_is_inplace(const tn_stmt *s, const tn_Var *dst, const tn_Var *src);

#endif /* TN_TIR_TRANSFORMS_STORAGE_IMPL_H_ */
