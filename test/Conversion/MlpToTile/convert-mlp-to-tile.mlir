// RUN: kernel-opt %s --convert-mlp-to-tile -split-input-file | FileCheck %s

// A product with nothing but its rounding: K-major A, MN-major B. One space, a
// pool, a ring of both operands' boxes and one for staging the result; the
// attributes of the kernel are what the launch plan needs.
// CHECK-LABEL: tile.kernel @g_launch0(
// CHECK-SAME: %[[T:[a-z0-9]*]]: index #tile.bind<extent 0, <[T], #{{[a-z0-9]*}}>>
// CHECK-SAME: %[[SPLITS:[a-z0-9]*]]: index #tile.bind<extent 0, <["splits:0"], #{{[a-z0-9]*}}>>
// CHECK-SAME: !tile.workspace #tile.bind<workspace 0, <[T, "splits:0"], #{{[a-z0-9]*}}>>
// CHECK-SAME: i64 #tile.bind<tag 0>
// CHECK-SAME: %[[X:[a-z0-9]*]]: !tile.tensor<?x320xbf16> #tile.bind<input 0>
// CHECK-SAME: %[[W:[a-z0-9]*]]: !tile.tensor<320x576xbf16> #tile.bind<input 1>
// CHECK-SAME: %[[Y:[a-z0-9]*]]: !tile.tensor<?x576xbf16> #tile.bind<output 0>
// CHECK-SAME: tile.product_types = [bf16], tile.products = [3]
// CHECK-SAME: tile.ranges = [#tile.range<from = 1, to = -1, splits = [2]>]
// CHECK-SAME: tile.shape = array<i64: 128, 192, 64>, tile.step = 0 : i64
// CHECK-SAME: tile.variant = "g"
// CHECK-DAG: %[[K:.*]] = arith.constant 320 : index
// CHECK-DAG: %[[N:.*]] = arith.constant 576 : index
// CHECK: %[[POOL:.*]] = tile.pool 5 x 40960
// CHECK: tile.space %[[T]], %[[N]], %[[K]] tile [128, 192, 64] splits %[[SPLITS]] cost 3
// CHECK: %[[AB:.*]] = tile.ring %[[POOL]] : !tile.ring<<128x64xbf16>, <64x192xbf16>>
// CHECK: %[[ACC:.*]] = tile.accumulators 1 : !tile.accumulator<128x192>
// CHECK: %[[OUT:.*]] = tile.ring %[[POOL]] : !tile.ring<<128x64xbf16>>
// CHECK: tile.task load
// CHECK: unit(%[[M0:.*]], %[[N0:.*]], %[[K0:.*]], %[[STEPS:.*]], %{{.*}}, %[[LAST:.*]]) {
// CHECK: scf.for %{{.*}} to %[[STEPS]]
// CHECK: %[[AT:.*]] = arith.addi %[[K0]]
// CHECK: %[[SLOT:.*]] = tile.acquire %[[AB]]
// CHECK: tile.copy %[[X]][%[[M0]], %[[AT]]] to %[[SLOT]][0]
// CHECK: tile.copy %[[W]][%[[AT]], %[[N0]]] to %[[SLOT]][1]
// CHECK: tile.commit %[[SLOT]]
// CHECK: scf.if %[[LAST]]
// CHECK: tile.acquire %[[OUT]]
// CHECK-NOT: tile.copy
// CHECK: tile.task multiply
// CHECK: tile.multiply %[[AB]] steps %{{.*}} into %[[ACC]] a k_major b mn_major :
// CHECK: tile.task drain
// CHECK: tile.combine_splits %[[ACC]]
// CHECK: tile.drain(%[[ACC]]) at[%{{.*}}, %{{.*}}] rows %[[T]] via %[[OUT]] stores(%[[Y]])
// CHECK: arith.truncf
// CHECK: tile.yield %{{.*}} : bf16
// CHECK-NOT: tile.task sum
// CHECK-NOT: mlp.
mlp.graph @g(%x: tensor<?x320xbf16, #mlp.dims<T, _>> "x", %w: tensor<320x576xbf16> "w")
    attributes {tile.ranges = [#tile.range<from = 1, to = -1, splits = [2]>],
                tile.tokens = #tile.expr<[T], affine_map<()[s0] -> (s0)>>} {
  %y = mlp.launch attributes {tile.slots = 5, tile.slot_bytes = 40960} -> tensor<?x576xbf16, #mlp.dims<T, _>> {
    %0 = mlp.fused m = T, n = 576
        acc0 += %x[m, k] * %w[k, n] over k = 320, op_index = 3
          : tensor<?x320xbf16, #mlp.dims<T, _>>, tensor<320x576xbf16>
        schedule = #tile.schedule<tile = [128, 192, 64], cost = 3, order = 0>
        -> tensor<?x576xbf16, #mlp.dims<T, _>> {
    ^bb0(%acc: f32):
      %1 = arith.truncf %acc : f32 to bf16
      mlp.fused_yield store %1 : bf16
    }
    mlp.launch_yield %0 : tensor<?x576xbf16, #mlp.dims<T, _>>
  }
  mlp.output %y "y" : tensor<?x576xbf16, #mlp.dims<T, _>>
}

