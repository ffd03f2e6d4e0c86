/* How long blocks of channels are (see layout_choice.h).

   The block of a number of channels depends on that number alone, so that what one operator writes
   is what the next one reads. It is a vector where channels divide into vectors, else the largest
   power of two that divides them; channels that do not even divide into quarters of a vector stay
   without blocks: data is then read channel by channel, and only the result is in blocks. */
#include "kernels/layout_choice.h"

#include "base/error.h"
#include "ir/imm.h"
#include "ir/pass.h"

bool kernels_machine(target_machine *out) {
  return target_machine_current(out) && out->vector_bytes > 0;
}

bool kernels_machine_is_scalar(void) {
  target_machine m;
  return target_machine_current(&m) && m.vector_bytes == 0;
}

enum { BYTES_IN_A_LANE = 4 }; /* of a sum of 32 bits */
enum { FEW_CHANNELS = 4 };    /* of an image: read one by one, whatever the layout */

/* More channels make the convolution faster that computes them, which has fewer vectors, and those
   slower that read them: the sum of both factors, which is 2 where nothing changes, must be below.
 */
static const double GAIN = 1.9;
enum { MANY_VECTORS = 9 }; /* of which one more costs less than a tile of one vector at a time */

static int64_t lanes_of(const target_machine *m, tn_dtype t) {
  return t.bits ? m->vector_bytes * 8 / t.bits : 0;
}

static int64_t block_of(int64_t lanes, int64_t channels) {
  for (int64_t b = lanes; b > 1 && b * 4 >= lanes; b /= 2)
    if (channels % b == 0) return b;
  return 0;
}

/* For matrix registers: halves of them, where that adds less than a third. */
static int64_t whole_tiles(const target_machine *m, int64_t channels) {
  enum { HALF = 32 };
  int64_t whole = (channels + HALF - 1) / HALF * HALF;
  return m->int8 == MACHINE_INT8_TILES && 3 * whole < 4 * channels ? whole : 0;
}

/* Rows of matrix registers hold 32 values of bfloat16; half a row takes as long. */
enum { TILE_ROW = 32, HALF_ROW = 16 };

/* Channels for matrix registers: whole rows, or half ones where those would be too many. */
static int64_t whole_rows(int64_t channels) {
  int64_t whole = (channels + TILE_ROW - 1) / TILE_ROW * TILE_ROW;
  if (3 * whole <= 4 * channels) return whole;
  return (channels + HALF_ROW - 1) / HALF_ROW * HALF_ROW;
}

int64_t kernels_whole_channels(const target_machine *m, tn_dtype t, int64_t channels) {
  bool bytes = ir_is_integral(t);
  int64_t lanes = lanes_of(m, bytes ? TN_I32 : t), best = channels, least = INT64_MAX;
  if (bytes && !m->dots) return channels;
  if (bytes && whole_tiles(m, channels)) return whole_tiles(m, channels);
  if (m->bf16 == MACHINE_BF16_TILES && kernels_is_relaxed() > 0 && tn_dtype_eq(t, TN_F32) &&
      channels >= HALF_ROW / 2)
    return whole_rows(channels);
  int64_t block = lanes < 4 ? lanes : block_of(lanes, channels);
  if (lanes < 4 || block == lanes) return channels;
  if (block) {
    int64_t whole = (channels + lanes - 1) / lanes * lanes;
    if (whole >= MANY_VECTORS * lanes && whole / lanes % 2) whole += lanes;
    double vectors = (double)(whole / lanes) / (double)(channels / block);
    double read = (double)whole / (double)channels;
    return vectors + read < GAIN ? whole : channels;
  }
  for (int64_t b = lanes; b > 1 && b * 4 >= lanes; b /= 2) {
    int64_t vectors = (channels + b - 1) / b;
    if (vectors <= least) best = vectors * b, least = vectors;
  }
  return best;
}

/* For matrix registers channels are in blocks of a whole row of one, or of half a row; 0: they are
   not. */
static int64_t tile_block(const target_machine *m, int64_t channels) {
  enum { ROW = 64, MIN = 32 };
  for (int64_t b = ROW; b >= MIN && m->int8 == MACHINE_INT8_TILES; b /= 2)
    if (channels % b == 0) return b;
  return 0;
}

