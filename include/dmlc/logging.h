/** The logging macros under the include path older programs use. */
#ifndef DMLC_LOGGING_H_
#define DMLC_LOGGING_H_

#include "tvm/runtime/logging.h"

namespace dmlc {
using Error = ::tvm::runtime::Error;
} // namespace dmlc

#endif // DMLC_LOGGING_H_
