/* Types of values that are not single tensors and have no constructors in the program: sequences of
   any length, values that may be missing, tensors whose number of dimensions is not known. Their
   values are made and read by the operators sequence.*, optional.* and value.*.

     Sequence[Tensor[(?, 3), float32]]     Optional[float32]     AnyTensor[float32]

   A tuple is a sequence of a known length; a value can stand where it may be missing.

     Storage[]

   is memory that tensors are in: what memory.alloc_storage makes. */
#ifndef TN_RELAY_VALUE_TYPES_H_
#define TN_RELAY_VALUE_TYPES_H_

#include "relay/relay.h"

/** @param element NULL: not known yet, as no element is there: a sequence that is empty */
TN_API tn_Type *relay_sequence_type(tn_Type *element);
/** The type itself when it is optional already. */
TN_API tn_Type *relay_optional_type(tn_Type *value);
TN_API tn_Type *relay_any_tensor_type(tn_dtype t);

/** Type of the elements of a sequence (that of no element, see relay_is_no_element, of an empty
 * one); NULL when it is none. Tuples are not among them. */
TN_API tn_Type *relay_sequence_element(const tn_Type *t);
TN_API bool relay_is_no_element(const tn_Type *t);
/** Type of the value that may be missing; NULL when it is not an optional type. */
TN_API tn_Type *relay_optional_value(const tn_Type *t);
/** Its elements are of *dtype. */
TN_API bool relay_is_any_tensor(const tn_Type *t, tn_dtype *dtype);
/** Is it one of the types of this file? */
TN_API bool relay_is_value_type(const tn_Type *t);

/** Memory of a device. */
TN_API tn_Type *relay_storage_type(void);
TN_API bool relay_is_storage(const tn_Type *t);

/** The narrowest type for the values of both: extents that differ are dynamic, ranks that differ
 * make a tensor of any rank, tuples of different types a sequence. NULL without an error where
 * it has none, or with MemoryError. */
TN_API tn_Type *relay_join_types(tn_Type *a, tn_Type *b);

/** Defines those of the types that occur in the module's functions, so that its text can be read
 * back. */
TN_API int relay_define_value_types(tn_IRModule *m);
/** The same for memory: `extern type Storage`. */
TN_API int relay_define_storage(tn_IRModule *m);

#endif /* TN_RELAY_VALUE_TYPES_H_ */
