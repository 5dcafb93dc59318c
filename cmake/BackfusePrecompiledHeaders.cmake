# One precompiled header for the compiler's libraries, of upstream headers only:
# most of them take 5 s to parse, and a second when precompiled. Sources include
# what they use nevertheless, so they build without it.
add_library(BackfuseHeaders OBJECT "${CMAKE_CURRENT_LIST_DIR}/PrecompiledHeaders.cpp")
llvm_update_compile_flags(BackfuseHeaders)
target_precompile_headers(BackfuseHeaders PRIVATE
  <mlir/Dialect/Arith/IR/Arith.h>
  <mlir/Dialect/LLVMIR/LLVMDialect.h>
  <mlir/Dialect/Math/IR/Math.h>
  <mlir/Dialect/SCF/IR/SCF.h>
  <mlir/IR/BuiltinOps.h>
  <mlir/IR/DialectImplementation.h>
  <mlir/IR/OpImplementation.h>
  <mlir/IR/PatternMatch.h>
  <mlir/IR/SymbolTable.h>
  <mlir/IR/TypeUtilities.h>
  <mlir/Pass/PassManager.h>
  <llvm/ADT/TypeSwitch.h>
)
# The same bytes whenever it is built, for ccache.
target_compile_options(BackfuseHeaders PRIVATE
  $<$<CXX_COMPILER_ID:Clang>:-Xclang$<SEMICOLON>-fno-pch-timestamp>)

foreach(library MLIRMlp MLIRTile BackfuseAnalysis BackfuseTransforms
        BackfuseConversionCommon BackfuseMlpToTile BackfuseTileToHopper
        BackfuseTileToBlackwell BackfuseCubin BackfuseBundle BackfusePipelines
        BackfuseTestPasses)
  if(TARGET obj.${library})
    target_precompile_headers(obj.${library} REUSE_FROM BackfuseHeaders)
  endif()
endforeach()
