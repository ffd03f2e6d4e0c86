/* Whether a convolution should use the Winograd algorithm, and with which tiles.

   Time is that of the multiply-adds at the rate that kernels reach, that of weights, which the rest
   of a network has driven out of the caches of the core, and that of what is written and read again
   in between. A tile of m x m results takes (m + 2)^2 products instead of 9 m^2, and as many times
   the weights of one place. The rule was checked against measured times of kernels (64 to 512
   channels, 56 x 56 to 7 x 7 pixels), within networks; rates are those of target/machine_cost.h.

   int8 whose products are those of pairs of 16 bits takes as long: two instructions, of which two
   start in a cycle, for a pair in each lane. */
#include "base/error.h"
#include "ir/imm.h"
#include "kernels/layout_choice.h"
#include "kernels/conv_impl.h"
#include "target/machine_cost.h"

static double cycles(const target_machine *m, const kernel_conv2d *p, const int64_t out[2],
                     int tile) {
  int side = tile ? tile + 2 : 3, step = tile ? tile : 1;
  double places = side * side;
  double tiles = (double)(p->batch * ((out[0] + step - 1) / step) * ((out[1] + step - 1) / step));
  double weights = places * (double)p->in * (double)p->out;
  double bytes = ir_is_integral(p->dtype) ? 2 : 4; /* of operands; products always have 4 */
  double time = machine_conv_cycles(m, tiles * weights);
  /* half of the rate: the kernels compute meanwhile */
  time += 2 * machine_stream_cycles(m, weights * bytes, MACHINE_FAR);
  if (tile)
    time +=
        2 * machine_copy_cycles(m, tiles * places * ((double)p->in * bytes + (double)p->out * 4));
  return time / m->threads;
}

/* The tile that a record says, where there is one. */
static int tuned(const kernel_conv2d *p, const int64_t out[2], int best, int most) {
  tune_task t = {0};
  if (ir_is_integral(p->dtype)) return best;
  kernel_conv_workload(&t, p, out, p->dtype, p->dtype);
  tune_knob *k = tune_task_knob(&t, "winograd", best);
  for (int tile = 0; tile <= most; tile += 2) tune_knob_may(k, tile);
  int err = tune_task_ask(&t, NULL, NULL);
  tune_task_fini(&t);
  return err ? -1 : (int)k->value;
}

int kernels_conv2d_tile(const target_machine *m, const kernel_conv2d *p, const int64_t out[2],
                        int most) {
  int64_t lanes = m->vector_bytes / 4;
  bool pairs = ir_is_integral(p->dtype) && p->dtype.bits == 8 && kernels_widens_int8(m);
  bool fits = p->groups == 1 && (pairs || tn_dtype_eq(p->dtype, TN_F32)) && lanes >= 4 &&
              p->batch > 0 && p->in % lanes == 0 && p->out % lanes == 0 && out[0] > 0 && out[1] > 0;
  for (int i = 0; i < 2; ++i)
    fits = fits && p->kernel[i] == 3 && p->stride[i] == 1 && p->dilation[i] == 1;
  if (!fits) return 0;
  int best = 0;
  double least = 0.9 * cycles(m, p, out, 0); /* a tenth is what a less exact result must gain */
  for (int tile = 2; tile <= most; tile += 2) {
    double time = cycles(m, p, out, tile);
    if (time < least) best = tile, least = time;
  }
  return tuned(p, out, best, most);
}
