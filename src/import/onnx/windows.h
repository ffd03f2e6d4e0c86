/* Windows that slide over spatial axes: what convolutions and pooling of ONNX have in common. */
#ifndef TN_IMPORT_ONNX_WINDOWS_H_
#define TN_IMPORT_ONNX_WINDOWS_H_

#include "import/onnx/import.h"

enum { ONNX_MAX_SPATIAL = 3 };

typedef struct {
  int n; /* spatial axes, the last ones of input 0 */
  int64_t kernel[ONNX_MAX_SPATIAL], strides[ONNX_MAX_SPATIAL], dilations[ONNX_MAX_SPATIAL];
  int64_t pads[2 * ONNX_MAX_SPATIAL]; /* before all axes, then after them */
  /* The border depends on extents that are known at run time only (auto_pad with steps): `pads` are
     0, and onnx_window_border makes it. */
  enum { ONNX_PADS_KNOWN, ONNX_PADS_UPPER, ONNX_PADS_LOWER } border;
} onnx_window;

/** Reads the attributes. @param weight the input whose extents are the kernel's, -1: the attribute
 * kernel_shape has them. 0 or -1 with ValueError, OpNotImplemented. */
int onnx_read_window(const onnx_ctx *c, int weight, onnx_window *w);
/** An attribute kernel_shape that is not what the weight has: see onnx_suspect. */
int onnx_suspect_kernel(const onnx_ctx *c, int weight, const onnx_window *w);
/** Windows that do not fit into the data and its border: 0 or -1 with ValueError. */
int onnx_check_room(const onnx_ctx *c, const onnx_window *w);
/** A list attribute of n numbers from `least` on. 0 or -1 with ValueError. */
int onnx_read_sizes(const onnx_ctx *c, const char *name, int64_t n, int64_t absent, int64_t least,
                    int64_t *out);
/** Elements that a window reaches over along axis i. */
static inline int64_t onnx_window_reach(const onnx_window *w, int i) {
  return (w->kernel[i] - 1) * w->dilations[i] + 1;
}
/** x, which has the shape of input 0, with the border that is made at run time; x itself where
 * there is none. @param value a scalar of its type */
void *onnx_window_border(const onnx_ctx *c, const onnx_window *w, void *x, void *value);
/** n numbers as the value of an attribute. */
static inline tn_any onnx_list(const int64_t *v, int n) { return tn_any_obj(relay_ints(v, n)); }

#endif /* TN_IMPORT_ONNX_WINDOWS_H_ */