// -----

// Both operands contract their leading dimension: A and B are MN-major. The sum
// of A over the tokens rides in a task of its own: the tiles that read the same
// steps of A share them out, and the last ones add up their lines.
// CHECK-LABEL: tile.kernel @g_launch0(
// CHECK-SAME: %[[GB:[a-z0-9]*]]: !tile.tensor<1x640xbf16> #tile.bind<output 1>
// CHECK: %[[AB:.*]] = tile.ring %{{.*}} : !tile.ring<<64x128xbf16>, <64x128xbf16>>
// CHECK: %[[OUT:.*]] = tile.ring %{{.*}} : !tile.ring<<128x64xbf16>>
// CHECK: %[[SHARES:.*]] = arith.minui
// CHECK: tile.task load
// CHECK: unit(%[[M0:[a-z0-9]*]], %[[N0:[a-z0-9]*]], %{{.*}}) {
// CHECK: tile.copy %{{.*}}[%[[AT:[a-z0-9]*]], %[[M0]]] to %{{.*}}[0] : !tile.tensor<?x640xbf16>
// CHECK: tile.copy %{{.*}}[%[[AT]], %[[N0]]] to %{{.*}}[1] : !tile.tensor<?x576xbf16>
// CHECK: tile.multiply %[[AB]] {{.*}} a mn_major b mn_major
// CHECK: tile.task sum
// CHECK: unit(%[[M0:[a-z0-9]*]], %[[N0:[a-z0-9]*]], %{{[a-z0-9]*}}, %[[STEPS:[a-z0-9]*]], %{{.*}}, %{{.*}}) {
// CHECK: tile.sum_operand %[[AB]][0] steps %[[STEPS]] contributor %{{.*}} of %{{.*}} line %{{.*}} at %[[M0]] of
// CHECK: tile.skip %[[OUT]] entries
// CHECK: tile.finish_sum {{.*}} into %[[GB]] : !tile.tensor<1x640xbf16>
mlp.graph @g(%dy: tensor<?x640xbf16, #mlp.dims<T, _>> "dy", %x: tensor<?x576xbf16, #mlp.dims<T, _>> "x") {
  %y, %z = mlp.launch attributes {tile.slots = 7, tile.slot_bytes = 32768} -> tensor<640x576xbf16>, tensor<640xbf16> {
    %a, %b = mlp.fused m = 640, n = 576
        acc0 += %dy[k, m] * %x[k, n] over k = T : tensor<?x640xbf16, #mlp.dims<T, _>>, tensor<?x576xbf16, #mlp.dims<T, _>>
        sum_k a0
        schedule = #tile.schedule<tile = [128, 128, 64], cost = 2, order = 0>
        -> tensor<640x576xbf16>, tensor<640xbf16> {
    ^bb0(%acc: f32):
      %0 = arith.truncf %acc : f32 to bf16
      mlp.fused_yield store %0 : bf16
    }
    mlp.launch_yield %a, %b : tensor<640x576xbf16>, tensor<640xbf16>
  }
  mlp.output %y "gw", %z "gb" : tensor<640x576xbf16>, tensor<640xbf16>
}

