//===- check-elementary-functions.cpp - Accuracy of expanded functions ----===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads what backfuse-expand-elementary-functions printed for functions of one
// scalar, evaluates it as f32 arithmetic and compares with f64 functions of
// libm.
//
// A function's name says what it is: @gelu_tanh_bf16, @sigmoid_afn_f32.
// Functions of f32 are evaluated at more than a million points, functions of 16
// bits at all values.
//
// tile.approx has the largest error that its kind allows: all up, all down, and
// signs that differ from point to point. It is assumed to be exact where
// docs/elementary-functions.md says so: ex2 at integers, rcp at powers of two,
// rsqrt at powers of four, lg2 at 1, tanh from 32 on.
//
//===----------------------------------------------------------------------===//
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iostream>
#include <limits>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

static constexpr double infinity = std::numeric_limits<double>::infinity();

[[noreturn]] static void die(const std::string &message) {
  std::cerr << "check-elementary-functions: " << message << '\n';
  std::exit(2);
}

static float fromBits(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, 4);
  return value;
}

static uint32_t toBits(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  return bits;
}

//===----------------------------------------------------------------------===//
// The special function unit
//===----------------------------------------------------------------------===//

namespace {
enum class Approx { Ex2, Lg2, Rcp, Rsqrt, Tanh };
} // namespace

static float flush(float x) {
  return std::fabs(x) < 0x1p-126f ? std::copysign(0.0f, x) : x;
}

static bool isPowerOf(double x, int exponentStep) {
  int exponent;
  return std::frexp(std::fabs(x), &exponent) == 0.5 &&
         (exponent - 1) % exponentStep == 0;
}

/// The function with its largest error in the direction of `sign`. Subnormal
/// operands and results are flushed.
static float evaluateApprox(Approx kind, float operand, int sign) {
  double x = flush(operand), exact, error = 0;
  switch (kind) {
  case Approx::Ex2:
    exact = std::exp2(x);
    if (x != std::floor(x))
      error = exact * 0x1p-22;
    break;
  case Approx::Lg2:
    exact = x < 0 ? NAN : std::log2(x);
    // Absolute near 1, relative elsewhere.
    if (x != 1)
      error = 0x1p-22 * (x > 0.5 && x < 2 ? 1 : std::fabs(exact));
    break;
  case Approx::Rcp: {
    exact = 1 / x;
    if (isPowerOf(x, 1) || x == 0 || std::isinf(x) || std::isnan(x))
      break;
    // One unit in the last place from the rounded value.
    float rounded = static_cast<float>(exact);
    return flush(
        sign ? std::nextafter(rounded, sign > 0 ? HUGE_VALF : -HUGE_VALF)
             : rounded);
  }
  case Approx::Rsqrt:
    exact = x < 0 ? NAN : 1 / std::sqrt(x);
    if (!isPowerOf(x, 2))
      error = exact * 0x1.83p-23; // 2^-22.4
    break;
  case Approx::Tanh:
    exact = std::tanh(x);
    if (std::fabs(x) < 32)
      error = exact * 0x1p-11;
    break;
  }
  if (std::isinf(exact) || std::isnan(exact) || exact == 0)
    return static_cast<float>(exact);
  return flush(static_cast<float>(exact + sign * error));
}

//===----------------------------------------------------------------------===//
// The expanded functions
//===----------------------------------------------------------------------===//

namespace {
/// One operation. Registers hold a value for each point; conditions are 0
/// and 1.
struct Instruction {
  std::string name;
  std::string modifier; // predicate of cmpf, kind of approx
  unsigned result;
  std::vector<unsigned> operands;
  float constant = 0;
};

struct Function {
  std::string name;
  std::string type; // of the argument
  std::vector<Instruction> instructions;
  unsigned numRegisters = 0;
  unsigned result = 0;
};
} // namespace

static std::vector<std::string> split(const std::string &line) {
  std::string spaced;
  for (char c : line)
    spaced += c == ',' || c == '(' || c == ')' || c == ':' ? ' ' : c;
  std::istringstream stream(spaced);
  std::vector<std::string> words;
  for (std::string word; stream >> word;)
    words.push_back(word);
  return words;
}

