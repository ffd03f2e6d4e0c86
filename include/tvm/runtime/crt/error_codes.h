/** What functions of the C runtime return: 0, or a category and a number in it. */
#ifndef TVM_RUNTIME_CRT_ERROR_CODES_H_
#define TVM_RUNTIME_CRT_ERROR_CODES_H_

#ifdef __cplusplus
extern "C" {
#endif

/** A code is the category shifted by 8, and the number. */
#define TVM_CRT_ERROR_CATEGORY_Pos 8
#define TVM_CRT_ERROR_CODE_Pos     0
#define TVM_CRT_ERROR_CATEGORY_Msk (0xff << TVM_CRT_ERROR_CATEGORY_Pos)
#define TVM_CRT_ERROR_CODE_Msk     (0xff << TVM_CRT_ERROR_CODE_Pos)
#define DEFINE_TVM_CRT_ERROR(category, code)                                                       \
  (((category) << TVM_CRT_ERROR_CATEGORY_Pos) | ((code) << TVM_CRT_ERROR_CODE_Pos))

typedef enum {
  kTvmErrorCategoryFunctionRegistry = 1,
  kTvmErrorCategoryFraming = 2,
  kTvmErrorCategoryWriteStream = 3,
  kTvmErrorCategorySession = 4,
  kTvmErrorCategoryPlatform = 5,
  kTvmErrorCategoryGenerated = 6,
  kTvmErrorCategoryExecutor = 7,
  kTvmErrorCategoryFunctionCall = 8,
  kTvmErrorCategoryTimeEvaluator = 9,
} tvm_crt_error_category_t;

typedef enum {
  kTvmErrorNoError = 0,

  kTvmErrorFunctionNameNotFound = 0x100,
  kTvmErrorFunctionIndexInvalid,
  kTvmErrorFunctionRegistryFull,
  kTvmErrorFunctionAlreadyDefined,
  kTvmErrorBufferTooSmall,

  kTvmErrorFramingInvalidState = 0x200,
  kTvmErrorFramingShortPacket,
  kTvmErrorFramingInvalidEscape,
  kTvmErrorFramingPayloadOverflow,
  kTvmErrorFramingPayloadIncomplete,

  kTvmErrorWriteStreamShortWrite = 0x300,
  kTvmErrorWriteStreamLongWrite,

  kTvmErrorSessionInvalidState = 0x400,
  kTvmErrorSessionReceiveBufferBusy,
  kTvmErrorSessionReceiveBufferShortWrite,

  kTvmErrorPlatformCheckFailure = 0x500,
  kTvmErrorPlatformMemoryManagerInitialized,
  kTvmErrorPlatformShutdown,
  kTvmErrorPlatformNoMemory,
  kTvmErrorPlatformTimerBadState,
  kTvmErrorPlatformStackAllocBadFree,

  kTvmErrorGeneratedInvalidStorageId = 0x600,

  kTvmErrorExecutorModuleAlreadyCreated = 0x700,
  kTvmErrorExecutorModuleBadContext,
  kTvmErrorExecutorModuleNoSuchInput,

  kTvmErrorFunctionCallNumArguments = 0x800,
  kTvmErrorFunctionCallWrongArgType,
  kTvmErrorFunctionCallNotImplemented,
  kTvmErrorFunctionCallInvalidArg,

  kTvmErrorTimeEvaluatorBadHandle = 0x900,

  kTvmErrorSystemErrorMask = (-0x7fffffff - 1), /**< set in codes of the system */
} tvm_crt_error_t;

#ifdef __cplusplus
}
#endif
#endif /* TVM_RUNTIME_CRT_ERROR_CODES_H_ */
