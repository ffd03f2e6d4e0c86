/* How calls of intrinsics are written in TVMScript. Used by the printer and the parser. */
#ifndef TN_TIR_SCRIPT_OP_NAMES_H_
#define TN_TIR_SCRIPT_OP_NAMES_H_

#include "ir/op.h"

/** Where the type of the result stands among the arguments. */
typedef enum { TIR_DTYPE_NONE, TIR_DTYPE_FIRST, TIR_DTYPE_LAST } tir_dtype_place;

TN_API tir_dtype_place tir_op_dtype_place(const tn_Op *op);
/** The name behind "T.", borrowed from the operator or static. */
TN_API const char *tir_op_script_name(const tn_Op *op);
/** The type of T.name(args...) where nothing is said of it (TIR_DTYPE_NONE). */
TN_API tn_dtype tir_op_script_dtype(const char *name, const tn_any *args, int64_t n);
/** The operator that T.name calls, or NULL without an error. */
TN_API tn_Op *tir_op_by_script_name(const char *name);

#endif /* TN_TIR_SCRIPT_OP_NAMES_H_ */
