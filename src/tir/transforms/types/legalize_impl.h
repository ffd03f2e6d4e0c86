/* Floating point types that machines store but do not compute with: bfloat16, those of 8 bits and
   those that programs register.
   What the passes that legalize computations and storage share. */
#ifndef TN_TIR_TRANSFORMS_TYPES_LEGALIZE_IMPL_H_
#define TN_TIR_TRANSFORMS_TYPES_LEGALIZE_IMPL_H_

#include "tir/transforms/transforms.h"

/** Which types a pass is about. */
typedef enum { TIR_BF16, TIR_FP8, TIR_CUSTOM } tir_low_float;

static inline bool tir_is_low_float(tir_low_float which, tn_dtype t) {
  bool fp8 = t.code == kDLFloat8_e4m3fn || t.code == kDLFloat8_e5m2;
  if (which == TIR_CUSTOM) return tn_dtype_is_custom(t);
  return which == TIR_BF16 ? t.code == kDLBfloat && t.bits == 16 : fp8;
}
/** The unsigned integer of the same size. */
static inline tn_dtype tir_storage_uint(tn_dtype t) {
  return tn_dtype_of(kDLUInt, t.bits, t.lanes);
}
/** Storage of the types becomes storage of unsigned integers. ValueError where something still
 * computes with them. */
tn_PrimFunc *tir_storage_legalize(tn_PrimFunc *f, tir_low_float which);
/** A value of a low type as float16 or float32, and back, by operations on its bits. Lanes stay. */
tn_expr *tir_low_float_to(tn_expr *e, tn_dtype to);
tn_expr *tir_low_float_from(tn_expr *e, tn_dtype to);

#endif /* TN_TIR_TRANSFORMS_TYPES_LEGALIZE_IMPL_H_ */
