/* Starts of the parts of the layer. */
#ifndef TN_TIR_TIR_IMPL_H_
#define TN_TIR_TIR_IMPL_H_

#include "object/object.h"

/** Nodes with their own invariants: C(node, name), checked by tir_check_NAME of check.c. */
#define TIR_CHECKED_NODES(C)                                                                       \
  C(Buffer, buffer) C(BufferLoad, load) C(ProducerLoad, producer_load) C(BufferRegion, region)     \
  C(LetStmt, let) C(AssertStmt, assert) C(BufferStore, store) C(ProducerStore, producer_store)     \
  C(BufferRealize, buffer_realize) C(Allocate, allocate) C(AllocateConst, const) C(SeqStmt, seq)   \
  C(IfThenElse, if) C(For, for) C(While, while) C(Block, block) C(BlockRealize, realize)           \
  C(PrimFunc, func) C(IndexMap, index_map)
#define TIR_CHECK_DECLARE(T, name) int tir_check_##name(tn_obj *self);
TIR_CHECKED_NODES(TIR_CHECK_DECLARE)
#undef TIR_CHECK_DECLARE

/** Types and functions of tir.c. */
int tir_nodes_init(void);
/** Types and functions of script/: documents, printer. */
int doc_init(void);
/** Passes of transforms/ and their options. */
int transforms_init(void);

/** Functions of stmt_functor.c. */
int stmt_functor_init(void);
/** Functions of specialize.c. */
int specialize_init(void);
/** Functions of buffer_flat.c. */
int buffer_flat_init(void);
/** Functions of layout.c. */
int layout_init(void);
/** Functions of analysis/. */
int analysis_init(void);
/** Functions of index_map.c. */
int index_map_init(void);
/** Types and functions of schedule/. */
int schedule_init(void);

/** Functions of transforms/checks/verify_memory.c. */
int verify_memory_init(void);
/** Functions of analysis/memory_constraints.c. */
int memory_constraints_init(void);
/** Functions of analysis/data_indices.c. */
int data_indices_init(void);
/** Functions of analysis/verify_gpu_code.c. */
int verify_gpu_code_init(void);

#endif /* TN_TIR_TIR_IMPL_H_ */
