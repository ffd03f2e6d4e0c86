/* What a machine has, as far as code depends on it: vectors, registers, caches, instructions for
   products of small types. It follows from a target's options, or from this machine's processor
   where code is made for it.

   Everything that is known about a processor by name is its row in cpus.def. */
#ifndef TN_TARGET_MACHINE_H_
#define TN_TARGET_MACHINE_H_

#include "target/target.h"

/** Products of bfloat16 with sums of float32: none, of pairs that share a lane of a vector, or of
 * those and of matrices in registers (AMX). */
typedef enum { MACHINE_BF16_NONE, MACHINE_BF16_PAIRS, MACHINE_BF16_TILES } machine_bf16;

/** Products of int8 with sums of int32: widened to pairs of int16, four in one instruction where
 * one factor is unsigned (VNNI), or also matrices in registers (AMX). */
typedef enum { MACHINE_INT8_PAIRS, MACHINE_INT8_DOTS, MACHINE_INT8_TILES } machine_int8;

typedef struct {
  int vector_bytes;     /**< of a vector register: 64, 32, 16; 0: no vectors */
  int vector_registers; /**< 32, 16 */
  bool rows;            /**< without vectors, for a compiler that finds some in loops over rows */
  int threads;          /**< that kernels may use; 1: nothing is made parallel */
  int64_t l1, l2;       /**< bytes of cache a core has */
  bool dots;            /**< its code generator knows T.dot: sums of products of small numbers */
  machine_bf16 bf16;    /**< what it multiplies bfloat16 with */
  machine_int8 int8;    /**< and int8 */
  const struct machine_rates *rates; /**< for machine_cost.h; NULL: those of most processors */
  int block_threads; /**< of a device with blocks of threads; 0: it is a processor */
} target_machine;

/** The machine that a target's code runs on. */
TN_API target_machine target_machine_of(const tn_target *t);
/** The machine of the current target. False when no target is current or it is not a processor. */
TN_API bool target_machine_current(target_machine *out);
/** Has a processor the feature, by its name alone?  ("znver4", "avx512vnni")  =>  true.
 * @param feature as LLVM writes it, without a sign; one that cpus.def does not list is absent */
TN_API bool target_cpu_has(const char *cpu, const char *feature);

#endif /* TN_TARGET_MACHINE_H_ */
