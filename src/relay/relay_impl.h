/* What the files of src/relay share among themselves. */
#ifndef TN_RELAY_RELAY_IMPL_H_
#define TN_RELAY_RELAY_IMPL_H_

#include "relay/op.h"

/* parts of relay_init */
int relay_nodes_init(void);
int relay_api_nodes_init(void);
int relay_text_init(void);
int relay_transforms_init(void);
int relay_bind_init(void);
int relay_op_type_init(void);
int relay_op_shape_init(void);
int relay_facts_init(void);
int relay_infer_init(void);
int relay_analysis_init(void);
int relay_type_repr_init(void);
int relay_gradient_init(void);
int relay_convert_layout_init(void);
int relay_alter_op_layout_init(void);
int relay_to_cps_init(void);
int relay_recast_init(void);

/** The relation of a row as a global function, and the type of its operator. */
int relay_rel_register(tn_Op *op, const relay_op_row *row);
/** Asks the relation of r->op, of the library or from outside. */
int relay_rel_run(relay_rel *r);
/** Number of arguments of an operator. */
int relay_op_ninputs(const relay_op_row *row);
/** A call by arguments and attributes in order: the function "relay.op._make.NAME"; self: the row.
 */
int relay_op_make(void *self, const tn_any *args, int32_t n, tn_any *ret);

/* How many conditions were collected so far, -1 where nobody collects them; and gives up those from
   a number on. */
int64_t relay_count_conditions(void);
void relay_drop_conditions(int64_t from);

#endif /* TN_RELAY_RELAY_IMPL_H_ */
