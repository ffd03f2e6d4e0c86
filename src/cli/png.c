/* libpng's interface for whole images: it checks all lengths, and bounds what compressed chunks
   may become. The extents are compared with a limit before there is memory for the samples. */
#include "cli/png.h"

#include <string.h>

#include "base/error.h"

bool cli_is_png(const void *data, size_t n) {
  return n >= 8 && memcmp(data, "\x89PNG\r\n\x1a\n", 8) == 0;
}

#ifdef TN_HAVE_PNG

#include <png.h>

static int format_of(int channels) {
  return channels == 1 ? PNG_FORMAT_GRAY : channels == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_RGBA;
}

/* After the header is read. */
static int decode(const char *path, png_image *image, cli_image *out) {
  TN_CHECK((int64_t)image->width * image->height <= CLI_MAX_PIXELS, ValueError, NULL,
           "%s: an image of %u x %u, more than %d pixels", path, (unsigned)image->width,
           (unsigned)image->height, CLI_MAX_PIXELS);
  image->flags |= PNG_IMAGE_FLAG_16BIT_sRGB; /* 16 bits are finer steps of the same, not light */
  image->format = (png_uint_32)format_of(out->channels);
  out->width = image->width;
  out->height = image->height;
  tn_buf_pad(&out->samples, '\0', PNG_IMAGE_SIZE(*image)); /* zero: the black behind */
  TN_TRY(tn_buf_ok(&out->samples));
  TN_CHECK(png_image_finish_read(image, NULL, out->samples.data, 0, NULL), ValueError, NULL,
           "%s: a damaged image: %s", path, image->message);
  return 0;
}

int cli_png_read(const char *path, const void *data, size_t n, int channels, cli_image *out) {
  png_image image = {.version = PNG_IMAGE_VERSION};
  *out = (cli_image){.channels = channels};
  TN_CHECK(png_image_begin_read_from_memory(&image, data, n), ValueError, NULL,
           "%s: not an image in PNG format: %s", path, image.message);
  int err = decode(path, &image, out);
  png_image_free(&image);
  return err;
}

#else

int cli_png_read(const char *path, const void *data, size_t n, int channels, cli_image *out) {
  (void)data, (void)n;
  *out = (cli_image){.channels = channels};
  return TN_RAISE(ValueError, NULL,
                  "%s is an image, and this command was built without libpng (libpng-dev): save it "
                  "as an array with numpy.savez",
                  path);
}

#endif
