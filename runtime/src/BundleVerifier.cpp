//===- BundleVerifier.cpp - What a bundle's numbers must satisfy ----------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A bundle may come from anywhere, so nothing in it is believed. Each check
// function returns false after fail(); callers put the place in front with
// in(), so that a message reads "target sm_90a: variant 0: step 2: ...".
//===----------------------------------------------------------------------===//
#include "BundleVerifier.h"
#include "Expression.h"

#include <cmath>
#include <cstdarg>
#include <set>
#include <string>
#include <vector>

using namespace backfuse;
using namespace backfuse::runtime;
using bundle::DType;
using bundle::OpKind;

using Limits = BundleLimits;

unsigned backfuse::runtime::elementBytes(DType dtype) {
  switch (dtype) {
  case DType::F32:
    return 4;
  case DType::BF16:
  case DType::F16:
    return 2;
  case DType::I1:
    return 1;
  case DType::I64:
    return 8;
  }
  return 0;
}

unsigned backfuse::runtime::elementBytes(bundle::MapType type) {
  switch (type) {
  case bundle::MapType::F32:
  case bundle::MapType::TF32:
  case bundle::MapType::U32:
    return 4;
  case bundle::MapType::BF16:
  case bundle::MapType::F16:
  case bundle::MapType::U16:
    return 2;
  case bundle::MapType::U8:
    return 1;
  }
  return 0;
}

unsigned backfuse::runtime::parameterBytes(bundle::ArgKind kind) {
  switch (kind) {
  case bundle::ArgKind::Map:
    return 128;
  case bundle::ArgKind::Pointer:
  case bundle::ArgKind::Int64:
  case bundle::ArgKind::LaunchTag:
    return 8;
  case bundle::ArgKind::Int32:
  case bundle::ArgKind::Float32:
    return 4;
  }
  return 0;
}

template <typename T>
static unsigned sizeOf(const flatbuffers::Vector<T> *vector) {
  return vector ? vector->size() : 0;
}

/// FlatBuffers' verifier checks the alignment of a vector's length, not that of
/// 8-byte aligned structs.
template <typename T>
static bool isAligned(const flatbuffers::Vector<const T *> *vector) {
  return !vector || vector->size() == 0 ||
         reinterpret_cast<uintptr_t>(vector->Data()) % alignof(T) == 0;
}

namespace {
class Checker {
public:
  explicit Checker(const bundle::Bundle &bundle)
      : bundle(bundle), graph(*bundle.graph()) {}

  bool check() {
    return checkGraph() && checkRefusals() && checkTargets() &&
           checkProvenance();
  }
  std::string text;

private:
  using OpRef = const bundle::Op &;

  bool fail(const char *format, ...) BF_PRINTF(2, 3);
  bool in(const char *format, ...)BF_PRINTF(2, 3);

  // Pieces.
  bool checkText(const flatbuffers::String *string, unsigned maxBytes,
                 const char *what);
  bool checkName(const flatbuffers::String *string, const char *what);
  bool checkCount(unsigned count, unsigned limit, const char *what);
  bool checkExpr(const bundle::Expr *expr, const char *what);

  // The graph.
  bool checkGraph();
  bool checkDims();
  bool checkType(const bundle::TensorType &type);
  bool checkValues();
  bool checkArguments(
      const flatbuffers::Vector<flatbuffers::Offset<bundle::Argument>> *list,
      const char *what);
  bool checkInputsAndParams();
  bool checkOutputs();
  bool define(uint32_t value);
  bool checkOps();
  bool checkOp(OpRef op);
  bool checkOperands(OpRef op, unsigned expected);
  bool checkUnary(OpRef op);
  bool checkBinary(OpRef op);
  bool checkSelect(OpRef op);
  bool checkBroadcast(OpRef op);
  bool checkReshape(OpRef op);
  bool checkSum(OpRef op);
  bool checkMatmul(OpRef op);
  bool checkDtype(const bundle::TensorType &type, DType expected,
                  const char *what);
  bool checkFloat(const bundle::TensorType &type, const char *what);
  bool checkSameShape(const bundle::TensorType &a, const bundle::TensorType &b);
  bool checkAxes(const flatbuffers::Vector<int32_t> *axes, unsigned rank,
                 const char *what, std::vector<bool> &used);
  const bundle::TensorType &operand(OpRef op, unsigned index) const {
    return *graph.values()->Get(op.operands()->Get(index))->type();
  }
  const bundle::TensorType &result(OpRef op) const {
    return *graph.values()->Get(op.result())->type();
  }

