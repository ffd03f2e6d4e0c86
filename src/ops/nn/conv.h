/* Hooks of convolutions for passes. */
#ifndef TN_OPS_NN_CONV_H_
#define TN_OPS_NN_CONV_H_

#include "kernels/layout_choice.h"
#include "relay/layouts.h"

/** A convolution takes and gives the layouts that its attributes name. */
TN_API int ops_layouts_conv(relay_layouts *q);
/** nn.conv1d, nn.conv2d, nn.conv3d with channels in blocks, as the kernels of the current target
 * want them. */
TN_API void *ops_alter_conv(const relay_replace *r);
/** What a convolution of plain layouts computes. @return 1, 0 where it is not one that kernels
 * know, -1 error */
int ops_conv2d_problem(const relay_replace *r, kernel_conv2d *p);
/** Results along an axis of the tiles by which the kernels of the machine compute it best, which
 * give exact sums of int8; 0: directly, -1 with an error. @param b its blocks */
int ops_conv2d_tile(const relay_replace *r, const target_machine *m, const kernel_conv2d *p,
                    const kernel_conv2d_blocks *b);
/** The same by tiles, its channels in blocks of this length. */
void *ops_conv2d_by_tiles(const relay_replace *r, int tile, int64_t block);
/** nn.conv2d with data and weight of bfloat16, where relay.backend.precision allows it. */
TN_API void *ops_relax_conv2d(const relay_replace *r);
/** One of bfloat16 with sums of float32 in the layout for matrix registers; NULL without an error
 * where it is none, or the machine has none. */
void *ops_conv2d_bf16(const relay_replace *r, const target_machine *m, const kernel_conv2d *p);
/** Does it have the layouts NCHW and OIHW? */
bool ops_is_oihw(const relay_replace *r);
/** Are data and weight int8, and the sums int32? */
bool ops_is_conv2d_int8(const relay_replace *r);
/** The largest size of a sum of products of int8, data of any value with the constant weights
 * OIHW. @return 1, 0 where these are not known, -1 error */
int ops_largest_sum(const relay_replace *r, double *out);
/** Those of few channels, whose sums floats hold, as convolutions of floats where these are faster;
 * else the call as it is. */
void *ops_conv2d_int8_in_floats(const relay_replace *r);
/** The same in the layout in which the current target sums up products of int8. */
void *ops_alter_conv2d_int8(const relay_replace *r);
/** A convolution whose number of channels does not fill vectors, with more of them, which are cut
 * off. */
TN_API void *ops_whole_conv(const relay_replace *r);
/** A convolution without the rows and columns of its kernel that see nothing but the border. */
TN_API void *ops_legalize_conv(const relay_replace *r);
/** A transposed convolution as an ordinary one that computes all places of a step as channels, and
 * these laid out as places (nn.depth_to_space). */
TN_API void *ops_legalize_conv_transpose(const relay_replace *r);
/** A convolution, transposed ones too, in the layouts of data and weight that are wanted. */
TN_API void *ops_convert_conv(const relay_replace *r);

#endif /* TN_OPS_NN_CONV_H_ */
