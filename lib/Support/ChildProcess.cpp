//===- ChildProcess.cpp - Work that may not take us down ------------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A child sends one report through a pipe when it has finished or when LLVM's
// fatal error handler is called; a child whose report is missing has crashed.
// The parent waits in poll() for reports and for signals that would end it, so
// that it can first stop its children and remove their files.
//
//===----------------------------------------------------------------------===//
#include "backfuse/Support/ChildProcess.h"
#include "backfuse/Support/ByteStream.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Threading.h"
#include "llvm/Support/raw_ostream.h"
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace mlir;
using namespace backfuse;

//===----------------------------------------------------------------------===//
// Reports
//===----------------------------------------------------------------------===//

namespace {
/// A diagnostic on its way to the parent. Locations travel as file, line and
/// column: one made in the child means nothing to the parent.
struct DiagnosticRecord {
  int severity = 0;
  std::string file; ///< empty: the task's location
  int line = 0, column = 0;
  std::string text;
  bool isNote = false; ///< belongs to the last record that is none
};

/// What a child tells its parent.
struct Report {
  bool succeeded = false;
  std::string result;
  std::string fatalError; ///< LLVM's, if it ended the child
  std::vector<DiagnosticRecord> diagnostics;
};
} // namespace

/// All fields of a report but the diagnostics' number.
template <typename Visitor, typename T>
static void visitFields(Visitor &visitor, T &report) {
  visitor(report.succeeded);
  visitor(report.result);
  visitor(report.fatalError);
  for (auto &diagnostic : report.diagnostics) {
    visitor(diagnostic.severity);
    visitor(diagnostic.file);
    visitor(diagnostic.line);
    visitor(diagnostic.column);
    visitor(diagnostic.text);
    visitor(diagnostic.isNote);
  }
}

static std::string serialize(const Report &report) {
  std::string bytes;
  ByteWriter writer(bytes);
  writer(int64_t(report.diagnostics.size()));
  visitFields(writer, report);
  return bytes;
}

/// Returns the report in `bytes`, or nothing if it is not whole.
static std::optional<Report> deserialize(StringRef bytes) {
  ByteReader reader(bytes);
  int64_t numDiagnostics = 0;
  reader(numDiagnostics);
  if (!reader.isValid() || uint64_t(numDiagnostics) > bytes.size())
    return std::nullopt;
  Report report;
  report.diagnostics.resize(numDiagnostics);
  visitFields(reader, report);
  if (!reader.isAtEnd())
    return std::nullopt;
  return report;
}

//===----------------------------------------------------------------------===//
// In the child
//===----------------------------------------------------------------------===//

static DiagnosticRecord makeRecord(const Diagnostic &diagnostic, bool isNote) {
  DiagnosticRecord record;
  record.severity = int(diagnostic.getSeverity());
  if (auto place = diagnostic.getLocation()->findInstanceOf<FileLineColLoc>()) {
    record.file = place.getFilename().str();
    record.line = place.getLine();
    record.column = place.getColumn();
  }
  record.text = diagnostic.str();
  record.isNote = isNote;
  return record;
}

namespace {
/// What the fatal error handler needs.
struct ChildState {
  Report report;
  int pipe = -1;
};
} // namespace

/// Sends the report and ends the child without running anything of the
/// parent's: no destructors, no flushing of inherited buffers.
[[noreturn]] static void finishChild(ChildState &state) {
  std::string bytes = serialize(state.report);
  StringRef rest = bytes;
  while (!rest.empty()) {
    ssize_t written = ::write(state.pipe, rest.data(), rest.size());
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      ::_exit(1);
    rest = rest.drop_front(written);
  }
  ::_exit(0);
}

static void handleFatalError(void *data, const char *reason, bool) {
  auto &state = *static_cast<ChildState *>(data);
  state.report.fatalError = reason;
  finishChild(state);
}

