/* C = op(A) op(B) through the C interface of BLAS (https://www.netlib.org/blas/#_cblas), float32
   and float64.

   Matrices are row-major and may be strided by row; a matrix whose columns are contiguous instead
   is passed as its transpose. OpenBLAS is what is looked for; TENON_BLAS names another library. */
#include "runtime/blas.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>

#include "object/dtype.h"
#include "object/functions.h"
#include "tenon/runtime.h"

/* CBLAS_ORDER and CBLAS_TRANSPOSE */
enum { ROW_MAJOR = 101, NO_TRANS = 111, TRANS = 112 };

typedef void sgemm_fn(int order, int ta, int tb, int m, int n, int k, float alpha, const float *a,
                      int lda, const float *b, int ldb, float beta, float *c, int ldc);
typedef void dgemm_fn(int order, int ta, int tb, int m, int n, int k, double alpha, const double *a,
                      int lda, const double *b, int ldb, double beta, double *c, int ldc);

static struct {
  sgemm_fn *sgemm;
  dgemm_fn *dgemm;
} blas;

static void open_library(void) {
  const char *const names[] = {secure_getenv("TENON_BLAS"), "libopenblas.so.0", "libopenblas.so",
                               "libcblas.so.3", "libmkl_rt.so"};
  for (int i = 0; i < TN_COUNT(names); ++i) {
    void *lib = names[i] ? dlopen(names[i], RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!lib) continue;
    /* ISO C has no conversion from object to function pointers; POSIX guarantees it */
    *(void **)&blas.sgemm = dlsym(lib, "cblas_sgemm");
    *(void **)&blas.dgemm = dlsym(lib, "cblas_dgemm");
    if (blas.sgemm && blas.dgemm) return; /* stays open as long as the process */
    dlclose(lib);
  }
}

static int need_blas(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, open_library);
  TN_CHECK(blas.sgemm && blas.dgemm, RuntimeError, NULL,
           "no BLAS library was found: install libopenblas0, or set TENON_BLAS to the file of one");
  return 0;
}

/* A matrix as BLAS takes it: rows x cols in memory order, its rows `ld` elements apart. */
typedef struct {
  const char *data;
  int rows, cols, ld;
  bool trans; /* the matrix that is meant is the transpose of what lies in memory */
} matrix;

static int as_matrix(const char *name, const DLTensor *t, int first, bool trans, matrix *out) {
  int64_t r = t->shape[first], c = t->shape[first + 1];
  int64_t sr = t->strides ? t->strides[first] : c, sc = t->strides ? t->strides[first + 1] : 1;
  TN_CHECK(r <= INT_MAX && c <= INT_MAX && sr <= INT_MAX && sc <= INT_MAX, ValueError, NULL,
           "%s: an extent is larger than BLAS can take", name);
  bool rows = sc == 1 || c == 1, columns = sr == 1 || r == 1;
  TN_CHECK(rows || columns, ValueError, NULL,
           "%s: expected contiguous rows or columns, got strides %lld and %lld", name,
           (long long)sr, (long long)sc);
  out->data = (const char *)t->data + t->byte_offset;
  out->trans = trans != !rows;
  out->rows = (int)(rows ? r : c);
  out->cols = (int)(rows ? c : r);
  int64_t step = rows ? sr : sc, least = out->cols > 0 ? out->cols : 1;
  TN_CHECK(out->rows <= 1 || step >= least, ValueError, NULL,
           "%s: BLAS takes no rows that overlap or run backwards: they are %lld elements apart, of "
           "%lld each (copy the matrix first)",
           name, (long long)step, (long long)least);
  out->ld = (int)(out->rows <= 1 ? least : step); /* of one row the stride means nothing */
  return 0;
}

static int inner_rows(const matrix *m) { return m->trans ? m->cols : m->rows; }
static int inner_cols(const matrix *m) { return m->trans ? m->rows : m->cols; }

static int gemm(const char *name, tn_dtype t, const matrix *a, const matrix *b, const matrix *c) {
  int m = inner_rows(a), k = inner_cols(a), n = inner_cols(b);
  TN_CHECK(inner_rows(b) == k && c->rows == m && c->cols == n && !c->trans, ValueError, NULL,
           "%s: shapes do not fit: (%d, %d) times (%d, %d) into (%d, %d)", name, m, k,
           inner_rows(b), n, c->rows, c->cols);
  if (m == 0 || n == 0) return 0;
  int ta = a->trans ? TRANS : NO_TRANS, tb = b->trans ? TRANS : NO_TRANS;
  void *out = (void *)(uintptr_t)c->data;
  if (t.bits == 32)
    blas.sgemm(ROW_MAJOR, ta, tb, m, n, k, 1, (const float *)(const void *)a->data, a->ld,
               (const float *)(const void *)b->data, b->ld, 0, out, c->ld);
  else
    blas.dgemm(ROW_MAJOR, ta, tb, m, n, k, 1, (const double *)(const void *)a->data, a->ld,
               (const double *)(const void *)b->data, b->ld, 0, out, c->ld);
  return 0;
}

