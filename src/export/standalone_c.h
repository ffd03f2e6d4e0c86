/* A model as C that stands alone: NAME.c and NAME.h, to be added to any program. C99 without
   malloc, recursion, arrays of variable length or files; of the C library it takes what the
   operators need of math.h and string.h.

     int NAME_run(const struct NAME_inputs *inputs, struct NAME_outputs *outputs);

   The structs have a pointer for each input and output, called as in the model with underscores for
   what an identifier cannot have; they point to as many elements as the header says. NAME_run
   returns 0. Values between operators lie in static memory, so that one call runs at a time.

   TENON_CONST and TENON_WORKSPACE may be defined as attributes that place constants and that
   memory: -D'TENON_CONST=__attribute__((section(".qspi")))'. */
#ifndef TN_EXPORT_STANDALONE_C_H_
#define TN_EXPORT_STANDALONE_C_H_

#include "driver/aot/aot.h"

/** A model that is compiled. */
typedef struct {
  const tn_target *target;
  const char *name;    /**< an identifier */
  aot_program program; /**< its metadata tell inputs, outputs and memory */
} c_file;

/** Compiles a module for a target of kind "c". @param name an identifier of C
 *  @return 0, or -1: ValueError for a name that is none and for other targets, and the errors of
 *  passes and code generation. Scope-owned. */
TN_API int c_file_make(tn_IRModule *m, tn_target *t, const char *name, c_file *out);
/** Writes NAME.c and NAME.h into a folder, which is made when it is not there. CodegenError naming
 * an operator that needs a runtime, before anything is written; OSError. */
TN_API int c_file_write(const c_file *f, const char *folder);

/** Writes NAME_selftest.c: `int NAME_selftest(void)` runs the model on the inputs and compares:
 *  0: all results are within the tolerance of those that are expected, i: those of test i (from 1)
 *  are not, -1: NAME_run failed.
 *  @param inputs, outputs NDArray, those of one test after another, in the order of the structs
 *  @return 0, or -1: ValueError for tensors that do not fit, OSError */
TN_API int c_file_write_tests(const c_file *f, const char *folder, const tn_arr *inputs,
                              const tn_arr *outputs, double tolerance);

/** Writes what builds the files: "cmake" (CMakeLists.txt), "make" (Makefile), "arduino" (a library,
 * the files in src/), "zephyr" (an application, the files in src/).
 *  @return 0, or -1: ValueError for another layout, OSError */
TN_API int c_file_write_project(const c_file *f, const char *folder, const char *layout);
/** Where the layout has the C files: the folder itself, or src/ in it. Scope-owned. */
TN_API tn_str *c_file_folder(const char *folder, const char *layout);

/** "export.CFile" and what else Python calls; part of the start of the compiler. */
TN_API int c_file_init(void);

#endif /* TN_EXPORT_STANDALONE_C_H_ */