// -----

// A sum of B takes the tiles above each other as its contributors, and columns of N.
// CHECK-LABEL: tile.kernel @g_launch0(
// CHECK: tile.task sum
// CHECK: unit(%[[M0:[a-z0-9]*]], %[[N0:[a-z0-9]*]], %{{.*}}) {
// CHECK: tile.sum_operand %{{.*}}[1] steps %{{.*}} at %[[N0]] of
// CHECK: tile.finish_sum {{.*}} : !tile.tensor<1x576xf32>
mlp.graph @g(%dy: tensor<?x640xbf16, #mlp.dims<T, _>> "dy", %x: tensor<?x576xbf16, #mlp.dims<T, _>> "x") {
  %y, %z = mlp.launch attributes {tile.slots = 7, tile.slot_bytes = 32768} -> tensor<640x576xbf16>, tensor<576xf32> {
    %a, %b = mlp.fused m = 640, n = 576
        acc0 += %dy[k, m] * %x[k, n] over k = T : tensor<?x640xbf16, #mlp.dims<T, _>>, tensor<?x576xbf16, #mlp.dims<T, _>>
        sum_k b0
        schedule = #tile.schedule<tile = [128, 128, 64], cost = 2, order = 0>
        -> tensor<640x576xbf16>, tensor<576xf32> {
    ^bb0(%acc: f32):
      %0 = arith.truncf %acc : f32 to bf16
      mlp.fused_yield store %0 : bf16
    }
    mlp.launch_yield %a, %b : tensor<640x576xbf16>, tensor<576xf32>
  }
  mlp.output %y "gw", %z "gb" : tensor<640x576xbf16>, tensor<576xf32>
}

// -----

// B with its rows along N is K-major. An operand of the result's type gives the
// result its place: one box of 128 rows for both.
// CHECK-LABEL: tile.kernel @g_launch0(
// CHECK: tile.ring %{{.*}} : !tile.ring<<128x64xbf16>, <128x64xbf16>>
// CHECK: %[[IO:.*]] = tile.ring %{{.*}} : !tile.ring<<128x64xbf16>>
// CHECK: unit(%[[M0:[a-z0-9]*]], %[[N0:[a-z0-9]*]], %{{.*}}) {
// CHECK: tile.copy %{{.*}}[%[[N0]], %{{.*}}] to %{{.*}}[1] : !tile.tensor<192x320xbf16>
// CHECK: %[[SLOT:.*]] = tile.acquire %[[IO]]
// CHECK: tile.copy %{{.*}} to %[[SLOT]][0] : !tile.tensor<?x192xbf16>
// CHECK: tile.multiply {{.*}} a k_major b k_major
// CHECK: tile.drain({{.*}} via %[[IO]]
// CHECK-SAME: elementKinds = [#tile<element_kind slot>], entryRows = 128 : i64, operandBuffers = array<i64: 0>, slotsPerEntry = 1 : i64, storeBuffers = array<i64: 0>
mlp.graph @g(%x: tensor<?x320xbf16, #mlp.dims<T, _>> "x", %w: tensor<192x320xbf16> "w", %e: tensor<?x192xbf16, #mlp.dims<T, _>> "e") {
  %y = mlp.launch attributes {tile.slots = 7, tile.slot_bytes = 32768} -> tensor<?x192xbf16, #mlp.dims<T, _>> {
    %a = mlp.fused m = T, n = 192
        acc0 += %x[m, k] * %w[n, k] over k = 320 : tensor<?x320xbf16, #mlp.dims<T, _>>, tensor<192x320xbf16>
        with %e[m, n] : tensor<?x192xbf16, #mlp.dims<T, _>>
        schedule = #tile.schedule<tile = [128, 128, 64], cost = 2, order = 0>
        -> tensor<?x192xbf16, #mlp.dims<T, _>> {
    ^bb0(%acc: f32, %e0: bf16):
      %0 = arith.truncf %acc : f32 to bf16
      %1 = arith.mulf %0, %e0 : bf16
      mlp.fused_yield store %1 : bf16
    }
    mlp.launch_yield %a : tensor<?x192xbf16, #mlp.dims<T, _>>
  }
  mlp.output %y "y" : tensor<?x192xbf16, #mlp.dims<T, _>>
}

