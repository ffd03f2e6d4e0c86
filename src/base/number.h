/* Floating-point numbers as decimal text, with a point in every locale. */
#ifndef TN_BASE_NUMBER_H_
#define TN_BASE_NUMBER_H_

#include "tenon/ffi.h"

enum { TN_DOUBLE_TEXT = 32 };

/** The shortest text that reads back to the same double: "0.1", "1e+20", "inf", "-inf", "nan".
    Returns `out`. */
TN_API const char *tn_double_text(double x, char out[TN_DOUBLE_TEXT]);
/** strtod of the C locale. */
TN_API double tn_strtod(const char *text, char **end);

#endif /* TN_BASE_NUMBER_H_ */
