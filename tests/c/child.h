/* Running a part of a test in a child process, and knowing which sanitizer the build has. */
#ifndef TENON_TESTS_C_CHILD_H_
#define TENON_TESTS_C_CHILD_H_

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__has_feature)
#define SANITIZER(name) __has_feature(name)
#else
#define SANITIZER(name) 0
#endif
#if defined(__SANITIZE_THREAD__) || SANITIZER(thread_sanitizer)
#define UNDER_TSAN 1
#endif
#if defined(UNDER_TSAN) || defined(__SANITIZE_ADDRESS__) || SANITIZER(address_sanitizer)
#define UNDER_SANITIZER 1
#endif

/* Runs fn in a child; its result is the child's exit status. Hangs are cut off by the alarm. */
static inline int in_child(int (*fn)(void *), void *arg) {
  int status = -1;
  fflush(NULL);
  pid_t pid = fork();
  if (pid == 0) {
    alarm(20);
    _exit(fn(arg));
  }
  if (pid < 0 || waitpid(pid, &status, 0) != pid) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

#endif