static int64_t int8_block(const target_machine *m, int64_t channels) {
  int64_t b = tile_block(m, channels);
  return b ? b : block_of(lanes_of(m, TN_I32), channels);
}

bool kernels_widens_int8(const target_machine *m) {
  return m->dots && m->int8 == MACHINE_INT8_PAIRS;
}

/* int8: blocks as long as those of the sums, or rows of matrix registers. Channels are read in
   groups that share a lane. */
static bool blocks_of_int8(const target_machine *m, const kernel_conv2d *p,
                           kernel_conv2d_blocks *out) {
  bool depthwise = p->groups == p->in && p->in > 1;
  int64_t groups = depthwise ? 1 : p->groups;
  *out = (kernel_conv2d_blocks){.in = int8_block(m, p->in / groups),
                                .out = int8_block(m, p->out / groups),
                                .group = depthwise                ? 1
                                         : kernels_widens_int8(m) ? 2
                                                                  : BYTES_IN_A_LANE};
  if (p->groups == 1 && out->in == 0 && p->in % BYTES_IN_A_LANE == 0) out->in = BYTES_IN_A_LANE;
  out->kernel_out = out->out;
  return m->dots && out->out && out->in && out->in % out->group == 0;
}

int64_t kernels_tile_pixels(int64_t width) {
  enum { ROWS = 16 };
  for (int64_t n = width < ROWS ? width : ROWS; n > 1; --n)
    if (width % n == 0) return n;
  return 1;
}

static int64_t block_of_bf16(int64_t channels) {
  return channels % TILE_ROW == 0 ? TILE_ROW : channels % HALF_ROW == 0 ? HALF_ROW : 0;
}

/* bfloat16: for matrix registers, or channel by channel in the same blocks. */
static bool blocks_of_bf16(const target_machine *m, const kernel_conv2d *p,
                           kernel_conv2d_blocks *out) {
  enum { PAIR = 2, MIN_PIXELS = 1024 /* of an image, that more channels pay */ };
  bool depthwise = p->groups == p->in && p->in > 1;
  *out = (kernel_conv2d_blocks){
      .in = block_of_bf16(p->in), .out = block_of_bf16(p->out), .group = depthwise ? 1 : PAIR};
  out->kernel_out = out->out;
  out->image = p->in <= FEW_CHANNELS && p->groups == 1 && p->dilation[1] == 1 &&
               p->kernel[1] * FEW_CHANNELS <= TILE_ROW && p->size[0] * p->size[1] >= MIN_PIXELS;
  if (out->image) out->in = FEW_CHANNELS;
  return m->bf16 == MACHINE_BF16_TILES && (p->groups == 1 || depthwise) && out->in && out->out;
}

int kernels_is_relaxed(void) {
  const tn_PassContext *ctx = ir_pass_ctx_current();
  if (!ctx) return -1;
  const tn_str *s = TN_AS(String, ir_config_get(ctx, "relay.backend.precision"));
  if (!s || tn_str_eq(s, "exact")) return 0;
  TN_CHECK(tn_str_eq(s, "relaxed"), ValueError, NULL,
           "relay.backend.precision: expected \"exact\" or \"relaxed\", got \"%s\"", tn_cstr(s));
  return 1;
}

int kernels_may_relax(const target_machine *m, bool narrow) {
  if (m->bf16 == MACHINE_BF16_NONE) return 0;
  return narrow ? 1 : kernels_is_relaxed();
}

bool kernels_conv2d_blocks(const target_machine *m, const kernel_conv2d *p,
                           kernel_conv2d_blocks *out) {
  int64_t lanes = lanes_of(m, p->dtype);
  if (ir_is_integral(p->dtype) && p->dtype.bits == 8) return blocks_of_int8(m, p, out);
  if (p->dtype.code == kDLBfloat && p->dtype.bits == 16) return blocks_of_bf16(m, p, out);
  out->group = 1;
  if (p->dtype.code != kDLFloat || p->dtype.bits != 32 || lanes < 4) return false;
  /* blocks must not reach into another group, unless every channel is one */
  int64_t groups = p->groups == p->in ? 1 : p->groups;
  out->in = p->groups == 1 && p->in <= FEW_CHANNELS ? 0 : block_of(lanes, p->in / groups);
  out->out = out->kernel_out = block_of(lanes, p->out / groups);
  return out->out && (out->in || p->groups == 1);
}