  // The plan.
  bool checkRefusals();
  bool checkTargets();
  bool checkTarget(const bundle::Target &target);
  bool checkKernel(const bundle::Kernel &kernel, unsigned numModules);
  bool checkVariant(const bundle::Variant &variant,
                    const bundle::Target &target);
  bool checkProduct(const bundle::Product &product);
  bool checkLaunch(const bundle::KernelLaunch &launch,
                   const bundle::Target &target);
  bool checkZeroFill(const bundle::ZeroFill &fill);
  bool checkArg(const bundle::KernelArg &arg);
  bool checkMap(const bundle::TensorMap &map);
  bool checkBuffer(const bundle::Buffer &buffer);
  bool checkProvenance();

  const bundle::Bundle &bundle;
  const bundle::Graph &graph;
  std::vector<bool> defined;
  std::vector<bool> isInput;
  std::vector<bool> dimUsed;
};
} // namespace

static std::string formatVariadic(const char *format, va_list list) {
  char buffer[1024];
  std::vsnprintf(buffer, sizeof(buffer), format, list);
  return buffer;
}

bool Checker::fail(const char *format, ...) {
  va_list list;
  va_start(list, format);
  text = formatVariadic(format, list);
  va_end(list);
  return false;
}

bool Checker::in(const char *format, ...) {
  va_list list;
  va_start(list, format);
  text = formatVariadic(format, list) + ": " + text;
  va_end(list);
  return false;
}

//===----------------------------------------------------------------------===//
// Pieces
//===----------------------------------------------------------------------===//

bool Checker::checkText(const flatbuffers::String *string, unsigned maxBytes,
                        const char *what) {
  if (!string)
    return true;
  if (string->size() > maxBytes)
    return fail("the %s has %u bytes, more than %u", what, string->size(),
                maxBytes);
  // Texts are printed: no control characters (but lines in long ones), and no
  // zero that would hide a rest.
  bool mayHaveLines = maxBytes > Limits::nameBytes;
  for (char c : *string)
    if ((static_cast<unsigned char>(c) < 0x20 || c == 0x7f) &&
        !(mayHaveLines && (c == '\n' || c == '\t')))
      return fail("the %s holds a control character", what);
  return true;
}

bool Checker::checkName(const flatbuffers::String *string, const char *what) {
  if (!string || string->size() == 0)
    return fail("the %s is empty", what);
  return checkText(string, Limits::nameBytes, what);
}

bool Checker::checkCount(unsigned count, unsigned limit, const char *what) {
  return count <= limit || fail("has %u %s, more than %u", count, what, limit);
}

bool Checker::checkExpr(const bundle::Expr *expr, const char *what) {
  if (!expr)
    return fail("the %s is missing", what);
  if (!isAligned(expr->nodes()))
    return fail("the %s is misaligned", what);
  std::string why = whyMalformed(*expr, graph);
  return why.empty() || fail("%s: %s", what, why.c_str());
}

//===----------------------------------------------------------------------===//
// The graph
//===----------------------------------------------------------------------===//

bool Checker::checkGraph() {
  if (!checkName(graph.name(), "name") || !checkDims() || !checkValues() ||
      !checkInputsAndParams() || !checkOps() || !checkOutputs())
    return in("graph");
  for (unsigned i = 0; i < dimUsed.size(); ++i)
    if (!dimUsed[i])
      return fail("graph: no input or output has dimension %s",
                  graph.dims()->Get(i)->c_str());
  return true;
}

bool Checker::checkDims() {
  unsigned count = sizeOf(graph.dims());
  if (!checkCount(count, Limits::dims, "dimensions"))
    return false;
  std::set<std::string> names;
  for (unsigned i = 0; i < count; ++i) {
    if (!checkName(graph.dims()->Get(i), "name"))
      return in("dimension %u", i);
    if (!names.insert(graph.dims()->Get(i)->str()).second)
      return fail("two dimensions are named %s", graph.dims()->Get(i)->c_str());
  }
  dimUsed.resize(count);
  return true;
}

