/* Images in PNG files, read by libpng. */
#ifndef TN_CLI_PNG_H_
#define TN_CLI_PNG_H_

#include <stdint.h>

#include "base/buf.h"

enum { CLI_MAX_PIXELS = 1 << 26 };

typedef struct {
  int64_t width, height;
  int channels;   /* 1 grey, 3 red green blue, 4 with opacity */
  tn_buf samples; /* height x width x channels bytes, 0 to 255 */
} cli_image;

/** Do the bytes begin as a PNG file does? */
bool cli_is_png(const void *data, size_t n);
/** Decodes a PNG file, of whatever kind, to 8 bits a sample; what is transparent lies on black
 *  where opacity is not asked for.
 *  @param path names it in messages @param channels 1, 3 or 4
 *  @param out its samples end with tn_buf_fini, also after an error
 *  @return 0, or -1: ValueError when it is damaged, has more than CLI_MAX_PIXELS, or the command
 *  was built without libpng */
int cli_png_read(const char *path, const void *data, size_t n, int channels, cli_image *out);

#endif /* TN_CLI_PNG_H_ */
