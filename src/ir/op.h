/* Operators: one object for each name, with attributes by key. What an operator means to a pass or
   a code generator is such an attribute; several registrations compete by level. */
#ifndef TN_IR_OP_H_
#define TN_IR_OP_H_

#include "ir/ir.h"

/** The operator of that name, borrowed for good. NULL with AttributeError when there is none. */
TN_API tn_Op *ir_op_get(const char *name);
/** The same without an error. */
TN_API tn_Op *ir_op_find(const char *name);
/** The operator of that name, made if there is none. NULL with MemoryError. */
TN_API tn_Op *ir_op_declare(const char *name);
/** Names of all operators, sorted; owned by the scope. */
TN_API tn_arr *ir_op_names(void);

/** Sets an attribute. A value registered at a higher level stays; at the same level it is an error.
 *  @param value made owned (see tn_any_own)
 *  @param level from 1; 10 is usual
 *  @return 0 or -1 (TVMError) */
TN_API int ir_op_set_attr(tn_Op *op, const char *key, tn_any value, int64_t level);
/** Forgets an attribute, of whatever level. */
TN_API int ir_op_reset_attr(tn_Op *op, const char *key);
/** @param out borrowed as long as the attribute is not set again; None when absent
 *  @return whether the operator has it */
TN_API bool ir_op_attr(const tn_Op *op, const char *key, tn_any *out);
/** Were rules for lowering operators registered from outside (ir.RegisterOpAttr)? Then the code of
 * a program depends on more than the program. */
TN_API bool ir_op_has_foreign_rules(void);

#endif /* TN_IR_OP_H_ */
