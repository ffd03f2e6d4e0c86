/* Loops around one statement that copies an element, as passes over memories of kernels take them
   apart and put them together again. */
#ifndef TN_TIR_TRANSFORMS_BLOCKS_COPY_NEST_H_
#define TN_TIR_TRANSFORMS_BLOCKS_COPY_NEST_H_

#include "tir/transforms/transforms.h"

/** for loops: [with block(...):] target[...] = value */
typedef struct {
  tn_vec loops;                /* tn_For, outermost first */
  const tn_BlockRealize *real; /* the block around the store, NULL: none */
  tn_expr *condition;          /* under which the store is made, NULL: always */
  const tn_BufferStore *store;
} copy_nest;

/** Takes a statement apart. @param through_block enter a block @return 1 when it is of that form,
 * else 0; -1 with an error */
int tir_copy_nest(const tn_stmt *s, bool through_block, copy_nest *out);
void tir_copy_nest_fini(copy_nest *n);
#define TIR_COPY_NEST(name) __attribute__((cleanup(tir_copy_nest_fini))) copy_nest name = {0}

static inline const tn_For *tir_copy_loop(const copy_nest *n, int64_t i) {
  return (const tn_For *)n->loops.items[i].v.obj;
}

#endif /* TN_TIR_TRANSFORMS_BLOCKS_COPY_NEST_H_ */
