/* What generated C takes when a compiler makes it: flash, memory, and the stack of the deepest
   chain of calls. A compiler is a command of words with blanks between: "arm-none-eabi-gcc -Os
   -mthumb -mcpu=cortex-m4". No shell takes part. */
#ifndef TN_EXPORT_MEASURE_H_
#define TN_EXPORT_MEASURE_H_

#include "base/vec.h"
#include "object/containers.h"

/** Bytes. The code is linked, but with nothing else: functions that are called outside (of the
 * compiler's or the C library, of a runtime) are in none of the figures. */
typedef struct {
  int64_t flash;  /**< code, constants, and the values that variables start with */
  int64_t memory; /**< static variables */
  int64_t stack;  /**< frames of the deepest chain of calls from the entry on, with saved registers
                       and return addresses */
  tn_str
      *outside; /**< names of functions outside that are called, with ", " between; scope-owned */
} c_measured;

/** Appends the words of a text to a command. */
int compiler_push_words(tn_vec *command, const char *words);
/** Runs a command, which a folder is for, to its end.
 *  @param of what is compiled, in messages
 *  @return 0, or -1: OSError when it cannot be started, ValueError with what it says */
int compiler_run(const tn_vec *command, const char *folder, const char *of);

/** Compiles C sources and reads what the compiler reports about them.
 *  @param compiler its command; gcc from version 10 on (-fcallgraph-info)
 *  @param folder for what it writes @param sources of String: paths
 *  @param include a folder of headers, or NULL @param entry the function that firmware calls
 *  @return 0, or -1: ValueError with the compiler's messages, for functions that call themselves or
 *  whose frames have no constant size, and for an entry that is not there; OSError */
TN_API int c_measure(const char *compiler, const char *folder, const tn_vec *sources,
                     const char *include, const char *entry, c_measured *out);

/** "export.CMeasure"; part of the start of the compiler. */
int c_measure_init(void);

#endif /* TN_EXPORT_MEASURE_H_ */
