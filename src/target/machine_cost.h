/* What work costs on a processor, in cycles of one core: the one model that kernels and passes ask
   when they choose between tiles, algorithms and ways to divide the work. Rates are those of the
   processor's row (CPU_RATES in cpus.def); what the model decides for well-known problems stands in
   tests/golden/tiles.

   The time of a kernel is that of its multiply-adds and that of the bytes that it moves, added: a
   core that computes waits for part of what it reads, and what it does not wait for is not counted
   by the callers. */
#ifndef TN_TARGET_MACHINE_COST_H_
#define TN_TARGET_MACHINE_COST_H_

#include "target/machine.h"

typedef struct machine_rates {
  int fmas;         /**< vectors of multiply-adds that start in a cycle */
  int in_flight;    /**< multiply-adds that keep its units busy */
  int conv_percent; /**< of the multiply-adds that could start, those that convolutions reach */
  int depthwise_percent;   /**< and depthwise ones, which load a vector for each */
  int l2_bytes, far_bytes; /**< in a cycle, from the second level of cache, from behind it */
  int shared_bytes;        /**< from behind it, where all cores read the same meanwhile */
  int remote_bytes;        /**< of what another core has written */
  int copy_bytes;          /**< written and read again within the second level */
  int wake_cycles;         /**< that waking a thread may cost */
} machine_rates;

/** Where bytes come from. */
typedef enum { MACHINE_L2, MACHINE_FAR, MACHINE_SHARED, MACHINE_REMOTE } machine_level;

/** The rates of a processor by its name, "" where that is not known; borrowed, for good. */
const machine_rates *machine_rates_named(const char *cpu);
/** The rates of a machine; borrowed, for good. */
TN_API const machine_rates *machine_rates_of(const target_machine *m);
/** Cycles of the multiply-adds of a convolution or product of matrices, in vectors of elements of
 * 32 bits. @param n multiply-adds of one element each */
TN_API double machine_conv_cycles(const target_machine *m, double n);
/** The same of a depthwise convolution. */
TN_API double machine_depthwise_cycles(const target_machine *m, double n);
/** Cycles until bytes have come from a level. */
TN_API double machine_stream_cycles(const target_machine *m, double bytes, machine_level from);
/** Cycles of bytes that are written and read again within the second level of cache. */
TN_API double machine_copy_cycles(const target_machine *m, double bytes);
/** Is the work so little that a second thread does not pay? @param cycles of all of it */
TN_API bool machine_is_little_work(const target_machine *m, double cycles);

#endif /* TN_TARGET_MACHINE_COST_H_ */
