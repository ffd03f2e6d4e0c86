/* What the parts of tir.MakePackedAPI share, and the run-time structures as lowered code sees them.
 */
#ifndef TN_TIR_TRANSFORMS_CALLS_PACKED_IMPL_H_
#define TN_TIR_TRANSFORMS_CALLS_PACKED_IMPL_H_

#include "tir/device.h"
#include "tir/transforms/transforms.h"

/** Third argument of tvm_struct_get and tvm_struct_set: a field of an array of DLTensor, or an
 * element of an array of TVMValue. */
typedef enum {
  TIR_ARR_ADDR = 0,
  TIR_ARR_DATA = 1,
  TIR_ARR_SHAPE = 2,
  TIR_ARR_STRIDES = 3,
  TIR_ARR_NDIM = 4,
  TIR_ARR_TYPE_CODE = 5,
  TIR_ARR_TYPE_BITS = 6,
  TIR_ARR_TYPE_LANES = 7,
  TIR_ARR_BYTE_OFFSET = 8,
  TIR_ARR_DEVICE_ID = 9,
  TIR_ARR_DEVICE_TYPE = 10,
  TIR_VALUE_CONTENT = 12,
} tir_struct_field;

/** The field of the index-th structure that `of` points to, as a value of type t. */
tn_expr *tir_struct_get(tn_dtype t, tn_expr *of, int64_t index, tir_struct_field field);
/** The type in which a scalar travels in a TVMValue. */
tn_dtype tir_api_type(tn_dtype t);

typedef struct {
  tn_PrimFunc *func;
  tn_IRModule *mod;
  const char *name;
  tn_Var *args, *num_args, *ret_value, *resource, *device_id;
  tn_Buffer *type_ids, *ret_code;
  tn_vec nest;     /* definitions and checks around the body, outermost first */
  tn_vec checks;   /* checks that need all definitions */
  tn_pmap defined; /* variables that have a value */
  int device_type;
  bool has_device; /* device_id has a value */
  tn_stmt *nop;
} packer;

int packed_let(packer *p, tn_Var *v, tn_expr *value);
/** Adds a check, unless it always holds. */
int packed_assert(packer *p, tn_vec *to, tn_expr *cond, tn_str *message);
/** Defines what a buffer is made of from the DLTensor that `handle` points to, or checks it. */
int packed_bind_tensor(packer *p, tn_Var *handle, tn_Buffer *b);
/** Defines the data pointer alone. */
int packed_bind_data(packer *p, tn_Var *handle, tn_Buffer *b);

/** Are the arguments checked by a table? */
bool packed_has_table(const packer *p);
/** Adds that check, and defines the parameters. */
int packed_table(packer *p);

#endif /* TN_TIR_TRANSFORMS_CALLS_PACKED_IMPL_H_ */
