/* Hooks of convolutions for passes. */
#ifndef TN_OPS_NN_CONV_H_
#define TN_OPS_NN_CONV_H_

#include "relay/layouts.h"

/** A convolution takes and gives the layouts that its attributes name. */
TN_API int ops_layouts_conv(relay_layouts *q);
/** nn.conv2d with its channels in blocks, as the kernels of the current target want them. */
TN_API void *ops_alter_conv2d(const relay_replace *r);

#endif /* TN_OPS_NN_CONV_H_ */
