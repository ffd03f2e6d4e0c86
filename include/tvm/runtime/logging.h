/**
 * Errors as C++ exceptions, checks and log messages, with the macros of Relay-era headers.
 *
 *     ICHECK_EQ(n, 2) << "two are needed";         InternalError: "Check failed: n == 2 (3 vs. 2)"
 *     CHECK(x > 0) << "ValueError: x is " << x;    the class that the text names: ValueError
 *     LOG(FATAL) << "no such layout";              InternalError
 *     LOG(WARNING) << "slow path";                 a line on stderr
 *
 * An exception never leaves a function registered through this interface: it becomes an error of
 * the library, and in Python an exception of the class that stands before the first colon.
 */
#ifndef TVM_RUNTIME_LOGGING_H_
#define TVM_RUNTIME_LOGGING_H_

#include <cctype>
#include <ctime>
#include <iostream>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>

#include "tvm/runtime/c_runtime_api.h"

namespace tvm {
namespace runtime {

/** An error of the library. The text may start with the name of a class and a colon. */
class Error : public std::runtime_error {
public:
  explicit Error(const std::string &text, const char *file = nullptr, int line = 0)
      : std::runtime_error(text), file_(file), line_(line) {}
  /** Where it was thrown; nullptr when unknown. */
  const char *file() const { return file_; }
  int lineno() const { return line_; }

private:
  const char *file_;
  int line_;
};

/** A broken invariant: "InternalError: ..." */
class InternalError : public Error {
public:
  InternalError(const char *file, int line, const std::string &message)
      : Error("InternalError: " + message, file, line), message_(message) {}
  const std::string &message() const { return message_; }

private:
  std::string message_;
};

/** A function that was called has failed: what() is TVMGetLastError(), and the error itself waits
 * in the thread, so that it goes on as it was (a Python exception, say) if nobody handles this one.
 */
class EnvErrorAlreadySet : public Error {
public:
  explicit EnvErrorAlreadySet(const std::string &text) : Error(text) {}
};

namespace detail {

/** Does the text start with the name of an error class ("ValueError: ...")? */
inline bool NamesErrorClass(const std::string &text) {
  size_t n = 0;
  while (n < text.size() &&
         (std::isalnum(static_cast<unsigned char>(text[n])) || text[n] == '.' || text[n] == '_'))
    ++n;
  return n > 5 && n < text.size() && text[n] == ':' && text.compare(n - 5, 5, "Error") == 0;
}

/** Collects the text of a failure and throws it at the end of the statement. */
class LogFatal {
public:
  enum Kind { kFatal, kCheck, kInternalCheck };
  LogFatal(Kind kind, const char *file, int line, const std::string &check = std::string())
      : kind_(kind), file_(file), line_(line), check_(check) {}
  LogFatal(const LogFatal &) = delete;
  LogFatal &operator=(const LogFatal &) = delete;
  [[noreturn]] ~LogFatal() noexcept(false) {
    std::string text = stream_.str();
    if (kind_ != kInternalCheck && NamesErrorClass(text)) throw Error(text, file_, line_);
    if (kind_ == kCheck) throw Error(check_ + text, file_, line_);
    throw InternalError(file_, line_, check_ + text);
  }
  std::ostringstream &stream() { return stream_; }

private:
  Kind kind_;
  const char *file_;
  int line_;
  std::string check_;
  std::ostringstream stream_;
};

/** One line to stderr. */
class LogMessage {
public:
  LogMessage(const char *level, const char *file, int line) {
    std::time_t now = std::time(nullptr);
    std::tm local;
    char clock[16];
    localtime_r(&now, &local);
    std::strftime(clock, sizeof clock, "%H:%M:%S", &local);
    stream_ << '[' << clock << "] " << file << ':' << line << ": " << level;
  }
  ~LogMessage() { std::cerr << stream_.str() << std::endl; }
  std::ostringstream &stream() { return stream_; }

private:
  std::ostringstream stream_;
};

/** Lets a statement that is a stream stand where an expression of type void is wanted. */
struct Voidify {
  void operator&(std::ostream &) {}
};

/** The text of a comparison that failed, or nullptr. Both sides were evaluated once. */
#define TVM_SHIM_COMPARE(name, op)                                                                 \
  template <typename X, typename Y>                                                                \
  std::unique_ptr<std::string> Check##name(const X &x, const Y &y) {                               \
    if (x op y) return nullptr;                                                                    \
    std::ostringstream os;                                                                         \
    os << " (" << x << " vs. " << y << ") : ";                                                     \
    return std::unique_ptr<std::string>(new std::string(os.str()));                                \
  }
#ifdef __GNUC__
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-compare"
#endif
TVM_SHIM_COMPARE(EQ, ==)
TVM_SHIM_COMPARE(NE, !=)
TVM_SHIM_COMPARE(LT, <)
TVM_SHIM_COMPARE(LE, <=)
TVM_SHIM_COMPARE(GT, >)
TVM_SHIM_COMPARE(GE, >=)
#ifdef __GNUC__
#pragma GCC diagnostic pop
#endif
#undef TVM_SHIM_COMPARE

template <typename T>
T CheckNotNull(LogFatal::Kind kind, const char *file, int line, const char *what, T &&value) {
  if (value == nullptr) LogFatal(kind, file, line, std::string("Check not null: ") + what + " ");
  return static_cast<T &&>(value);
}

} // namespace detail
} // namespace runtime
} // namespace tvm