bool Checker::checkType(const bundle::TensorType &type) {
  if (type.dtype() > DType::MAX)
    return fail("unknown element type %u", static_cast<unsigned>(type.dtype()));
  if (!isAligned(type.extents()))
    return fail("misaligned extents");
  unsigned rank = sizeOf(type.extents());
  if (rank > BF_MAX_RANK)
    return fail("rank %u, more than %u", rank, BF_MAX_RANK);
  for (unsigned i = 0; i < rank; ++i) {
    const bundle::Extent &extent = *type.extents()->Get(i);
    if (extent.dim() >= 0 &&
        static_cast<unsigned>(extent.dim()) >= dimUsed.size())
      return fail("extent %u names dimension %d of %zu", i, extent.dim(),
                  dimUsed.size());
    if (extent.dim() >= 0 && extent.fixed() != 0)
      return fail("extent %u is both fixed and variable", i);
    if (extent.dim() < 0 && extent.fixed() <= 0)
      return fail("extent %u is %lld, expected at least 1", i,
                  static_cast<long long>(extent.fixed()));
  }
  // Fixed extents alone must leave room for every 64-bit byte count.
  int64_t bytes = elementBytes(type.dtype());
  for (unsigned i = 0; i < rank; ++i) {
    const bundle::Extent &extent = *type.extents()->Get(i);
    if (extent.dim() < 0 &&
        __builtin_mul_overflow(bytes, extent.fixed(), &bytes))
      return fail("more than 2^63 bytes");
  }
  return true;
}

bool Checker::checkValues() {
  unsigned count = graph.values()->size();
  if (!checkCount(count, Limits::values, "values"))
    return false;
  for (unsigned i = 0; i < count; ++i) {
    const bundle::Value &value = *graph.values()->Get(i);
    if (!checkText(value.name(), Limits::nameBytes, "name") ||
        !checkType(*value.type()))
      return in("value %u", i);
  }
  defined.resize(count);
  isInput.resize(count);
  return true;
}

bool Checker::define(uint32_t value) {
  if (value >= defined.size())
    return fail("value %u of %zu", value, defined.size());
  if (defined[value])
    return fail("value %u is defined twice", value);
  defined[value] = true;
  return true;
}

bool Checker::checkArguments(
    const flatbuffers::Vector<flatbuffers::Offset<bundle::Argument>> *list,
    const char *what) {
  std::set<std::string> names;
  if (sizeOf(list) > Limits::arguments)
    return fail("%u %ss, more than %u", sizeOf(list), what, Limits::arguments);
  for (unsigned i = 0; i < sizeOf(list); ++i) {
    const bundle::Argument &argument = *list->Get(i);
    if (!checkName(argument.name(), "name"))
      return in("%s %u", what, i);
    if (!names.insert(argument.name()->str()).second)
      return fail("two %ss are named %s", what, argument.name()->c_str());
    if (argument.value() >= graph.values()->size())
      return fail("%s %s is value %u of %u", what, argument.name()->c_str(),
                  argument.value(), graph.values()->size());
    const auto *extents =
        graph.values()->Get(argument.value())->type()->extents();
    for (unsigned axis = 0; axis < sizeOf(extents); ++axis)
      if (extents->Get(axis)->dim() >= 0)
        dimUsed[static_cast<unsigned>(extents->Get(axis)->dim())] = true;
  }
  return true;
}

bool Checker::checkInputsAndParams() {
  if (!checkArguments(graph.inputs(), "input") ||
      !checkArguments(graph.params(), "parameter"))
    return false;
  for (unsigned i = 0; i < sizeOf(graph.inputs()); ++i) {
    const bundle::Argument &input = *graph.inputs()->Get(i);
    if (!define(input.value()))
      return in("input %s", input.name()->c_str());
    isInput[input.value()] = true;
  }
  for (unsigned i = 0; i < sizeOf(graph.params()); ++i) {
    const bundle::Argument &param = *graph.params()->Get(i);
    const bundle::TensorType &type =
        *graph.values()->Get(param.value())->type();
    if (!define(param.value()))
      return in("parameter %s", param.name()->c_str());
    if (sizeOf(type.extents()) != 0 ||
        (type.dtype() != DType::I1 && type.dtype() != DType::F32))
      return fail("parameter %s is not an I1 or F32 scalar",
                  param.name()->c_str());
    isInput[param.value()] = true;
  }
  return true;
}

bool Checker::checkOutputs() {
  if (!checkArguments(graph.outputs(), "output"))
    return false;
  for (unsigned i = 0; i < sizeOf(graph.outputs()); ++i) {
    const bundle::Argument &output = *graph.outputs()->Get(i);
    if (!defined[output.value()])
      return fail("output %s is value %u, which has no definition",
                  output.name()->c_str(), output.value());
    if (isInput[output.value()])
      return fail("output %s is an input", output.name()->c_str());
  }
  return true;
}

