/* Kernels (primitive functions) as memory is planned for them: the tensors that they take and give,
   and the extents of their results where these are known at run time only. */
#ifndef TN_RELAY_MEMORY_KERNEL_SHAPES_H_
#define TN_RELAY_MEMORY_KERNEL_SHAPES_H_

#include "relay/relay.h"
#include "runtime/vm/executable.h"
#include "tir/tir.h"

/** The tensor types in a type, in order. */
int kernel_flat_types(const tn_Type *t, tn_vec *out);

/** Types of a kernel's parameter, of its result. */
const tn_Type *kernel_param_type(const tn_RelayFunction *f, int64_t i);
const tn_Type *kernel_result_type(const tn_RelayFunction *f);
/** The number of the tensor among its arguments that a kernel does nothing but give another shape;
 * -1: it does more. */
int64_t kernel_reshaped(const tn_RelayFunction *f);

/** Extents of a result that are known, or those of arguments: as make_shape has them, of tensors
 * among the arguments. */
enum { KERNEL_MAX_PLACES = 8, KERNEL_MAX_PAIRS = 16 };
typedef struct {
  int n; /* -1: they must be computed */
  int64_t at[KERNEL_MAX_PLACES];
} kernel_places;

enum { KERNEL_READS_NOTHING = 0, KERNEL_READS_SHAPE = 1, KERNEL_READS_VALUES = 2 };
/** What is known of the extents of a kernel's results. */
typedef struct {
  int8_t *reads; /* for each tensor among the arguments: KERNEL_READS_* by the program */
  int32_t *same; /* for each result: number of the argument tensor of the same shape, or -1 */
  kernel_places *places; /* for each other result; NULL: the program computes them */
  bool no_pairs; /* should the program check everything? So it does without `places`, too. */
  /* pairs of extents that must be equal, as in places; none where the program checks */
  int npair;
  int64_t pairs[2 * KERNEL_MAX_PAIRS];
  bool checks; /* does the program tell whether the arguments fit? */
} kernel_shapes;
/** @param inputs, outputs how many tensors the kernel takes and gives */
int kernel_shapes_init(kernel_shapes *s, const tn_RelayFunction *kernel, int64_t inputs,
                       int64_t outputs);
void kernel_shapes_fini(kernel_shapes *s);
/** The program that computes the extents that are neither known nor those of arguments: parameters
 * are, for each tensor among its arguments that it reads, its shape or its values, then the shape
 * of each such result, then, if it checks, whether the arguments fit.
 *  @return scope-owned; NULL: OpNotImplemented naming the operator that cannot tell */
tn_PrimFunc *kernel_shape_program(const tn_RelayFunction *kernel, kernel_shapes *out);

#endif /* TN_RELAY_MEMORY_KERNEL_SHAPES_H_ */
