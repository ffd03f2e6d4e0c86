/* Hooks of convolutions for passes. */
#ifndef TN_OPS_NN_CONV_H_
#define TN_OPS_NN_CONV_H_

#include "relay/layouts.h"

/** A convolution takes and gives the layouts that its attributes name. */
TN_API int ops_layouts_conv(relay_layouts *q);
/** nn.conv2d with its channels in blocks, as the kernels of the current target want them. */
TN_API void *ops_alter_conv2d(const relay_replace *r);
/** nn.conv2d whose number of channels does not fill vectors, with more of them, which are cut off.
 */
TN_API void *ops_whole_conv2d(const relay_replace *r);
/** nn.conv2d_transpose as an ordinary convolution that computes all places of a step as channels,
 * and these laid out as places (nn.depth_to_space). */
TN_API void *ops_legalize_conv2d_transpose(const relay_replace *r);
/** A convolution, transposed ones too, in the layouts of data and weight that are wanted. */
TN_API void *ops_convert_conv(const relay_replace *r);

#endif /* TN_OPS_NN_CONV_H_ */
