/* Start of the runtime library. */
#include <pthread.h>

#include "object/object.h"
#include "runtime/module.h"
#include "runtime/threads.h"
#include "runtime/types.h"
#include "tenon/runtime.h"

static int result;

static void start(void) {
  TN_SCOPE(s);
  result = tn_object_init() || tn_runtime_types_init() || tn_module_api_init() || tn_threads_init()
               ? -1
               : 0;
}

int tn_runtime_init(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, start);
  if (result && !tn_error_pending())
    return TN_RAISE(InternalError, NULL, "the runtime library could not start");
  return result;
}
