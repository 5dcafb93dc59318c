/*===- runtime.h - Load and launch Backfuse bundles --------------*- C -*-===*/
/* Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The C ABI of libbackfuse_runtime.
 *
 * Load a bundle, prepare it for a device, launch it:
 *
 *   bf_bundle *bundle;        bf_bundle_load_file("graph.bfb", &bundle);
 *   bf_executable *exec;      bf_executable_prepare(bundle, 0, &exec);
 *   bf_executable_launch(exec, stream, inputs, n, outputs, m, params, p,
 *                        workspace, workspace_bytes);
 *
 * Every function that can fail returns a bf_status; bf_last_error() then gives
 * a sentence about the failure on this thread. Nothing throws.
 *
 * Ownership: objects come from *_load_*, *_prepare and *_create and go with the
 * matching *_destroy, in any order: an executable keeps what it needs of its
 * bundle, a plan what it needs of its executable. Strings and arrays reached
 * through query functions live as long as the object they were asked of.
 *
 * Threads: all functions may be called from any thread; one object may be used
 * by many threads at once, except that it must not be destroyed meanwhile.
 *
 * Streams: launches are enqueued on the caller's stream and return at once.
 * They allocate nothing, wait for nothing and may be captured into a graph.
 *===---------------------------------------------------------------------===*/
#ifndef BACKFUSE_RUNTIME_H
#define BACKFUSE_RUNTIME_H

#include <dlpack/dlpack.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define BF_API __attribute__((visibility("default")))
#else
#define BF_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef enum bf_status {
  BF_OK = 0,
  BF_ERROR_ARGUMENT = 1,  /* an argument of the call, a tensor, a dimension */
  BF_ERROR_IO = 2,        /* the file cannot be read */
  BF_ERROR_BUNDLE = 3,    /* damaged, truncated, newer or inconsistent bundle */
  BF_ERROR_REFUSED = 4,   /* the compiler refused this graph for these values */
  BF_ERROR_NO_DRIVER = 5, /* no CUDA driver, or one that is too old */
  BF_ERROR_NO_TARGET = 6, /* the bundle holds no code for this device */
  BF_ERROR_CUDA = 7,      /* a call of the CUDA driver failed */
  BF_ERROR_MEMORY = 8,    /* host memory is exhausted */
  BF_ERROR_INTERNAL = 9
} bf_status;

/* A sentence about the last failure on this thread; never null. */
BF_API const char *bf_last_error(void);
/* "invalid argument", "damaged bundle", ... */
BF_API const char *bf_status_name(bf_status status);
/* "0.1.0" */
BF_API const char *bf_version(void);

/*---------------------------------------------------------------- bundles --*/
typedef struct bf_bundle bf_bundle;

BF_API bf_status bf_bundle_load_file(const char *path, bf_bundle **bundle);
/* Copies the bytes. */
BF_API bf_status bf_bundle_load_memory(const void *data, size_t bytes,
                                       bf_bundle **bundle);
BF_API void bf_bundle_destroy(bf_bundle *bundle);

/* The values of the schema's enumerations, runtime/bundle.fbs. */
typedef enum bf_dtype { BF_F32, BF_BF16, BF_F16, BF_I1, BF_I64 } bf_dtype;
typedef enum bf_rate {
  BF_RATE_BF16,
  BF_RATE_F16,
  BF_RATE_TF32,
  BF_RATE_F32
} bf_rate;
#define BF_NUM_RATES 4

typedef struct bf_bundle_info {
  const char *graph; /* the graph's name */
  uint32_t num_dims, num_inputs, num_outputs, num_params, num_targets;
  const char *compiler, *llvm, *ptxas; /* provenance; "" if not recorded */
  uint32_t minimum_driver;             /* as cuDriverGetVersion counts; 0: any */
} bf_bundle_info;
BF_API bf_status bf_bundle_get_info(const bf_bundle *bundle,
                                    bf_bundle_info *info);

