/* Helpers on text: UTF-8, and names near a misspelt one for error messages. */
#ifndef TN_BASE_TEXT_H_
#define TN_BASE_TEXT_H_

#include "base/buf.h"

/** Is it well-formed UTF-8 (no overlong forms, no surrogates)? */
TN_API bool tn_utf8_valid(const char *text, size_t n);

/** Collects the names nearest to a misspelt one, by edits.

      tn_near near = {.name = "nn.conv3d"};
      for (...) tn_near_offer(&near, candidate);
      TN_RAISE(KeyError, NULL, "unknown operator %s%s", name, tn_near_text(&near));
                                                        "; did you mean nn.conv2d?" */
enum { TN_NEAR = 3, TN_NEAR_TEXT = 200 };
typedef struct {
  const char *name;
  const char *found[TN_NEAR]; /* nearest first; borrowed from the caller */
  int distance[TN_NEAR], n;
  char text[TN_NEAR_TEXT];
} tn_near;
TN_API void tn_near_offer(tn_near *near, const char *candidate);
/** "; did you mean a, b or c?", or "" when nothing is near. */
TN_API const char *tn_near_text(tn_near *near);

#endif /* TN_BASE_TEXT_H_ */
