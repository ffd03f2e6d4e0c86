/* The program after every pass, in a folder: 001-InferType.txt, 002-SimplifyInference.txt, ... */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/scope.h"
#include "cli/dump.h"
#include "cli/file.h"
#include "object/functions.h"
#include "tir/script/printer.h"

static const char *folder; /* borrowed from the command line */
static int number;

/* Relay text of a module with Relay functions, else TVMScript. */
static tn_str *text_of(tn_IRModule *m) {
  tn_any key, value, ret = tn_any_none();
  bool relay = false;
  for (int64_t i = 0; tn_map_at(m->functions, i, &key, &value); ++i)
    relay = relay || strcmp(tn_obj_key(value.v.obj), "relay.Function") == 0;
  if (!relay) return script_print((tn_obj *)m, NULL);
  tn_any args[] = {tn_any_obj(m), tn_any_bool(false), tn_any_none()};
  tn_func *f = tn_scope_own(tn_func_find("relay.ir.AsText"));
  TN_ICHECKP(f);
  TN_TRYP(tn_func_call(f, args, TN_COUNT(args), &ret));
  return tn_scope_own(ret.v.obj);
}

/* (module, information about the pass) */
static int after(TN_ARGS) {
  TN_SCOPE(s);
  char path[1200];
  tn_str *text;
  TN_NARGS("dump", 2);
  TN_ARG_OBJ(IRModule, m, 0);
  TN_ARG_OBJ(PassInfo, info, 1);
  TN_CHECK(m && info, TypeError, NULL, "dump: expected a module and a pass");
  int k = snprintf(path, sizeof path, "%s/%03d-%s.txt", folder, ++number, tn_cstr(info->name));
  TN_CHECK(k > 0 && k < (int)sizeof path, ValueError, NULL, "--dump-passes: the path is too long");
  TN_GET(text, text_of(m));
  return cli_write_file(path, tn_cstr(text), tn_str_len(text));
}

tn_obj *cli_dump_instrument(const char *into) {
  TN_CHECKP(mkdir(into, 0777) == 0 || errno == EEXIST, OSError, NULL, "cannot make %s: %s", into,
            strerror(errno));
  folder = into;
  const char *names[] = {"name", "on_after_pass"};
  tn_func *f = tn_scope_own(tn_func_new(after, NULL, NULL));
  tn_any values[] = {tn_any_cstr("dump"), tn_any_obj(f)};
  return f ? tn_scope_own(tn_node_make(&tn_type_PassInstrument, 2, names, values)) : NULL;
}