bool Checker::checkOps() {
  unsigned count = sizeOf(graph.ops());
  if (!checkCount(count, Limits::ops, "ops"))
    return false;
  for (unsigned i = 0; i < count; ++i) {
    const bundle::Op &op = *graph.ops()->Get(i);
    if (op.kind() > OpKind::MAX)
      return fail("op %u has the unknown kind %u", i,
                  static_cast<unsigned>(op.kind()));
    if (!checkOp(op))
      return in("op %u (%s)", i, bundle::EnumNameOpKind(op.kind()));
  }
  return true;
}

bool Checker::checkOp(OpRef op) {
  if (op.precision() > bundle::Precision::MAX)
    return fail("unknown precision %u", static_cast<unsigned>(op.precision()));
  if (!checkText(op.location(), Limits::textBytes, "location"))
    return false;
  for (unsigned i = 0; i < sizeOf(op.operands()); ++i) {
    uint32_t value = op.operands()->Get(i);
    if (value >= defined.size() || !defined[value])
      return fail("operand %u is value %u, which has no definition before", i,
                  value);
  }
  // Only the result's index; it is defined once the op has been checked.
  if (op.result() >= defined.size())
    return fail("the result is value %u of %zu", op.result(), defined.size());
  bool good = false;
  switch (op.kind()) {
  case OpKind::Select:
    good = checkSelect(op);
    break;
  case OpKind::Constant:
    good = checkOperands(op, 0) && checkFloat(result(op), "result");
    break;
  case OpKind::Broadcast:
    good = checkBroadcast(op);
    break;
  case OpKind::Reshape:
    good = checkReshape(op);
    break;
  case OpKind::Sum:
    good = checkSum(op);
    break;
  case OpKind::Matmul:
    good = checkMatmul(op);
    break;
  case OpKind::Permute:
  case OpKind::Slice:
  case OpKind::Concat:
    return fail("this runtime does not know the op yet: update the runtime");
  default:
    good = op.kind() <= OpKind::Cast ? checkUnary(op) : checkBinary(op);
  }
  return good && define(op.result());
}

bool Checker::checkOperands(OpRef op, unsigned expected) {
  unsigned found = sizeOf(op.operands());
  return found == expected ||
         fail("has %u operands, expected %u", found, expected);
}

bool Checker::checkDtype(const bundle::TensorType &type, DType expected,
                         const char *what) {
  return type.dtype() == expected ||
         fail("the %s has type %s, expected %s", what,
              bundle::EnumNameDType(type.dtype()),
              bundle::EnumNameDType(expected));
}

bool Checker::checkFloat(const bundle::TensorType &type, const char *what) {
  return (type.dtype() != DType::I1 && type.dtype() != DType::I64) ||
         fail("the %s has type %s, expected F32, BF16 or F16", what,
              bundle::EnumNameDType(type.dtype()));
}

static bool equalExtents(const bundle::Extent &a, const bundle::Extent &b) {
  return a.dim() < 0 ? b.dim() < 0 && a.fixed() == b.fixed()
                     : a.dim() == b.dim();
}

bool Checker::checkSameShape(const bundle::TensorType &a,
                             const bundle::TensorType &b) {
  bool equal = sizeOf(a.extents()) == sizeOf(b.extents());
  for (unsigned i = 0; equal && i < sizeOf(a.extents()); ++i)
    equal = equalExtents(*a.extents()->Get(i), *b.extents()->Get(i));
  return equal || fail("operands and result do not have one shape");
}

bool Checker::checkUnary(OpRef op) {
  return checkOperands(op, 1) && checkSameShape(operand(op, 0), result(op)) &&
         (op.kind() == OpKind::Cast || checkFloat(operand(op, 0), "operand")) &&
         checkFloat(result(op), "result");
}

bool Checker::checkBinary(OpRef op) {
  if (!checkOperands(op, 2) || !checkSameShape(operand(op, 0), result(op)) ||
      !checkSameShape(operand(op, 1), result(op)))
    return false;
  bool logic = op.kind() == OpKind::And || op.kind() == OpKind::Or;
  bool compare = op.kind() >= OpKind::CmpOlt && op.kind() <= OpKind::CmpUne;
  if (logic)
    return checkDtype(operand(op, 0), DType::I1, "first operand") &&
           checkDtype(operand(op, 1), DType::I1, "second operand") &&
           checkDtype(result(op), DType::I1, "result");
  return checkFloat(operand(op, 0), "first operand") &&
         checkFloat(operand(op, 1), "second operand") &&
         (compare ? checkDtype(result(op), DType::I1, "result")
                  : checkFloat(result(op), "result"));
}

