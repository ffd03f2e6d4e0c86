/* Starting C compilers, see measure.h. */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/scope.h"
#include "export/measure.h"

extern char **environ;

int compiler_push_words(tn_vec *command, const char *words) {
  for (const char *p = words; *p;) {
    size_t n = strcspn(p, " ");
    if (n) TN_TRY(tn_vec_push_obj(command, tn_scope_own(tn_str_new_n(p, n))));
    p += n + (p[n] != '\0');
  }
  return 0;
}

/* Starts the command with its messages in a file. */
static int start(const tn_vec *command, const char *log, pid_t *child) {
  posix_spawn_file_actions_t actions;
  TN_AUTOFREE char **argv = tn_alloc_zero((size_t)command->len + 1, sizeof *argv);
  if (!argv) return -1;
  for (int64_t i = 0; i < command->len; ++i)
    argv[i] = (char *)(uintptr_t)tn_cstr((const tn_str *)command->items[i].v.obj);
  if (posix_spawn_file_actions_init(&actions)) return TN_RAISE(MemoryError, NULL, "out of memory");
  int err = posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log,
                                             O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (!err) err = posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  if (!err) err = posix_spawnp(child, argv[0], &actions, NULL, argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  TN_CHECK(!err, OSError, NULL,
           "archive: cannot start the C compiler %s: %s; install one, or name it in CC", argv[0],
           strerror(err));
  return 0;
}

int compiler_run(const tn_vec *command, const char *folder, const char *of) {
  TN_BUF(messages);
  tn_str *log;
  pid_t child;
  int status;
  TN_GET(log, tn_str_fmt("%s/messages", folder));
  TN_TRY(start(command, tn_cstr(log), &child));
  while (waitpid(child, &status, 0) < 0)
    TN_CHECK(errno == EINTR, OSError, NULL, "archive: the C compiler: %s", strerror(errno));
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return 0;
  TN_TRY(tn_file_read(tn_cstr(log), &messages));
  return TN_RAISE(ValueError, NULL, "archive: the code of %s does not compile:\n%.2000s", of,
                  messages.len ? tn_buf_cstr(&messages) : "");
}