// -----

// Boxes of 128 rows do not fit into a slot: entries of 64 rows, twice as many. The
// f32 result has no operand of its type and gets a box of its own.
// CHECK-LABEL: tile.kernel @g_launch0(
// CHECK: %[[IO:.*]] = tile.ring %{{.*}} : !tile.ring<<64x64xbf16>, <64x64xf32>>
// CHECK: tile.task load
// CHECK: scf.if
// CHECK: scf.for
// CHECK: tile.acquire %[[IO]]
// CHECK: tile.drain({{.*}} via %[[IO]]
// CHECK-SAME: entryRows = 64 : i64, operandBuffers = array<i64: 0>, slotsPerEntry = 1 : i64, storeBuffers = array<i64: 1>
mlp.graph @g(%x: tensor<?x320xbf16, #mlp.dims<T, _>> "x", %w: tensor<320x192xbf16> "w", %e: tensor<?x192xbf16, #mlp.dims<T, _>> "e") {
  %y = mlp.launch attributes {tile.slots = 7, tile.slot_bytes = 32768} -> tensor<?x192xf32, #mlp.dims<T, _>> {
    %a = mlp.fused m = T, n = 192
        acc0 += %x[m, k] * %w[k, n] over k = 320 : tensor<?x320xbf16, #mlp.dims<T, _>>, tensor<320x192xbf16>
        with %e[m, n] : tensor<?x192xbf16, #mlp.dims<T, _>>
        schedule = #tile.schedule<tile = [128, 128, 64], cost = 2, order = 0>
        -> tensor<?x192xf32, #mlp.dims<T, _>> {
    ^bb0(%acc: f32, %e0: bf16):
      %0 = arith.extf %e0 : bf16 to f32
      %1 = arith.mulf %0, %acc : f32
      mlp.fused_yield store %1 : f32
    }
    mlp.launch_yield %a : tensor<?x192xf32, #mlp.dims<T, _>>
  }
  mlp.output %y "y" : tensor<?x192xf32, #mlp.dims<T, _>>
}

// -----

