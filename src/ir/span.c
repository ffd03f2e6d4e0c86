/* Places in source texts. Source names are interned: they live as long as the process. */
#include "ir/span.h"

#include "base/lock.h"
#include "ir/ir_impl.h"

static tn_lock lock = TN_LOCK_INIT;
static tn_map *names; /* text -> SourceName */

/* With the lock held. */
static tn_SourceName *intern(const char *name) {
  tn_any found;
  if (!names && !(names = tn_map_new())) return NULL;
  if (tn_map_get(names, tn_any_cstr(name), &found)) return (tn_SourceName *)found.v.obj;
  tn_str *text = tn_str_from(name);
  tn_SourceName *s = TN_NEW(SourceName, .name = text);
  return s && tn_map_set(names, tn_any_obj(text), tn_any_obj(s)) == 0 ? s : NULL;
}

tn_SourceName *ir_source_name(const char *name) {
  TN_SCOPE(s);
  tn_lock_write(&lock);
  tn_SourceName *found = intern(name);
  tn_unlock(&lock);
  return found;
}

const char *ir_source_name_text(const tn_obj *self) {
  return tn_cstr(((const tn_SourceName *)self)->name);
}

tn_obj *ir_source_name_from_text(const char *text) {
  tn_SourceName *s = ir_source_name(text);
  tn_retain(s);
  return (tn_obj *)s;
}

tn_Span *ir_span(tn_SourceName *source, int64_t line, int64_t end_line, int64_t column,
                 int64_t end_column) {
  return TN_NEW(Span, .source_name = source, .line = line, .end_line = end_line, .column = column,
                .end_column = end_column);
}

static bool before(int64_t line, int64_t column, int64_t line2, int64_t column2) {
  return line < line2 || (line == line2 && column < column2);
}

tn_Span *ir_span_merge(tn_Span *a, tn_Span *b) {
  if (!a || !b || a->source_name != b->source_name) return a ? a : b;
  const tn_Span *first = before(b->line, b->column, a->line, a->column) ? b : a;
  const tn_Span *last = before(a->end_line, a->end_column, b->end_line, b->end_column) ? b : a;
  return ir_span(a->source_name, first->line, last->end_line, first->column, last->end_column);
}
