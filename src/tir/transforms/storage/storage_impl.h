/* What the parts of tir.StorageRewrite share: when allocations live (storage_live.c), whether a
   statement may compute in place (storage_inplace.c), which memory they get (storage_rewrite.c),
   and how the pieces of a device's own memory become one (storage_merge.c). */
#ifndef TN_TIR_TRANSFORMS_STORAGE_STORAGE_IMPL_H_
#define TN_TIR_TRANSFORMS_STORAGE_STORAGE_IMPL_H_

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
  tn_dtype dtype;             /**< of the first allocation, with the most lanes of all */
  int64_t bits;               /**< size, -1 when it is not constant */
  tn_vec allocs;              /**< the allocations */
  bool fixed;                 /**< one of them has to begin where its memory begins */
  int64_t align;              /**< bytes that each access needs its begin to be a multiple of */
  struct storage_entry *base; /**< the piece that it is a part of, or NULL */
  int64_t offset, total;      /**< bits: where it begins in base; of a base, with its parts */
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
  bool twin;                             /**< its variable has two allocations */
  int64_t first, last;                   /**< times of use, 0: none */
  const tn_stmt *first_stmt, *last_stmt; /**< loop or store of these uses, or NULL */
  int64_t bits;                          /**< size, -1 when it is not constant */
  bool fixed; /**< something else than loads, stores and access pointers of flat buffers uses it */
  int64_t align; /**< bytes of the largest element that is accessed */
  storage_entry *entry;
  int64_t number; /**< counted from 1, among those that get memory; 0: none */
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

/** Bits that an element takes in memory: a byte for bool. -1 for vectors of unknown length. */
int64_t storage_bits_of(tn_dtype t);

/** Is it a memory that a device has by name: "local.L0A", "global:tag"? Kinds that all devices know
 * (shared.dyn, wmma.*, textures) are not. */
bool storage_is_named(const char *scope);

/** Makes the pieces in one named memory at one place parts of the first that may be one. ValueError
 * where they exceed what tvm.info.mem.SCOPE says. 0, or -1 with an error. */
int storage_merge(storage_live *x);

#endif /* TN_TIR_TRANSFORMS_STORAGE_STORAGE_IMPL_H_ */