static float parseConstant(const std::string &text) {
  if (text.rfind("0x", 0) == 0)
    return fromBits(std::strtoul(text.c_str(), nullptr, 16));
  return std::strtof(text.c_str(), nullptr);
}

static std::vector<Function> parse(std::istream &in) {
  std::vector<Function> functions;
  std::map<std::string, unsigned> registers;
  std::map<std::string, std::string> types;
  for (std::string line; std::getline(in, line);) {
    std::vector<std::string> words = split(line);
    if (words.empty() || words[0] == "module" || words[0] == "}")
      continue;
    if (words[0] == "func.func") {
      // func.func @name %arg0 type -> type {
      functions.push_back({words[1].substr(1), words[3], {}});
      registers = {{words[2], 0}};
      functions.back().numRegisters = 1;
      continue;
    }
    if (functions.empty())
      die("expects a function before: " + line);
    Function &function = functions.back();
    auto lookup = [&](const std::string &name) {
      auto it = registers.find(name);
      if (it == registers.end())
        die("unknown value in: " + line);
      return it->second;
    };
    if (words[0] == "return") {
      function.result = lookup(words[1]);
      continue;
    }
    // %x = dialect.op [modifier] %operands type [to type]
    if (words.size() < 4 || words[1] != "=")
      die("cannot read: " + line);
    Instruction instruction;
    instruction.name = words[2];
    size_t i = 3;
    if (words[2] == "arith.constant") {
      instruction.constant = parseConstant(words[i++]);
    } else {
      if (words[i][0] != '%')
        instruction.modifier = words[i++];
      for (; i < words.size() && words[i][0] == '%'; ++i)
        instruction.operands.push_back(lookup(words[i]));
    }
    if (words[2] != "arith.extf" && words[2] != "arith.truncf" &&
        words[i] != "f32" && words[2] != "arith.select" &&
        function.name.rfind("relu", 0) != 0)
      die("expects arithmetic on f32: " + line);
    instruction.result = function.numRegisters++;
    registers[words[0]] = instruction.result;
    function.instructions.push_back(std::move(instruction));
  }
  return functions;
}

/// Neither an operand modifier, a constant nor a cast.
static bool isCounted(const Instruction &instruction) {
  for (const char *name : {"arith.constant", "arith.extf", "arith.truncf",
                           "arith.negf", "math.absf"})
    if (instruction.name == name)
      return false;
  return true;
}

/// How errors of tile.approx are chosen.
enum class Signs { None, Up, Down, Mixed };

static int signAt(Signs signs, float x, unsigned instruction) {
  switch (signs) {
  case Signs::None:
    return 0;
  case Signs::Up:
    return 1;
  case Signs::Down:
    return -1;
  case Signs::Mixed:
    return (toBits(x) * 2654435761u + instruction * 0x9e3779b9u) >> 31 ? 1 : -1;
  }
  return 0;
}

