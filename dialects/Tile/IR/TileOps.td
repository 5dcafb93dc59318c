//===- TileOps.td - Operations of the tile dialect ---------*- tablegen -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef BACKFUSE_DIALECTS_TILE_TILEOPS
#define BACKFUSE_DIALECTS_TILE_TILEOPS

include "dialects/Tile/IR/TileTypes.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"

class Tile_Op<string opMnemonic, list<Trait> traits = []>
    : Op<Tile_Dialect, opMnemonic, traits>;

//===----------------------------------------------------------------------===//
// Kernel, spaces, rings
//===----------------------------------------------------------------------===//

def Tile_KernelOp : Tile_Op<"kernel", [Symbol, IsolatedFromAbove, SingleBlock,
    NoTerminator]> {
  let summary = "a persistent kernel";
  let description = [{
    Holds constants, spaces, pools, rings, accumulators and then tasks. Each
    argument has a `#tile.bind` that says what the launch plan passes for it.

    (C1) There is one binding for each argument, and it fits the argument's
         type: `input` and `output` bind tensors, `temporary` a tensor or a
         `!tile.workspace`, `workspace` a `!tile.workspace`, `extent` an index, `param` an f32, `tag` an i64.
    (C2) There is one task of each kind but `sum`, which is optional; or there is
         no task, and the kernel holds tile.convert, tile.clear and
         tile.finish_sum only.
    (C3) Each task walks the same spaces in the same order.
    (C4) For each space and pool, the entries that `load` produces are those
         that `multiply` and then `drain` consume: same rings, same order, same
         trip counts; `sum`, where present, consumes the same entries of each
         pool that it consumes any of.
    (C5) The slots of all pools fit into shared memory (checked by the target's
         conversion) and each ring's buffers into a slot of its pool.
    (C6) There is at most one tile.cluster_rank, and products are those of a
         `pair` if and only if there is one.

    A product of `x` and the transpose of `w`, rounded to f16:
    ```mlir
    tile.kernel @project(
        %x: !tile.tensor<?x320xf16> #tile.bind<input 0>,
        %w: !tile.tensor<96x320xf16> #tile.bind<input 1>,
        %y: !tile.tensor<?x96xf16> #tile.bind<output 0>,
        %t: index #tile.bind<extent 0, <[B, S], affine_map<()[s0, s1] -> (s0 * s1)>>>) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c64 = arith.constant 64 : index
      %n = arith.constant 96 : index
      %k = arith.constant 320 : index
      %space = tile.space %t, %n, %k tile [128, 96, 64] splits %c1 cost 3
      %pool = tile.pool 5 x 28672
      %ab = tile.ring %pool : !tile.ring<<128x64xf16>, <96x64xf16>>
      %out = tile.ring %pool : !tile.ring<<128x64xf16>>
      %acc = tile.accumulators 1 : !tile.accumulator<128x96>
      tile.task load {
        tile.for_each_unit %space
          unit(%m0, %n0, %k0, %steps, %split, %last) {
            scf.for %i = %c0 to %steps step %c1 {
              %at = arith.muli %i, %c64 : index
              %slot = tile.acquire %ab : !tile.ring<<128x64xf16>, <96x64xf16>>
              tile.copy %x[%m0, %at] to %slot[0] : !tile.tensor<?x320xf16>
              tile.copy %w[%n0, %at] to %slot[1] : !tile.tensor<96x320xf16>
              tile.commit %slot
            }
            scf.if %last {
              scf.for %i = %c0 to %c2 step %c1 {
                %slot = tile.acquire %out : !tile.ring<<128x64xf16>>
                tile.commit %slot
              }
            }
          }
      }
      tile.task multiply {
        tile.for_each_unit %space
          unit(%m0, %n0, %k0, %steps, %split, %last) {
            tile.multiply %ab steps %steps into %acc a k_major b k_major
                : !tile.ring<<128x64xf16>, <96x64xf16>>, !tile.accumulator<128x96>
          }
      }
      tile.task drain {
        tile.for_each_unit %space
          unit(%m0, %n0, %k0, %steps, %split, %last) {
            scf.if %last {
              tile.drain(%acc) at [%m0, %n0] rows %t via %out stores(%y)
                  attributes {elementKinds = [], operandBuffers = array<i64>,
                              yieldKinds = [#tile<yield_kind store>], storeBuffers = array<i64: 0>,
                              entryRows = 128, slotsPerEntry = 1} {
              ^bb0(%a: f32):
                %v = arith.truncf %a : f32 to f16
                tile.yield %v : f16
              } : (!tile.accumulator<128x96>, index, index, index, !tile.ring<<128x64xf16>>, !tile.tensor<?x96xf16>) -> ()
            }
          }
      }
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, ArrayAttr:$bindings);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;

  let extraClassDeclaration = [{
    ::mlir::Block &getBlock() { return getBody().front(); }
    BindAttr getBinding(unsigned i) {
      return ::llvm::cast<BindAttr>(getBindings()[i]);
    }
  }];
}

def Tile_SpaceOp : Tile_Op<"space", [Pure]> {
  let summary = "an iteration space and how it is cut into units";
  let description = [{
    ceil(m / tile[0]) * ceil(n / tile[1]) tiles; the ceil(k / tile[2]) steps of a
    tile are cut into `splits` parts of nearly equal length (never more parts
    than steps). `cost` is what a unit costs beside its steps, in steps; the
    deal of units to CTAs balances by it.

    ```mlir
    %s = tile.space %m, %n, %k tile [128, 256, 64] splits %one cost 14
    ```
    (C1) Tile extents are positive and below 2^31.
    (C2) The cost is not negative, and below 2^31.
  }];
  let arguments = (ins Index:$m, Index:$n, Index:$k, DenseI64ArrayAttr:$tile,
                       Index:$splits, I64Attr:$cost);
  let results = (outs Tile_Space:$result);
  let assemblyFormat = "$m `,` $n `,` $k `tile` $tile `splits` $splits `cost` $cost attr-dict";
  let hasVerifier = 1;
}

def Tile_PoolOp : Tile_Op<"pool"> {
  let summary = "slots of shared memory that rings take in turn";
  let description = [{
    ```mlir
    %p = tile.pool 4 x 49152
    ```
    (C1) At least two slots (and fewer than 2^15), of a positive multiple of 1024
         bytes (and fewer than 2^31).
  }];
  let arguments = (ins I64Attr:$slots, I64Attr:$slotBytes);
  let results = (outs Tile_Pool:$result);
  let assemblyFormat = "$slots `x` $slotBytes attr-dict";
  let hasVerifier = 1;
}

def Tile_RingOp : Tile_Op<"ring"> {
  let summary = "a sequence of entries in the slots of a pool";
  let description = [{
    Rings of one pool share its slots: entry after entry of whichever ring comes
    next in the load task.

    ```mlir
    %r = tile.ring %p : !tile.ring<<128x64xbf16>, <64x256xbf16>>
    ```
    (C1) The buffers fit into a slot.
    (C2) The pool is the result of a tile.pool.
  }];
  let arguments = (ins Tile_Pool:$pool);
  let results = (outs Tile_Ring:$result);
  let assemblyFormat = "$pool attr-dict `:` qualified(type($result))";
  let hasVerifier = 1;
}

def Tile_ClusterRankOp : Tile_Op<"cluster_rank"> {
  let summary = "the number of this CTA among those that share a tile";
  let description = [{
    A kernel that holds it is run by clusters of `of` CTAs: units are dealt to
    clusters, `tile.space` has the tile of a cluster, and what stands in rings
    and accumulators is this CTA's part of it.

    ```mlir
    %rank = tile.cluster_rank of 2
    ```
    (C1) The cluster has two CTAs.
  }];
  let arguments = (ins I64Attr:$of);
  let results = (outs Index:$result);
  let assemblyFormat = "`of` $of attr-dict";
  let hasVerifier = 1;
}

def Tile_AccumulatorsOp : Tile_Op<"accumulators"> {
  let summary = "the accumulators of a space";
  let description = [{
    `count` of them: how many units may be between multiply and drain.

    ```mlir
    %a = tile.accumulators 1 : !tile.accumulator<128x256>
    ```
    (C1) At least one.
  }];
  let arguments = (ins I64Attr:$count);
  let results = (outs Tile_Accumulator:$result);
  let assemblyFormat = "$count attr-dict `:` qualified(type($result))";
  let hasVerifier = 1;
}

def Tile_TaskOp : Tile_Op<"task", [SingleBlock, NoTerminator, NoRegionArguments]> {
  let summary = "one of the tasks that run side by side in a CTA";
  let description = [{
    Holds one `tile.for_each_unit`; the sum task may hold `tile.finish_sum` ops
    after it (see tile.kernel for an example).
  }];
  let arguments = (ins Tile_TaskKindAttr:$kind);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$kind $body attr-dict";
}

def Tile_ForEachUnitOp : Tile_Op<"for_each_unit", [NoTerminator]> {
  let summary = "walks the units dealt to this CTA";
  let description = [{
    One region per space. Its arguments: first row and first column of the tile,
    first k and number of steps of the unit, the number of its split, and
    whether it is the last split of its tile.

    Units are dealt space by space, tiles before splits, to the CTA with the
    least cost so far; a CTA runs its units in that order, so that a unit only
    ever waits for units dealt before it. See tile.kernel for an example.

    (C1) One region per space, with arguments (index, index, index, index,
         index, i1).
    (C2) Each space is the result of a tile.space.
  }];
  let arguments = (ins Variadic<Tile_Space>:$spaces);
  let regions = (region VariadicRegion<SizedRegion<1>>:$bodies);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Load task
//===----------------------------------------------------------------------===//

def Tile_AcquireOp : Tile_Op<"acquire"> {
  let summary = "waits until the next slot of a ring is free";
  let description = [{
    ```mlir
    %slot = tile.acquire %ab : !tile.ring<<64x128xbf16>, <64x192xbf16>>
    ```
  }];
  let arguments = (ins Tile_Ring:$ring);
  let results = (outs Tile_Slot:$result);
  let assemblyFormat = "$ring attr-dict `:` qualified(type($ring))";
}

def Tile_CopyOp : Tile_Op<"copy"> {
  let summary = "copies a box of a tensor into a buffer of a slot";
  let description = [{
    Elements outside the tensor are filled with zeros. The copy is complete when
    a consumer's wait for the entry returns.

    ```mlir
    tile.copy %dy[%at, %m0] to %slot[0] : !tile.tensor<?x640xbf16>
    ```
    (C1) The buffer exists and has the tensor's element type.
    (C2) The slot is the result of a tile.acquire, and the tensor an argument of
         the kernel.
  }];
  let arguments = (ins Tile_Tensor:$tensor, Index:$row, Index:$col,
                       Tile_Slot:$slot, I64Attr:$buffer);
  let assemblyFormat = [{
    $tensor `[` $row `,` $col `]` `to` $slot `[` $buffer `]` attr-dict `:` qualified(type($tensor))
  }];
  let hasVerifier = 1;
}

def Tile_AwaitOp : Tile_Op<"await"> {
  let summary = "waits until tiles of another space are stored";
  let description = [{
    Copies after it, in the same unit, read what the drain of `space` has stored:
    it returns when the tiles that hold any of the rows `row` to `endRow` and
    columns `col` to `endCol` have set their signals (see tile.drain).

    ```mlir
    tile.await %signals tag %tag of %first rows %m0 to %m1 cols %k0 to %k1
    ```
    (C1) The space is the result of a tile.space that comes earlier in the walk of
         units, so that a unit only waits for units dealt before it.
  }];
  let arguments = (ins Tile_Workspace:$signals, I64:$tag, Tile_Space:$space,
                       Index:$row, Index:$endRow, Index:$col, Index:$endCol);
  let assemblyFormat = [{
    $signals `tag` $tag `of` $space `rows` $row `to` $endRow `cols` $col `to` $endCol attr-dict
  }];
  let hasVerifier = 1;
}

def Tile_CommitOp : Tile_Op<"commit"> {
  let summary = "hands an entry to its consumers once its copies are complete";
  let description = [{
    ```mlir
    tile.commit %slot
    ```
  }];
  let arguments = (ins Tile_Slot:$slot);
  let assemblyFormat = "$slot attr-dict";
}

//===----------------------------------------------------------------------===//
// Multiply task
//===----------------------------------------------------------------------===//

def Tile_MultiplyOp : Tile_Op<"multiply"> {
  let summary = "adds up the products of a unit's steps";
  let description = [{
    Consumes `steps` entries of the ring: accumulator = sum of A * B, A being
    the first buffers of each entry, B the last; with `accumulate`, added to what
    is there. An entry is released when its product has read it.

    An operand of f32 is rounded to the type of the other one on its way to the
    tensor core, or with `split` cut into two parts: its value rounded to bf16
    and the rest rounded to bf16. The other operand may then stand in two buffers
    of such parts; all products of parts but the two rests' are added up.

    ```mlir
    tile.multiply %ab steps %steps into %acc a mn_major b mn_major
        : !tile.ring<<64x128xbf16>, <64x192xbf16>>, !tile.accumulator<128x192>
    ```
    A product with an f32 operand:
    ```mlir
    tile.multiply %xw steps %steps into %acc a k_major b mn_major split
        : !tile.ring<<192x64xbf16>, <192x64xbf16>, <64x128xf32>>, !tile.accumulator<192x128>
    ```
    (C1) A is tile M x step K (`k_major`: rows are m) or its transpose, B is
         step K x tile N (`mn_major`: rows are k) or its transpose, and the
         accumulator is tile M x tile N. For a `pair` of CTAs that share a tile,
         A and the accumulator have this CTA's half of the rows, and B has its
         half of the columns: the products take B from both CTAs.
    (C2) Both operands have one 16-bit element type and a buffer each, or one of
         them is f32, of one buffer, and the other of one buffer of a 16-bit type
         or of two of bf16 and one shape, or both are f32 of a buffer each, which
         are rounded to tf32, to nearest even, as entries are copied. `split` takes an f32 operand and one of
         bf16, and two buffers of one operand take `split`.
  }];
  let arguments = (ins Tile_Ring:$ring, Index:$steps, Tile_Accumulator:$accumulator,
                       Tile_MajorAttr:$aMajor, Tile_MajorAttr:$bMajor,
                       UnitAttr:$split, UnitAttr:$accumulate, UnitAttr:$pair);
  let extraClassDeclaration = [{
    ::llvm::ArrayRef<BufferAttr> getBuffers() {
      return ::llvm::cast<RingType>(getRing().getType()).getBuffers();
    }
    /// How many of the ring's buffers are A's; the others are B's.
    unsigned getNumABuffers() {
      ::llvm::ArrayRef<BufferAttr> buffers = getBuffers();
      return buffers.size() == 3 && !buffers[0].getElement().isF32() ? 2 : 1;
    }
    ::llvm::ArrayRef<BufferAttr> getABuffers() {
      return getBuffers().take_front(getNumABuffers());
    }
    ::llvm::ArrayRef<BufferAttr> getBBuffers() {
      return getBuffers().drop_front(getNumABuffers());
    }
    bool hasF32A() { return getABuffers()[0].getElement().isF32(); }
    bool hasF32B() { return getBBuffers()[0].getElement().isF32(); }
    bool isTf32() {
      return getBuffers().size() == 2 && hasF32A() && hasF32B();
    }
  }];
  let assemblyFormat = [{
    $ring `steps` $steps `into` $accumulator `a` $aMajor `b` $bMajor
    (`split` $split^)? (`accumulate` $accumulate^)? (`pair` $pair^)? attr-dict
    `:` qualified(type($ring)) `,` qualified(type($accumulator))
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Drain task
//===----------------------------------------------------------------------===//

def Tile_CombineSplitsOp : Tile_Op<"combine_splits"> {
  let summary = "joins the splits of a tile";
  let description = [{
    A unit that is not the last split of its tile writes its accumulator to
    `partials` and then sets its flag to `tag`. The last one waits for the flags
    of the others, adds their partials to its own in the order of the splits,
    and clears the flags.

    ```mlir
    tile.combine_splits %acc split %split of %splits partials %p flags %f tag %tag
        : !tile.accumulator<128x192>
    ```
  }];
  let arguments = (ins Tile_Accumulator:$accumulator, Index:$split, Index:$splits,
                       Tile_Workspace:$partials, Tile_Workspace:$flags, I64:$tag);
  let assemblyFormat = [{
    $accumulator `split` $split `of` $splits `partials` $partials `flags` $flags
    `tag` $tag attr-dict `:` qualified(type($accumulator))
  }];
}

def Tile_DrainOp : Tile_Op<"drain", [AttrSizedOperandSegments, SingleBlock]> {
  let summary = "turns the accumulators of a tile into results";
  let description = [{
    Consumes ceil(tile N / entryCols) * (tile M / entryRows) entries of `ring`,
    column block by column block, each of `slotsPerEntry` slots. An entry holds
    boxes of `entryRows` x `entryCols` elements: those that the load task copied, and those that
    results are staged in; a result may take the place of an operand of the same
    element type that is not needed any more. `operandBuffers` and `storeBuffers`
    number them through all slots of the entry. With `stagedRows` results do not
    stand in entries: the drain stages so many rows at a time in shared memory of
    its own, where it needs two places for them.

    The region gets, for one element of the space, the accumulators as f32 and
    the elements of its operands (in the order of `elementKinds`), and yields
    one value for each `yieldKinds`: `store` goes to the next of `stores`,
    `sum_m` is added up, in f32, over the rows below `rows`, into one row of
    `partials` for each 64 rows of the space; a flag of `flags` is set to `tag`
    for each 64 columns of it.

    ```mlir
    tile.drain(%acc) at [%m0, %n0] rows %rows via %io vectors(%bias) scalars(%alpha) stores(%gx)
        partials(%sp) flags(%sf) tag %tag
        attributes {elementKinds = [#tile<element_kind slot>, #tile<element_kind row>, #tile<element_kind scalar>],
                    yieldKinds = [#tile<yield_kind store>, #tile<yield_kind sum_m>],
                    operandBuffers = array<i64: 1>, storeBuffers = array<i64: 0>,
                    entryRows = 64, slotsPerEntry = 1} {
    ^bb0(%a: f32, %g: f32, %b: bf16, %c: f32):
      %0 = arith.mulf %a, %g : f32
      %1 = arith.mulf %0, %c : f32
      %2 = arith.truncf %1 : f32 to bf16
      %3 = arith.addf %2, %b : bf16
      tile.yield %3, %1 : bf16, f32
    } : (!tile.accumulator<128x192>, index, index, index, !tile.ring<<64x64xbf16>, <64x64xf32>>,
         !tile.tensor<1x576xbf16>, f32, !tile.tensor<640x576xbf16>,
         !tile.workspace, !tile.workspace, i64) -> ()
    ```
    With `signals`, a tile sets its two flags there, number 2 * (m tile * n tiles +
    n tile) and the next, to `tag` once what it stored is complete.

    (C1) There is an accumulator, and all have one shape. Region arguments are
         one f32 for each accumulator, then the elements.
    (C2) `elementKinds` counts the operands: those of kind `slot` are numbered
         by `operandBuffers`, `row` and `column` are taken from `vectors`,
         `scalar` from `scalars`. Each has the type of its region argument.
    (C3) `yieldKinds` counts the yields: `store` as many as `stores` and
         `storeBuffers`, of the tensor's element type; `sum_m` as many as
         `partials` and `flags`, of type f32.
    (C4) A ring is present if anything goes through slots; the buffers exist, and
         those of results have the type of what is stored.
    (C5) `entryRows` divides the rows of the accumulators, `entryCols` is a
         positive multiple of 64; an entry has a slot.
    (C6) Vectors and stores are arguments of the kernel.
    (C7) The region uses values of its own, and constants.
    (C8) Partials and signals come with a tag, and signals with stores.
    (C9) `stagedRows` is 0 or divides `entryRows`, and then there are no
         `storeBuffers`.
  }];
  let arguments = (ins Variadic<Tile_Accumulator>:$accumulators,
                       Index:$row, Index:$col, Index:$rows,
                       Optional<Tile_Ring>:$ring,
                       Variadic<Tile_Tensor>:$vectors, Variadic<F32>:$scalars,
                       Variadic<Tile_Tensor>:$stores,
                       Variadic<Tile_Workspace>:$partials,
                       Variadic<Tile_Workspace>:$flags,
                       Optional<Tile_Workspace>:$signals,
                       Optional<I64>:$tag,
                       I64Attr:$entryRows, DefaultValuedAttr<I64Attr, "64">:$entryCols,
                       DefaultValuedAttr<I64Attr, "0">:$stagedRows,
                       I64Attr:$slotsPerEntry,
                       TypedArrayAttrBase<Tile_ElementKindAttr, "element kinds">:$elementKinds,
                       DenseI64ArrayAttr:$operandBuffers,
                       TypedArrayAttrBase<Tile_YieldKindAttr, "yield kinds">:$yieldKinds,
                       DenseI64ArrayAttr:$storeBuffers);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    `(` $accumulators `)` `at` `[` $row `,` $col `]` `rows` $rows
    (`via` $ring^)? (`vectors` `(` $vectors^ `)`)? (`scalars` `(` $scalars^ `)`)?
    (`stores` `(` $stores^ `)`)?
    (`partials` `(` $partials^ `)` `flags` `(` $flags `)`)?
    (`signals` $signals^)? (`tag` $tag^)?
    attr-dict-with-keyword $body `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// How many entries the op consumes.
    int64_t numEntries();
    /// Columns of the boxes of an entry where nothing else is said.
    static constexpr int64_t entryCols = 64;
    /// Box `number`, counted through all slots of the entry.
    BufferAttr getBuffer(int64_t number) {
      ::llvm::ArrayRef<BufferAttr> buffers =
          ::llvm::cast<RingType>(getRing().getType()).getBuffers();
      return buffers[number % buffers.size()];
    }
  }];
}

def Tile_YieldOp : Tile_Op<"yield", [Pure, Terminator, ReturnLike, ParentOneOf<["DrainOp"]>]> {
  let summary = "yields the values of a drain's region";
  let description = [{
    ```mlir
    tile.yield %3, %1 : bf16, f32
    ```
  }];
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
  let builders = [OpBuilder<(ins), [{}]>];
}

def Tile_ApproxOp : Tile_Op<"approx", [Pure, SameOperandsAndResultType]> {
  let summary = "a function as the special function unit evaluates it";
  let description = [{
    What elementary functions are made of; the errors stand at the kinds
    (PTX ISA, ex2, lg2, rcp, rsqrt, tanh with .approx).

    ```mlir
    %y = tile.approx ex2 %x : f32
    ```
  }];
  let arguments = (ins Tile_ApproxKindAttr:$kind, F32:$x);
  let results = (outs F32:$result);
  let assemblyFormat = "$kind $x attr-dict `:` type($x)";
}

//===----------------------------------------------------------------------===//
// Sum task
//===----------------------------------------------------------------------===//

def Tile_SumOperandOp : Tile_Op<"sum_operand"> {
  let summary = "adds up columns of an operand as it passes";
  let description = [{
    Consumes `steps` entries of the ring and adds up, in f32, the rows of
    buffer `buffer` in those whose number is `contributor` modulo
    `contributors`; units with a contributor number below `contributors` write
    one row of `partials` (row `line`, from column `col`) and set a flag for
    each 64 columns.

    ```mlir
    tile.sum_operand %ab[0] steps %steps contributor %who of %all line %line at %m0 of %c640
        partials %sp flags %sf tag %tag : !tile.ring<<64x128xbf16>, <64x192xbf16>>
    ```
    (C1) The buffer exists.
  }];
  let arguments = (ins Tile_Ring:$ring, I64Attr:$buffer, Index:$steps,
                       Index:$contributor, Index:$contributors, Index:$line,
                       Index:$col, Index:$cols,
                       Tile_Workspace:$partials, Tile_Workspace:$flags, I64:$tag);
  let assemblyFormat = [{
    $ring `[` $buffer `]` `steps` $steps `contributor` $contributor `of` $contributors
    `line` $line `at` $col `of` $cols `partials` $partials `flags` $flags `tag` $tag
    attr-dict `:` qualified(type($ring))
  }];
  let hasVerifier = 1;
}

def Tile_SkipOp : Tile_Op<"skip"> {
  let summary = "lets entries of a ring pass";
  let description = [{
    ```mlir
    tile.skip %io entries %c6 : !tile.ring<<64x64xbf16>, <64x64xf32>>
    ```
  }];
  let arguments = (ins Tile_Ring:$ring, Index:$entries);
  let assemblyFormat = "$ring `entries` $entries attr-dict `:` qualified(type($ring))";
}

def Tile_FinishSumOp : Tile_Op<"finish_sum", [AttrSizedOperandSegments]> {
  let summary = "adds partial sums in a fixed order";
  let description = [{
    For each 64 columns, by one CTA: waits until the flags of all `lines` are
    `tag`, adds the lines of `partials` in order, rounds once to the element
    type of `result`, stores, and clears the flags. Partials of an earlier launch
    of the plan have no flags.

    ```mlir
    tile.finish_sum %sp flags %sf tag %tag lines %lines into %gb : !tile.tensor<1x640xbf16>
    ```
    (C1) The result is an argument of the kernel, of one row.
  }];
  let arguments = (ins Tile_Workspace:$partials, Optional<Tile_Workspace>:$flags,
                       Optional<I64>:$tag, Index:$lines, Tile_Tensor:$result);
  let assemblyFormat = [{
    $partials (`flags` $flags^ `tag` $tag)? `lines` $lines `into` $result attr-dict
    `:` qualified(type($result))
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Conversion
//===----------------------------------------------------------------------===//

def Tile_ConvertOp : Tile_Op<"convert", [AttrSizedOperandSegments]> {
  let summary = "writes 16-bit copies of an f32 matrix, and sums its columns";
  let description = [{
    What a kernel without tasks holds; in a sum task, without copies, it only
    sums. The copies are the matrix rounded to
    nearest even, or the matrix in two bf16 parts. With partials, the f32 sums of
    the columns over each 32 rows become a line of `partials`, published by a flag
    of `flags` for each 64 columns, or, without flags, by the end of the kernel.
    With `pad`, copies have that many rows or a multiple, and those beyond the
    source's are zero.

    ```mlir
    tile.convert %x rows %m to %hi, %lo : !tile.tensor<?x192xf32> to !tile.tensor<?x192xbf16>, !tile.tensor<?x192xbf16>
    ```
    (C1) The source is f32; there are up to two copies of its shape and of one
         16-bit type, two of bf16, and one at least unless columns are summed.
    (C2) Flags and tag come together, and with partials.
    (C3) `pad` is a multiple of 32, and not without copies.
  }];
  let arguments = (ins Tile_Tensor:$source, Index:$rows, Variadic<Tile_Tensor>:$copies,
                       Optional<Tile_Workspace>:$partials,
                       Optional<Tile_Workspace>:$flags, Optional<I64>:$tag,
                       OptionalAttr<I64Attr>:$pad);
  let assemblyFormat = [{
    $source `rows` $rows (`pad` $pad^)? (`to` $copies^)? (`partials` $partials^)? (`flags` $flags^ `tag` $tag)?
    attr-dict `:` qualified(type($source)) (`to` qualified(type($copies))^)?
  }];
  let extraClassDeclaration = [{
    /// Rows that one line of the partials sums up.
    static constexpr int64_t sumRows = 32;
  }];
  let hasVerifier = 1;
}

def Tile_ClearOp : Tile_Op<"clear"> {
  let summary = "sets 64-bit words of workspace to zero";
  let description = [{
    Signals of a later launch of the plan: a replayed launch has the tag it had
    before, and must not find it.

    ```mlir
    tile.clear %signals words %n
    ```
  }];
  let arguments = (ins Tile_Workspace:$workspace, Index:$words);
  let assemblyFormat = "$workspace `words` $words attr-dict";
}

#endif // BACKFUSE_DIALECTS_TILE_TILEOPS
