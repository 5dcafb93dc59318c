//===- OutputFile.cpp - Files that appear whole or not at all -------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backfuse/Support/OutputFile.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Signals.h"
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace llvm;

/// Writes all of `bytes` to `descriptor`; returns 0 or errno.
static int writeAll(int descriptor, StringRef bytes) {
  while (!bytes.empty()) {
    ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0) {
      if (errno == EINTR)
        continue;
      return errno;
    }
    bytes = bytes.drop_front(written);
  }
  return 0;
}

static Error makeError(StringRef path, int error) {
  return createStringError(std::error_code(error, std::generic_category()),
                           "cannot write '" + path +
                               "': " + std::generic_category().message(error));
}

/// Writes to what is not a regular file: a device, a pipe, a terminal.
static Error writeDirectly(StringRef path, int descriptor, StringRef bytes) {
  if (int error = writeAll(descriptor, bytes))
    return makeError(path, error);
  return Error::success();
}

/// Writes a new file beside `path`, then gives it that name.
static Error writeAndRename(StringRef path, StringRef bytes) {
  // The file that a link points to is replaced, not the link.
  SmallString<128> target(path);
  if (sys::fs::exists(path))
    (void)sys::fs::real_path(path, target);
  // rename() needs no permission on the file it replaces, but its owner has
  // said that it shall stay.
  if (sys::fs::exists(target) && ::access(target.c_str(), W_OK) != 0)
    return makeError(path, errno);

  SmallString<128> temporary;
  int descriptor;
  if (std::error_code error = sys::fs::createUniqueFile(
          target + ".%%%%%%.tmp", descriptor, temporary, sys::fs::OF_None,
          sys::fs::all_read | sys::fs::all_write))
    return makeError(path, error.value());
  sys::RemoveFileOnSignal(temporary);
  llvm::scope_exit cleanUp([&] {
    ::unlink(temporary.c_str());
    sys::DontRemoveFileOnSignal(temporary);
  });

  int error = writeAll(descriptor, bytes);
  if (!error && ::fsync(descriptor) != 0)
    error = errno;
  if (::close(descriptor) != 0 && !error)
    error = errno;
  if (!error && ::rename(temporary.c_str(), target.c_str()) != 0)
    error = errno;
  if (error)
    return makeError(path, error);
  cleanUp.release();
  sys::DontRemoveFileOnSignal(temporary);
  return Error::success();
}

Error backfuse::writeOutput(StringRef path, StringRef bytes) {
  // A file size limit shall be an error of write(), not a signal that leaves
  // the temporary file behind; a closed pipe likewise.
  struct sigaction ignore = {}, oldSize, oldPipe;
  ignore.sa_handler = SIG_IGN;
  ::sigaction(SIGXFSZ, &ignore, &oldSize);
  ::sigaction(SIGPIPE, &ignore, &oldPipe);
  llvm::scope_exit restore([&] {
    ::sigaction(SIGXFSZ, &oldSize, nullptr);
    ::sigaction(SIGPIPE, &oldPipe, nullptr);
  });

  if (path == "-")
    return writeDirectly("standard output", STDOUT_FILENO, bytes);
  std::string name = path.str();
  struct stat status;
  if (::stat(name.c_str(), &status) != 0 || S_ISREG(status.st_mode))
    return writeAndRename(path, bytes);
  int descriptor = ::open(name.c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor < 0)
    return makeError(path, errno);
  llvm::scope_exit close([&] { ::close(descriptor); });
  return writeDirectly(path, descriptor, bytes);
}