// Five boxes of 64 rows take two slots of four; both are filled for each entry,
// and results stand in the first operands' places.
// CHECK-LABEL: tile.kernel @g_launch0(
// CHECK: %[[IO:.*]] = tile.ring %{{.*}} : !tile.ring<<64x64xbf16>, <64x64xbf16>, <64x64xbf16>, <64x64xbf16>>
// CHECK: %[[S0:.*]] = tile.acquire %[[IO]]
// CHECK-COUNT-4: tile.copy {{.*}} to %[[S0]][
// CHECK: tile.commit %[[S0]]
// CHECK: %[[S1:.*]] = tile.acquire %[[IO]]
// CHECK-NEXT: tile.copy {{.*}} to %[[S1]][0]
// CHECK-NEXT: tile.commit %[[S1]]
// CHECK: tile.drain({{.*}} via %[[IO]]
// CHECK-SAME: operandBuffers = array<i64: 0, 1, 2, 3, 4>, slotsPerEntry = 2 : i64, storeBuffers = array<i64: 0, 1>
mlp.graph @g(%x: tensor<?x320xbf16, #mlp.dims<T, _>> "x", %w: tensor<320x192xbf16> "w", %e0: tensor<?x192xbf16, #mlp.dims<T, _>> "e0", %e1: tensor<?x192xbf16, #mlp.dims<T, _>> "e1", %e2: tensor<?x192xbf16, #mlp.dims<T, _>> "e2", %e3: tensor<?x192xbf16, #mlp.dims<T, _>> "e3", %e4: tensor<?x192xbf16, #mlp.dims<T, _>> "e4") {
  %y, %z = mlp.launch attributes {tile.slots = 7, tile.slot_bytes = 32768} -> tensor<?x192xbf16, #mlp.dims<T, _>>, tensor<?x192xbf16, #mlp.dims<T, _>> {
    %a, %b = mlp.fused m = T, n = 192
        acc0 += %x[m, k] * %w[k, n] over k = 320 : tensor<?x320xbf16, #mlp.dims<T, _>>, tensor<320x192xbf16>
        with %e0[m, n], %e1[m, n], %e2[m, n], %e3[m, n], %e4[m, n] : tensor<?x192xbf16, #mlp.dims<T, _>>, tensor<?x192xbf16, #mlp.dims<T, _>>, tensor<?x192xbf16, #mlp.dims<T, _>>, tensor<?x192xbf16, #mlp.dims<T, _>>, tensor<?x192xbf16, #mlp.dims<T, _>>
        schedule = #tile.schedule<tile = [128, 128, 64], cost = 2, order = 0>
        -> tensor<?x192xbf16, #mlp.dims<T, _>>, tensor<?x192xbf16, #mlp.dims<T, _>> {
    ^bb0(%acc: f32, %v0: bf16, %v1: bf16, %v2: bf16, %v3: bf16, %v4: bf16):
      %0 = arith.truncf %acc : f32 to bf16
      %1 = arith.mulf %0, %v0 : bf16
      %2 = arith.mulf %1, %v1 : bf16
      %3 = arith.mulf %2, %v2 : bf16
      %4 = arith.mulf %3, %v3 : bf16
      %5 = arith.mulf %4, %v4 : bf16
      mlp.fused_yield store %5 : bf16, store %1 : bf16
    }
    mlp.launch_yield %a, %b : tensor<?x192xbf16, #mlp.dims<T, _>>, tensor<?x192xbf16, #mlp.dims<T, _>>
  }
  mlp.output %y "y", %z "z" : tensor<?x192xbf16, #mlp.dims<T, _>>, tensor<?x192xbf16, #mlp.dims<T, _>>
}

// -----

// Operands of one row, one column and one value do not pass through slots; a
// column sum goes to lines of partials that the sum task adds up.
// CHECK-LABEL: tile.kernel @g_launch0(
// CHECK-SAME: %[[R:[a-z0-9]*]]: !tile.tensor<1x192xbf16> #tile.bind<input 2>
// CHECK-SAME: %[[C:[a-z0-9]*]]: !tile.tensor<?x1xf32> #tile.bind<input 3>
// CHECK-SAME: %[[A:[a-z0-9]*]]: f32 #tile.bind<param 0>
// CHECK: %[[OUT:.*]] = tile.ring %{{.*}} : !tile.ring<<128x64xbf16>>
// CHECK: tile.drain({{.*}} vectors(%[[R]], %[[C]]) scalars(%[[A]]) stores(%{{.*}}) partials(%[[P:.*]]) flags(%[[F:.*]]) tag %{{.*}} attributes
// CHECK-SAME: elementKinds = [#tile<element_kind row>, #tile<element_kind column>, #tile<element_kind scalar>]
// CHECK-SAME: yieldKinds = [#tile<yield_kind sum_m>, #tile<yield_kind store>]
// CHECK: tile.task sum
// CHECK-NOT: tile.sum_operand
// CHECK: tile.finish_sum %[[P]] flags %[[F]] {{.*}} : !tile.tensor<1x192xf32>
mlp.graph @g(%x: tensor<?x320xbf16, #mlp.dims<T, _>> "x", %w: tensor<320x192xbf16> "w", %r: tensor<192xbf16> "r", %c: tensor<?xf32, #mlp.dims<T>> "c", %s: f32 "s") {
  %y, %z = mlp.launch attributes {tile.slots = 7, tile.slot_bytes = 32768} -> tensor<192xf32>, tensor<?x192xbf16, #mlp.dims<T, _>> {
    %a, %b = mlp.fused m = T, n = 192
        acc0 += %x[m, k] * %w[k, n] over k = 320 : tensor<?x320xbf16, #mlp.dims<T, _>>, tensor<320x192xbf16>
        with %r[n], %c[m], %s[] : tensor<192xbf16>, tensor<?xf32, #mlp.dims<T>>, f32
        schedule = #tile.schedule<tile = [128, 128, 64], cost = 2, order = 0>
        -> tensor<192xf32>, tensor<?x192xbf16, #mlp.dims<T, _>> {
    ^bb0(%acc: f32, %r0: bf16, %c0: f32, %s0: f32):
      %0 = arith.mulf %acc, %c0 : f32
      %1 = arith.mulf %0, %s0 : f32
      %2 = arith.truncf %1 : f32 to bf16
      %3 = arith.addf %2, %r0 : bf16
      mlp.fused_yield sum_m %1 : f32, store %3 : bf16
    }
    mlp.launch_yield %a, %b : tensor<192xf32>, tensor<?x192xbf16, #mlp.dims<T, _>>
  }
  mlp.output %y "y", %z "z" : tensor<192xf32>, tensor<?x192xbf16, #mlp.dims<T, _>>
}