/// Evaluates one operation at all points.
static void evaluate(const Instruction &op, unsigned index,
                     const std::vector<float> &points, Signs signs,
                     std::vector<std::vector<float>> &registers) {
  size_t n = points.size();
  float *r = registers[op.result].data();
  const float *a =
      op.operands.size() > 0 ? registers[op.operands[0]].data() : nullptr;
  const float *b =
      op.operands.size() > 1 ? registers[op.operands[1]].data() : nullptr;
  const float *c =
      op.operands.size() > 2 ? registers[op.operands[2]].data() : nullptr;
  auto each = [&](auto f) {
    for (size_t i = 0; i < n; ++i)
      r[i] = f(i);
  };
  const std::string &name = op.name;
  // 16-bit values are held as f32; the last rounding is not what is measured.
  if (name == "arith.extf" || name == "arith.truncf")
    each([&](size_t i) { return a[i]; });
  else if (name == "arith.constant")
    each([&](size_t) { return op.constant; });
  else if (name == "arith.addf")
    each([&](size_t i) { return a[i] + b[i]; });
  else if (name == "arith.subf")
    each([&](size_t i) { return a[i] - b[i]; });
  else if (name == "arith.mulf")
    each([&](size_t i) { return a[i] * b[i]; });
  else if (name == "arith.negf")
    each([&](size_t i) { return -a[i]; });
  else if (name == "arith.maximumf")
    each([&](size_t i) {
      if (std::isnan(a[i]) || std::isnan(b[i]))
        return std::numeric_limits<float>::quiet_NaN();
      if (a[i] == b[i]) // zeros: +0 is larger
        return std::signbit(a[i]) ? b[i] : a[i];
      return a[i] > b[i] ? a[i] : b[i];
    });
  else if (name == "arith.minimumf")
    each([&](size_t i) {
      if (std::isnan(a[i]) || std::isnan(b[i]))
        return std::numeric_limits<float>::quiet_NaN();
      if (a[i] == b[i])
        return std::signbit(a[i]) ? a[i] : b[i];
      return a[i] < b[i] ? a[i] : b[i];
    });
  else if (name == "arith.cmpf" && op.modifier == "olt")
    each([&](size_t i) { return a[i] < b[i] ? 1.0f : 0.0f; });
  else if (name == "arith.cmpf" && op.modifier == "oeq")
    each([&](size_t i) { return a[i] == b[i] ? 1.0f : 0.0f; });
  else if (name == "arith.select")
    each([&](size_t i) { return a[i] != 0 ? b[i] : c[i]; });
  else if (name == "math.fma")
    each([&](size_t i) { return std::fma(a[i], b[i], c[i]); });
  else if (name == "math.absf")
    each([&](size_t i) { return std::fabs(a[i]); });
  else if (name == "math.copysign")
    each([&](size_t i) { return std::copysign(a[i], b[i]); });
  else if (name == "tile.approx") {
    static const std::map<std::string, Approx> kinds = {
        {"ex2", Approx::Ex2},
        {"lg2", Approx::Lg2},
        {"rcp", Approx::Rcp},
        {"rsqrt", Approx::Rsqrt},
        {"tanh", Approx::Tanh}};
    auto kind = kinds.find(op.modifier);
    if (kind == kinds.end())
      die("unknown tile.approx " + op.modifier);
    each([&](size_t i) {
      return evaluateApprox(kind->second, a[i],
                            signAt(signs, points[i], index));
    });
  } else {
    die("cannot evaluate " + name + " " + op.modifier);
  }
}

static std::vector<float> evaluate(const Function &function,
                                   const std::vector<float> &points,
                                   Signs signs) {
  std::vector<std::vector<float>> registers(function.numRegisters,
                                            std::vector<float>(points.size()));
  registers[0] = points;
  for (size_t i = 0; i < function.instructions.size(); ++i)
    evaluate(function.instructions[i], i, points, signs, registers);
  return registers[function.result];
}

//===----------------------------------------------------------------------===//
// What is right
//===----------------------------------------------------------------------===//

namespace {
struct Reference {
  std::function<double(double)> value;
  /// The value where it must be met in every bit.
  std::function<std::optional<float>(float)> exact;
};
} // namespace

/// x * f with the limit -0 at -inf.
static double weighted(double x, double f) {
  return x == -infinity ? -0.0 : x * f;
}
static double sigmoid(double x) {
  return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x));
}

static std::optional<float> saturates(float x) {
  if (x == 0)
    return x;
  if (std::fabs(x) >= 32)
    return std::copysign(1.0f, x);
  return std::nullopt;
}

/// Of GELU and SiLU: the identity far right, -0 far left.
static std::optional<float> gates(float x) {
  if (x == 0 || x >= 128)
    return x;
  if (x <= -128)
    return -0.0f;
  return std::nullopt;
}

