/* Walking JSON in place: nothing is built, nothing is recursive, and no step leaves the text. What
   is not JSON may be accepted where that does no harm. */
#ifndef TN_MICRO_SCAN_H_
#define TN_MICRO_SCAN_H_

#include <stddef.h>
#include <stdint.h>

typedef struct {
  const char *p, *end;
} micro_scan;

typedef struct {
  const char *text;
  size_t len;
} micro_text;

/* All return 0, or -1 when the text does not go on as expected. */
int micro_scan_enter(micro_scan *s, char bracket);
/* In an array or object that was entered: 1 when there is another element, 0 behind its end. */
int micro_scan_more(micro_scan *s, char closing);
int micro_scan_skip(micro_scan *s);
/* Between the quotes, with escapes as they stand. */
int micro_scan_string(micro_scan *s, micro_text *out);
int micro_scan_key(micro_scan *s, micro_text *out);
int micro_scan_int(micro_scan *s, int64_t *out);
/* From before an object to the value of a member. */
int micro_scan_member(micro_scan *s, const char *name);
int micro_text_is(micro_text t, const char *name);

#endif /* TN_MICRO_SCAN_H_ */
