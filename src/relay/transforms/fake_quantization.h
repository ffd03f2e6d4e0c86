/* What the files of FakeQuantizationToInteger share. */
#ifndef TN_RELAY_TRANSFORMS_FAKE_QUANTIZATION_H_
#define TN_RELAY_TRANSFORMS_FAKE_QUANTIZATION_H_

#include "relay/op.h"
#include "relay/transforms/transforms.h"

/* dequantize(x, scale, zero) with constants, as an expression of floats stands for it. */
typedef struct {
  void *x, *scale, *zero;
  const tn_TensorType *type; /* of x */
  int64_t axis;              /* along which scales lie */
  bool one;                  /* one scale and zero point for all: s, z */
  double s, z;
} fq_view;

/* Is the expression one? */
bool fq_view_of(const void *e, fq_view *v);
/* dequantize(x, scale, zero): what a rule gives. */
void *fq_stands_for(void *x, void *scale, void *zero, int64_t axis);
/* The rule of the program for the operator. @return 1, and *made as rules give it (NULL: it does not
   apply); 0: there is none; -1: error */
int fq_ask_hook(const tn_RelayCall *c, void **made);
/* A quantize as arithmetic of integers; NULL without an error where it must stay. */
void *fq_finish(const tn_RelayCall *quantize);

#endif /* TN_RELAY_TRANSFORMS_FAKE_QUANTIZATION_H_ */
