/* What the files of this folder register; all of it is part of codegen_init. */
#ifndef TN_CODEGEN_CODEGEN_IMPL_H_
#define TN_CODEGEN_CODEGEN_IMPL_H_

/** "target.FromDevice" */
int codegen_from_device_init(void);
/** "target.build.opencl" */
int opencl_build_init(void);
/** "target.build.cuda" */
int cuda_build_init(void);

#endif /* TN_CODEGEN_CODEGEN_IMPL_H_ */
