/* tenon cache: the folder of compiled kernels, how much is in it, and emptying it. */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "cli/cli.h"
#include "cache/kernel_store.h"

const cli_option cli_cache_options[] = {
    {"clear", 0, NULL, "remove all compiled kernels", NULL},
    {"json", 0, NULL, "as JSON", NULL},
    {0},
};

static int tell_json(const kernel_store_info *i) {
  TN_BUF(b);
  tn_buf_puts(&b, "{\"folder\": ");
  tn_buf_quote(&b, i->folder, strlen(i->folder));
  tn_buf_puts(&b, ", \"reason\": ");
  tn_buf_quote(&b, i->reason, strlen(i->reason));
  tn_buf_printf(&b, ", \"entries\": %lld, \"bytes\": %lld, \"limit\": %lld}", (long long)i->entries,
                (long long)i->bytes, (long long)i->limit);
  TN_TRY(tn_buf_ok(&b));
  puts(tn_buf_cstr(&b));
  return 0;
}

int cli_cache(const cli_args *a) {
  kernel_store_info i;
  if (cli_has(a, "clear")) {
    int64_t removed = kernel_store_clear();
    if (removed < 0) return -1;
    fprintf(stderr, "removed %lld compiled kernels\n", (long long)removed);
  }
  kernel_store_tell(&i, true);
  if (cli_has(a, "json")) return tell_json(&i);
  printf("folder   %s\n", *i.folder ? i.folder : "none");
  if (*i.reason) printf("not used: %s\n", i.reason);
  printf("entries  %lld\nsize     %.1f MiB\nlimit    %.0f MiB\n", (long long)i.entries,
         (double)i.bytes / (1 << 20), (double)i.limit / (1 << 20));
  return 0;
}
