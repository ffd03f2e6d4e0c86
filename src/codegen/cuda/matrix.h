/* Matrix units and asynchronous copies of CUDA devices, written as PTX assembly, so that the source
   needs no header. */
#ifndef TN_CODEGEN_CUDA_MATRIX_H_
#define TN_CODEGEN_CUDA_MATRIX_H_

#include "codegen/c/gen.h"

/** The call as statements; its text is empty. `*done` is false when it is none of these. */
tn_str *cuda_matrix_call(c_gen *g, const tn_Call *e, int op, bool *done);
tn_str *cuda_copy_call(c_gen *g, const tn_Call *e, int op, bool *done);
/** Registers for fragments: memory "wmma.matrix_a", "wmma.matrix_b" and "wmma.accumulator". */
int cuda_fragment(c_gen *g, const tn_Allocate *s);

/** Argument i of a call as a constant number, or as a constant text. -1 and NULL with
 * CodegenError. */
int cuda_int_arg(c_gen *g, const tn_Call *e, int64_t i, int64_t *out);
const char *cuda_text_arg(c_gen *g, const tn_Call *e, int64_t i);

#endif /* TN_CODEGEN_CUDA_MATRIX_H_ */