// -----

// Nothing is stored but a column sum: no ring for the drain, nothing to load for it.
// CHECK-LABEL: tile.kernel @g_launch0(
// CHECK-COUNT-1: tile.ring
// CHECK-NOT: tile.ring %
// CHECK: tile.task load
// CHECK-NOT: scf.if
// CHECK: tile.task multiply
// CHECK: tile.drain({{.*}} rows %{{.*}} partials(
// CHECK: tile.finish_sum
mlp.graph @g(%x: tensor<?x320xbf16, #mlp.dims<T, _>> "x", %w: tensor<320x192xbf16> "w") {
  %y = mlp.launch attributes {tile.slots = 7, tile.slot_bytes = 32768} -> tensor<192xf32> {
    %a = mlp.fused m = T, n = 192
        acc0 += %x[m, k] * %w[k, n] over k = 320 : tensor<?x320xbf16, #mlp.dims<T, _>>, tensor<320x192xbf16>
        schedule = #tile.schedule<tile = [128, 128, 64], cost = 2, order = 0>
        -> tensor<192xf32> {
    ^bb0(%acc: f32):
      mlp.fused_yield sum_m %acc : f32
    }
    mlp.launch_yield %a : tensor<192xf32>
  }
  mlp.output %y "y" : tensor<192xf32>
}

// -----

// What only the next launch reads is a temporary of the plan, of as many bytes.
// CHECK: #[[BYTES:.*]] = affine_map<()[s0] -> (s0 * 1152)>
// CHECK-LABEL: tile.kernel @g_launch0(
// CHECK-SAME: !tile.tensor<?x576xbf16> #tile.bind<temporary 0, <[T], #[[BYTES]]>>
// CHECK-SAME: tile.step = 0 : i64
// CHECK-LABEL: tile.kernel @g_launch1(
// CHECK-SAME: index #tile.bind<extent 0, <["splits:1"], #{{[a-z0-9]*}}>>
// CHECK-SAME: %[[H:[a-z0-9]*]]: !tile.tensor<?x576xbf16> #tile.bind<temporary 0, <[T], #[[BYTES]]>>
// CHECK-SAME: !tile.tensor<?x192xbf16> #tile.bind<output 0>
// CHECK-SAME: tile.step = 1 : i64
// CHECK: tile.copy %[[H]]
mlp.graph @g(%x: tensor<?x320xbf16, #mlp.dims<T, _>> "x", %w: tensor<320x576xbf16> "w", %v: tensor<576x192xbf16> "v") {
  %h = mlp.launch attributes {tile.slots = 7, tile.slot_bytes = 32768} -> tensor<?x576xbf16, #mlp.dims<T, _>> {
    %a = mlp.fused m = T, n = 576
        acc0 += %x[m, k] * %w[k, n] over k = 320 : tensor<?x320xbf16, #mlp.dims<T, _>>, tensor<320x576xbf16>
        schedule = #tile.schedule<tile = [128, 128, 64], cost = 2, order = 0>
        -> tensor<?x576xbf16, #mlp.dims<T, _>> {
    ^bb0(%acc: f32):
      %0 = arith.truncf %acc : f32 to bf16
      mlp.fused_yield store %0 : bf16
    }
    mlp.launch_yield %a : tensor<?x576xbf16, #mlp.dims<T, _>>
  }
  %y = mlp.launch attributes {tile.slots = 7, tile.slot_bytes = 32768} -> tensor<?x192xbf16, #mlp.dims<T, _>> {
    %a = mlp.fused m = T, n = 192
        acc0 += %h[m, k] * %v[k, n] over k = 576 : tensor<?x576xbf16, #mlp.dims<T, _>>, tensor<576x192xbf16>
        schedule = #tile.schedule<tile = [128, 128, 64], cost = 2, order = 0>
        -> tensor<?x192xbf16, #mlp.dims<T, _>> {
    ^bb0(%acc: f32):
      %0 = arith.truncf %acc : f32 to bf16
      mlp.fused_yield store %0 : bf16
    }
    mlp.launch_yield %a : tensor<?x192xbf16, #mlp.dims<T, _>>
  }
  mlp.output %y "y" : tensor<?x192xbf16, #mlp.dims<T, _>>
}

