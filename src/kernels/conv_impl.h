/* What the classes of convolutions share: which axis of a stage plays which part, and how a tile of
   the result is laid over the vector registers. */
#ifndef TN_KERNELS_CONV_IMPL_H_
#define TN_KERNELS_CONV_IMPL_H_

#include "kernels/layout_choice.h"
#include "kernels/kernels_impl.h"
#include "tune/task.h"

/* A sum of products of data and weight, of which lanes run over channels of the result:

     out[n, oc, oh, ow, lane] +=
         data[n, ic, oh * s + kh * d, ow * s + kw * d, i] * weight[..., lane]

   or, without weight, the sum or the largest of data in a window.

   Numbers of axes of the stage; -1 where there is none. */
typedef struct {
  kernel_stage *st;
  const tn_BufferLoad *data, *weight; /* weight is NULL for poolings */
  const tn_Buffer *out;
  int lane;       /* the last spatial axis: neighbours in weight */
  int vectors;    /* spatial, next to `lane`: data does not depend on it */
  int row, col;   /* spatial, of the image; row is -1 with one image axis */
  int channel;    /* summed over, of the image's channels */
  bool depthwise; /* data depends on `lane`: each channel has its own kernels, or none */
  bool strided;   /* neighbouring columns read data that is not */
  bool open;      /* height, width or the number of images is dynamic */
  int64_t dot;    /* channels whose products share a lane: weight[..., lane, dot]; else 1 */
  int64_t block;  /* channels that are neighbours in data, or are read together */
} kernel_conv;

/* @return 1 the stage is one and all its extents are known, 0 it is none, -1 error */
int kernel_conv_of(kernel_conv *c, kernel_stage *st);
/* The same; height, width and the number of images may be dynamic. */
int kernel_open_conv_of(kernel_conv *c, kernel_stage *st);

/* A tile of the result: rows * cols pixels times `vectors` vectors of channels. */
typedef struct {
  int64_t rows, cols, vectors;
} kernel_conv_tile;

/* The tile of the least cost. */
kernel_conv_tile kernel_conv_choose_tile(const kernel_conv *c);
/* Cycles that all tiles of the result take, with operands in the first level of cache. */
double kernel_conv_cycles(const kernel_conv *c, const kernel_conv_tile *t);

/* How the work is divided: the groups of vectors in `chunks` parts, the rows of an image in `bands`
   of equal height. */
typedef struct {
  int64_t chunks, bands;
  bool parallel;
  bool fetch; /* the weights of a group are fetched while those of the one before are used */
} kernel_conv_parts;
/* The tile and the division that take least together. */
kernel_conv_tile kernel_conv_choose(const kernel_conv *c, kernel_conv_parts *parts);

/* The division of the work into parts that costs least with a tile. @return cycles */
double kernel_conv_divide(const kernel_conv *c, const kernel_conv_tile *t,
                          kernel_conv_parts *parts);

/* Asks whether something better is known than what the rules chose (conv_tune.c). */
int kernel_conv_tune(const kernel_conv *c, kernel_conv_tile *tile, kernel_conv_parts *parts);
/* The same of a depthwise one. @param band rows of tiles in a band; 0 afterwards where the tile is
   another one, for which nothing is known */
int kernel_conv_tune_depthwise(const kernel_conv *c, kernel_conv_tile *tile, int64_t *band);
/* What records know a convolution by. @param weight, result their types */
void kernel_conv_workload(tune_task *t, const kernel_conv2d *p, const int64_t out[2],
                          tn_dtype weight, tn_dtype result);

/* The loops around and in a tile, and where its neighbours go (conv_nest.c). */
enum { CONV_MAX_LOOPS = 2 * KERNEL_MAX_AXES + 8 };
typedef struct {
  kernel_conv conv;
  kernel_conv_tile tile;
  tn_LoopRV *outer[CONV_MAX_LOOPS], *inner[CONV_MAX_LOOPS]; /* down to the tile; in the tile */
  int nouter, ninner;
  int nband;       /* outer loops down to the one that borders are made for */
  tn_LoopRV *band; /* of the bands of rows, NULL: there is but one */
  tn_LoopRV *sum;  /* the first loop of the sums */
  tn_LoopRV *dot;  /* the channels that share a lane; NULL: each has its own */
} conv_nest;

/* Can the lanes of a result position be whole vectors? */
bool conv_has_vectors(const kernel_conv *c);
/* Splits off `factor` inner iterations; a factor of 1 gives no inner loop (NULL). */
int conv_cut(conv_nest *d, tn_LoopRV **loop, int64_t factor, tn_LoopRV **inner);
/* Appends a loop, if it is one. */
void conv_add(tn_LoopRV **list, int *n, tn_LoopRV *loop);
int conv_mark(const conv_nest *d, tn_LoopRV *loop, tir_for_kind kind);
/* Code of its own for the last part of a loop. */
int conv_partition(const conv_nest *d, tn_LoopRV *loop);
/* Loops of a tile: all unrolled, the lanes a vector. */
int conv_unroll_tile(const conv_nest *d, tn_LoopRV *lanes);
/* The first n outer loops become one that is parallel; before borders are placed, since two parts
   may write the same rows of one, each for itself. */
int conv_parallel(conv_nest *d, int n);
/* The block that takes the tile from the registers: the one reader, or a copy. */
tn_BlockRV *conv_find_store(const conv_nest *d);
int conv_place_store(const conv_nest *d, tn_BlockRV *store);
/* The loops of direct and depthwise convolutions around a tile, with what takes it from the
   registers. `parallel`: of the first loops. @param height rows of tiles in a band of a depthwise
   one, shared: bands are the outermost loop */
int conv_direct_nest(conv_nest *d, const kernel_conv_parts *parts, tn_BlockRV *store);
int conv_depthwise_nest(conv_nest *d, bool shared, int64_t height, bool parallel,
                        tn_BlockRV *store);
kernel_conv_tile conv_depthwise_tile(const kernel_conv *c);
/* Can the classes do it? */
bool conv_is_direct(const kernel_conv *c);
bool conv_is_depthwise(const kernel_conv *c);
/* Loops of the block that copies data and its border, from number `first` on. */
int conv_arrange_copy(const conv_nest *d, const tn_BlockRV *rv, int64_t first);
/* Data with its border is made for each band, so that it stays in cache. */
int conv_place_border(const conv_nest *d);

static inline int64_t kernel_extent(const kernel_conv *c, int axis) {
  return axis < 0 ? 1 : c->st->axis[axis].extent;
}

#endif /* TN_KERNELS_CONV_IMPL_H_ */
