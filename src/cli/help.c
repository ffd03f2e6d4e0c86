/* Help, completions of shells and the manual page, all from the rows of the commands. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "cli/cli.h"

static void print_option(const cli_option *o) {
  char left[64];
  int n = o->letter ? snprintf(left, sizeof left, "-%c, --%s", o->letter, o->name)
                    : snprintf(left, sizeof left, "    --%s", o->name);
  if (o->value) snprintf(left + n, sizeof left - (size_t)n, " %s", o->value);
  printf("  %-28s %s\n", left, o->doc);
}

static void help_all(void) {
  printf("tenon: compiles neural networks to small native libraries and runs them\n\nusage: tenon "
         "COMMAND ...\n\n");
  for (const cli_command *c = cli_commands; c->name; ++c) printf("  %-12s %s\n", c->name, c->doc);
  printf("\ntenon COMMAND --help describes a command, tenon --version this build.\n");
}

void cli_help(const cli_command *c) {
  if (!c) {
    help_all();
    return;
  }
  printf("usage: tenon %s %s%s\n\n%s\n\n", c->name, c->options->name ? "[options] " : "",
         c->operands, c->doc);
  for (const cli_option *o = c->options; o->name; ++o) print_option(o);
  printf("  %-28s %s\n", "-h, --help", "show this help");
  if (c->details) printf("\n%s", c->details);
}

/* ---- completion ---- */

const cli_option cli_completion_options[] = {{0}};

static void option_names(const cli_command *c) {
  for (const cli_option *o = c->options; o->name; ++o) printf("--%s ", o->name);
  printf("--help ");
}

static void bash(void) {
  printf(
      "# completion of the tenon command for bash:  source <(tenon completion bash)\n_tenon() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} words=''\n  if [ \"$COMP_CWORD\" = 1 ]; then "
      "words='");
  for (const cli_command *c = cli_commands; c->name; ++c) printf("%s ", c->name);
  printf("'\n  else\n    case ${COMP_WORDS[1]} in\n");
  for (const cli_command *c = cli_commands; c->name; ++c) {
    printf("      %s) words='", c->name);
    option_names(c);
    printf("' ;;\n");
  }
  printf("    esac\n  fi\n  COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
         "  [ \"${#COMPREPLY[@]}\" = 0 ] && COMPREPLY=($(compgen -f -- \"$word\"))\n}\n"
         "complete -o filenames -F _tenon tenon\n");
}

/* Text inside single quotes of zsh and fish. */
static void quoted(const char *text) {
  for (; *text; ++text)
    if (*text == '\'') printf("'\\''");
    else if (*text == '[' || *text == ']' || *text == ':') printf("\\%c", *text);
    else putchar(*text);
}

static void zsh(void) {
  printf("#compdef tenon\n# completion of the tenon command for zsh:  source <(tenon completion "
         "zsh)\n_tenon() {\n"
         "  if (( CURRENT == 2 )); then\n    local -a commands=(");
  for (const cli_command *c = cli_commands; c->name; ++c) {
    printf("'%s:", c->name);
    quoted(c->doc);
    printf("' ");
  }
  printf(")\n    _describe command commands\n    return\n  fi\n  case $words[2] in\n");
  for (const cli_command *c = cli_commands; c->name; ++c) {
    printf("    %s) _arguments", c->name);
    for (const cli_option *o = c->options; o->name; ++o) {
      printf(" '--%s%s[", o->name, o->value ? "=" : "");
      quoted(o->doc);
      printf("]'");
    }
    printf(" '*:file:_files' ;;\n");
  }
  printf("  esac\n}\ncompdef _tenon tenon\n");
}

static void fish(void) {
  printf("# completion of the tenon command for fish:  tenon completion fish | source\n");
  for (const cli_command *c = cli_commands; c->name; ++c) {
    printf("complete -c tenon -n __fish_use_subcommand -f -a %s -d '", c->name);
    quoted(c->doc);
    printf("'\n");
    for (const cli_option *o = c->options; o->name; ++o) {
      printf("complete -c tenon -n '__fish_seen_subcommand_from %s' -l %s%s -d '", c->name, o->name,
             o->value ? " -r" : "");
      quoted(o->doc);
      printf("'\n");
    }
  }
}

int cli_completion(const cli_args *a) {
  const char *shell = a->operands[0];
  if (strcmp(shell, "bash") == 0) bash();
  else if (strcmp(shell, "zsh") == 0) zsh();
  else if (strcmp(shell, "fish") == 0) fish();
  else return TN_RAISE(ValueError, NULL, "tenon completion: bash, zsh or fish; given: %s", shell);
  return 0;
}

/* ---- manual page ---- */

const cli_option cli_man_options[] = {{0}};

/* Text of roff: dashes and leading dots mean something there. */
static void roff(const char *text) {
  bool line_start = true;
  for (; *text; ++text) {
    if (line_start && (*text == '.' || *text == '\'')) printf("\\&");
    if (*text == '-' || *text == '\\') putchar('\\');
    putchar(*text);
    line_start = *text == '\n';
  }
}

int cli_man(const cli_args *a) {
  (void)a;
  printf(".TH TENON 1 \"\" \"tenon %s\"\n.SH NAME\ntenon \\- compile neural networks and run "
         "them\n.SH SYNOPSIS\n.B tenon\n"
         ".I command\n.RI [ options ]\n.SH COMMANDS\n",
         TN_VERSION);
  for (const cli_command *c = cli_commands; c->name; ++c) {
    printf(".SS \"tenon %s ", c->name);
    roff(c->operands);
    printf("\"\n");
    roff(c->doc);
    printf("\n");
    for (const cli_option *o = c->options; o->name; ++o) {
      printf(".TP\n.B \\-\\-%s%s%s\n", o->name, o->value ? " " : "", o->value ? o->value : "");
      roff(o->doc);
      printf("\n");
    }
    if (c->details) {
      printf(".PP\n.nf\n");
      roff(c->details);
      printf(".fi\n");
    }
  }
  printf(".SH EXIT STATUS\n0 done, 1 an error (on standard error), 2 wrong usage.\n");
  return 0;
}
