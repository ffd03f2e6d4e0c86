/* Loops whose number of iterations is known at run time only: functions that call themselves. */
#ifndef TN_IMPORT_ONNX_DYNAMIC_LOOP_H_
#define TN_IMPORT_ONNX_DYNAMIC_LOOP_H_

#include "import/onnx/import.h"

/** The expressions of one iteration. @param index int64 scalar, or a vector of one number where
 *  iterations come in chunks @param states one for each state, typed
 *  @return array: with a condition, whether another iteration follows (bool scalar); the next
 *  states; the elements that are collected. NULL with an error */
typedef tn_arr *(*onnx_step)(void *ctx, void *index, void *const *states);

typedef struct {
  void *count;   /* iterations, int64 scalar; NULL: as long as the condition holds */
  void *going;   /* is there a first iteration? NULL: there is no condition */
  void **states; /* before the first iteration, typed */
  int64_t nstates, ncollected;
  bool chunks; /* many iterations are worth while in a row: they are small, and have no condition */
  onnx_step step;
  void *ctx;
} onnx_loop;

/** The loop: the tuple of the states after the last iteration and what was collected, on a new
 * first axis. Extents of states that change between iterations are dynamic. NULL with an error. */
void *onnx_run_loop(const onnx_ctx *c, const onnx_loop *t);

#endif /* TN_IMPORT_ONNX_DYNAMIC_LOOP_H_ */