/* The name of a variable dimension; null if the index is out of range. */
BF_API const char *bf_bundle_dim_name(const bf_bundle *bundle, uint32_t index);

/* An extent is fixed (dim < 0) or the value of dimension `dim`. */
typedef struct bf_extent {
  int64_t fixed;
  int32_t dim;
} bf_extent;
#define BF_MAX_RANK 8
typedef struct bf_argument {
  const char *name;
  bf_dtype dtype;
  int32_t rank;
  bf_extent extents[BF_MAX_RANK];
} bf_argument;
typedef enum bf_role { BF_INPUT, BF_OUTPUT, BF_PARAM } bf_role;
BF_API bf_status bf_bundle_get_argument(const bf_bundle *bundle, bf_role role,
                                        uint32_t index, bf_argument *argument);

typedef struct bf_target_info {
  const char *name; /* "sm_90a" */
  uint32_t num_variants, num_kernels, num_modules;
  int has_cubins, has_ptx; /* whether every module has one */
} bf_target_info;
BF_API bf_status bf_bundle_get_target(const bf_bundle *bundle, uint32_t target,
                                      bf_target_info *info);

typedef struct bf_variant_info {
  const char *name;
  uint32_t num_steps, num_products;
} bf_variant_info;
BF_API bf_status bf_bundle_get_variant(const bf_bundle *bundle, uint32_t target,
                                       uint32_t variant, bf_variant_info *info);

typedef struct bf_product_info {
  const char *route;    /* "bf16", "bf16x3: 2 products", ... */
  const char *location; /* of the product in the source; "" if not recorded */
  uint32_t op;          /* index into the graph's ops */
} bf_product_info;
BF_API bf_status bf_bundle_get_product(const bf_bundle *bundle, uint32_t target,
                                       uint32_t variant, uint32_t product,
                                       bf_product_info *info);

/* The verified FlatBuffer of schema runtime/bundle.fbs, without the header. */
BF_API const void *bf_bundle_data(const bf_bundle *bundle, size_t *bytes);

/*------------------------------------------------------------ executables --*/
typedef struct bf_executable bf_executable;

/* Loads the code of the best target onto device `ordinal` of the CUDA driver,
 * into its primary context, and sets the attributes of every kernel, so that no
 * launch loads anything. */
BF_API bf_status bf_executable_prepare(const bf_bundle *bundle, int ordinal,
                                       bf_executable **executable);
BF_API void bf_executable_destroy(bf_executable *executable);
/* The index of the target that was chosen. */
BF_API uint32_t bf_executable_target(const bf_executable *executable);

/* Bytes of workspace that a launch with these dimensions (in the order of
 * bf_bundle_dim_name) and parameters (in the order of BF_PARAM; an I1 is 0 or 1)
 * needs. Its content does not matter, before or after. */
BF_API bf_status bf_executable_workspace_size(const bf_executable *executable,
                                              const int64_t *dims,
                                              size_t num_dims,
                                              const double *params,
                                              size_t num_params, size_t *bytes);

/* Checks every argument, infers the dimensions from the tensors' shapes and
 * enqueues the graph on `stream` (a CUstream; null is the default stream).
 * Tensors are in the order of BF_INPUT and BF_OUTPUT, compact row-major
 * (strides may be null) on the executable's device, with 16-byte aligned bases
 * and rows. The workspace, 256-byte aligned, and all tensors belong to the
 * caller and must stay alive until the launch has finished. A workspace must
 * not be used by two launches at once. */
BF_API bf_status bf_executable_launch(
    bf_executable *executable, void *stream, const DLTensor *const *inputs,
    size_t num_inputs, const DLTensor *const *outputs, size_t num_outputs,
    const double *params, size_t num_params, void *workspace,
    size_t workspace_bytes);

/*------------------------------------------------------------------ plans --*/
/* What a launch does for given dimensions and parameters: variant chosen, all
 * expressions evaluated. Launching a plan saves evaluating them again. */