/// Gives the child standard streams of its own: nothing to read, and a file
/// for all that it prints.
static void redirectStreams(StringRef log) {
  int null = ::open("/dev/null", O_RDONLY);
  int file = ::open(log.str().c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  if (null >= 0)
    ::dup2(null, STDIN_FILENO);
  if (file >= 0) {
    ::dup2(file, STDOUT_FILENO);
    ::dup2(file, STDERR_FILENO);
  }
}

/// Undoes what LLVM's tools do on signals: print a backtrace, remove the
/// parent's files.
static void resetSignals(const sigset_t &mask) {
  for (int signal : {SIGHUP, SIGINT, SIGTERM, SIGSEGV, SIGABRT, SIGBUS, SIGILL,
                     SIGFPE, SIGTRAP, SIGQUIT, SIGPIPE})
    ::signal(signal, SIG_DFL);
  ::pthread_sigmask(SIG_SETMASK, &mask, nullptr);
}

[[noreturn]] static void runChild(const ChildTask &task, int pipe,
                                  StringRef directory, StringRef log,
                                  const sigset_t &mask) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  resetSignals(mask);
  redirectStreams(log);

  ChildState state;
  state.pipe = pipe;
  llvm::remove_fatal_error_handler();
  llvm::install_fatal_error_handler(handleFatalError, &state);
  MLIRContext *context = task.location->getContext();
  context->getDiagEngine().registerHandler([&](Diagnostic &diagnostic) {
    state.report.diagnostics.push_back(makeRecord(diagnostic, false));
    for (Diagnostic &note : diagnostic.getNotes())
      state.report.diagnostics.push_back(makeRecord(note, true));
  });
  FailureOr<std::string> result = task.run(directory);
  state.report.succeeded = succeeded(result);
  if (succeeded(result))
    state.report.result = std::move(*result);
  finishChild(state);
}

//===----------------------------------------------------------------------===//
// In the parent
//===----------------------------------------------------------------------===//

namespace {
/// A child that runs or has run.
struct Child {
  pid_t pid = -1;
  int pipe = -1;
  std::string log;
  std::string bytes;
  int status = 0; ///< as waitpid() has it
};

/// Blocks the signals that end a process and makes them readable instead.
class SignalWatch {
public:
  SignalWatch() {
    sigset_t ending;
    sigemptyset(&ending);
    for (int signal : {SIGHUP, SIGINT, SIGTERM})
      sigaddset(&ending, signal);
    ::pthread_sigmask(SIG_BLOCK, &ending, &oldMask);
    descriptor = ::signalfd(-1, &ending, SFD_CLOEXEC | SFD_NONBLOCK);
  }
  ~SignalWatch() {
    if (descriptor >= 0)
      ::close(descriptor);
    ::pthread_sigmask(SIG_SETMASK, &oldMask, nullptr);
  }
  SignalWatch(const SignalWatch &) = delete;

  /// Returns the signal that came, or 0.
  int take() const {
    signalfd_siginfo info;
    return ::read(descriptor, &info, sizeof(info)) == sizeof(info)
               ? int(info.ssi_signo)
               : 0;
  }

  int descriptor;
  sigset_t oldMask;
};
} // namespace

/// Starts `task`; returns why it could not.
static std::error_code startChild(const ChildTask &task, unsigned index,
                                  StringRef directory, const sigset_t &mask,
                                  Child &child) {
  SmallString<128> log(directory);
  llvm::sys::path::append(log, "child" + Twine(index) + ".log");
  child.log = log.str().str();
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return std::error_code(errno, std::generic_category());
  child.pid = ::fork();
  if (child.pid < 0) {
    int error = errno;
    ::close(ends[0]);
    ::close(ends[1]);
    return std::error_code(error, std::generic_category());
  }
  if (child.pid == 0)
    runChild(task, ends[1], directory, child.log, mask);
  ::setpgid(child.pid, child.pid);
  ::close(ends[1]);
  child.pipe = ends[0];
  return {};
}

/// Takes what `child` has sent; at its end, waits for it.
static void readChild(Child &child) {
  char buffer[1 << 16];
  ssize_t size = ::read(child.pipe, buffer, sizeof(buffer));
  if (size > 0)
    return void(child.bytes.append(buffer, size));
  if (size < 0 && (errno == EINTR || errno == EAGAIN))
    return;
  ::close(child.pipe);
  child.pipe = -1;
  while (::waitpid(child.pid, &child.status, 0) < 0 && errno == EINTR)
    ;
}

static void killChild(Child &child) {
  if (child.pipe < 0)
    return;
  ::kill(-child.pid, SIGKILL);
  ::kill(child.pid, SIGKILL);
  ::close(child.pipe);
  child.pipe = -1;
  while (::waitpid(child.pid, &child.status, 0) < 0 && errno == EINTR)
    ;
}

/// Runs all tasks; returns the signal that stopped them, or 0.
static int superviseChildren(ArrayRef<ChildTask> tasks, unsigned jobs,
                             StringRef directory,
                             MutableArrayRef<Child> children,
                             MutableArrayRef<std::error_code> startErrors) {
  SignalWatch signals;
  unsigned next = 0;
  while (true) {
    SmallVector<pollfd> polled{{signals.descriptor, POLLIN, 0}};
    SmallVector<Child *> running;
    for (Child &child : children)
      if (child.pipe >= 0)
        running.push_back(&child);
    for (; next < tasks.size() && running.size() < jobs; ++next) {
      startErrors[next] = startChild(tasks[next], next, directory,
                                     signals.oldMask, children[next]);
      if (!startErrors[next])
        running.push_back(&children[next]);
    }
    if (running.empty())
      return 0;
    for (Child *child : running)
      polled.push_back({child->pipe, POLLIN, 0});
    if (::poll(polled.data(), polled.size(), -1) < 0)
      continue;
    if (int signal = polled[0].revents ? signals.take() : 0) {
      for (Child &child : children)
        killChild(child);
      return signal;
    }
    for (auto [child, entry] :
         llvm::zip(running, ArrayRef(polled).drop_front()))
      if (entry.revents)
        readChild(*child);
  }
}

