// Every function at every bf16 and f16 value and at more than a million f32 values, with the
// largest errors that tile.approx may have.
// RUN: kernel-opt %s --backfuse-expand-elementary-functions | check-elementary-functions | FileCheck %s

// A line for each function; the tool fails where a result is wrong. Instructions, and how many
// of them are the special function unit's, are what an epilogue pays:
// CHECK: | exp_f32 | 7 | 1 |
// CHECK: | log_f32 | 17 | 1 |
// CHECK: | tanh_f32 | 13 | 2 |
// CHECK: | sigmoid_f32 | 8 | 2 |
// CHECK: | silu_f32 | 14 | 2 |
// CHECK: | gelu_tanh_f32 | 24 | 2 |
// CHECK: | gelu_erf_f32 | 31 | 2 |
// CHECK: | gelu_tanh_bf16 | 22 | 2 |
// CHECK: | tanh_afn_f32 | 1 | 1 |

func.func @exp_f32(%x: f32) -> f32 {
  %0 = math.exp %x : f32
  return %0 : f32
}
func.func @exp2_f32(%x: f32) -> f32 {
  %0 = math.exp2 %x : f32
  return %0 : f32
}
func.func @log_f32(%x: f32) -> f32 {
  %0 = math.log %x : f32
  return %0 : f32
}
func.func @sqrt_f32(%x: f32) -> f32 {
  %0 = math.sqrt %x : f32
  return %0 : f32
}
func.func @rsqrt_f32(%x: f32) -> f32 {
  %0 = math.rsqrt %x : f32
  return %0 : f32
}
func.func @tanh_f32(%x: f32) -> f32 {
  %0 = math.tanh %x : f32
  return %0 : f32
}
func.func @erf_f32(%x: f32) -> f32 {
  %0 = math.erf %x : f32
  return %0 : f32
}
func.func @sigmoid_f32(%x: f32) -> f32 {
  %0 = mlp.sigmoid %x : f32
  return %0 : f32
}
func.func @silu_f32(%x: f32) -> f32 {
  %0 = mlp.silu %x : f32
  return %0 : f32
}
func.func @gelu_tanh_f32(%x: f32) -> f32 {
  %0 = mlp.gelu %x form = tanh : f32
  return %0 : f32
}
func.func @gelu_erf_f32(%x: f32) -> f32 {
  %0 = mlp.gelu %x form = erf : f32
  return %0 : f32
}
func.func @relu_f32(%x: f32) -> f32 {
  %0 = mlp.relu %x : f32
  return %0 : f32
}
func.func @exp_bf16(%x: bf16) -> bf16 {
  %0 = math.exp %x : bf16
  return %0 : bf16
}
func.func @exp2_bf16(%x: bf16) -> bf16 {
  %0 = math.exp2 %x : bf16
  return %0 : bf16
}
func.func @log_bf16(%x: bf16) -> bf16 {
  %0 = math.log %x : bf16
  return %0 : bf16
}
func.func @sqrt_bf16(%x: bf16) -> bf16 {
  %0 = math.sqrt %x : bf16
  return %0 : bf16
}
func.func @rsqrt_bf16(%x: bf16) -> bf16 {
  %0 = math.rsqrt %x : bf16
  return %0 : bf16
}
func.func @tanh_bf16(%x: bf16) -> bf16 {
  %0 = math.tanh %x : bf16
  return %0 : bf16
}
func.func @erf_bf16(%x: bf16) -> bf16 {
  %0 = math.erf %x : bf16
  return %0 : bf16
}
func.func @sigmoid_bf16(%x: bf16) -> bf16 {
  %0 = mlp.sigmoid %x : bf16
  return %0 : bf16
}
func.func @silu_bf16(%x: bf16) -> bf16 {
  %0 = mlp.silu %x : bf16
  return %0 : bf16
}
func.func @gelu_tanh_bf16(%x: bf16) -> bf16 {
  %0 = mlp.gelu %x form = tanh : bf16
  return %0 : bf16
}
func.func @gelu_erf_bf16(%x: bf16) -> bf16 {
  %0 = mlp.gelu %x form = erf : bf16
  return %0 : bf16
}
func.func @relu_bf16(%x: bf16) -> bf16 {
  %0 = mlp.relu %x : bf16
  return %0 : bf16
}
func.func @exp_f16(%x: f16) -> f16 {
  %0 = math.exp %x : f16
  return %0 : f16
}
func.func @exp2_f16(%x: f16) -> f16 {
  %0 = math.exp2 %x : f16
  return %0 : f16
}
func.func @log_f16(%x: f16) -> f16 {
  %0 = math.log %x : f16
  return %0 : f16
}
func.func @sqrt_f16(%x: f16) -> f16 {
  %0 = math.sqrt %x : f16
  return %0 : f16
}
func.func @rsqrt_f16(%x: f16) -> f16 {
  %0 = math.rsqrt %x : f16
  return %0 : f16
}
func.func @tanh_f16(%x: f16) -> f16 {
  %0 = math.tanh %x : f16
  return %0 : f16
}
func.func @erf_f16(%x: f16) -> f16 {
  %0 = math.erf %x : f16
  return %0 : f16
}
func.func @sigmoid_f16(%x: f16) -> f16 {
  %0 = mlp.sigmoid %x : f16
  return %0 : f16
}
func.func @silu_f16(%x: f16) -> f16 {
  %0 = mlp.silu %x : f16
  return %0 : f16
}
func.func @gelu_tanh_f16(%x: f16) -> f16 {
  %0 = mlp.gelu %x form = tanh : f16
  return %0 : f16
}
func.func @gelu_erf_f16(%x: f16) -> f16 {
  %0 = mlp.gelu %x form = erf : f16
  return %0 : f16
}
func.func @relu_f16(%x: f16) -> f16 {
  %0 = mlp.relu %x : f16
  return %0 : f16
}
func.func @exp_afn_f32(%x: f32) -> f32 {
  %0 = math.exp %x fastmath<afn> : f32
  return %0 : f32
}
func.func @log_afn_f32(%x: f32) -> f32 {
  %0 = math.log %x fastmath<afn> : f32
  return %0 : f32
}
func.func @rsqrt_afn_f32(%x: f32) -> f32 {
  %0 = math.rsqrt %x fastmath<afn> : f32
  return %0 : f32
}
func.func @tanh_afn_f32(%x: f32) -> f32 {
  %0 = math.tanh %x fastmath<afn> : f32
  return %0 : f32
}
func.func @sigmoid_afn_f32(%x: f32) -> f32 {
  %0 = mlp.sigmoid %x afn : f32
  return %0 : f32
}
func.func @silu_afn_f32(%x: f32) -> f32 {
  %0 = mlp.silu %x afn : f32
  return %0 : f32
}
func.func @gelu_tanh_afn_f32(%x: f32) -> f32 {
  %0 = mlp.gelu %x form = tanh afn : f32
  return %0 : f32
}
func.func @exp_afn_bf16(%x: bf16) -> bf16 {
  %0 = math.exp %x fastmath<afn> : bf16
  return %0 : bf16
}
func.func @log_afn_bf16(%x: bf16) -> bf16 {
  %0 = math.log %x fastmath<afn> : bf16
  return %0 : bf16
}
func.func @rsqrt_afn_bf16(%x: bf16) -> bf16 {
  %0 = math.rsqrt %x fastmath<afn> : bf16
  return %0 : bf16
}
func.func @tanh_afn_bf16(%x: bf16) -> bf16 {
  %0 = math.tanh %x fastmath<afn> : bf16
  return %0 : bf16
}
func.func @sigmoid_afn_bf16(%x: bf16) -> bf16 {
  %0 = mlp.sigmoid %x afn : bf16
  return %0 : bf16
}
func.func @silu_afn_bf16(%x: bf16) -> bf16 {
  %0 = mlp.silu %x afn : bf16
  return %0 : bf16
}
func.func @gelu_tanh_afn_bf16(%x: bf16) -> bf16 {
  %0 = mlp.gelu %x form = tanh afn : bf16
  return %0 : bf16
}
