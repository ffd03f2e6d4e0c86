/* Places in source texts. */
#ifndef TN_IR_SPAN_H_
#define TN_IR_SPAN_H_

#include "ir/ir.h"

/** The one object of a source name, borrowed for good. NULL with MemoryError. */
TN_API tn_SourceName *ir_source_name(const char *name);
/** Lines and columns count from 1. */
TN_API tn_Span *ir_span(tn_SourceName *source, int64_t line, int64_t end_line, int64_t column,
                        int64_t end_column);
/** The smallest place that holds both; either may be NULL. */
TN_API tn_Span *ir_span_merge(tn_Span *a, tn_Span *b);

#endif /* TN_IR_SPAN_H_ */
