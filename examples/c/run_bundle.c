/* Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Lists a bundle; with a GPU, runs it once on zeros: run_bundle FILE.bfb [EXTENT]. Every dimension is EXTENT. */
#include <backfuse/runtime.h>
#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#define DIE(text) (fprintf(stderr, "run_bundle: %s\n", text), exit(1))
#define BF(call) ((call) == BF_OK ? (void)0 : DIE(bf_last_error()))
#define STRING(name) #name
#define SYMBOL(name) STRING(name) /* cuMemAlloc is cuMemAlloc_v2 and so on */
#define CU(name, ...) (((__typeof__(&name))dlsym(cuda, SYMBOL(name)))(__VA_ARGS__) == CUDA_SUCCESS ? (void)0 : DIE(#name " failed"))

int main(int argc, char **argv) {
  static const DLDataType types[] = {{kDLFloat, 32, 1}, {kDLBfloat, 16, 1}, {kDLFloat, 16, 1}, {kDLUInt, 8, 1}, {kDLInt, 64, 1}};
  int64_t dims[32], shapes[128][BF_MAX_RANK];
  double params[64] = {0}; /* false, 0.0 */
  DLTensor tensors[128] = {0};
  const DLTensor *arguments[128];
  bf_bundle *bundle; bf_bundle_info info; bf_executable *executable;
  BF(bf_bundle_load_file(argc > 1 ? argv[1] : "graph.bfb", &bundle));
  BF(bf_bundle_get_info(bundle, &info));
  printf("graph %s: %u inputs, %u outputs\n", info.graph, info.num_inputs, info.num_outputs);
  for (uint32_t i = 0; i < info.num_dims; ++i) dims[i] = argc > 2 ? atoll(argv[2]) : 128;
  void *cuda = dlopen("libcuda.so.1", RTLD_NOW);
  if (!cuda) { puts("no GPU: nothing is run"); bf_bundle_destroy(bundle); return 0; }
  BF(bf_executable_prepare(bundle, 0, &executable));
  CUcontext context; CUdeviceptr memory = 0; size_t workspace_bytes;
  CU(cuInit, 0); CU(cuDevicePrimaryCtxRetain, &context, 0); CU(cuCtxSetCurrent, context);
  for (uint32_t i = 0; i < info.num_inputs + info.num_outputs; ++i) {
    bf_argument a; size_t bytes = 8; arguments[i] = &tensors[i];
    BF(i < info.num_inputs ? bf_bundle_get_argument(bundle, BF_INPUT, i, &a) : bf_bundle_get_argument(bundle, BF_OUTPUT, i - info.num_inputs, &a));
    for (int32_t d = 0; d < a.rank; ++d) bytes *= shapes[i][d] = a.extents[d].dim < 0 ? a.extents[d].fixed : dims[a.extents[d].dim];
    CU(cuMemAlloc, &memory, bytes); CU(cuMemsetD8, memory, 0, bytes);
    tensors[i] = (DLTensor){.data = (void *)memory, .device = {kDLCUDA, 0}, .ndim = a.rank, .dtype = types[a.dtype], .shape = shapes[i]};
  }
  BF(bf_executable_workspace_size(executable, dims, info.num_dims, params, info.num_params, &workspace_bytes));
  CU(cuMemAlloc, &memory, workspace_bytes + 1);
  BF(bf_executable_launch(executable, NULL, arguments, info.num_inputs, arguments + info.num_inputs, info.num_outputs, params, info.num_params, (void *)memory, workspace_bytes));
  CU(cuCtxSynchronize);
  puts("ran once on zeros");
  bf_executable_destroy(executable);
  bf_bundle_destroy(bundle);
  return 0;
}
