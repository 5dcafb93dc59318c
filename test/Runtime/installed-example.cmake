# Installs the runtime under WORK, builds the C example against it as a user
# would, and runs it on a bundle. With -DKEY=VALUE: BUILD, SOURCE, WORK,
# MAKE_BUNDLE, CUDA_INCLUDE, DLPACK_INCLUDE, C, CXX.
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status
    OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${ARGN}\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()
file(REMOVE_RECURSE "${WORK}")
run("${CMAKE_COMMAND}" --install "${BUILD}" --component runtime --prefix "${WORK}/prefix")
run("${CMAKE_COMMAND}" -S "${SOURCE}" -B "${WORK}/build"
  "-DCMAKE_PREFIX_PATH=${WORK}/prefix" "-DCMAKE_C_COMPILER=${C}"
  "-DCMAKE_CXX_COMPILER=${CXX}" "-DCUDA_INCLUDE=${CUDA_INCLUDE}"
  "-DBACKFUSE_DLPACK_INCLUDE=${DLPACK_INCLUDE}")
run("${CMAKE_COMMAND}" --build "${WORK}/build")
run("${MAKE_BUNDLE}" "${WORK}/rows.bfb")
run("${WORK}/build/run_bundle" "${WORK}/rows.bfb")
if(NOT output MATCHES "graph rows: 2 inputs, 2 outputs")
  message(FATAL_ERROR "run_bundle printed:\n${output}")
endif()
file(WRITE "${WORK}/broken.bfb" "BACKFUSE")
execute_process(COMMAND "${WORK}/build/run_bundle" "${WORK}/broken.bfb"
  RESULT_VARIABLE status ERROR_VARIABLE output OUTPUT_QUIET)
if(status EQUAL 0 OR NOT output MATCHES "the bundle is truncated")
  message(FATAL_ERROR "run_bundle on a broken bundle: ${status}, ${output}")
endif()
# The library is small and leaves everything of CUDA to run time.
file(GLOB library "${WORK}/prefix/lib/libbackfuse_runtime.so.*.*.*"
  "${WORK}/prefix/lib/*/libbackfuse_runtime.so.*.*.*")
file(SIZE "${library}" size)
if(size GREATER 1000000)
  message(FATAL_ERROR "${library} has ${size} bytes, more than 1 MB")
endif()
run(ldd "${library}")
if(output MATCHES "cuda|cudart|LLVM|MLIR")
  message(FATAL_ERROR "${library} links what it should not:\n${output}")
endif()
