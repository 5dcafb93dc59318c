# Finds LLVM/MLIR 22 and sets what its CMake functions need.
# Debian's packages live under llvm-config's prefix, which is not on CMake's
# search path; elsewhere the user names MLIR_DIR.
if(NOT MLIR_DIR)
  find_program(LLVM_CONFIG NAMES llvm-config-22)
  if(LLVM_CONFIG)
    execute_process(COMMAND ${LLVM_CONFIG} --prefix
                    OUTPUT_VARIABLE BACKFUSE_LLVM_PREFIX
                    OUTPUT_STRIP_TRAILING_WHITESPACE)
    list(APPEND CMAKE_PREFIX_PATH "${BACKFUSE_LLVM_PREFIX}")
  endif()
endif()
find_package(MLIR CONFIG)
if(NOT MLIR_FOUND)
  message(FATAL_ERROR
    "Backfuse's compiler needs MLIR 22. On Debian: apt-get install "
    "libmlir-22-dev mlir-22-tools llvm-22-dev. Elsewhere pass "
    "-DMLIR_DIR=<prefix>/lib/cmake/mlir. To build only the runtime: "
    "-DBACKFUSE_BUILD_COMPILER=OFF.")
endif()
if(NOT LLVM_VERSION_MAJOR EQUAL 22)
  message(FATAL_ERROR "Backfuse needs LLVM/MLIR 22, but MLIR_DIR names ${LLVM_VERSION_MAJOR}.")
endif()
message(STATUS "MLIR ${LLVM_PACKAGE_VERSION} in ${MLIR_DIR}")

# Not exported by Debian's package, and needed to link one copy of MLIR.
set(MLIR_LINK_MLIR_DYLIB ON)
set(LLVM_LINK_LLVM_DYLIB ON)
set(LLVM_RUNTIME_OUTPUT_INTDIR "${CMAKE_BINARY_DIR}/bin")
set(LLVM_LIBRARY_OUTPUT_INTDIR "${CMAKE_BINARY_DIR}/lib")
set(MLIR_BINARY_DIR "${CMAKE_BINARY_DIR}")
if(NOT LLVM_EXTERNAL_LIT)
  set(LLVM_EXTERNAL_LIT "${LLVM_TOOLS_BINARY_DIR}/lit")
endif()

list(APPEND CMAKE_MODULE_PATH "${MLIR_CMAKE_DIR}" "${LLVM_CMAKE_DIR}")
include(TableGen)
include(AddLLVM)
include(AddMLIR)
include(HandleLLVMOptions)
include_directories(SYSTEM ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
link_directories(${LLVM_BUILD_LIBRARY_DIR})
separate_arguments(LLVM_DEFINITIONS_LIST NATIVE_COMMAND "${LLVM_DEFINITIONS}")
add_definitions(${LLVM_DEFINITIONS_LIST})
