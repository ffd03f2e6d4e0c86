/* An extension of Tenon in C: registers two functions when the library is loaded.

     >>> ctypes.CDLL("lib/libtenon_ext.so", ctypes.RTLD_GLOBAL)
     >>> tenon.get_global_func("myadd")(4, 5)
     9
     >>> tenon.get_global_func("callhello")(print)
     hello world                                                                              */
#include <stdio.h>

#include "tenon/ffi.h"

/* myadd(a, b): the sum of two integers. The conversions refuse everything else with a TypeError. */
static int myadd(void *self, const tn_any *args, int32_t n, tn_any *ret) {
  int64_t a, b, sum;
  (void)self;
  if (tn_check_nargs("myadd", n, 2)) return -1;
  if (tn_any_to_int(&args[0], &a) || tn_any_to_int(&args[1], &b)) return -1;
  if (__builtin_add_overflow(a, b, &sum))
    return TN_RAISE(ValueError, NULL, "myadd: the sum of %lld and %lld does not fit 64 bits",
                    (long long)a, (long long)b);
  *ret = tn_any_int(sum);
  return 0;
}

/* callhello(f): calls f, which may come from any language, with a text. */
static int callhello(void *self, const tn_any *args, int32_t n, tn_any *ret) {
  tn_obj *f;
  (void)self, (void)ret; /* the result stays None */
  if (tn_check_nargs("callhello", n, 1)) return -1;
  if (tn_any_to_obj(&args[0], "runtime.PackedFunc", &f)) return -1;
  if (!f) return TN_RAISE(TypeError, NULL, "callhello: expected a function, got None");
  tn_any text = tn_any_cstr("hello world"), result;
  if (tn_func_call((tn_func *)f, &text, 1, &result)) return -1; /* its error is passed on */
  tn_any_release(&result);
  return 0;
}

/* Runs when the library is loaded. The last argument lets a library that is loaded again take the
   place of itself. */
__attribute__((constructor)) static void register_functions(void) {
  if (tn_func_register("myadd", myadd, NULL, NULL, 1) ||
      tn_func_register("callhello", callhello, NULL, NULL, 1))
    fprintf(stderr, "tenon_ext: %s\n", tn_error_message());
}
