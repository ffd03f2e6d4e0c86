/* Functions on values that are not single tensors: sequences, which are ADTs with tag 0 and a field
   for each element, and optional values, which are themselves or None.

   The instruction `call_values` calls them, and the interpreter. Operands that are numbers in the
   program (axes, extents) come behind the values. */
#ifndef TN_RUNTIME_VM_VALUES_H_
#define TN_RUNTIME_VM_VALUES_H_

#include "tenon/runtime.h"

struct tn_vm_machine;

/** @param m whose memory results are in; NULL: that of the devices, for callers without a machine
 *  @param args borrowed; tensors, ADTs, None, numbers @param ret owned; TN_INT for an int64 scalar,
 *  TN_BOOL for a bool scalar @return 0, or -1 */
typedef int (*tn_vm_value_fn)(struct tn_vm_machine *m, const tn_any *args, int32_t n, tn_any *ret);

/** The function of that name, NULL when there is none:
 *
 *    sequence.length(s)                 sequence.at(s, place)        sequence.erase(s, place)
 *    sequence.insert(s, value, place)   places count from the end where they are negative
 *    sequence.concat(s, axis, stacks)   along an axis; a new one where `stacks` is not 0
 *    sequence.split(x, sizes, axis, keeps)   sizes: a vector, or one size for all (the last part
 *                                       may be smaller); without the axis where `keeps` is 0
 *    optional.has(o)  optional.get(o)   value.none()
 *    value.narrow(x, extent, ...)       x, which must be a tensor of these extents; -1: any
 *    value.squeeze(x)                   x without its axes of extent 1
 *
 * Their errors: TypeError for a value of another kind, IndexError for a place that is out of range,
 * ValueError for tensors that do not fit together. */
TN_API tn_vm_value_fn tn_vm_value_function(const char *name);
/** Calls one for a caller without a machine: numbers in the result become tensors. */
TN_API int tn_vm_value_call(tn_vm_value_fn f, const tn_any *args, int32_t n, tn_any *ret);

#endif /* TN_RUNTIME_VM_VALUES_H_ */