/// Emits a child's diagnostics as ours.
static void emitDiagnostics(const ChildTask &task, const Report &report) {
  auto locate = [&](const DiagnosticRecord &record) -> Location {
    if (record.file.empty())
      return task.location;
    return FileLineColLoc::get(task.location->getContext(), record.file,
                               record.line, record.column);
  };
  DiagnosticEngine &engine = task.location->getContext()->getDiagEngine();
  for (size_t i = 0; i < report.diagnostics.size();) {
    const DiagnosticRecord &record = report.diagnostics[i];
    InFlightDiagnostic diagnostic =
        engine.emit(locate(record), DiagnosticSeverity(record.severity));
    diagnostic << record.text;
    for (++i; i < report.diagnostics.size() && report.diagnostics[i].isNote;
         ++i)
      diagnostic.attachNote(locate(report.diagnostics[i]))
          << report.diagnostics[i].text;
  }
}

/// Reports that LLVM gave up: its first line, the rest as a note.
static LogicalResult reportFatalError(const ChildTask &task, StringRef reason) {
  auto [first, rest] = reason.trim().split('\n');
  InFlightDiagnostic diagnostic = emitError(task.location)
                                  << "LLVM failed while " << task.activity
                                  << ": " << first;
  if (!rest.empty())
    diagnostic.attachNote() << rest;
  return diagnostic;
}

/// Reports a child that ended without a report.
static LogicalResult reportCrash(const ChildTask &task, int status,
                                 StringRef printed) {
  InFlightDiagnostic diagnostic = emitError(task.location)
                                  << "the compiler crashed while "
                                  << task.activity;
  if (WIFSIGNALED(status))
    diagnostic << ": " << ::strsignal(WTERMSIG(status));
  else
    diagnostic << ": exit status " << WEXITSTATUS(status);
  if (!printed.trim().empty())
    diagnostic.attachNote() << "it printed: " << printed.trim();
  return diagnostic;
}

/// Reports how the child of `task` ended, and takes its result.
static LogicalResult evaluateChild(const ChildTask &task, const Child &child,
                                   std::error_code startError,
                                   std::string &result) {
  if (startError)
    return emitError(task.location)
           << "cannot start a process for " << task.activity << ": "
           << startError.message();
  auto log = llvm::MemoryBuffer::getFile(child.log);
  StringRef printed = log ? (*log)->getBuffer() : StringRef();
  std::optional<Report> report = deserialize(child.bytes);
  if (!report)
    return reportCrash(task, child.status, printed);
  llvm::errs() << printed;
  emitDiagnostics(task, *report);
  if (!report->fatalError.empty())
    return reportFatalError(task, report->fatalError);
  result = std::move(report->result);
  return success(report->succeeded);
}

LogicalResult backfuse::runInChildren(ArrayRef<ChildTask> tasks, unsigned jobs,
                                      SmallVectorImpl<std::string> &results) {
  results.assign(tasks.size(), "");
  if (tasks.empty())
    return success();
  MLIRContext *context = tasks.front().location->getContext();
  bool wasThreaded = context->isMultithreadingEnabled();
  context->disableMultithreading();
  llvm::scope_exit restore([&] { context->enableMultithreading(wasThreaded); });

  SmallString<128> directory;
  if (std::error_code error =
          llvm::sys::fs::createUniqueDirectory("backfuse", directory))
    return emitError(tasks.front().location)
           << "cannot make a temporary directory: " << error.message();

  llvm::outs().flush();
  SmallVector<Child> children(tasks.size());
  SmallVector<std::error_code> startErrors(tasks.size());
  if (jobs == 0)
    jobs = llvm::hardware_concurrency().compute_thread_count();
  int signal = superviseChildren(tasks, jobs, directory, children, startErrors);
  bool ok = true;
  if (!signal)
    for (size_t i = 0; i < tasks.size(); ++i)
      ok &= succeeded(
          evaluateChild(tasks[i], children[i], startErrors[i], results[i]));
  llvm::sys::fs::remove_directories(directory);
  if (signal)
    ::raise(signal);
  return success(ok);
}
