/* Documents and their text. A document is built by the printer of programs (printer.c) or from
   Python (tenon.script.printer.doc) and turned into Python source by doc_text. */
#ifndef TN_TIR_SCRIPT_DOC_H_
#define TN_TIR_SCRIPT_DOC_H_

#include "base/pmap.h"
#include "object/containers.h"
#include "tir/script/doc.def"
#include "tir/tir.h"

TN_NODES_FORWARD(TN_DOC_NODES)
TN_NODES_INDEX(TN_DOC_NODES, TN_TI_END_tir, doc)
TN_NODES_DECLARE(TN_DOC_NODES)

/* Kinds of OperationDoc; the numbers are those that Python programs see. */
enum {
  DOC_NEG = 1,
  DOC_INVERT = 2,
  DOC_NOT = 3,
  DOC_ADD = 6,
  DOC_SUB,
  DOC_MUL,
  DOC_DIV,
  DOC_FLOORDIV,
  DOC_MOD,
  DOC_POW,
  DOC_LSHIFT,
  DOC_RSHIFT,
  DOC_BITAND,
  DOC_BITOR,
  DOC_BITXOR,
  DOC_LT,
  DOC_LE,
  DOC_EQ,
  DOC_NE,
  DOC_GT,
  DOC_GE,
  DOC_AND,
  DOC_OR,
  DOC_IF_THEN_ELSE = 28
};

typedef struct {
  int indent_spaces; /* 4 */
  bool print_line_numbers;
  int num_context_lines;   /* lines kept around what is underlined; negative: all */
  const tn_arr *underline; /* paths (ObjectPath) to underline, or NULL */
  tn_pmap *starts;         /* or NULL: path of a document -> the byte of the text it starts at */
} doc_options;

/** Writes a document as Python text. 0, or -1: MemoryError, TypeError for a document of an unknown
 * kind, ValueError where a comment or literal cannot be written. */
TN_API int doc_text(const tn_Doc *doc, const doc_options *opt, tn_buf *out);

#endif /* TN_TIR_SCRIPT_DOC_H_ */
