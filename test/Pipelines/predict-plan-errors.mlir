// What a prediction is asked for is checked by name.

// DEFINE: %{plan} = not kernel-opt %S/Inputs/gated.mlir --emit=plan --target=sm_90a
// RUN: %{plan} --set=use_gate=true 2>&1 | FileCheck %s --check-prefix=MISSING
// MISSING: kernel-opt: error: --dims: no extent for 'T'; give all of: T
// RUN: %{plan} --dims=S=4 --set=use_gate=true 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: kernel-opt: error: --dims: the graph has no variable dimension 'S'; there are: T
// RUN: %{plan} --dims=T=-4 --set=use_gate=true 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// NEGATIVE: kernel-opt: error: --dims: 'T' is -4; a prediction needs an extent from 1 to 2147483647
// RUN: %{plan} --dims=T=0 --set=use_gate=true 2>&1 | FileCheck %s --check-prefix=ZERO
// ZERO: kernel-opt: error: --dims: 'T' is 0; a prediction needs an extent from 1
// RUN: %{plan} --dims=T=2147483648 --set=use_gate=true 2>&1 | FileCheck %s --check-prefix=LARGE
// LARGE: kernel-opt: error: --dims: 'T' is 2147483648; a prediction needs
// RUN: %{plan} --dims=T=many --set=use_gate=true 2>&1 | FileCheck %s --check-prefix=WORD
// WORD: kernel-opt: error: --dims: 'many' is no extent for 'T'
// RUN: %{plan} --dims=T --set=use_gate=true 2>&1 | FileCheck %s --check-prefix=FORM
// FORM: kernel-opt: error: --dims: 'T' is not of the form NAME=VALUE
// RUN: %{plan} --dims=T=1,T=2 --set=use_gate=true 2>&1 | FileCheck %s --check-prefix=TWICE
// TWICE: kernel-opt: error: --dims: 'T' is given twice

// Which kernels run depends on bool parameters, on no other.
// RUN: %{plan} --dims=T=4 2>&1 | FileCheck %s --check-prefix=PARAM
// PARAM: kernel-opt: error: --set: no value for the parameter 'use_gate'; give --set use_gate=true or use_gate=false
// RUN: %{plan} --dims=T=4 --set=gates=1 2>&1 | FileCheck %s --check-prefix=NOPARAM
// NOPARAM: kernel-opt: error: --set: the graph has no parameter 'gates'; there are: alpha, use_gate
// RUN: %{plan} --dims=T=4 --set=use_gate=2 2>&1 | FileCheck %s --check-prefix=BOOL
// BOOL: kernel-opt: error: --set: 'use_gate' is a bool; give true or false
// RUN: %{plan} --dims=T=4 --set=use_gate=yes 2>&1 | FileCheck %s --check-prefix=VALUE
// VALUE: kernel-opt: error: --set: 'yes' is no value for 'use_gate'

// The flags mean nothing without a plan, and --cases gives all there is.
// RUN: not kernel-opt %S/Inputs/gated.mlir --emit=ptx --target=sm_90a --dims=T=4 2>&1 | FileCheck %s --check-prefix=PLAN
// PLAN: kernel-opt: error: --dims, --set and --cases need --emit=plan
// RUN: not kernel-opt %S/Inputs/gated.mlir --dims=T=4 2>&1 | FileCheck %s --check-prefix=EMIT
// EMIT: kernel-opt: error: --dims needs --emit
// RUN: %{plan} --dims=T=4 --cases=%t/none.json 2>&1 | FileCheck %s --check-prefix=BOTH
// BOTH: kernel-opt: error: --cases gives dimensions and parameters: leave --dims and --set out

// Files of cases.
// RUN: split-file %s %t
// RUN: %{plan} --cases=%t/none.json 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: kernel-opt: error: --cases: '{{.*}}none.json': No such file
// RUN: %{plan} --cases=%t/garbage.json 2>&1 | FileCheck %s --check-prefix=GARBAGE
// GARBAGE: kernel-opt: error: --cases: '{{.*}}garbage.json': not JSON: {{.*}}
// RUN: %{plan} --cases=%t/empty.json 2>&1 | FileCheck %s --check-prefix=EMPTY
// EMPTY: kernel-opt: error: --cases: '{{.*}}empty.json': has no cases
// RUN: %{plan} --cases=%t/tensor.json 2>&1 | FileCheck %s --check-prefix=TENSOR
// TENSOR: kernel-opt: error: --cases: '{{.*}}tensor.json': has no shape of 'x', which the graph has among its inputs
// RUN: %{plan} --cases=%t/rank.json 2>&1 | FileCheck %s --check-prefix=RANK
// RANK: kernel-opt: error: --cases: '{{.*}}rank.json': 'dy' has 1 axes, and 2 in the graph
// RUN: %{plan} --cases=%t/axis.json 2>&1 | FileCheck %s --check-prefix=AXIS
// AXIS: kernel-opt: error: --cases: '{{.*}}axis.json': axis 'rows' has no extent
// RUN: %{plan} --cases=%t/extent.json 2>&1 | FileCheck %s --check-prefix=EXTENT
// EXTENT: kernel-opt: error: --cases: '{{.*}}extent.json': case 0: axis 1 of 'dy' is 321, and 320 in the graph

//--- garbage.json
{"cases": [
//--- empty.json
{"axes": {}, "cases": []}
//--- tensor.json
{"axes": {}, "inputs": {"dy": {"shape": [4, 320]}}, "outputs": {}, "cases": [{"axes": {}}]}
//--- rank.json
{"axes": {}, "inputs": {"dy": {"shape": [320]}}, "outputs": {}, "cases": [{"axes": {}}]}
//--- axis.json
{"axes": {"rows": "variable"}, "inputs": {"dy": {"shape": ["rows", 320]}}, "outputs": {}, "cases": [{"axes": {}}]}
//--- extent.json
{"axes": {"rows": "variable"}, "inputs": {"dy": {"shape": ["rows", 321]}}, "outputs": {}, "cases": [{"axes": {"rows": 4}}]}
