/* Content of AllocateConst in scripts. */
#ifndef TN_TIR_SCRIPT_CONST_DATA_H_
#define TN_TIR_SCRIPT_CONST_DATA_H_

#include "ir/imm.h"
#include "tir/tir.h"

/** A tensor of the given type and shape from a list of numbers (or the tensor itself). Scope-owned.
 *  @return NULL with ValueError (number of elements) or TypeError */
tn_obj *tir_const_data(tn_any value, tn_dtype t, const tn_arr *shape);
/** All elements in order as a list of plain numbers. Scope-owned, or NULL. */
tn_arr *tir_const_list(const tn_NDArray *data);

#endif /* TN_TIR_SCRIPT_CONST_DATA_H_ */