bool Checker::checkSelect(OpRef op) {
  if (!checkOperands(op, 3) ||
      !checkDtype(operand(op, 0), DType::I1, "condition") ||
      !checkSameShape(operand(op, 1), result(op)) ||
      !checkSameShape(operand(op, 2), result(op)))
    return false;
  return sizeOf(operand(op, 0).extents()) == 0 ||
         checkSameShape(operand(op, 0), result(op));
}

bool Checker::checkAxes(const flatbuffers::Vector<int32_t> *axes, unsigned rank,
                        const char *what, std::vector<bool> &used) {
  used.assign(rank, false);
  for (unsigned i = 0; i < sizeOf(axes); ++i) {
    int32_t axis = axes->Get(i);
    if (axis < 0 || static_cast<unsigned>(axis) >= rank)
      return fail("%s names axis %d of %u", what, axis, rank);
    if (used[static_cast<unsigned>(axis)])
      return fail("%s names axis %d twice", what, axis);
    used[static_cast<unsigned>(axis)] = true;
  }
  return true;
}

bool Checker::checkBroadcast(OpRef op) {
  if (!checkOperands(op, 1))
    return false;
  const auto *from = operand(op, 0).extents(), *to = result(op).extents();
  std::vector<bool> used;
  if (!checkDtype(result(op), operand(op, 0).dtype(), "result") ||
      !checkAxes(op.dims(), sizeOf(to), "`dims`", used))
    return false;
  if (sizeOf(op.dims()) != sizeOf(from))
    return fail("`dims` has %u axes, but the operand %u", sizeOf(op.dims()),
                sizeOf(from));
  for (unsigned i = 0; i < sizeOf(from); ++i)
    if (!equalExtents(*from->Get(i),
                      *to->Get(static_cast<unsigned>(op.dims()->Get(i)))))
      return fail("axis %u of the operand differs from the result's", i);
  return true;
}

/// Multiplies the fixed extents of `type` and counts its variable ones.
static bool summarise(const bundle::TensorType &type, int64_t &fixed,
                      std::multiset<int32_t> &dims) {
  fixed = 1;
  for (unsigned i = 0; i < sizeOf(type.extents()); ++i) {
    const bundle::Extent &extent = *type.extents()->Get(i);
    if (extent.dim() >= 0)
      dims.insert(extent.dim());
    else if (__builtin_mul_overflow(fixed, extent.fixed(), &fixed))
      return false;
  }
  return true;
}

bool Checker::checkReshape(OpRef op) {
  if (!checkOperands(op, 1) ||
      !checkDtype(result(op), operand(op, 0).dtype(), "result"))
    return false;
  int64_t from, to;
  std::multiset<int32_t> fromDims, toDims;
  if (!summarise(operand(op, 0), from, fromDims) ||
      !summarise(result(op), to, toDims))
    return fail("more than 2^63 elements");
  // A dimension of the result may stand for a product of the operand's; such a
  // shape is checked against the values of the dimensions when it is evaluated.
  return fromDims != toDims || from == to ||
         fail("operand and result differ in their number of elements");
}

bool Checker::checkSum(OpRef op) {
  if (!checkOperands(op, 1) || !checkFloat(operand(op, 0), "operand") ||
      !checkFloat(result(op), "result"))
    return false;
  const auto *from = operand(op, 0).extents(), *to = result(op).extents();
  std::vector<bool> summed;
  if (!checkAxes(op.dims(), sizeOf(from), "`dims`", summed))
    return false;
  unsigned axis = 0;
  for (unsigned i = 0; i < sizeOf(from); ++i)
    if (!summed[i] &&
        (axis >= sizeOf(to) || !equalExtents(*from->Get(i), *to->Get(axis++))))
      return fail("the result's shape is not that of the axes that remain");
  return axis == sizeOf(to) ||
         fail("the result's shape is not that of the axes that remain");
}

