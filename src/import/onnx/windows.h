/* Windows that slide over spatial axes: what convolutions and pooling of ONNX have in common. */
#ifndef TN_IMPORT_ONNX_WINDOWS_H_
#define TN_IMPORT_ONNX_WINDOWS_H_

#include "import/onnx/import.h"

enum { OC_MAX_SPATIAL = 3 };

typedef struct {
  int n; /* spatial axes, the last ones of input 0 */
  int64_t kernel[OC_MAX_SPATIAL], strides[OC_MAX_SPATIAL], dilations[OC_MAX_SPATIAL];
  int64_t pads[2 * OC_MAX_SPATIAL]; /* before all axes, then after them */
  /* The border depends on extents that are known at run time only (auto_pad with steps): `pads` are
     0, and oc_window_border makes it. */
  enum { OC_PADS_KNOWN, OC_PADS_UPPER, OC_PADS_LOWER } border;
} oc_window;

/** Reads the attributes. @param weight the input whose extents are the kernel's, -1: the attribute
 * kernel_shape has them. 0 or -1 with ValueError, OpNotImplemented. */
int oc_read_window(const oc *c, int weight, oc_window *w);
/** An attribute kernel_shape that is not what the weight has: see oc_suspect. */
int oc_suspect_kernel(const oc *c, int weight, const oc_window *w);
/** Windows that do not fit into the data and its border: 0 or -1 with ValueError. */
int oc_check_room(const oc *c, const oc_window *w);
/** A list attribute of n numbers from `least` on. 0 or -1 with ValueError. */
int oc_read_sizes(const oc *c, const char *name, int64_t n, int64_t absent, int64_t least,
                  int64_t *out);
/** Elements that a window reaches over along axis i. */
static inline int64_t oc_window_reach(const oc_window *w, int i) {
  return (w->kernel[i] - 1) * w->dilations[i] + 1;
}
/** x, which has the shape of input 0, with the border that is made at run time; x itself where
 * there is none. @param value a scalar of its type */
void *oc_window_border(const oc *c, const oc_window *w, void *x, void *value);
/** n numbers as the value of an attribute. */
static inline tn_any oc_list(const int64_t *v, int n) { return tn_any_obj(relay_ints(v, n)); }

#endif /* TN_IMPORT_ONNX_WINDOWS_H_ */
