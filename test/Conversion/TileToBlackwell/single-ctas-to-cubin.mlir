// Every variant of the founding graphs, at every precision, in tiles of one CTA
// with splits: ptxas takes what the plan launches. (Pairs are in
// pairs-to-cubin.mlir, what the cost model chooses in examples-to-cubin.mlir and
// tf32-to-cubin.mlir.)
// REQUIRES: ptxas, long
// RUN: rm -rf %t && split-file %s %t
// RUN: kernel-opt %examples/ssm_gate_backward.mlir --tuning=%t/two.json --emit=cubin --target=sm_100f,sm_100a --ptxas=%ptxas --dump-dir=%t/079 -o %t/079.cubins/
// RUN: kernel-opt %examples/ssm_gate_backward.mlir --tuning=%t/two.json --emit=plan --target=sm_100f,sm_100a -o %t/079.plan
// RUN: %python %S/Inputs/check_reports.py %t/079.cubins %t/079 %t/079.plan | FileCheck %s
// RUN: kernel-opt %examples/mlp_gelu_backward.mlir --matmul-precision=fp16 --tuning=%t/four.json --emit=cubin --target=sm_100f,sm_100a --ptxas=%ptxas --dump-dir=%t/fp16 -o %t/fp16.cubins/
// RUN: kernel-opt %examples/mlp_gelu_backward.mlir --matmul-precision=fp16 --tuning=%t/four.json --emit=plan --target=sm_100f,sm_100a -o %t/fp16.plan
// RUN: %python %S/Inputs/check_reports.py %t/fp16.cubins %t/fp16 %t/fp16.plan | FileCheck %s
// RUN: kernel-opt %examples/mlp_gelu_backward.mlir --matmul-precision=bf16x3 --tuning=%t/four.json --emit=cubin --target=sm_100f,sm_100a --ptxas=%ptxas --dump-dir=%t/bf16x3 -o %t/bf16x3.cubins/
// RUN: kernel-opt %examples/mlp_gelu_backward.mlir --matmul-precision=bf16x3 --tuning=%t/four.json --emit=plan --target=sm_100f,sm_100a -o %t/bf16x3.plan
// RUN: %python %S/Inputs/check_reports.py %t/bf16x3.cubins %t/bf16x3 %t/bf16x3.plan | FileCheck %s
// RUN: kernel-opt %examples/mlp_gelu_backward.mlir --matmul-precision=tf32 --tuning=%t/four.json --emit=cubin --target=sm_100f,sm_100a --ptxas=%ptxas --dump-dir=%t/tf32 -o %t/tf32.cubins/
// RUN: kernel-opt %examples/mlp_gelu_backward.mlir --matmul-precision=tf32 --tuning=%t/four.json --emit=plan --target=sm_100f,sm_100a -o %t/tf32.plan
// RUN: %python %S/Inputs/check_reports.py %t/tf32.cubins %t/tf32 %t/tf32.plan | FileCheck %s
// CHECK: {{^[1-9][0-9]*}} kernels for each of sm_100a, sm_100f: no spills, no warnings

//--- two.json
{"ranges": [{"to": 1000, "tile_m": 128, "tile_n": 128, "splits": [1, 4]}, {"to": -1, "tile_m": 128, "tile_n": 256, "splits": [1, 2]}]}
//--- four.json
{"ranges": [{"to": 1000, "tile_m": 128, "tile_n": 128, "splits": [1, 1, 1, 4]}, {"to": -1, "tile_m": 128, "tile_n": 256, "splits": [1, 1, 1, 2]}]}