static int read_tensors(const char *name, const tn_any *args, int32_t ndim, const DLTensor *t[3]) {
  DLTensor *out;
  for (int i = 0; i < 3; ++i) {
    TN_TRY(tn_any_to_dltensor(&args[i], &t[i]));
    TN_CHECK(t[i]->device.device_type == kDLCPU, ValueError, NULL,
             "%s: argument %d is not in the memory of the CPU", name, i);
    TN_CHECK(t[i]->ndim == ndim, ValueError, NULL,
             "%s: argument %d: expected %d dimensions, got %d", name, i, ndim, t[i]->ndim);
    TN_CHECK(t[i]->dtype.code == kDLFloat && t[i]->dtype.lanes == 1 &&
                 (t[i]->dtype.bits == 32 || t[i]->dtype.bits == 64),
             TypeError, NULL, "%s: argument %d: expected float32 or float64, got %s", name, i,
             TN_DT(t[i]->dtype));
    TN_CHECK(tn_dtype_eq(t[i]->dtype, t[0]->dtype), TypeError, NULL,
             "%s: arguments of several types", name);
  }
  TN_TRY(tn_any_to_writable(&args[2], &out));
  return 0;
}

static int read_flags(const tn_any *args, bool *ta, bool *tb) {
  TN_TRY(tn_any_to_bool(&args[3], ta));
  TN_TRY(tn_any_to_bool(&args[4], tb));
  return need_blas();
}

/* tvm.contrib.cblas.matmul(A, B, C, transa, transb): C = op(A) op(B) */
static int f_matmul(TN_ARGS) {
  static const char name[] = "tvm.contrib.cblas.matmul";
  const DLTensor *t[3];
  matrix m[3];
  bool ta, tb;
  TN_NARGS(name, 5);
  TN_TRY(read_tensors(name, args, 2, t));
  TN_TRY(read_flags(args, &ta, &tb));
  TN_TRY(as_matrix(name, t[0], 0, ta, &m[0]));
  TN_TRY(as_matrix(name, t[1], 0, tb, &m[1]));
  TN_TRY(as_matrix(name, t[2], 0, false, &m[2]));
  return gemm(name, t[0]->dtype, &m[0], &m[1], &m[2]);
}

/* tvm.contrib.cblas.batch_matmul(A, B, C, transa, transb): the same for each matrix of a batch; a
   batch of one serves for all */
static int f_batch_matmul(TN_ARGS) {
  static const char name[] = "tvm.contrib.cblas.batch_matmul";
  const DLTensor *t[3];
  matrix m[3];
  bool ta, tb;
  TN_NARGS(name, 5);
  TN_TRY(read_tensors(name, args, 3, t));
  TN_TRY(read_flags(args, &ta, &tb));
  TN_TRY(as_matrix(name, t[0], 1, ta, &m[0]));
  TN_TRY(as_matrix(name, t[1], 1, tb, &m[1]));
  TN_TRY(as_matrix(name, t[2], 1, false, &m[2]));
  int64_t batch = t[2]->shape[0], size = t[0]->dtype.bits / 8;
  for (int j = 0; j < 2; ++j) {
    TN_CHECK(t[j]->shape[0] == batch || t[j]->shape[0] == 1, ValueError, NULL,
             "%s: argument %d: expected a batch of %lld, got %lld", name, j, (long long)batch,
             (long long)t[j]->shape[0]);
  }
  for (int64_t i = 0; i < batch; ++i) {
    TN_TRY(gemm(name, t[0]->dtype, &m[0], &m[1], &m[2]));
    for (int j = 0; j < 3; ++j) {
      int64_t step = t[j]->strides ? t[j]->strides[0] : t[j]->shape[1] * t[j]->shape[2];
      if (t[j]->shape[0] > 1) m[j].data += step * size;
    }
  }
  return 0;
}

static const tn_func_row functions[] = {
    {"tvm.contrib.cblas.matmul", f_matmul},
    {"tvm.contrib.cblas.batch_matmul", f_batch_matmul},
};

int tn_blas_init(void) { return tn_func_register_rows(functions, TN_COUNT(functions)); }
