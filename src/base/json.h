/* Reading JSON (RFC 8259) that nobody vouches for: the text is checked as a whole and cut into a
   flat list of tokens, which is then walked by position. Nothing is built per value, nesting is
   bounded by memory only, and running out of it is an error like any other.

     tn_json j;
     if (tn_json_parse(&j, text, n)) ...                     line and column in the message
     tn_json_at nodes = tn_json_member(&j, TN_JSON_ROOT, "nodes");
     for (tn_json_at x = tn_json_first(&j, nodes); x; x = tn_json_after(&j, nodes, x)) ...
     tn_json_fini(&j);

   A position of 0, TN_JSON_ROOT, is the whole; as a result it means that there is no such value. */
#ifndef TN_BASE_JSON_H_
#define TN_BASE_JSON_H_

#include <string.h>

#include "base/buf.h"
#include "base/number.h"

typedef enum {
  TN_JSON_NULL,
  TN_JSON_FALSE,
  TN_JSON_TRUE,
  TN_JSON_NUMBER,
  TN_JSON_STRING,
  TN_JSON_ARRAY,
  TN_JSON_OBJECT
} tn_json_kind;

typedef uint32_t tn_json_at;
enum { TN_JSON_ROOT = 0 };

/* Invariant: the members of an object are a string token followed by the value's; `end` is the
   position after the last token that lies in this one. */
typedef struct {
  uint32_t start, size; /* of the text: of a string, between its quotes; of a container, number of
                           elements or members */
  tn_json_at end;
  uint8_t kind;
  bool escaped; /* a string with backslashes */
} tn_json_token;

typedef struct {
  const char *text; /* borrowed */
  tn_json_token *tokens;
  int64_t ntoken, cap;
} tn_json;

/** @param n at most 4 GB. 0, or -1 (ValueError naming line and column, MemoryError). `out` must be
    given to tn_json_fini either way. */
TN_API int tn_json_parse(tn_json *out, const char *text, size_t n);
TN_API void tn_json_fini(tn_json *j);

static inline tn_json_kind tn_json_kind_of(const tn_json *j, tn_json_at x) {
  return (tn_json_kind)j->tokens[x].kind;
}
/** Is x there, and of that kind? (The root is always there.) */
static inline bool tn_json_is(const tn_json *j, tn_json_at x, tn_json_kind kind) {
  return x && j->tokens[x].kind == kind;
}
/** Number of elements or members; 0 for what is not a container or not there. */
TN_API int64_t tn_json_count(const tn_json *j, tn_json_at x);
/** First element of an array, or key of an object (its value is at the next position). */
TN_API tn_json_at tn_json_first(const tn_json *j, tn_json_at container);
/** The element after x, or the key after the key x. */
TN_API tn_json_at tn_json_after(const tn_json *j, tn_json_at container, tn_json_at x);
/** Value of a member: the first of that name. 0 also when `object` is none. */
TN_API tn_json_at tn_json_member(const tn_json *j, tn_json_at object, const char *name);

/** Text of a string or number as it stands in the file, with escapes. Not NUL-terminated. */
TN_API tn_bytes_view tn_json_raw(const tn_json *j, tn_json_at x);
/** Appends the text of a string with its escapes resolved (well-formed UTF-8, perhaps with NUL). */
TN_API void tn_json_text(const tn_json *j, tn_json_at x, tn_buf *out);
/** An integer that fits 64 bits and has neither fraction nor exponent. */
TN_API bool tn_json_int(const tn_json *j, tn_json_at x, int64_t *out);
/** Any number, as a double; false where it is not a number, or longer than any double. */
static inline bool tn_json_double(const tn_json *j, tn_json_at x, double *out) {
  char text[400]; /* the longest double in full has 327 digits after its point */
  tn_bytes_view raw = tn_json_raw(j, x);
  if (j->tokens[x].kind != TN_JSON_NUMBER || raw.size >= sizeof text) return false;
  memcpy(text, raw.data, raw.size);
  text[raw.size] = '\0';
  *out = tn_strtod(text, NULL);
  return true;
}
/** tn_json_int of a piece of text. */
TN_API bool tn_text_int(const char *text, size_t n, int64_t *out);

#endif /* TN_BASE_JSON_H_ */
