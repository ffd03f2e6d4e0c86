/* Data types as text. "float32", "int8x4", "bool" (one-bit unsigned), "bfloat16", "handle", "" or
 * "void"; types that programs register have their own code: "custom[posit]16". "int8xvscalex4"
 * has four times as many lanes as the machine's vscale, which is known when the program runs. */
#ifndef TN_OBJECT_DTYPE_H_
#define TN_OBJECT_DTYPE_H_

#include <stdbool.h>

#include "tenon/ffi.h"

enum {
  TN_DTYPE_TEXT = 56,   /**< room for the text of any type */
  TN_DTYPE_NAME = 32,   /**< room for the name of a registered type */
  TN_DTYPE_CUSTOM = 129 /**< codes from here to 255 are for registered types */
};

/** @param n length of text. 0, or -1 (ValueError naming the text). */
TN_API int tn_dtype_parse(const char *text, size_t n, tn_dtype *out);
/** Writes at most TN_DTYPE_TEXT bytes, NUL included; returns `out`. */
TN_API const char *tn_dtype_text(tn_dtype t, char out[TN_DTYPE_TEXT]);

static inline tn_dtype tn_dtype_of(int code, int bits, int lanes) {
  tn_dtype t = {(uint8_t)code, (uint8_t)bits, (uint16_t)lanes};
  return t;
}
static inline bool tn_dtype_eq(tn_dtype a, tn_dtype b) {
  return a.code == b.code && a.bits == b.bits && a.lanes == b.lanes;
}
/** Number of lanes; -n stands for vscale * n. The field itself holds that as an unsigned number, so
 * that whatever asks for more than one lane takes a scalable vector for a vector. */
static inline int tn_dtype_lanes(tn_dtype t) { return (int16_t)t.lanes; }
static inline bool tn_dtype_is_scalable(tn_dtype t) { return tn_dtype_lanes(t) < 0; }
static inline bool tn_dtype_is_custom(tn_dtype t) { return t.code >= TN_DTYPE_CUSTOM; }

/** Names a code from TN_DTYPE_CUSTOM to 255, for the life of the process. 0, or -1: ValueError
 * (code, name, or one of them is taken by another). Naming it the same again is fine. */
TN_API int tn_dtype_register(const char *name, int64_t code);
/** The name of a registered code, NULL when there is none; the code of a name, -1 when unknown. */
TN_API const char *tn_dtype_custom_name(int64_t code);
TN_API int tn_dtype_custom_code(const char *name, size_t n);
/** Is any type registered? */
TN_API bool tn_dtype_has_custom(void);

#define TN_I32    tn_dtype_of(kDLInt, 32, 1)
#define TN_I64    tn_dtype_of(kDLInt, 64, 1)
#define TN_F32    tn_dtype_of(kDLFloat, 32, 1)
#define TN_F64    tn_dtype_of(kDLFloat, 64, 1)
#define TN_BOOL1  tn_dtype_of(kDLUInt, 1, 1)
#define TN_HANDLE tn_dtype_of(kDLOpaqueHandle, 64, 1)
#define TN_VOID   tn_dtype_of(kDLOpaqueHandle, 0, 0)
/* text of a type for a message:  TN_RAISE(..., "got %s", TN_DT(t)) */
#define TN_DT(t)  tn_dtype_text((t), (char[TN_DTYPE_TEXT]){0})

/** Bytes of n elements of t: sub-byte scalars are packed, bool takes a byte. -1 when it overflows,
 * n < 0 or the number of lanes is not known. */
TN_API int64_t tn_dtype_bytes(tn_dtype t, int64_t n);

#endif /* TN_OBJECT_DTYPE_H_ */