// -----

// Two fused ops share a launch: spaces in the order of their schedules, split
// counts by their place in the graph, one pool, and one argument for the input
// that both read.
// CHECK-LABEL: tile.kernel @g_launch0(
// CHECK-SAME: %[[S1:[a-z0-9]*]]: index #tile.bind<extent 0, <["splits:1"],
// CHECK-SAME: %[[S0:[a-z0-9]*]]: index #tile.bind<extent 0, <["splits:0"],
// CHECK-SAME: %[[X:[a-z0-9]*]]: !tile.tensor<?x320xbf16> #tile.bind<input 0>
// CHECK-NOT: #tile.bind<input 0>
// CHECK: tile.pool 7 x 32768
// CHECK-NOT: tile.pool
// CHECK: %[[SECOND:.*]] = tile.space {{.*}} splits %[[S1]]
// CHECK: %[[FIRST:.*]] = tile.space {{.*}} splits %[[S0]]
// CHECK: tile.for_each_unit %[[SECOND]], %[[FIRST]]
// CHECK: tile.copy %[[X]]
// CHECK: tile.copy %[[X]]
mlp.graph @g(%x: tensor<?x320xbf16, #mlp.dims<T, _>> "x", %w: tensor<320x576xbf16> "w", %v: tensor<320x192xbf16> "v") {
  %y, %z = mlp.launch attributes {tile.slots = 7, tile.slot_bytes = 32768} -> tensor<?x576xbf16, #mlp.dims<T, _>>, tensor<?x192xbf16, #mlp.dims<T, _>> {
    %a = mlp.fused m = T, n = 576
        acc0 += %x[m, k] * %w[k, n] over k = 320 : tensor<?x320xbf16, #mlp.dims<T, _>>, tensor<320x576xbf16>
        schedule = #tile.schedule<tile = [128, 128, 64], cost = 2, order = 1>
        -> tensor<?x576xbf16, #mlp.dims<T, _>> {
    ^bb0(%acc: f32):
      %0 = arith.truncf %acc : f32 to bf16
      mlp.fused_yield store %0 : bf16
    }
    %b = mlp.fused m = T, n = 192
        acc0 += %x[m, k] * %v[k, n] over k = 320 : tensor<?x320xbf16, #mlp.dims<T, _>>, tensor<320x192xbf16>
        schedule = #tile.schedule<tile = [128, 128, 64], cost = 2, order = 0>
        -> tensor<?x192xbf16, #mlp.dims<T, _>> {
    ^bb0(%acc: f32):
      %0 = arith.truncf %acc : f32 to bf16
      mlp.fused_yield store %0 : bf16
    }
    mlp.launch_yield %a, %b : tensor<?x576xbf16, #mlp.dims<T, _>>, tensor<?x192xbf16, #mlp.dims<T, _>>
  }
  mlp.output %y "y", %z "z" : tensor<?x576xbf16, #mlp.dims<T, _>>, tensor<?x192xbf16, #mlp.dims<T, _>>
}

