/* Shared by doc_text.c and doc_underline.c. */
#ifndef TN_TIR_SCRIPT_DOC_IMPL_H_
#define TN_TIR_SCRIPT_DOC_IMPL_H_

#include "base/buf.h"
#include "object/functions.h"
#include "tir/script/doc.h"

enum { DOC_DEPTH_MAX = 4000 };

typedef struct {
  size_t start, end; /* bytes of the text */
} span;

typedef struct {
  const doc_options *opt;
  tn_buf out;
  int indent, depth;
  /* for each path to underline: length of the longest prefix seen so far and the spans that have it
   */
  struct underline {
    int64_t best;
    span *spans;
    int n, cap;
  } * marks;
} writer;

static inline void put(writer *w, const char *s) { tn_buf_puts(&w->out, s); }

/** The text from `start` on came from document d: remembered when its place is to be underlined. */
int mark_span(writer *w, const tn_Doc *d, size_t start);
int doc_write(writer *w, const tn_Doc *doc);

#endif /* TN_TIR_SCRIPT_DOC_IMPL_H_ */