bool Checker::checkMatmul(OpRef op) {
  if (!checkOperands(op, 2))
    return false;
  const auto *a = operand(op, 0).extents(), *b = operand(op, 1).extents();
  const auto *to = result(op).extents();
  std::vector<bool> aContracted, bContracted;
  if (!checkFloat(operand(op, 0), "first operand") ||
      !checkFloat(operand(op, 1), "second operand") ||
      !checkFloat(result(op), "result") ||
      !checkAxes(op.a_contract(), sizeOf(a), "`a_contract`", aContracted) ||
      !checkAxes(op.b_contract(), sizeOf(b), "`b_contract`", bContracted))
    return false;
  unsigned numContracted = sizeOf(op.a_contract());
  if (numContracted == 0 || numContracted != sizeOf(op.b_contract()))
    return fail("contracts %u axes of A with %u of B", numContracted,
                sizeOf(op.b_contract()));
  for (unsigned i = 0; i < numContracted; ++i)
    if (!equalExtents(*a->Get(static_cast<unsigned>(op.a_contract()->Get(i))),
                      *b->Get(static_cast<unsigned>(op.b_contract()->Get(i)))))
      return fail("contracted axes %u of A and B differ", i);
  std::vector<const bundle::Extent *> expected;
  for (unsigned i = 0; i < sizeOf(a); ++i)
    if (!aContracted[i])
      expected.push_back(a->Get(i));
  for (unsigned i = 0; i < sizeOf(b); ++i)
    if (!bContracted[i])
      expected.push_back(b->Get(i));
  bool equal = expected.size() == sizeOf(to);
  for (unsigned i = 0; equal && i < sizeOf(to); ++i)
    equal = equalExtents(*expected[i], *to->Get(i));
  return equal || fail("the result's shape is not A's free axes, then B's");
}

//===----------------------------------------------------------------------===//
// The plan
//===----------------------------------------------------------------------===//

bool Checker::checkRefusals() {
  if (!checkCount(sizeOf(bundle.refusals()), Limits::refusals, "refusals"))
    return false;
  for (unsigned i = 0; i < sizeOf(bundle.refusals()); ++i) {
    const bundle::Refusal &refusal = *bundle.refusals()->Get(i);
    if (!checkExpr(refusal.condition(), "condition") ||
        !checkText(refusal.reason(), Limits::textBytes, "reason"))
      return in("refusal %u", i);
  }
  return true;
}

bool Checker::checkTargets() {
  if (!checkCount(sizeOf(bundle.targets()), Limits::targets, "targets"))
    return false;
  for (unsigned i = 0; i < sizeOf(bundle.targets()); ++i) {
    const bundle::Target &target = *bundle.targets()->Get(i);
    if (!checkName(target.name(), "name"))
      return in("target %u", i);
    if (!checkTarget(target))
      return in("target %s", target.name()->c_str());
  }
  return true;
}

bool Checker::checkTarget(const bundle::Target &target) {
  if (!checkCount(sizeOf(target.modules()), Limits::modules, "modules") ||
      !checkCount(sizeOf(target.kernels()), Limits::kernels, "kernels") ||
      !checkCount(sizeOf(target.variants()), Limits::variants, "variants"))
    return false;
  for (unsigned i = 0; i < sizeOf(target.modules()); ++i) {
    const bundle::Module &module = *target.modules()->Get(i);
    bool hasPtx = module.ptx() && module.ptx()->size();
    if (sizeOf(module.cubin()) == 0 && !hasPtx)
      return fail("module %u has neither a cubin nor PTX", i);
    // A driver reads PTX up to the first zero.
    if (hasPtx && module.ptx()->str().find('\0') != std::string::npos)
      return fail("the PTX of module %u holds a zero", i);
  }
  for (unsigned i = 0; i < sizeOf(target.kernels()); ++i)
    if (!checkKernel(*target.kernels()->Get(i), sizeOf(target.modules())))
      return in("kernel %u", i);
  for (unsigned i = 0; i < sizeOf(target.variants()); ++i)
    if (!checkVariant(*target.variants()->Get(i), target))
      return in("variant %u", i);
  return true;
}

