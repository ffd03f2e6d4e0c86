/* Command lines: options by the table of the command. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/cli.h"
#include "object/functions.h"

static const cli_option help = {"help", 'h', NULL, "show this help", NULL};

static int unknown(const cli_command *c, const char *text, size_t n) {
  char name[64];
  snprintf(name, sizeof name, "%.*s", (int)(n < 60 ? n : 60), text);
  tn_near near = {.name = name};
  for (const cli_option *o = c->options; o->name; ++o) tn_near_offer(&near, o->name);
  return TN_RAISE(ValueError, NULL, "tenon %s: unknown option --%s%s (see: tenon %s --help)",
                  c->name, name, tn_near_text(&near), c->name);
}

static const cli_option *find_long(const cli_command *c, const char *name, size_t n) {
  for (const cli_option *o = c->options; o->name; ++o)
    if (strlen(o->name) == n && memcmp(o->name, name, n) == 0) return o;
  return n == 4 && memcmp(name, "help", 4) == 0 ? &help : NULL;
}

static const cli_option *find_short(const cli_command *c, char letter) {
  for (const cli_option *o = c->options; o->name; ++o)
    if (o->letter == letter) return o;
  return letter == 'h' ? &help : NULL;
}

static bool is_choice(const char *choices, const char *value) {
  size_t n = strlen(value);
  for (const char *p = choices; *p; p += strcspn(p, " "), p += *p == ' ')
    if (strcspn(p, " ") == n && memcmp(p, value, n) == 0) return true;
  return false;
}

static int keep(cli_args *a, const cli_option *o, const char *value) {
  TN_CHECK(!o->choices || !value || is_choice(o->choices, value), ValueError, NULL,
           "tenon %s: --%s is one of: %s; given: %s", a->command->name, o->name, o->choices, value);
  a->given[a->ngiven].option = o;
  a->given[a->ngiven++].value = value;
  return 0;
}

/* One argument that begins with a dash; *i moves on when the next one is its value. */
static int parse_option(cli_args *a, int argc, char **argv, int *i) {
  const char *text = argv[*i], *value = NULL;
  const cli_option *o;
  if (text[1] == '-') {
    size_t n = strcspn(text + 2, "=");
    o = find_long(a->command, text + 2, n);
    if (!o) return unknown(a->command, text + 2, n);
    if (text[2 + n]) value = text + 3 + n;
  } else {
    o = find_short(a->command, text[1]);
    TN_CHECK(o, ValueError, NULL, "tenon %s: unknown option -%c (see: tenon %s --help)",
             a->command->name, text[1], a->command->name);
    if (text[2]) value = text + 2;
  }
  TN_CHECK(o->value || !value, ValueError, NULL, "tenon %s: --%s takes no value", a->command->name,
           o->name);
  if (o->value && !value) {
    TN_CHECK(*i + 1 < argc, ValueError, NULL, "tenon %s: --%s needs a value: %s", a->command->name,
             o->name, o->value);
    value = argv[++*i];
  }
  return keep(a, o, value);
}

int cli_parse(const cli_command *c, int argc, char **argv, cli_args *out) {
  *out = (cli_args){.command = c};
  out->operands = tn_alloc_zero((size_t)argc + 1, sizeof *out->operands);
  out->given = tn_alloc_zero((size_t)argc + 1, sizeof *out->given);
  if (!out->operands || !out->given) return -1;
  bool only_operands = false;
  for (int i = 0; i < argc; ++i) {
    const char *t = argv[i];
    if (!only_operands && strcmp(t, "--") == 0) only_operands = true;
    else if (only_operands || t[0] != '-' || !t[1]) out->operands[out->noperands++] = t;
    else TN_TRY(parse_option(out, argc, argv, &i));
  }
  if (cli_has(out, "help")) return 0;
  TN_CHECK(out->noperands >= c->least, ValueError, NULL,
           "tenon %s: expected %s (see: tenon %s --help)", c->name, c->operands, c->name);
  TN_CHECK(c->most < 0 || out->noperands <= c->most, ValueError, NULL, "tenon %s: one too many: %s",
           c->name, out->operands[c->most]);
  return 0;
}

int cli_usage(const char *message) {
  TN_RAISE(ValueError, NULL, "%s", message);
  return CLI_USAGE;
}

void cli_args_fini(cli_args *a) {
  tn_free(a->operands);
  tn_free(a->given);
}

const char *cli_nth(const cli_args *a, const char *option, int i) {
  for (int k = 0; k < a->ngiven; ++k)
    if (strcmp(a->given[k].option->name, option) == 0 && i-- == 0) return a->given[k].value;
  return NULL;
}

bool cli_has(const cli_args *a, const char *option) {
  for (int k = 0; k < a->ngiven; ++k)
    if (strcmp(a->given[k].option->name, option) == 0) return true;
  return false;
}

const char *cli_get(const cli_args *a, const char *option, const char *absent) {
  const char *found = absent;
  for (int k = 0; k < a->ngiven; ++k)
    if (strcmp(a->given[k].option->name, option) == 0) found = a->given[k].value;
  return found;
}

int cli_int(const cli_args *a, const char *option, int64_t absent, int64_t least, int64_t most,
            int64_t *out) {
  const char *text = cli_get(a, option, NULL);
  *out = absent;
  if (!text) return 0;
  TN_CHECK(tn_text_int(text, strlen(text), out) && *out >= least && *out <= most, ValueError, NULL,
           "tenon %s: --%s: expected a number from %" PRId64 " to %" PRId64 ", got %s",
           a->command->name, option, least, most, text);
  return 0;
}
