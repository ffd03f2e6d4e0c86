/* Whether the user wants long work to stop (Ctrl-C). The host registers "runtime.CheckSignals",
   which fails where it does: Python's handlers run and may raise KeyboardInterrupt, the command
   asks whether SIGINT came. Passes ask at their start, as do kernels and nodes of ONNX graphs.

   A thread that works for another must not ask the host: that may need what the other holds, and
   signals are the other's to see. It follows a flag that the other sets. */
#ifndef TN_IR_INTERRUPT_H_
#define TN_IR_INTERRUPT_H_

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/** 0, or -1 with the host's error. Asks the host a few times a second only, so that it costs
    little. */
int ir_interrupt_check(void);
/** How often ir_interrupt_check failed in this thread: where the number grew, the error means the
    whole work, not the part that it comes from. */
int64_t ir_interrupt_count(void);
/** For work that went well: was a check inside it answered with an error that something dropped?
    @param before what ir_interrupt_count was when the work began
    @return 0, or -1 with KeyboardInterrupt where the number has grown since */
int ir_interrupt_dropped(int64_t before);
/** From now on this thread follows a flag (NULL: asks the host). It must outlive that. */
void ir_interrupt_follow(const _Atomic bool *stop);

#endif /* TN_IR_INTERRUPT_H_ */
