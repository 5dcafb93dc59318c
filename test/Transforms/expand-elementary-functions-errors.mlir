// RUN: kernel-opt %s --backfuse-expand-elementary-functions -split-input-file -verify-diagnostics

func.func @unknown_function(%x: f32) -> f32 {
  // expected-error @below {{'math.sin' op has no expansion for kernels; write it with exp, exp2, log, sqrt, rsqrt, tanh, erf or the activations of mlp}}
  %0 = math.sin %x : f32
  return %0 : f32
}

// -----

// All are reported.
func.func @wide(%x: f64) -> f64 {
  // expected-error @below {{'math.exp' op expects f32, f16 or bf16, but got 'f64'}}
  %0 = math.exp %x : f64
  // expected-error @below {{'math.tanh' op expects f32, f16 or bf16, but got 'f64'}}
  %1 = math.tanh %0 : f64
  return %1 : f64
}

// -----

func.func @sugar(%x: bf16) -> bf16 {
  // expected-error @below {{'mlp.silu_grad' op expects to be expanded by backfuse-expand-sugar before kernels are made}}
  %0 = mlp.silu_grad %x rounding = once : bf16
  return %0 : bf16
}