bool Checker::checkKernel(const bundle::Kernel &kernel, unsigned numModules) {
  if (!checkName(kernel.name(), "name"))
    return false;
  if (kernel.module_index() >= numModules)
    return fail("is in module %u of %u", kernel.module_index(), numModules);
  if (kernel.threads() == 0 || kernel.threads() > 1024)
    return fail("has %u threads, expected 1 to 1024", kernel.threads());
  if (sizeOf(kernel.cluster()) > 3)
    return fail("has a cluster of %u extents, expected at most 3",
                sizeOf(kernel.cluster()));
  uint64_t ctas = 1;
  for (unsigned i = 0; i < sizeOf(kernel.cluster()); ++i) {
    uint32_t extent = kernel.cluster()->Get(i);
    ctas *= extent;
    if (extent == 0 || ctas > Limits::clusterCtas)
      return fail("has a cluster that is empty or larger than %u CTAs",
                  Limits::clusterCtas);
  }
  if (kernel.smem_bytes() > Limits::smemBytes)
    return fail("has %u bytes of dynamic shared memory, more than %u",
                kernel.smem_bytes(), Limits::smemBytes);
  for (unsigned i = 0; i < sizeOf(kernel.roles()); ++i)
    if (!checkText(kernel.roles()->Get(i), Limits::nameBytes, "role"))
      return false;
  return true;
}

bool Checker::checkVariant(const bundle::Variant &variant,
                           const bundle::Target &target) {
  if (!checkText(variant.name(), Limits::textBytes, "name") ||
      !checkCount(sizeOf(variant.steps()), Limits::steps, "steps") ||
      !checkCount(sizeOf(variant.products()), Limits::products, "products") ||
      !checkExpr(variant.guard(), "guard") ||
      !checkExpr(variant.workspace_bytes(), "workspace_bytes") ||
      !checkExpr(variant.bytes(), "bytes"))
    return false;
  for (unsigned i = 0; i < sizeOf(variant.steps()); ++i) {
    const bundle::Step &step = *variant.steps()->Get(i);
    bool good = false;
    if (const auto *launch = step.body_as_KernelLaunch())
      good = checkLaunch(*launch, target);
    else if (const auto *fill = step.body_as_ZeroFill())
      good = checkZeroFill(*fill);
    else
      good = fail("neither a kernel launch nor a zero fill");
    if (!good)
      return in("step %u", i);
  }
  for (unsigned i = 0; i < sizeOf(variant.products()); ++i)
    if (!checkProduct(*variant.products()->Get(i)))
      return in("product %u", i);
  for (unsigned i = 0; i < sizeOf(variant.work()); ++i) {
    const bundle::Work &work = *variant.work()->Get(i);
    if (work.rate() > bundle::Rate::MAX)
      return fail("unknown rate %u", static_cast<unsigned>(work.rate()));
    if (!checkExpr(work.operations(), "operations"))
      return in("work %u", i);
  }
  return true;
}

bool Checker::checkProduct(const bundle::Product &product) {
  if (product.op() >= sizeOf(graph.ops()) ||
      graph.ops()->Get(product.op())->kind() != OpKind::Matmul)
    return fail("op %u is not a matmul of the graph", product.op());
  if (product.a_type() > DType::MAX || product.b_type() > DType::MAX)
    return fail("unknown operand type");
  if (product.f32_rounding() > bundle::F32Rounding::MAX)
    return fail("unknown rounding of f32 operands");
  return checkText(product.route(), Limits::textBytes, "route");
}

bool Checker::checkLaunch(const bundle::KernelLaunch &launch,
                          const bundle::Target &target) {
  if (launch.kernel() >= sizeOf(target.kernels()))
    return fail("launches kernel %u of %u", launch.kernel(),
                sizeOf(target.kernels()));
  if (launch.grid()->size() < 1 || launch.grid()->size() > 3)
    return fail("has a grid of %u extents, expected 1 to 3",
                launch.grid()->size());
  for (const bundle::Expr *extent : *launch.grid())
    if (!checkExpr(extent, "grid"))
      return false;
  if (!checkCount(sizeOf(launch.args()), Limits::kernelArgs, "arguments"))
    return false;
  uint64_t bytes = 0;
  for (unsigned i = 0; i < sizeOf(launch.args()); ++i) {
    const bundle::KernelArg &arg = *launch.args()->Get(i);
    if (!checkArg(arg))
      return in("argument %u", i);
    bytes += parameterBytes(arg.kind());
  }
  return bytes <= Limits::kernelArgBytes ||
         fail("passes %llu bytes of arguments, more than %u",
              static_cast<unsigned long long>(bytes), Limits::kernelArgBytes);
}

bool Checker::checkZeroFill(const bundle::ZeroFill &fill) {
  if (!checkBuffer(*fill.buffer()) || !checkExpr(fill.bytes(), "bytes"))
    return false;
  return fill.buffer()->space() != bundle::Space::Input ||
         fail("fills an input");
}

