#include "export/files.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/json.h"
#include "base/scope.h"

int mlf_add_file(mlf_files *l, const char *name, tn_bytes_view data) {
  tn_str *kept;
  TN_GET(kept, tn_str_from(name));
  TN_GROW(l->files, l->cap, l->n + 1, return -1);
  l->files[l->n++] = (tar_file){tn_cstr(kept), data};
  return 0;
}

int mlf_add_text(mlf_files *l, const char *name, const tn_str *text) {
  return mlf_add_file(l, name, (tn_bytes_view){(const uint8_t *)tn_cstr(text), tn_str_len(text)});
}

int mlf_add_buf(mlf_files *l, const char *name, const tn_buf *text) {
  tn_bytes *content;
  TN_GET(content, tn_scope_own(tn_bytes_new(text->data ? text->data : "", text->len)));
  return mlf_add_file(l, name, tn_bytes_get(content));
}

void mlf_files_fini(mlf_files *l) {
  tn_free(l->files);
  *l = (mlf_files){0};
}

int mlf_date(int64_t *seconds, bool *fixed) {
  const char *given = secure_getenv("SOURCE_DATE_EPOCH");
  *fixed = given && *given;
  *seconds = (int64_t)time(NULL);
  if (*fixed)
    TN_CHECK(tn_text_int(given, strlen(given), seconds) && *seconds >= 0, ValueError, NULL,
             "SOURCE_DATE_EPOCH: expected seconds since 1970, got %s", given);
  return 0;
}

int mlf_put_date(int64_t seconds, bool utc, tn_buf *out) {
  char text[64];
  struct tm t;
  time_t when = (time_t)seconds;
  bool ok = (utc ? gmtime_r(&when, &t) : localtime_r(&when, &t)) &&
            strftime(text, sizeof text, "%Y-%m-%d %H:%M:%SZ", &t) > 0;
  TN_CHECK(ok, ValueError, NULL, "%" PRId64 " seconds since 1970 are not a date", seconds);
  tn_buf_quote(out, text, strlen(text));
  return 0;
}

static void new_line(tn_buf *out, int depth) {
  tn_buf_putc(out, '\n');
  tn_buf_pad(out, ' ', (size_t)depth * 2);
}

void mlf_put_indented(const char *json, size_t n, tn_buf *out) {
  int depth = 0;
  bool text = false;
  for (size_t i = 0; i < n; ++i) {
    char c = json[i];
    if (text) {
      tn_buf_putc(out, c);
      if (c == '\\' && i + 1 < n) tn_buf_putc(out, json[++i]);
      else if (c == '"') text = false;
    } else if (c == '{' || c == '[') {
      tn_buf_putc(out, c);
      bool empty = i + 1 < n && (json[i + 1] == '}' || json[i + 1] == ']');
      if (empty) tn_buf_putc(out, json[++i]);
      else new_line(out, ++depth);
    } else if (c == '}' || c == ']') {
      new_line(out, --depth);
      tn_buf_putc(out, c);
    } else if (c == ',') {
      tn_buf_putc(out, c);
      new_line(out, depth);
    } else if (c == ':') {
      tn_buf_puts(out, ": ");
    } else if (c != ' ' && c != '\n') {
      tn_buf_putc(out, c);
      text = c == '"';
    }
  }
}

int mlf_check_name(const tn_str *name) {
  const char *s = tn_cstr(name);
  bool ok = tn_str_len(name) > 0 && strlen(s) == tn_str_len(name) && !strchr(s, '/');
  TN_CHECK(ok, ValueError, NULL,
           "export_model_library_format: the model is called \"%s\", which is not a name of a file",
           s);
  return 0;
}
