/* Questions about tensor programs. */
#ifndef TN_TIR_ANALYSIS_H_
#define TN_TIR_ANALYSIS_H_

#include "base/pmap.h"
#include "tir/tir.h"

/** The block with its regions filled in from the reads and writes of its body: for each buffer from
 * outside the block the smallest box that holds all accesses, over the loops inside the block. What
 * the block writes first is not a read when it is the same region. */
TN_API tn_Block *tir_block_with_regions(tn_Block *b, bool reads, bool writes);

/** What the body of a block accesses, as BufferRegions. */
typedef struct {
  tn_arr *reads, *writes;
  tn_arr *opaque; /**< whole buffers whose pointers are used by themselves, to read or to write */
} tir_block_regions;
/** @param pointers map from Var to the Buffer that it is the pointer of. 0, or -1 with an error. */
TN_API int tir_block_access(const tn_Block *b, const tn_map *pointers, tir_block_regions *out);

/** Wraps the body in a root block when it has blocks but is not one itself, or when `allocs`
 * (Buffer) is not empty. */
TN_API tn_stmt *tir_with_root_block(tn_stmt *body, const tn_vec *allocs);

/** Checks that a PrimFunc or the tensor programs of an IRModule are well-formed: variables are
 * defined around their uses, no block with iterators uses the loop variables around it. @param
 * strict a variable may not be defined again after its scope either
 * @return 0, or -1 with ValueError that says what and where */
TN_API int tir_check_well_formed(const tn_obj *program, bool strict);
/** Does a function access a buffer at an index that comes from what it reads, and that nothing
 * proves to be within its extent? 1, 0, or -1 with an error. */
TN_API int tir_has_unbounded_data_indices(const tn_PrimFunc *f);
/** Is every variable of a PrimFunc or statement defined once? 1, 0, or -1 with MemoryError. */
TN_API int tir_is_ssa(const tn_obj *program);
/** The variables used in a statement or expression without a definition, in order of their first
 * use. @param defined Var that count as defined; may be NULL */
TN_API tn_arr *tir_undefined_vars(const tn_obj *program, const tn_arr *defined);

/** Where the uses of each buffer meet. */
typedef struct {
  tn_pmap node;   /**< buffer -> For, Block or PrimFunc around all uses; absent without uses */
  tn_vec buffers; /**< in the order of their declarations */
} tir_access_lca;
enum {
  TIR_LCA_PARAMS = 1,  /**< buffers of the signature too, not only those that blocks allocate */
  TIR_LCA_CARRIED = 2, /**< what blocks with opaque iterators read comes from earlier iterations */
};
/** @param which sum of TIR_LCA_*
 *  @param out empty at first; to be freed with tir_access_lca_fini in any case */
TN_API int tir_access_lca_find(const tn_PrimFunc *f, int which, tir_access_lca *out);
TN_API void tir_access_lca_fini(tir_access_lca *l);

/** Bytes of allocations in the workspace that live at the same time, at most; each is rounded up to
 * `alignment`. */
TN_API int64_t tir_workspace_bytes(const tn_PrimFunc *f, int64_t alignment);
/** Bytes of all constants, each rounded up. 0, or -1 with MemoryError. */
TN_API int tir_constant_bytes(const tn_PrimFunc *f, int64_t alignment, int64_t *out);
/** The most bytes at one time for each kind of memory: name to IntImm int64. */
TN_API tn_map *tir_allocated_bytes(const tn_PrimFunc *f);
/** Operations on numbers that a PrimFunc or statement executes. ValueError when a loop has no
 * constant extent. */
TN_API int tir_estimate_flops(const tn_obj *program, double *out);
/** Notes the variables of a lowered function whose values come out of memory or from calls. */
TN_API int tir_find_data(const tn_PrimFunc *f, tn_pmap *data);
/** Is an integer made of loop variables, extents and constants only? Those do not overflow. */
TN_API bool tir_is_place(const tn_pmap *data, const tn_expr *e);
/** Does a function nothing but compute its result and write its own memory? */
TN_API bool tir_is_pure_func(const tn_PrimFunc *f);
/** The block of a module that does most of the work, or NULL. */
TN_API const tn_Block *tir_anchor_block(const tn_IRModule *m);
/** A copy of the function in which all that it defines (variables, buffers, iterators) is new. */
TN_API tn_PrimFunc *tir_renew_defs(tn_PrimFunc *f);

#endif /* TN_TIR_ANALYSIS_H_ */
