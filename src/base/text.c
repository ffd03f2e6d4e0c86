#include "base/text.h"

#include <stdio.h>
#include <string.h>

/* Number of bytes of the character that starts at p, 0 when it is malformed. */
static size_t utf8_char(const unsigned char *p, size_t left) {
  static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  size_t n = p[0] < 0x80 ? 1 : p[0] >> 5 == 6 ? 2 : p[0] >> 4 == 14 ? 3 : p[0] >> 3 == 30 ? 4 : 0;
  if (n == 0 || n > left) return 0;
  uint32_t c = n == 1 ? p[0] : p[0] & (0x7fU >> n);
  for (size_t i = 1; i < n; ++i) {
    if (p[i] >> 6 != 2) return 0;
    c = c << 6 | (p[i] & 0x3f);
  }
  return c < least[n] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000) ? 0 : n;
}

bool tn_utf8_valid(const char *text, size_t n) {
  const unsigned char *p = (const unsigned char *)text;
  for (size_t i = 0, step; i < n; i += step) {
    if (!(step = utf8_char(p + i, n - i))) return false;
  }
  return true;
}

enum { LONGEST = 64 };

static int min3(int a, int b, int c) {
  int m = a < b ? a : b;
  return m < c ? m : c;
}

/* Levenshtein distance of two names of at most LONGEST characters. */
static int edits(const char *a, size_t na, const char *b, size_t nb) {
  int row[LONGEST + 1];
  for (size_t j = 0; j <= nb; ++j) row[j] = (int)j;
  for (size_t i = 1; i <= na; ++i) {
    int diagonal = row[0];
    row[0] = (int)i;
    for (size_t j = 1; j <= nb; ++j) {
      int above = row[j];
      row[j] = min3(above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1]));
      diagonal = above;
    }
  }
  return row[nb];
}

void tn_near_offer(tn_near *near, const char *candidate) {
  size_t na = strlen(near->name), nb = strlen(candidate);
  if (na == 0 || na > LONGEST || nb > LONGEST) return;
  size_t shorter = na < nb ? na : nb;
  int limit = shorter < 2 ? 0 : shorter < 4 ? 1 : shorter < 8 ? 2 : 3;
  int d = edits(near->name, na, candidate, nb);
  if (d > limit) return;
  int at = near->n < TN_NEAR ? near->n++ : TN_NEAR;
  for (; at > 0 && near->distance[at - 1] > d; --at) {
    if (at == TN_NEAR) continue;
    near->found[at] = near->found[at - 1];
    near->distance[at] = near->distance[at - 1];
  }
  if (at == TN_NEAR) return;
  near->found[at] = candidate;
  near->distance[at] = d;
}

const char *tn_near_text(tn_near *near) {
  static const char *const before[TN_NEAR] = {"; did you mean ", ", ", ", "};
  size_t len = 0;
  near->text[0] = '\0';
  for (int i = 0; i < near->n; ++i) {
    const char *glue = i > 0 && i == near->n - 1 ? " or " : before[i];
    int n = snprintf(near->text + len, sizeof near->text - len, "%s%s%s", glue, near->found[i],
                     i == near->n - 1 ? "?" : "");
    if (n < 0 || (size_t)n >= sizeof near->text - len) break;
    len += (size_t)n;
  }
  return near->text;
}
