/* Evaluation of calls on constants, for the passes over Relay programs (relay/evaluate.h). */
#ifndef TN_DRIVER_EVALUATE_H_
#define TN_DRIVER_EVALUATE_H_

/** Tells relay/evaluate.h how; part of the start of the compiler. */
int driver_evaluate_init(void);

#endif /* TN_DRIVER_EVALUATE_H_ */
