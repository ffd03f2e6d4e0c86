#include "tune/shipped.h"

#include <string.h>

#include "base/error.h"
#include "base/lock.h"
#include "base/scope.h"
#include "tune/records.h"

/* Made when they are first asked for, and kept. */
static tn_lock lock = TN_LOCK_INIT;
static tn_str *text;
static tn_func *source;

static tn_str *all_files(void) {
  TN_BUF(out);
  for (int i = 0; i < shipped_nfile; ++i)
    tn_buf_put(&out, shipped_files[i].text.data, shipped_files[i].text.size);
  return tn_buf_ok(&out) ? NULL : tn_buf_str(&out);
}

const char *records_shipped_text(void) {
  tn_lock_write(&lock);
  if (!text) text = all_files();
  const char *found = text ? tn_cstr(text) : NULL;
  tn_unlock(&lock);
  return found;
}

/* Reading them takes other locks: two threads may do it, and one table is kept. */
tn_func *records_shipped(void) {
  TN_SCOPE(s);
  tn_func *made, *old;
  const char *all;
  tn_lock_read(&lock);
  tn_func *found = source;
  tn_unlock(&lock);
  if (found) return found;
  TN_GETP(all, records_shipped_text());
  TN_GETP(made, records_source(all, strlen(all), "the records that ship with the library"));
  tn_lock_write(&lock);
  old = source;
  if (!old) tn_retain(source = made);
  found = source;
  tn_unlock(&lock);
  return found;
}
