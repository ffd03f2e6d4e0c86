/* Diagnostics: reports about a program, collected and shown together with their places.

     tn_DiagnosticContext *d = ir_diag_context(mod, NULL);
     ir_diag_emit(d, IR_DIAG_ERROR, call->span, "operator `%s` not found", name);
     ...
     TN_TRY(ir_diag_render(d));          DiagnosticError with the text of all:

     error: operator `foo` not found
      --> model.txt:2:5
       |
     2 | %1 = foo(%x);
       |      ^^^
*/
#ifndef TN_IR_DIAG_H_
#define TN_IR_DIAG_H_

#include "ir/pass.h"

typedef enum {
  IR_DIAG_BUG = 10,
  IR_DIAG_ERROR = 20,
  IR_DIAG_WARNING = 30,
  IR_DIAG_NOTE = 40,
  IR_DIAG_HELP = 50
} ir_diag_level;

/** An empty collection. @param m holds the source texts; NULL: none are known.
 * @param renderer NULL: the one set from outside, else the text of the error */
TN_API tn_DiagnosticContext *ir_diag_context(tn_IRModule *m, tn_DiagnosticRenderer *renderer);
/** Adds a report; span may be NULL. 0, or -1 (MemoryError). */
TN_API int ir_diag_emit(tn_DiagnosticContext *d, ir_diag_level level, tn_Span *span,
                        const char *fmt, ...) TN_PRINTF(4, 5);
/** 0 when no error was reported, else -1 with DiagnosticError: its text is all reports, unless a
 * renderer has shown them. */
TN_API int ir_diag_render(tn_DiagnosticContext *d);
/** The text of all reports. */
TN_API void ir_diag_text(const tn_DiagnosticContext *d, tn_buf *out);
/** One place: file, line and column, the line, and marks under it. `text` may be NULL. */
TN_API void ir_diag_place(const tn_Span *span, const char *text, tn_buf *out);

/** Adds (or replaces) a source text. */
TN_API int ir_source_add(tn_IRModule *m, tn_SourceName *name, const char *text);
/** The text of a source, NULL when it is not known. Borrowed from the map. */
TN_API const char *ir_source_text(const tn_SourceMap *map, const tn_SourceName *name);
/** A DiagnosticError about one place, at once. Always returns -1. */
TN_API int ir_diag_fail(tn_IRModule *m, tn_Span *span, const char *fmt, ...) TN_PRINTF(3, 4);

#endif /* TN_IR_DIAG_H_ */
