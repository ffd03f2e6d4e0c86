#include "base/scope.h"

#include <pthread.h>

#include "base/alloc.h"
#include "base/error.h"

/* Invariant: depth == number of open scopes of the thread; entries below a scope's mark belong to
   the scopes around it. The block of the stack is freed when its thread ends. */
typedef struct {
  tn_obj **items;
  int64_t top, cap, depth;
} stack;

static _Thread_local stack st;
static pthread_key_t at_exit;
static bool have_key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void free_stack(void *items) {
  st = (stack){0}; /* what else happens while the thread ends may open scopes again */
  tn_free(items);
}
static void make_key(void) { have_key = pthread_key_create(&at_exit, free_stack) == 0; }

/* The block to free when the thread ends. */
static void note_block(tn_obj **items) {
  pthread_once(&once, make_key);
  if (have_key) pthread_setspecific(at_exit, items);
}

static int grow(void) {
  int64_t cap = st.cap ? st.cap * 2 : 256;
  tn_obj **items = tn_realloc_array(st.items, cap, sizeof *items);
  if (!items) return -1;
  st.items = items;
  st.cap = cap;
  note_block(items);
  return 0;
}

tn_scope tn_scope_open(void) {
  st.depth++;
  return (tn_scope){st.top};
}

void tn_scope_close(tn_scope *s) {
  /* one at a time from the top: a finalizer may itself open a scope above the entries still to be
   * released */
  while (st.top > s->mark) tn_release(st.items[--st.top]);
  st.depth--;
  if (st.depth == 0 && st.cap > 1 << 16) { /* do not hold on to the peak of a large compilation */
    tn_free(st.items);
    note_block(NULL);
    st = (stack){0};
  }
}

void *tn_scope_own(void *obj) {
  if (!obj) return NULL;
  if (st.depth == 0) {
    tn_release(obj);
    return TN_RAISEP(InternalError, NULL,
                     "an object was made outside of any scope: open one with TN_SCOPE");
  }
  if (st.top == st.cap && grow()) {
    tn_release(obj);
    return NULL;
  }
  st.items[st.top++] = obj;
  return obj;
}

void *tn_scope_return(tn_scope *s, void *obj) {
  if (!obj) return NULL;
  tn_retain(obj);
  while (st.top > s->mark) tn_release(st.items[--st.top]);
  if (st.depth < 2) { /* nobody to hand it to: the caller is not compiler code */
    tn_release(obj);
    return TN_RAISEP(InternalError, NULL, "tn_scope_return: no enclosing scope");
  }
  if (st.top == st.cap && grow()) {
    tn_release(obj);
    return NULL;
  }
  st.items[st.top++] = obj;
  s->mark = st.top; /* closing the scope must not release it */
  return obj;
}

tn_scope_mark tn_scope_here(void) { return (tn_scope_mark){st.top, st.depth}; }

void tn_scope_unwind(tn_scope_mark here) {
  while (st.top > here.top) tn_release(st.items[--st.top]);
  st.depth = here.depth;
}

int64_t tn_scope_height(void) { return st.top; }
