// A tuning file takes the place of the cost model.
// RUN: split-file %s %t
// RUN: kernel-opt %t/graph.mlir --backfuse-select-schedule=tuning=%t/good.json | FileCheck %s
// RUN: kernel-opt %t/graph.mlir --backfuse-select-schedule=tuning=%t/good.json | %python %S/Inputs/check-ranges.py g --unsplit 1
// CHECK: mlp.graph @g__n128(
// CHECK-SAME: tile.ranges = [#tile.range<from = 1, to = 513, splits = [3, 1]>, #tile.range<from = 513, to = -1, splits = [1, 1]>]

// What is wrong in one is named, with the file.
// RUN: not kernel-opt %t/graph.mlir --backfuse-select-schedule=tuning=%t/none.json 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: graph.mlir:1:1: error: tuning file '{{.*}}none.json': No such file or directory
// RUN: not kernel-opt %t/graph.mlir --backfuse-select-schedule=tuning=%t/garbage.json 2>&1 | FileCheck %s --check-prefix=GARBAGE
// GARBAGE: error: tuning file '{{.*}}garbage.json': 
// RUN: not kernel-opt %t/graph.mlir --backfuse-select-schedule=tuning=%t/list.json 2>&1 | FileCheck %s --check-prefix=LIST
// LIST: error: tuning file '{{.*}}list.json': expects an object with a list 'ranges'
// RUN: not kernel-opt %t/graph.mlir --backfuse-select-schedule=tuning=%t/empty.json 2>&1 | FileCheck %s --check-prefix=EMPTY
// EMPTY: error: tuning file '{{.*}}empty.json': expects an object with a list 'ranges'
// RUN: not kernel-opt %t/graph.mlir --backfuse-select-schedule=tuning=%t/keys.json 2>&1 | FileCheck %s --check-prefix=KEYS
// KEYS: error: tuning file '{{.*}}keys.json': a range expects 'to', 'tile_n' and 'splits'
// RUN: not kernel-opt %t/graph.mlir --backfuse-select-schedule=tuning=%t/descends.json 2>&1 | FileCheck %s --check-prefix=DESCENDS
// DESCENDS: error: tuning file '{{.*}}descends.json': ranges do not ascend to one without end
// RUN: not kernel-opt %t/graph.mlir --backfuse-select-schedule=tuning=%t/middle.json 2>&1 | FileCheck %s --check-prefix=MIDDLE
// MIDDLE: error: tuning file '{{.*}}middle.json': ranges do not ascend to one without end
// RUN: not kernel-opt %t/graph.mlir --backfuse-select-schedule=tuning=%t/ends.json 2>&1 | FileCheck %s --check-prefix=ENDS
// ENDS: error: tuning file '{{.*}}ends.json': the last range expects 'to': -1
// RUN: not kernel-opt %t/graph.mlir --backfuse-select-schedule=tuning=%t/tile.json 2>&1 | FileCheck %s --check-prefix=TILE
// TILE: error: tuning file '{{.*}}tile.json': no tile of 128 rows and 256 columns fits here
// RUN: not kernel-opt %t/graph.mlir --backfuse-select-schedule=tuning=%t/zero.json 2>&1 | FileCheck %s --check-prefix=ZERO
// ZERO: error: tuning file '{{.*}}zero.json': 'splits' expects integers from 1 to 8
// RUN: not kernel-opt %t/graph.mlir --backfuse-select-schedule=tuning=%t/nine.json 2>&1 | FileCheck %s --check-prefix=NINE
// NINE: error: tuning file '{{.*}}nine.json': 'splits' expects integers from 1 to 8
// RUN: not kernel-opt %t/graph.mlir --backfuse-select-schedule=tuning=%t/count.json 2>&1 | FileCheck %s --check-prefix=COUNT
// COUNT: error: tuning file '{{.*}}count.json': 'splits' expects 2 integers
// RUN: not kernel-opt %t/graph.mlir --backfuse-select-schedule=tuning=%t/pair.json 2>&1 | FileCheck %s --check-prefix=PAIR
// PAIR: error: tuning file '{{.*}}pair.json': a product space of several accumulators cannot be split

//--- good.json
{"ranges": [{"to": 513, "tile_n": 128, "splits": [3, 1]}, {"to": -1, "tile_n": 128, "splits": [1, 1]}]}
//--- garbage.json
{"ranges": [
//--- list.json
[]
//--- empty.json
{"ranges": []}
//--- keys.json
{"ranges": [{"to": -1, "splits": [1, 1]}]}
//--- descends.json
{"ranges": [{"to": 513, "tile_n": 128, "splits": [1, 1]}, {"to": 513, "tile_n": 128, "splits": [1, 1]}]}
//--- middle.json
{"ranges": [{"to": -1, "tile_n": 128, "splits": [1, 1]}, {"to": -1, "tile_n": 128, "splits": [1, 1]}]}
//--- ends.json
{"ranges": [{"to": 513, "tile_n": 128, "splits": [1, 1]}]}
//--- tile.json
{"ranges": [{"to": -1, "tile_n": 256, "splits": [1, 1]}]}
//--- zero.json
{"ranges": [{"to": -1, "tile_n": 128, "splits": [0, 1]}]}
//--- nine.json
{"ranges": [{"to": -1, "tile_n": 128, "splits": [9, 1]}]}
//--- count.json
{"ranges": [{"to": -1, "tile_n": 128, "splits": [1]}]}
//--- pair.json
{"ranges": [{"to": -1, "tile_n": 128, "splits": [1, 2]}]}
//--- graph.mlir
mlp.graph @g(%x: tensor<?x320xbf16, #mlp.dims<T, _>> "x", %w: tensor<320x192xbf16> "w", %v: tensor<320x192xbf16> "v") {
  %y, %z = mlp.launch -> tensor<?x192xbf16, #mlp.dims<T, _>>, tensor<?x192xbf16, #mlp.dims<T, _>> {
    %a = mlp.fused m = T, n = 192
        acc0 += %x[m, k] * %w[k, n] over k = 320 : tensor<?x320xbf16, #mlp.dims<T, _>>, tensor<320x192xbf16>
        -> tensor<?x192xbf16, #mlp.dims<T, _>> {
    ^bb0(%acc: f32):
      %0 = arith.truncf %acc : f32 to bf16
      mlp.fused_yield store %0 : bf16
    }
    %b = mlp.fused m = T, n = 192
        acc0 += %x[m, k] * %w[k, n] over k = 320 : tensor<?x320xbf16, #mlp.dims<T, _>>, tensor<320x192xbf16>
        acc1 += %x[m, k] * %v[k, n] over k = 320 : tensor<?x320xbf16, #mlp.dims<T, _>>, tensor<320x192xbf16>
        -> tensor<?x192xbf16, #mlp.dims<T, _>> {
    ^bb0(%acc: f32, %acc1: f32):
      %p = arith.mulf %acc, %acc1 : f32
      %0 = arith.truncf %p : f32 to bf16
      mlp.fused_yield store %0 : bf16
    }
    mlp.launch_yield %a, %b : tensor<?x192xbf16, #mlp.dims<T, _>>, tensor<?x192xbf16, #mlp.dims<T, _>>
  }
  mlp.output %y "y", %z "z" : tensor<?x192xbf16, #mlp.dims<T, _>>, tensor<?x192xbf16, #mlp.dims<T, _>>
}
