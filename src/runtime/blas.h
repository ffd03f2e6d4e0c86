/* Matrix products by a BLAS library, which is opened when one is first asked for. */
#ifndef TN_RUNTIME_BLAS_H_
#define TN_RUNTIME_BLAS_H_

/** Registers tvm.contrib.cblas.matmul and tvm.contrib.cblas.batch_matmul. */
int tn_blas_init(void);

#endif /* TN_RUNTIME_BLAS_H_ */
