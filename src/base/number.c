/* The C library prints and reads numbers as the process's locale wants them ("0,5"); the C locale
   is used here whatever that is. */
#include "base/number.h"

#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static locale_t c_locale; /* 0 when it could not be made: the process's locale is used then */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make_locale(void) { c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0); }

double tn_strtod(const char *text, char **end) {
  pthread_once(&once, make_locale);
  return c_locale ? strtod_l(text, end, c_locale) : strtod(text, end);
}

const char *tn_double_text(double x, char out[TN_DOUBLE_TEXT]) {
  if (isnan(x)) return memcpy(out, "nan", 4);
  if (isinf(x)) return x < 0 ? memcpy(out, "-inf", 5) : memcpy(out, "inf", 4);
  pthread_once(&once, make_locale);
  locale_t before = c_locale ? uselocale(c_locale) : (locale_t)0;
  for (int digits = 15; digits <= 17; ++digits) {
    snprintf(out, TN_DOUBLE_TEXT, "%.*g", digits, x);
    if (strtod(out, NULL) == x) break;
  }
  if (before) uselocale(before);
  return out;
}
