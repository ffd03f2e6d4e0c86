/* Lowered schedules as text of hybrid script, the subset of Python that te.hybrid.script reads. */
#ifndef TN_TE_HYBRID_TEXT_H_
#define TN_TE_HYBRID_TEXT_H_

#include "tir/tir.h"

/** The program of a schedule (te_schedule_to_func, before any pass) as a function of hybrid script:
 *
 *     def name(a, n):
 *         b = output_tensor((n,), "float32")
 *         for i in range(n):
 *             b[i] = a[i] + float32(1)
 *         return b
 *
 * @param ninputs how many parameters of f are inputs; the others are buffers of outputs
 * @return owned by the scope, or NULL: ValueError for what hybrid script has no form for */
TN_API tn_str *te_hybrid_text(const tn_PrimFunc *f, int64_t ninputs, const char *name);

#endif /* TN_TE_HYBRID_TEXT_H_ */