bool Checker::checkArg(const bundle::KernelArg &arg) {
  switch (arg.kind()) {
  case bundle::ArgKind::Map:
    return arg.map() ? checkMap(*arg.map()) : fail("the map is missing");
  case bundle::ArgKind::Pointer:
    return arg.buffer() ? checkBuffer(*arg.buffer())
                        : fail("the buffer is missing");
  case bundle::ArgKind::Int32:
  case bundle::ArgKind::Int64:
    return checkExpr(arg.value(), "value");
  case bundle::ArgKind::Float32:
    if (arg.param() >= sizeOf(graph.params()))
      return fail("parameter %u of %u", arg.param(), sizeOf(graph.params()));
    return checkDtype(
        *graph.values()->Get(graph.params()->Get(arg.param())->value())->type(),
        DType::F32, "parameter");
  case bundle::ArgKind::LaunchTag:
    return true;
  }
  return fail("unknown kind %u", static_cast<unsigned>(arg.kind()));
}

bool Checker::checkMap(const bundle::TensorMap &map) {
  if (map.type() > bundle::MapType::MAX)
    return fail("map: unknown element type %u",
                static_cast<unsigned>(map.type()));
  if (map.swizzle() > bundle::Swizzle::MAX)
    return fail("map: unknown swizzle %u",
                static_cast<unsigned>(map.swizzle()));
  if (map.l2_promotion() > 3)
    return fail("map: unknown L2 promotion %u", map.l2_promotion());
  unsigned rank = map.sizes()->size();
  if (rank < 1 || rank > 5)
    return fail("map: rank %u, expected 1 to 5", rank);
  if (sizeOf(map.strides()) != rank - 1 || map.box()->size() != rank)
    return fail("map: %u sizes, %u strides, %u box extents, expected n, n-1, n",
                rank, sizeOf(map.strides()), map.box()->size());
  for (unsigned i = 0; i < rank; ++i) {
    if (map.box()->Get(i) < 1 || map.box()->Get(i) > 256)
      return fail("map: box extent %u is %u, expected 1 to 256", i,
                  map.box()->Get(i));
    if (!checkExpr(map.sizes()->Get(i), "map: size") ||
        (i > 0 && !checkExpr(map.strides()->Get(i - 1), "map: stride")))
      return false;
  }
  unsigned rowBytes = map.box()->Get(0) * elementBytes(map.type());
  if (rowBytes % 16 != 0)
    return fail("map: rows of %u bytes, expected a multiple of 16", rowBytes);
  unsigned span = map.swizzle() == bundle::Swizzle::None  ? rowBytes
                  : map.swizzle() == bundle::Swizzle::B32 ? 32
                  : map.swizzle() == bundle::Swizzle::B64 ? 64
                                                          : 128;
  if (rowBytes > span)
    return fail("map: rows of %u bytes under a swizzle of %u", rowBytes, span);
  return checkBuffer(*map.buffer()) || in("map");
}

bool Checker::checkBuffer(const bundle::Buffer &buffer) {
  unsigned count = 0;
  switch (buffer.space()) {
  case bundle::Space::Input:
    count = sizeOf(graph.inputs());
    break;
  case bundle::Space::Output:
    count = sizeOf(graph.outputs());
    break;
  case bundle::Space::Workspace:
    count = 1;
    break;
  default:
    return fail("unknown memory space %u",
                static_cast<unsigned>(buffer.space()));
  }
  if (buffer.index() >= count)
    return fail("buffer %u of %u in space %s", buffer.index(), count,
                bundle::EnumNameSpace(buffer.space()));
  return !buffer.offset() || checkExpr(buffer.offset(), "offset");
}

bool Checker::checkProvenance() {
  const bundle::Provenance *provenance = bundle.provenance();
  if (!provenance)
    return true;
  if (checkText(provenance->compiler(), Limits::textBytes, "compiler") &&
      checkText(provenance->llvm(), Limits::textBytes, "llvm") &&
      checkText(provenance->ptxas(), Limits::textBytes, "ptxas") &&
      checkText(provenance->command(), Limits::textBytes, "command"))
    return true;
  return in("provenance");
}

Error backfuse::runtime::verifyBundle(const bundle::Bundle &bundle) {
  Checker checker(bundle);
  if (checker.check())
    return {};
  return makeError(BF_ERROR_BUNDLE, "the bundle is inconsistent: %s",
                   checker.text.c_str());
}
