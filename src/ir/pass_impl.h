/* What the files about passes share. */
#ifndef TN_IR_PASS_IMPL_H_
#define TN_IR_PASS_IMPL_H_

#include "ir/ir_impl.h"
#include "ir/pass.h"

int ir_instruments_enter(tn_PassContext *ctx);
int ir_instruments_exit(tn_PassContext *ctx);
/** *run: does every instrument let the pass run (or is it required)? If so they were told that it
 * begins. */
int ir_instruments_before(tn_PassContext *ctx, tn_IRModule *m, tn_PassInfo *info, bool *run);
int ir_instruments_after(tn_PassContext *ctx, tn_IRModule *m, tn_PassInfo *info);

/** An instrument that measures passes, and what it has measured as text (see api_pass.c). */
tn_PassInstrument *ir_timing_instrument(void);
tn_str *ir_timing_render(const tn_PassInstrument *p);

int ir_pass_types_init(void);
int ir_config_init(void);
int ir_api_pass_init(void);

#endif /* TN_IR_PASS_IMPL_H_ */
