/* Images as inputs of models. */
#ifndef TN_CLI_IMAGE_H_
#define TN_CLI_IMAGE_H_

#include "cli/cli.h"

enum { CLI_MAX_CHANNELS = 4 };

/* What --scale, --mean, --std and --resize say. */
typedef struct {
  double scale; /* negative: 1/255 for floating point, 1 for integers */
  double mean[CLI_MAX_CHANNELS], std[CLI_MAX_CHANNELS];
  int nmean, nstd; /* 0, 1, or one for each channel */
  bool resize;
} cli_image_options;

int cli_image_options_read(const cli_args *a, cli_image_options *out);

/** Writes a PNG file into a tensor of the CPU: (sample * scale - mean) / std, rounded for integers.
 *  @param path, data, n the file @param name the input, for messages
 *  @param t compact, of 2 dimensions [H, W], 3 [C, H, W] or [H, W, C], or 4 with a batch before;
 *  C is 1, 3 or 4
 *  @param i which image of the batch
 *  @return 0, or -1: ValueError when the tensor is not that of an image, the image has other extents
 *  and is not to be resized, or a number does not fit into an integer type */
int cli_image_put(const cli_image_options *o, const char *path, const void *data, size_t n,
                  const char *name, const DLTensor *t, int64_t i);
/** How many images a tensor holds. */
int64_t cli_image_batch(const DLTensor *t);

#endif /* TN_CLI_IMAGE_H_ */
