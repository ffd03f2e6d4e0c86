/* The layouts that kernels want, chosen before a program is made: how long the blocks of channels
   are.

   One function for each kind of operator, from the machine and the problem; everything that packs
   weights or splits channels asks here. */
#ifndef TN_KERNELS_LAYOUT_CHOICE_H_
#define TN_KERNELS_LAYOUT_CHOICE_H_

#include "kernels/kernels.h"

/** The machine of the current target. False when no target is current or it is not a processor with
 * vectors. */
TN_API bool kernels_machine(target_machine *out);
/** Is it a processor without vectors, or one whose compiler finds them? */
TN_API bool kernels_machine_is_scalar(void);

/** A convolution of images; extents that are not constant are -1. `groups` divides the channels of
 * data and result; in a depthwise one it is their number. */
typedef struct {
  tn_dtype dtype; /**< of data, weight and result; of int8: of data and weight */
  int64_t batch, in, out, groups;
  int64_t size[2], kernel[2], stride[2], dilation[2]; /**< height, width */
} kernel_conv2d;

/** Does relay.backend.precision allow less exact results? @return 1, 0, -1 with an error */
TN_API int kernels_is_relaxed(void);
/** Whether dense layers and convolutions may have products of bfloat16 with sums of float32, and
 * the machine has some. @param narrow operands are bfloat16 anyway; else relay.backend.precision
 * says
 * @return 1, 0, -1 with an error */
TN_API int kernels_may_relax(const target_machine *m, bool narrow);

/** Blocks: data is NCHW[in]c (`in` 0: it stays without blocks), the result NCHW[out]c, the weight
 * OIHW[in]i[kernel_out]o; of int8, whose results are int32, and bfloat16, whose results are
 * float32, OIHW[kernel_out]o[group]i. */
typedef struct {
  int64_t in, out, kernel_out, group;
  bool image; /**< of few channels, which get zeros up to `in`, as bfloat16, and the border of
                      the image; the weight is OHWI[kernel_out]o[group]i */
} kernel_conv2d_blocks;
/** Are convolutions of int8 best given both operands as int16, two of which share a lane? Without
 * an instruction for int8 that saves splitting them for each product. */
TN_API bool kernels_widens_int8(const target_machine *m);
/** The number of channels, at least `channels`, that a convolution best computes: one that has
 * blocks, of whole vectors where that is a gain; `channels` itself when kernels for the machine
 * have none. @param t of data and weight */
TN_API int64_t kernels_whole_channels(const target_machine *m, tn_dtype t, int64_t channels);
/** Pixels of a line that a tile of matrix registers holds: all tiles of a line are alike. */
TN_API int64_t kernels_tile_pixels(int64_t width);
/** @return whether blocks are a gain */
TN_API bool kernels_conv2d_blocks(const target_machine *m, const kernel_conv2d *p,
                                  kernel_conv2d_blocks *out);

/** Results along an axis of the tiles in which the Winograd algorithm computes a convolution best
 * (nn.contrib_conv2d_winograd_NCHWc): 2, 4; 0: directly. @param out height and width of the result
 * @param most the largest that is allowed: 4, or 2 where results must be as exact
 * @return -1 with an error of a source of records */
TN_API int kernels_conv2d_tile(const target_machine *m, const kernel_conv2d *p,
                               const int64_t out[2], int most);

#endif /* TN_KERNELS_LAYOUT_CHOICE_H_ */
