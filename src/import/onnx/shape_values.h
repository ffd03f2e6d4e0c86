/* What is known of vectors of whole numbers while a model is imported. */
#ifndef TN_IMPORT_ONNX_SHAPE_VALUES_H_
#define TN_IMPORT_ONNX_SHAPE_VALUES_H_

#include "import/onnx/import.h"

enum { ONNX_MAX_NUMBERS = 32 };

/** A number: known, the extent `value` of the expression `of`, or neither. */
typedef struct {
  enum { ONNX_UNKNOWN, ONNX_NUMBER, ONNX_EXTENT } kind;
  int64_t value;
  const void *of;
} onnx_number;

/** The numbers of a vector or scalar with a type. @param out room for ONNX_MAX_NUMBERS
 *  @return how many, -1 when it is not a list of integers */
int64_t onnx_numbers(const void *e, onnx_number *out);
/** The value as a constant where all its numbers are known; itself otherwise. */
void *onnx_known_numbers(void *e);

#endif /* TN_IMPORT_ONNX_SHAPE_VALUES_H_ */