static std::map<std::string, Reference> makeReferences() {
  using Exact = std::optional<float>;
  std::map<std::string, Reference> references;
  references["exp"] = {[](double x) { return std::exp(x); },
                       [](float x) -> Exact {
                         if (x == 0)
                           return 1.0f;
                         if (std::fabs(x) >= 104)
                           return x > 0 ? HUGE_VALF : 0.0f;
                         return std::nullopt;
                       }};
  references["exp2"] = {[](double x) { return std::exp2(x); },
                        [](float x) -> Exact {
                          if (x == std::floor(x))
                            return flush(std::exp2(x));
                          return std::nullopt;
                        }};
  references["log"] = {
      [](double x) { return x < 0 ? NAN : std::log(x); },
      [](float x) { return x == 1 ? Exact(0.0f) : std::nullopt; }};
  references["sqrt"] = {[](double x) { return x < 0 ? NAN : std::sqrt(x); },
                        [](float x) -> Exact {
                          double root = std::sqrt(static_cast<double>(x));
                          if (x == 0 ||
                              (x > 0 && root == static_cast<float>(root)))
                            return static_cast<float>(root);
                          return std::nullopt;
                        }};
  references["rsqrt"] = {
      [](double x) { return x == 0  ? 1 / x
                            : x < 0 ? NAN
                                    : 1 / std::sqrt(x); },
      [](float x) -> Exact {
        if (x > 0 && isPowerOf(x, 2))
          return static_cast<float>(1 / std::sqrt(static_cast<double>(x)));
        return std::nullopt;
      }};
  references["tanh"] = {[](double x) { return std::tanh(x); }, saturates};
  references["erf"] = {[](double x) { return std::erf(x); }, saturates};
  references["sigmoid"] = {sigmoid, [](float x) -> Exact {
                             if (x == 0)
                               return 0.5f;
                             if (x >= 32)
                               return 1.0f;
                             if (x <= -128)
                               return 0.0f;
                             return std::nullopt;
                           }};
  references["silu"] = {[](double x) { return weighted(x, sigmoid(x)); },
                        gates};
  references["gelu_tanh"] = {
      [](double x) {
        return weighted(
            x, sigmoid(2 * std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
      },
      gates};
  references["gelu_erf"] = {[](double x) {
                              return weighted(
                                  x, 0.5 * std::erfc(-x / std::sqrt(2.0)));
                            },
                            gates};
  references["relu"] = {
      [](double x) { return x > 0 || std::isnan(x) ? x : 0.0; },
      [](float x) { return Exact(x > 0 ? x : 0.0f); }};
  return references;
}

//===----------------------------------------------------------------------===//
// Points
//===----------------------------------------------------------------------===//

/// Half precision to f32, by value.
static float fromHalf(uint16_t bits) {
  int exponent = bits >> 10 & 31, fraction = bits & 1023;
  float magnitude = exponent == 31 ? (fraction ? NAN : HUGE_VALF)
                    : exponent ? std::ldexp(1024.0f + fraction, exponent - 25)
                               : std::ldexp(fraction * 1.0f, -24);
  return bits >> 15 ? -magnitude : magnitude;
}

static std::vector<float> makePoints(const std::string &type) {
  std::vector<float> points;
  for (uint32_t i = 0; i < 65536; ++i)
    points.push_back(type == "f16" ? fromHalf(i) : fromBits(i << 16));
  if (type != "f32")
    return points;
  // Every 7919th bit pattern.
  for (uint64_t bits = 12345; bits < (1ull << 32); bits += 7919)
    points.push_back(fromBits(bits));
  uint64_t state = 1;
  auto uniform = [&](double low, double high) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return static_cast<float>(low + (high - low) * ((state >> 11) * 0x1p-53));
  };
  for (int i = 0; i < 150000; ++i) {
    points.push_back(uniform(-1.5, 1.5));
    points.push_back(uniform(-16, 16));
    points.push_back(uniform(-150, 150));
  }
  // Around the places where the expansions or the functions change their ways.
  for (double place :
       {0x1p-126, 0x1p-125, 0x1p-100, 0x1p-64, 0.25,  0.45,     0.75,
        0.9,      1.0,      1.25,     4.0,     6.0,   10.1006,  10.49,
        12.0,     13.1462,  14.1,     32.0,    64.0,  87.33654, 88.0,
        88.72284, 91.85678, 99.0,     104.0,   126.0, 127.9999, 128.0,
        0x1p64,   0x1p100,  0x1.8p127})
    for (int i = -2000; i <= 2000; ++i) {
      float x = fromBits(toBits(static_cast<float>(place)) + i);
      points.push_back(x);
      points.push_back(-x);
    }
  return points;
}

//===----------------------------------------------------------------------===//
// Comparison
//===----------------------------------------------------------------------===//

namespace {
struct Outcome {
  size_t numWrong = 0;
  double worstError = 0;
  float worstAt = 0;
};
} // namespace

/// Whether `y` is right where nothing is left to accuracy: NaN, infinities,
/// results too small for a normal number. No value if accuracy decides.
static std::optional<bool> compareSpecial(float y, double exact,
                                          bool isApproximate) {
  if (std::isnan(exact))
    return std::isnan(y);
  if (std::isnan(y))
    return false;
  if (std::isinf(exact) || std::fabs(exact) >= 0x1.ffffffp127)
    return std::isinf(y) && std::signbit(y) == std::signbit(exact);
  // Subnormal results may be flushed, but keep their sign; in plain
  // approximations x times something subnormal as well.
  double smallest = isApproximate ? 0x1p-119 : 0x1p-126;
  if (std::fabs(exact) < smallest)
    return std::fabs(y) <= smallest * (isApproximate ? 1.001 : 1.000001) &&
           std::signbit(y) == std::signbit(exact);
  return std::nullopt;
}

static void compare(const Function &function, const Reference &reference,
                    const std::vector<float> &points,
                    const std::vector<float> &results, bool isApproximate,
                    Outcome &outcome) {
  const double bound = isApproximate ? 0x1p-10 : 0x1p-20;
  for (size_t i = 0; i < points.size(); ++i) {
    float x = points[i], y = results[i];
    // The plain approximations flush subnormal arguments.
    if (isApproximate && std::fabs(x) < 0x1p-126f && x != 0)
      continue;
    double exact = reference.value(x), error = 0;
    bool right;
    std::optional<float> bits =
        std::isnan(x) ? std::nullopt : reference.exact(x);
    if (bits) {
      right = toBits(y) == toBits(*bits);
    } else if (auto special = compareSpecial(y, exact, isApproximate)) {
      right = *special;
    } else {
      error = std::fabs(y - exact) / std::fabs(exact);
      right = error <= bound;
    }
    if (error > outcome.worstError && std::isfinite(error)) {
      outcome.worstError = error;
      outcome.worstAt = x;
    }
    if (!right && ++outcome.numWrong <= 5)
      std::fprintf(stderr,
                   "%s(%.9g = 0x%08x) is %.9g, expected %.9g, error 2^%.2f\n",
                   function.name.c_str(), x, toBits(x), y, bits ? *bits : exact,
                   std::log2(error));
  }
}

int main() {
  std::map<std::string, Reference> references = makeReferences();
  std::map<std::string, std::vector<float>> points;
  bool ok = true;
  std::vector<Function> functions = parse(std::cin);
  if (functions.empty())
    die("expects functions on standard input");
  std::printf(
      "| function | instructions | special | points | max error | at |\n"
      "|---|---|---|---|---|---|\n");
  for (const Function &function : functions) {
    std::string name = function.name.substr(0, function.name.rfind('_'));
    bool isApproximate =
        name.size() > 4 && name.compare(name.size() - 4, 4, "_afn") == 0;
    if (isApproximate)
      name.resize(name.size() - 4);
    auto reference = references.find(name);
    if (reference == references.end())
      die("no reference for " + function.name);
    std::vector<float> &at = points[function.type];
    if (at.empty())
      at = makePoints(function.type);
    Outcome outcome;
    for (Signs signs : {Signs::None, Signs::Up, Signs::Down, Signs::Mixed}) {
      // In blocks that stay in the cache.
      constexpr size_t block = 4096;
      for (size_t begin = 0; begin < at.size(); begin += block) {
        std::vector<float> part(at.begin() + begin,
                                at.begin() +
                                    std::min(begin + block, at.size()));
        compare(function, reference->second, part,
                evaluate(function, part, signs), isApproximate, outcome);
      }
    }
    if (outcome.numWrong) {
      std::fprintf(stderr, "%s: %zu results are wrong\n", function.name.c_str(),
                   outcome.numWrong);
      ok = false;
    }
    unsigned numCounted = 0, numSpecial = 0;
    for (const Instruction &instruction : function.instructions) {
      numCounted += isCounted(instruction);
      numSpecial += instruction.name == "tile.approx";
    }
    std::printf("| %s | %u | %u | %zu | ", function.name.c_str(), numCounted,
                numSpecial, at.size());
    if (outcome.worstError > 0)
      std::printf("2^%.2f | %.9g |\n", std::log2(outcome.worstError),
                  outcome.worstAt);
    else
      std::printf("0 | |\n");
  }
  return ok ? 0 : 1;
}
