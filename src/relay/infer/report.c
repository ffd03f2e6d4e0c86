/* Errors of type inference: noted where they are found, shown together at the end (see solver.h).
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "relay/infer/solver_impl.h"

enum { MAX_ERRORS = 20 };

int relay_type_error(tn_Span *span, const char *fmt, ...) {
  char text[2048];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  return TN_RAISE(DiagnosticError, (tn_obj *)span, "%s", text);
}

/* What the solver owns until it ends. */
static int begin(relay_solver *s) {
  if (s->errors) return 0;
  tn_IncompleteType *wrong;
  tn_DiagnosticContext *errors;
  TN_GET(wrong, relay_incomplete_type());
  TN_GET(errors, ir_diag_context(s->mod, NULL));
  TN_TRY(tn_vec_push_obj(&s->kept, wrong));
  tn_retain(wrong);
  TN_TRY(tn_vec_push_obj(&s->kept, errors));
  tn_retain(errors);
  s->wrong = (tn_Type *)wrong;
  s->errors = errors;
  return 0;
}

/* Clauses of a match may be wrong in the same way, which is then told once. */
static bool is_told(const relay_solver *s, const char *message, const tn_Span *span) {
  for (int64_t i = 0; span && i < s->errors->diagnostics->len; ++i) {
    const tn_Diagnostic *d = (const tn_Diagnostic *)tn_arr_obj(s->errors->diagnostics, i);
    if (d->span == span && tn_str_eq(d->message, message)) return true;
  }
  return false;
}

static int note(relay_solver *s, const tn_error *e, tn_Span *span) {
  TN_SCOPE(scope);
  TN_TRY(begin(s));
  if (e->span) span = (tn_Span *)e->span;
  if (is_told(s, e->message, span)) return 0;
  if (s->errors->diagnostics->len >= MAX_ERRORS) {
    ++s->more_errors;
    return 0;
  }
  return ir_diag_emit(s->errors, IR_DIAG_ERROR, span, "%s", e->message);
}

int relay_note_error(relay_solver *s, tn_Span *span) {
  const tn_error *now = tn_error_get();
  if (!now || now->kind != TN_DiagnosticError || now->cause || !now->message) return -1;
  if (strncmp(now->message, "error: ", 7) == 0) return -1; /* of another program, shown already */
  tn_error e;
  tn_error_take(&e);
  int failed = note(s, &e, span);
  tn_error_fini(&e);
  return failed;
}

int relay_report_errors(relay_solver *s) {
  if (!s->errors) return 0;
  TN_SCOPE(scope);
  if (s->more_errors)
    TN_TRY(ir_diag_emit(s->errors, IR_DIAG_NOTE, NULL, "%lld more error%s not shown",
                        (long long)s->more_errors, s->more_errors == 1 ? " is" : "s are"));
  return ir_diag_render(s->errors);
}
