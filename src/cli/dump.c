/* The program after every pass, in a folder: 001-InferType.txt, 002-SimplifyInference.txt, ... */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/scope.h"
#include "cli/dump.h"
#include "cli/file.h"
#include "cli/program.h"
#include "object/functions.h"

static const char *folder; /* borrowed from the command line */
static int number;

/* (module, information about the pass) */
static int after(TN_ARGS) {
  TN_SCOPE(s);
  char path[1200];
  tn_str *text;
  TN_NARGS("dump", 2);
  TN_ARG_OBJ(IRModule, m, 0);
  TN_ARG_OBJ(PassInfo, info, 1);
  int k = snprintf(path, sizeof path, "%s/%03d-%s.txt", folder, ++number, tn_cstr(info->name));
  TN_CHECK(k > 0 && k < (int)sizeof path, ValueError, NULL, "--dump-passes: the path is too long");
  TN_GET(text, cli_program_text(m, false));
  return cli_write_file(path, tn_cstr(text), tn_str_len(text));
}

static tn_obj *dump_instrument(const char *into) {
  TN_CHECKP(mkdir(into, 0777) == 0 || errno == EEXIST, OSError, NULL, "cannot make %s: %s", into,
            strerror(errno));
  folder = into;
  const char *names[] = {"name", "on_after_pass"};
  tn_func *f = tn_scope_own(tn_func_new(after, NULL, NULL));
  tn_any values[] = {tn_any_cstr("dump"), tn_any_obj(f)};
  return f ? tn_scope_own(tn_node_make(&tn_type_PassInstrument, 2, names, values)) : NULL;
}

tn_PassContext *cli_pass_context(int64_t level, const char *dump) {
  tn_obj *instrument = NULL;
  if (dump) TN_GETP(instrument, dump_instrument(dump));
  tn_arr *instruments = instrument ? tn_arr_of(1, instrument) : tn_arr_of(0);
  const char *names[] = {"opt_level", "instruments"};
  tn_any values[] = {tn_any_int(level), tn_any_obj(instruments)};
  return instruments ? tn_scope_own(tn_node_make(&tn_type_PassContext, 2, names, values)) : NULL;
}
