//===- RunPipeline.cpp - Running passes as the flags have it --------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// --stop-after works on the pipeline's text, as PassManager prints and parses
// it:
//   builtin.module(a{option=1}, mlp.graph(b, c), d)
// A pass inside a nested pipeline can be named as well, and is reached in no
// other way: MLIR keeps nested pipelines in a private class.
//
//===----------------------------------------------------------------------===//
#include "backfuse/Pipelines/RunPipeline.h"
#include "backfuse/Pipelines/CompileOptions.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace backfuse;

namespace {
/// A pass in the text of a pipeline.
struct PassText {
  StringRef name;
  size_t end;     ///< the offset behind it and its options
  unsigned depth; ///< open parentheses around it
};
} // namespace

/// Returns the offset behind the options that begin at `offset`, if any do.
static size_t skipOptions(StringRef text, size_t offset) {
  if (offset >= text.size() || text[offset] != '{')
    return offset;
  unsigned depth = 0;
  for (; offset < text.size(); ++offset) {
    if (text[offset] == '{')
      ++depth;
    else if (text[offset] == '}' && --depth == 0)
      return offset + 1;
  }
  return offset;
}

/// Returns the passes of `text` in the order in which they run.
static SmallVector<PassText> listPasses(StringRef text) {
  SmallVector<PassText> passes;
  unsigned depth = 0;
  for (size_t i = 0; i < text.size();) {
    if (text[i] == '(' || text[i] == ')') {
      depth += text[i] == '(' ? 1 : -1;
      ++i;
      continue;
    }
    size_t end = std::min(text.find_first_of("(),{", i), text.size());
    StringRef name = text.slice(i, end).trim();
    size_t behind = skipOptions(text, end);
    // A name before a parenthesis is an op.
    if (!name.empty() && (behind >= text.size() || text[behind] != '('))
      passes.push_back({name, behind, depth});
    i = behind < text.size() && text[behind] == ',' ? behind + 1 : behind;
  }
  return passes;
}

llvm::Expected<std::string> backfuse::truncatePipeline(StringRef pipeline,
                                                       StringRef stopAfter) {
  auto [name, number] = stopAfter.split(',');
  unsigned run = 1;
  if (!number.empty() && (number.getAsInteger(10, run) || run == 0))
    return llvm::createStringError(
        "--stop-after=" + stopAfter +
        ": expects a positive number after the comma");
  SmallVector<PassText> passes = listPasses(pipeline);
  unsigned seen = 0;
  for (const PassText &pass : passes)
    if (pass.name == name && ++seen == run)
      return (pipeline.take_front(pass.end) + std::string(pass.depth, ')'))
          .str();
  if (seen > 0)
    return llvm::createStringError("--stop-after=" + stopAfter + ": '" + name +
                                   "' runs only " + llvm::Twine(seen) +
                                   " time(s)");
  SmallVector<StringRef> names;
  for (const PassText &pass : passes)
    if (!llvm::is_contained(names, pass.name))
      names.push_back(pass.name);
  return llvm::createStringError(
      "--stop-after=" + stopAfter +
      ": no such pass; there are: " + llvm::join(names, ", "));
}

/// Makes `pm` end after the pass that --stop-after names.
static LogicalResult truncate(PassManager &pm, const CompileOptions &options,
                              Location location) {
  std::string text;
  llvm::raw_string_ostream os(text);
  pm.printAsTextualPipeline(os);
  llvm::Expected<std::string> front = truncatePipeline(text, options.stopAfter);
  if (!front)
    return emitError(location) << llvm::toString(front.takeError());
  // What remains are the passes between "builtin.module(" and ")".
  StringRef passes = StringRef(*front).split('(').second.drop_back();
  pm.clear();
  return parsePassPipeline(passes, pm);
}

LogicalResult
backfuse::runPipeline(ModuleOp module,
                      llvm::function_ref<void(OpPassManager &)> build,
                      const CompileOptions &options) {
  PassManager pm(module.getContext());
  build(pm);
  if (!options.stopAfter.empty() &&
      failed(truncate(pm, options, module.getLoc())))
    return failure();
  if (failed(applyPassManagerCLOptions(pm)))
    return failure();
  applyDefaultTimingPassManagerCLOptions(pm);
  if (!options.dumpDir.empty())
    pm.enableIRPrintingToFileTree(
        /*shouldPrintBeforePass=*/[](Pass *, Operation *) { return false; },
        /*shouldPrintAfterPass=*/[](Pass *, Operation *) { return true; },
        /*printModuleScope=*/true, /*printAfterOnlyOnChange=*/true,
        /*printAfterOnlyOnFailure=*/false, options.dumpDir + "/passes");
  return pm.run(module);
}
