/* The header of the C interface, tvmgen_NAME.h, as compilers write it. Only its structs of pointers
   and its sizes are looked for; what is around them does not matter. */
#include <ctype.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/scope.h"
#include "driver/aot/interface.h"
#include "driver/function_table.h"
#include "export/archive_impl.h"
#include "object/containers.h"

static bool is_name(char c) { return isalnum((unsigned char)c) || c == '_'; }

/* The first place where `word` stands alone, behind which `at` is; NULL: nowhere. */
static const char *find_word(const char *at, const char *end, const char *word) {
  size_t n = strlen(word);
  while (at && (at = memmem(at, (size_t)(end - at), word, n)) != NULL) {
    at += n;
    if (at == end || !is_name(*at)) return at;
  }
  return NULL;
}

static const char *skip_space(const char *at, const char *end) {
  while (at < end && isspace((unsigned char)*at)) ++at;
  return at;
}

bool mlf_header_of(const mlf_archive *a, const mlf_stored *m, tn_bytes_view *out) {
  TN_BUF(path);
  tn_buf_puts(&path, "codegen/host/include/tvmgen_");
  driver_put_identifier(&path, tn_cstr(m->name));
  tn_buf_puts(&path, ".h");
  return tn_buf_ok(&path) == 0 && tar_find(a->files, a->nfile, tn_buf_cstr(&path), out);
}

bool mlf_header_has(tn_bytes_view header, const char *text) {
  return memmem(header.data, header.size, text, strlen(text)) != NULL;
}

int mlf_header_names(tn_bytes_view header, const mlf_stored *m, const char *which, tn_vec *out) {
  const char *text = (const char *)header.data, *end = text + header.size;
  TN_BUF(name);
  tn_buf_puts(&name, "struct tvmgen_");
  driver_put_identifier(&name, tn_cstr(m->name));
  tn_buf_printf(&name, "_%s", which);
  TN_TRY(tn_buf_ok(&name));
  const char *at = text;
  do { /* the definition, not an argument */
    at = find_word(at, end, tn_buf_cstr(&name));
    if (at) at = skip_space(at, end);
  } while (at && at < end && *at != '{');
  const char *close = at && at < end ? memchr(at, '}', (size_t)(end - at)) : NULL;
  for (; close && (at = find_word(at, close, "void")) != NULL;) {
    at = skip_space(at, close);
    if (at < close && *at == '*') at = skip_space(at + 1, close);
    const char *from = at;
    while (at < close && is_name(*at)) ++at;
    tn_str *member;
    TN_GET(member, tn_scope_own(tn_str_new_n(from, (size_t)(at - from))));
    if (at > from) TN_TRY(tn_vec_push_obj(out, member));
  }
  return close != NULL;
}

int mlf_header_size(tn_bytes_view header, const mlf_stored *m, const char *name, const char *what,
                    int64_t *out) {
  const char *text = (const char *)header.data, *end = text + header.size;
  TN_BUF(macro);
  tn_buf_puts(&macro, "tvmgen_");
  driver_put_identifier(&macro, tn_cstr(m->name));
  tn_buf_printf(&macro, "_%s_%s", name, what);
  TN_TRY(tn_buf_ok(&macro));
  for (size_t i = 0; i < macro.len; ++i)
    macro.data[i] = (char)toupper((unsigned char)macro.data[i]);
  const char *at = find_word(text, end, tn_buf_cstr(&macro));
  if (!at) return 0;
  at = skip_space(at, end);
  const char *last = at;
  while (last < end && isdigit((unsigned char)*last)) ++last;
  return last > at && tn_text_int(at, (size_t)(last - at), out);
}
