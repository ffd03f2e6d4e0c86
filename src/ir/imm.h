/* Constants: making them, asking for their values, and the plain numbers of Python and C as
   expressions. */
#ifndef TN_IR_IMM_H_
#define TN_IR_IMM_H_

#include "ir/ir.h"

/** Constants whose type holds the number exactly; TVMError "Literal value N exceeds maximum of
 * int8" and the like if it does not. */
TN_API tn_expr *tir_int(tn_dtype t, int64_t value);  /**< t: scalar int, uint or bool */
TN_API tn_expr *tir_float(tn_dtype t, double value); /**< t: scalar float type */
TN_API tn_expr *tir_uint64(uint64_t value); /**< beyond int64: a call of tir.large_uint_imm */
TN_API tn_expr *tir_str(const char *text);
static inline tn_expr *tir_i32(int32_t v) { return tir_int(TN_I32, v); }
static inline tn_expr *tir_i64(int64_t v) { return tir_int(TN_I64, v); }
static inline tn_expr *tir_bool(bool v) { return tir_int(TN_BOOL1, v); }
static inline tn_expr *tir_f32(double v) { return tir_float(TN_F32, v); }

/** The number as a constant of any number type; vectors are broadcast. Checked as above; a fraction
 * is cut off for integer types. */
TN_API tn_expr *tir_const_int(tn_dtype t, int64_t value);
TN_API tn_expr *tir_const_float(tn_dtype t, double value);
static inline tn_expr *tir_zero(tn_dtype t) { return tir_const_int(t, 0); }
static inline tn_expr *tir_one(tn_dtype t) { return tir_const_int(t, 1); }

/** The smallest and largest finite number of a scalar type, and infinity of a float type; TVMError
 * for others. */
TN_API tn_expr *tir_min_value(tn_dtype t);
TN_API tn_expr *tir_max_value(tn_dtype t);
TN_API tn_expr *tir_infinity(tn_dtype t);

/** Does the expression have a constant integer value (also as every lane of a broadcast)? */
TN_API bool tir_as_int(const tn_obj *e, int64_t *value);
/** Is it the constant `value`, as an integer or float, scalar or broadcast? */
TN_API bool tir_is_const(const tn_obj *e, int64_t value);
static inline bool tir_is_zero(const void *e) { return tir_is_const((const tn_obj *)e, 0); }
static inline bool tir_is_one(const void *e) { return tir_is_const((const tn_obj *)e, 1); }

/** `x` reduced to the range of an integer type, as the machine does: wraps around. */
TN_API int64_t ir_wrap_int(int64_t x, tn_dtype t);
/** `x` rounded to float32, float16 or bfloat16 (through float32) when t is one of them; infinite
 * where it overflows. */
TN_API double ir_round_float(double x, tn_dtype t);
/* What casts and powers give, see docs/semantics.md. Integers of type uint64 are passed and
   returned as the int64 of their bits. */
/** Remainder with the sign of b, exact but for a last sum. */
TN_API double ir_floor_mod(double a, double b);
/** An integer as a value of the floating point type t. */
TN_API double ir_float_of_int(int64_t x, tn_dtype from, tn_dtype t);
/** A number as a value of the integer type t (bool too). */
TN_API int64_t ir_int_of_float(double x, tn_dtype t);
/** x to the power of n, both of the integer type t. */
TN_API int64_t ir_int_power(int64_t x, int64_t n, tn_dtype t);

/** Are the value's type and size those of an int, uint (bool too), or of a floating point type
 * (bfloat16, the 8-bit and the registered ones too)? */
static inline bool ir_is_int(tn_dtype t) { return t.code == kDLInt; }
static inline bool ir_is_uint(tn_dtype t) { return t.code == kDLUInt; }
static inline bool ir_is_integral(tn_dtype t) { return t.code == kDLInt || t.code == kDLUInt; }
static inline bool ir_is_bool(tn_dtype t) { return t.code == kDLUInt && t.bits == 1; }
TN_API bool ir_is_floating(tn_dtype t);
/** Largest finite number of a floating point type; 0 for other types. */
TN_API double ir_float_limit(tn_dtype t);
static inline tn_dtype ir_with_lanes(tn_dtype t, int lanes) {
  return tn_dtype_of(t.code, t.bits, lanes);
}

/** The expression that a plain value stands for: int -> int32 (int64 when it does not fit), bool ->
   bool, float -> float32 (float64 when it does not fit), text -> StringImm; expressions as they
   are, an IterVar as its variable. NULL with TypeError for anything else, NULL without an error for
   None. */
TN_API tn_expr *ir_expr_from(const tn_any *value);
/** How objects of a type that is not an expression become one (a zero-dimensional tensor as its
 * element); set once at start by the layer that has the type. */
TN_API void ir_set_expr_from(uint32_t type_index, tn_expr *(*convert)(tn_obj *obj));

/** Installs the conversion of plain numbers to constants in containers and fields. */
void ir_imm_init(void);

#endif /* TN_IR_IMM_H_ */