// -----

// Two contractions into two accumulators: A and B of both pass one after the
// other, K is not split. Into one accumulator, the second is added to the first.
// CHECK-LABEL: tile.kernel @two_launch0(
// CHECK: %[[R0:.*]] = tile.ring
// CHECK: %[[A0:.*]] = tile.accumulators 1
// CHECK: %[[R1:.*]] = tile.ring
// CHECK: %[[A1:.*]] = tile.accumulators 1
// CHECK: tile.multiply %[[R0]] steps %{{.*}} into %[[A0]] a k_major b mn_major :
// CHECK: tile.multiply %[[R1]] steps %{{.*}} into %[[A1]] a k_major b mn_major :
// CHECK-NOT: tile.combine_splits
// CHECK: tile.drain(%[[A0]], %[[A1]])
// CHECK-LABEL: tile.kernel @one_launch0(
// CHECK: tile.multiply %{{.*}} into %[[A:.*]] a k_major b mn_major :
// CHECK: tile.multiply %{{.*}} into %[[A]] a k_major b mn_major accumulate :
// CHECK: tile.drain(%[[A]]) at
mlp.graph @two(%x: tensor<?x320xbf16, #mlp.dims<T, _>> "x", %w: tensor<320x192xbf16> "w", %v: tensor<320x192xbf16> "v") {
  %y = mlp.launch attributes {tile.slots = 7, tile.slot_bytes = 32768} -> tensor<?x192xbf16, #mlp.dims<T, _>> {
    %a = mlp.fused m = T, n = 192
        acc0 += %x[m, k] * %w[k, n] over k = 320 : tensor<?x320xbf16, #mlp.dims<T, _>>, tensor<320x192xbf16>
        acc1 += %x[m, k] * %v[k, n] over k = 320 : tensor<?x320xbf16, #mlp.dims<T, _>>, tensor<320x192xbf16>
        schedule = #tile.schedule<tile = [128, 128, 64], cost = 2, order = 0>
        -> tensor<?x192xbf16, #mlp.dims<T, _>> {
    ^bb0(%acc: f32, %acc1: f32):
      %p = arith.mulf %acc, %acc1 : f32
      %0 = arith.truncf %p : f32 to bf16
      mlp.fused_yield store %0 : bf16
    }
    mlp.launch_yield %a : tensor<?x192xbf16, #mlp.dims<T, _>>
  }
  mlp.output %y "y" : tensor<?x192xbf16, #mlp.dims<T, _>>
}
mlp.graph @one(%x: tensor<?x320xbf16, #mlp.dims<T, _>> "x", %w: tensor<320x192xbf16> "w", %v: tensor<320x192xbf16> "v") {
  %y = mlp.launch attributes {tile.slots = 7, tile.slot_bytes = 32768} -> tensor<?x192xbf16, #mlp.dims<T, _>> {
    %a = mlp.fused m = T, n = 192
        acc0 += %x[m, k] * %w[k, n] over k = 320 : tensor<?x320xbf16, #mlp.dims<T, _>>, tensor<320x192xbf16>
        acc0 += %x[m, k] * %v[k, n] over k = 320 : tensor<?x320xbf16, #mlp.dims<T, _>>, tensor<320x192xbf16>
        schedule = #tile.schedule<tile = [128, 128, 64], cost = 2, order = 0>
        -> tensor<?x192xbf16, #mlp.dims<T, _>> {
    ^bb0(%acc: f32):
      %0 = arith.truncf %acc : f32 to bf16
      mlp.fused_yield store %0 : bf16
    }
    mlp.launch_yield %a : tensor<?x192xbf16, #mlp.dims<T, _>>
  }
  mlp.output %y "y" : tensor<?x192xbf16, #mlp.dims<T, _>>
}