typedef struct bf_plan bf_plan;

BF_API bf_status bf_plan_create(const bf_executable *executable,
                                const int64_t *dims, size_t num_dims,
                                const double *params, size_t num_params,
                                bf_plan **plan);
/* A plan without a device, to look at: it cannot be launched. */
BF_API bf_status bf_plan_create_for_target(const bf_bundle *bundle,
                                           uint32_t target, uint32_t sm_count,
                                           const int64_t *dims, size_t num_dims,
                                           const double *params,
                                           size_t num_params, bf_plan **plan);
BF_API void bf_plan_destroy(bf_plan *plan);

/* As bf_executable_launch, for tensors of the plan's dimensions. */
BF_API bf_status bf_plan_launch(const bf_plan *plan, void *stream,
                                const DLTensor *const *inputs,
                                size_t num_inputs,
                                const DLTensor *const *outputs,
                                size_t num_outputs, void *workspace,
                                size_t workspace_bytes);

typedef struct bf_plan_info {
  uint32_t target, variant, num_steps;
  const char *variant_name;
  uint64_t workspace_bytes;
  uint64_t bytes;                    /* least bytes through device memory */
  uint64_t operations[BF_NUM_RATES]; /* least operations, by bf_rate */
} bf_plan_info;
BF_API bf_status bf_plan_get_info(const bf_plan *plan, bf_plan_info *info);

typedef enum bf_space {
  BF_SPACE_INPUT,
  BF_SPACE_OUTPUT,
  BF_SPACE_WORKSPACE
} bf_space;
typedef struct bf_buffer {
  bf_space space;
  uint32_t index;
  uint64_t offset; /* in bytes */
} bf_buffer;
/* What cuTensorMapEncodeTiled takes; dimension 0 is the contiguous one. */
typedef struct bf_tensor_map {
  bf_buffer buffer;
  uint8_t type;         /* schema's MapType */
  uint8_t swizzle;      /* schema's Swizzle */
  uint8_t l2_promotion; /* 0 none, 1 64 B, 2 128 B, 3 256 B */
  uint8_t oob_nan;
  uint32_t rank;
  uint64_t sizes[5];
  uint64_t strides[4]; /* in bytes, of dimensions 1 to rank - 1 */
  uint32_t box[5];
} bf_tensor_map;
typedef enum bf_step_arg_kind {
  BF_ARG_MAP,
  BF_ARG_POINTER,
  BF_ARG_INT32,
  BF_ARG_INT64,
  BF_ARG_FLOAT32,
  BF_ARG_LAUNCH_TAG
} bf_step_arg_kind;
typedef struct bf_step_arg {
  bf_step_arg_kind kind;
  bf_tensor_map map; /* BF_ARG_MAP */
  bf_buffer buffer;  /* BF_ARG_POINTER */
  int64_t integer;   /* BF_ARG_INT32, BF_ARG_INT64 */
  float real;        /* BF_ARG_FLOAT32 */
} bf_step_arg;
typedef enum bf_step_kind { BF_STEP_KERNEL, BF_STEP_ZERO_FILL } bf_step_kind;
typedef struct bf_step {
  bf_step_kind kind;
  /* BF_STEP_KERNEL; nothing is launched if an extent of the grid is 0 */
  const char *kernel;
  uint32_t kernel_index, module_index;
  uint32_t grid[3], cluster[3];
  uint32_t threads, smem_bytes;
  int cooperative, dependent;
  size_t num_args;
  const bf_step_arg *args;
  /* BF_STEP_ZERO_FILL */
  bf_buffer buffer;
  uint64_t bytes;
} bf_step;
BF_API bf_status bf_plan_get_step(const bf_plan *plan, uint32_t index,
                                  bf_step *step);

#ifdef __cplusplus
} /* extern "C" */
#endif
#endif /* BACKFUSE_RUNTIME_H */