#define TVM_SHIM_FAIL(kind, check)                                                                 \
  ::tvm::runtime::detail::LogFatal(::tvm::runtime::detail::LogFatal::kind, __FILE__, __LINE__,     \
                                   check)                                                          \
      .stream()
#define TVM_SHIM_CHECK(kind, x)                                                                    \
  (x) ? (void)0                                                                                    \
      : ::tvm::runtime::detail::Voidify() &                                                        \
            TVM_SHIM_FAIL(kind, "Check failed: (" #x ") is false: ")
/* the loop is entered when the check failed, and left by the exception */
#define TVM_SHIM_CHECK_OP(kind, name, op, x, y)                                                    \
  for (auto tvm_check_text = ::tvm::runtime::detail::Check##name((x), (y)); tvm_check_text;)       \
  TVM_SHIM_FAIL(kind, "Check failed: " #x " " #op " " #y + *tvm_check_text)

#define CHECK(x)          TVM_SHIM_CHECK(kCheck, x)
#define CHECK_EQ(x, y)    TVM_SHIM_CHECK_OP(kCheck, EQ, ==, x, y)
#define CHECK_NE(x, y)    TVM_SHIM_CHECK_OP(kCheck, NE, !=, x, y)
#define CHECK_LT(x, y)    TVM_SHIM_CHECK_OP(kCheck, LT, <, x, y)
#define CHECK_LE(x, y)    TVM_SHIM_CHECK_OP(kCheck, LE, <=, x, y)
#define CHECK_GT(x, y)    TVM_SHIM_CHECK_OP(kCheck, GT, >, x, y)
#define CHECK_GE(x, y)    TVM_SHIM_CHECK_OP(kCheck, GE, >=, x, y)
#define ICHECK(x)         TVM_SHIM_CHECK(kInternalCheck, x)
#define ICHECK_EQ(x, y)   TVM_SHIM_CHECK_OP(kInternalCheck, EQ, ==, x, y)
#define ICHECK_NE(x, y)   TVM_SHIM_CHECK_OP(kInternalCheck, NE, !=, x, y)
#define ICHECK_LT(x, y)   TVM_SHIM_CHECK_OP(kInternalCheck, LT, <, x, y)
#define ICHECK_LE(x, y)   TVM_SHIM_CHECK_OP(kInternalCheck, LE, <=, x, y)
#define ICHECK_GT(x, y)   TVM_SHIM_CHECK_OP(kInternalCheck, GT, >, x, y)
#define ICHECK_GE(x, y)   TVM_SHIM_CHECK_OP(kInternalCheck, GE, >=, x, y)
#define CHECK_NOTNULL(x)  TVM_SHIM_NOTNULL(kCheck, x)
#define ICHECK_NOTNULL(x) TVM_SHIM_NOTNULL(kInternalCheck, x)
#define TVM_SHIM_NOTNULL(kind, x)                                                                  \
  ::tvm::runtime::detail::CheckNotNull(::tvm::runtime::detail::LogFatal::kind, __FILE__, __LINE__, \
                                       #x, (x))

/* checks of debug builds */
#ifdef NDEBUG
#define TVM_SHIM_DEBUG_ONLY while (false)
#else
#define TVM_SHIM_DEBUG_ONLY
#endif
#define DCHECK(x)       TVM_SHIM_DEBUG_ONLY CHECK(x)
#define DCHECK_EQ(x, y) TVM_SHIM_DEBUG_ONLY CHECK_EQ(x, y)
#define DCHECK_NE(x, y) TVM_SHIM_DEBUG_ONLY CHECK_NE(x, y)
#define DCHECK_LT(x, y) TVM_SHIM_DEBUG_ONLY CHECK_LT(x, y)
#define DCHECK_LE(x, y) TVM_SHIM_DEBUG_ONLY CHECK_LE(x, y)
#define DCHECK_GT(x, y) TVM_SHIM_DEBUG_ONLY CHECK_GT(x, y)
#define DCHECK_GE(x, y) TVM_SHIM_DEBUG_ONLY CHECK_GE(x, y)

#define LOG(level)  LOG_##level
#define LOG_FATAL   TVM_SHIM_FAIL(kFatal, std::string())
#define LOG_ERROR   ::tvm::runtime::detail::LogMessage("Error: ", __FILE__, __LINE__).stream()
#define LOG_WARNING ::tvm::runtime::detail::LogMessage("Warning: ", __FILE__, __LINE__).stream()
#define LOG_INFO    ::tvm::runtime::detail::LogMessage("", __FILE__, __LINE__).stream()
#define LOG_DEBUG   ::tvm::runtime::detail::LogMessage("Debug: ", __FILE__, __LINE__).stream()
#define LOG_IF(level, condition)                                                                   \
  !(condition) ? (void)0 : ::tvm::runtime::detail::Voidify() & LOG(level)
#define DLOG(level) TVM_SHIM_DEBUG_ONLY LOG(level)
#define VLOG(level)                                                                                \
  while (false) LOG(DEBUG)

#endif // TVM_RUNTIME_LOGGING_H_
