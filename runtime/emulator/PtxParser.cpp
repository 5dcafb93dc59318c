//===- PtxParser.cpp - Parse PTX text -------------------------------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
// Recursive descent over the grammar of the PTX ISA manual, chapters 4 and 5:
// module directives, functions, scopes with their own registers and labels,
// instructions with guards, dotted names, addresses, vectors and pairs.
// The parser resolves names and knows nothing about single instructions.
//===----------------------------------------------------------------------===//
#include "runtime/emulator/Ptx.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <unordered_map>

namespace backfuse::emulator {

namespace {
struct TypeInfo {
  const char *name;
  unsigned bytes;
};
} // namespace

static const TypeInfo typeInfos[numTypes] = {
    {"none", 0}, {"pred", 0},  {"b8", 1},    {"b16", 2},    {"b32", 4},
    {"b64", 8},  {"b128", 16}, {"u8", 1},    {"u16", 2},    {"u32", 4},
    {"u64", 8},  {"s8", 1},    {"s16", 2},   {"s32", 4},    {"s64", 8},
    {"f16", 2},  {"bf16", 2},  {"f16x2", 4}, {"bf16x2", 4}, {"f32", 4},
    {"tf32", 4}, {"f64", 8},   {"f32x2", 8}};

unsigned byteSize(Type type) {
  return typeInfos[static_cast<unsigned>(type)].bytes;
}

const char *typeName(Type type) {
  return typeInfos[static_cast<unsigned>(type)].name;
}

Type parseType(std::string_view suffix) {
  for (unsigned i = 1; i < numTypes; ++i)
    if (suffix == typeInfos[i].name)
      return static_cast<Type>(i);
  return Type::None;
}

namespace ptx {

const std::vector<std::string> specialRegisterNames = {"%tid.x",
                                                       "%tid.y",
                                                       "%tid.z",
                                                       "%ntid.x",
                                                       "%ntid.y",
                                                       "%ntid.z",
                                                       "%ctaid.x",
                                                       "%ctaid.y",
                                                       "%ctaid.z",
                                                       "%nctaid.x",
                                                       "%nctaid.y",
                                                       "%nctaid.z",
                                                       "%laneid",
                                                       "%warpid",
                                                       "%nwarpid",
                                                       "%smid",
                                                       "%nsmid",
                                                       "%gridid",
                                                       "%clusterid.x",
                                                       "%clusterid.y",
                                                       "%clusterid.z",
                                                       "%nclusterid.x",
                                                       "%nclusterid.y",
                                                       "%nclusterid.z",
                                                       "%cluster_ctaid.x",
                                                       "%cluster_ctaid.y",
                                                       "%cluster_ctaid.z",
                                                       "%cluster_nctaid.x",
                                                       "%cluster_nctaid.y",
                                                       "%cluster_nctaid.z",
                                                       "%cluster_ctarank",
                                                       "%cluster_nctarank",
                                                       "%is_explicit_cluster",
                                                       "%lanemask_eq",
                                                       "%lanemask_le",
                                                       "%lanemask_lt",
                                                       "%lanemask_ge",
                                                       "%lanemask_gt",
                                                       "%dynamic_smem_size",
                                                       "%total_smem_size",
                                                       "%aggr_smem_size",
                                                       "%clock",
                                                       "%clock_hi",
                                                       "%clock64",
                                                       "%globaltimer",
                                                       "%globaltimer_lo",
                                                       "%globaltimer_hi"};

std::string Instruction::fullName() const {
  std::string text;
  for (const std::string &part : name) {
    if (!text.empty())
      text += '.';
    text += part;
  }
  return text;
}

//===----------------------------------------------------------------------===//
// Tokens
//===----------------------------------------------------------------------===//

namespace {

struct Token {
  enum Kind : uint8_t {
    Identifier,
    Directive,
    Number,
    String,
    Punctuation,
    End
  };
  Kind kind = End;
  unsigned line = 0;
  std::string_view text;
};

bool isNameStart(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) || c == '_' || c == '$' ||
         c == '%';
}
bool isNameChar(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' ||
         c == '%';
}

/// Cuts text into tokens. A dotted name ("ld.global.v4.f32", "%tid.x",
/// "shared::cta") is one identifier; ".reg" is a directive.
class Lexer {
public:
  explicit Lexer(std::string_view text) : text(text) {}

  Error run(std::vector<Token> &tokens) {
    while (true) {
      if (Error error = skipBlanks())
        return error;
      if (at >= text.size())
        break;
      Token token;
      token.line = line;
      size_t begin = at;
      char c = text[at];
      if (isNameStart(c)) {
        token.kind = Token::Identifier;
        lexDottedName();
      } else if (c == '.' && at + 1 < text.size() &&
                 isNameStart(text[at + 1])) {
        token.kind = Token::Directive;
        ++at;
        lexName();
      } else if (std::isdigit(static_cast<unsigned char>(c))) {
        token.kind = Token::Number;
        lexNumber();
      } else if (c == '"') {
        token.kind = Token::String;
        ++at;
        while (at < text.size() && text[at] != '"' && text[at] != '\n')
          ++at;
        if (at >= text.size() || text[at] != '"')
          return fail("unterminated string");
        ++at;
      } else {
        token.kind = Token::Punctuation;
        ++at;
        if (!std::strchr("{}[]()<>,;:+-*/=@!|&^~?", c) || c == '\0')
          return fail(std::string("unexpected character '") + c + "'");
      }
      token.text = text.substr(begin, at - begin);
      tokens.push_back(token);
      // The rest of these lines is for debuggers and does not follow the
      // grammar of instructions.
      if (token.kind == Token::Directive && token.text == ".section") {
        if (Error error = skipSection())
          return error;
        tokens.pop_back();
      }
    }
    Token end;
    end.line = line;
    tokens.push_back(end);
    return Error::success();
  }

private:
  std::string_view text;
  size_t at = 0;
  unsigned line = 1;

  Error fail(const std::string &message) const {
    return Error("line " + std::to_string(line) + ": " + message);
  }

  Error skipBlanks() {
    while (at < text.size()) {
      char c = text[at];
      if (c == '\n') {
        ++line;
        ++at;
      } else if (std::isspace(static_cast<unsigned char>(c))) {
        ++at;
      } else if (c == '/' && at + 1 < text.size() && text[at + 1] == '/') {
        while (at < text.size() && text[at] != '\n')
          ++at;
      } else if (c == '/' && at + 1 < text.size() && text[at + 1] == '*') {
        at += 2;
        while (at + 1 < text.size() &&
               !(text[at] == '*' && text[at + 1] == '/')) {
          line += text[at] == '\n';
          ++at;
        }
        if (at + 1 >= text.size())
          return fail("unterminated comment");
        at += 2;
      } else if (c == '\0') {
        at = text.size(); // the driver's C string ends here
      } else {
        break;
      }
    }
    return Error::success();
  }

  void lexName() {
    while (at < text.size() && isNameChar(text[at]))
      ++at;
  }

  void lexDottedName() {
    lexName();
    while (at < text.size()) {
      if (text[at] == '.' && at + 1 < text.size() && isNameChar(text[at + 1])) {
        ++at;
        lexName();
      } else if (text[at] == ':' && at + 2 < text.size() &&
                 text[at + 1] == ':' && isNameChar(text[at + 2])) {
        at += 2;
        lexName();
      } else {
        break;
      }
    }
  }

  void lexNumber() {
    // Integers of all bases, 0f/0d bit patterns, decimal floats with exponent.
    bool isHex = text[at] == '0' && at + 1 < text.size() &&
                 std::strchr("xXfFdD", text[at + 1]) && text[at + 1] != '\0';
    if (isHex) {
      at += 2;
      while (at < text.size() &&
             std::isalnum(static_cast<unsigned char>(text[at])))
        ++at;
      return;
    }
    while (at < text.size()) {
      char c = text[at];
      if (std::isalnum(static_cast<unsigned char>(c)) || c == '.')
        ++at;
      else if ((c == '+' || c == '-') &&
               (text[at - 1] == 'e' || text[at - 1] == 'E'))
        ++at;
      else
        break;
    }
  }

  Error skipSection() {
    while (at < text.size() && text[at] != '{')
      if (text[at++] == '\n')
        ++line;
    while (at < text.size() && text[at] != '}')
      if (text[at++] == '\n')
        ++line;
    if (at >= text.size())
      return fail("unterminated .section");
    ++at;
    return Error::success();
  }
};

//===----------------------------------------------------------------------===//
// Parser
//===----------------------------------------------------------------------===//

/// Where an undotted name leads to.
struct Binding {
  enum Kind : uint8_t { Register, Variable } kind;
  uint32_t index;
};

struct Scope {
  std::unordered_map<std::string, Binding> names;
  std::unordered_map<std::string, uint32_t> labels;
  /// Operands that name a label not yet seen: instruction, operand and, in
  /// the list of brx.idx, element.
  struct Pending {
    uint32_t instruction, operand;
    int64_t element;
  };
  std::vector<Pending> pending;
  std::unordered_map<std::string, std::vector<std::string>> targetLists;
};

uint64_t alignTo(uint64_t value, uint64_t align) {
  return align ? (value + align - 1) / align * align : value;
}

class Parser {
public:
  Parser(std::vector<Token> tokens, Module &module)
      : tokens(std::move(tokens)), module(module) {
    for (uint32_t i = 0; i < specialRegisterNames.size(); ++i)
      specials[specialRegisterNames[i]] = i;
  }

  Error run() {
    scopes.emplace_back();
    while (peek().kind != Token::End)
      if (!parseModuleItem())
        return Error(message);
    if (!module.versionMajor)
      return Error("line 1: expects a .version directive");
    return Error::success();
  }

private:
  std::vector<Token> tokens;
  Module &module;
  size_t at = 0;
  std::string message;
  std::vector<Scope> scopes;
  std::unordered_map<std::string, uint32_t> specials;
  Function *function = nullptr;
  unsigned sourceFile = 0, sourceLine = 0;
  static constexpr unsigned maxDepth = 100;
  unsigned depth = 0; ///< of operands

  const Token &peek(size_t ahead = 0) const {
    return tokens[std::min(at + ahead, tokens.size() - 1)];
  }
  const Token &next() {
    const Token &token = peek();
    if (at + 1 < tokens.size())
      ++at;
    return token;
  }
  bool is(std::string_view text) const { return peek().text == text; }
  bool accept(std::string_view text) {
    if (!is(text) || peek().kind == Token::String)
      return false;
    next();
    return true;
  }
  bool fail(const std::string &what) { return failAt(peek().line, what); }
  bool failAt(unsigned line, const std::string &what) {
    if (message.empty())
      message = "line " + std::to_string(line) + ": " + what;
    return false;
  }
  bool expect(std::string_view text) {
    if (accept(text))
      return true;
    return fail("expects '" + std::string(text) + "', but got '" +
                std::string(peek().text) + "'");
  }

  //===--------------------------------------------------------------------===//
  // Numbers
  //===--------------------------------------------------------------------===//

  bool parseNumber(const Token &token, Operand &operand) {
    std::string text(token.text);
    if (text.size() > 2 && text[0] == '0' &&
        (text[1] == 'f' || text[1] == 'F')) {
      if (text.size() != 10)
        return failAt(token.line, "malformed float '" + text + "'");
      operand.kind = Operand::F32;
      operand.bits = std::strtoull(text.c_str() + 2, nullptr, 16);
      return true;
    }
    if (text.size() > 2 && text[0] == '0' &&
        (text[1] == 'd' || text[1] == 'D')) {
      if (text.size() != 18)
        return failAt(token.line, "malformed double '" + text + "'");
      operand.kind = Operand::F64;
      operand.bits = std::strtoull(text.c_str() + 2, nullptr, 16);
      return true;
    }
    bool isHex =
        text.size() > 1 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    if (!isHex && text.find_first_of(".eE") != std::string::npos) {
      char *end = nullptr;
      double value = std::strtod(text.c_str(), &end);
      if (*end)
        return failAt(token.line, "malformed number '" + text + "'");
      operand.kind = Operand::F64;
      std::memcpy(&operand.bits, &value, 8);
      return true;
    }
    if (!text.empty() && (text.back() == 'U' || text.back() == 'u'))
      text.pop_back();
    char *end = nullptr;
    operand.kind = Operand::Int;
    if (text.size() > 2 && text[0] == '0' && (text[1] == 'b' || text[1] == 'B'))
      operand.bits = std::strtoull(text.c_str() + 2, &end, 2);
    else
      operand.bits = std::strtoull(text.c_str(), &end, 0);
    if (*end)
      return failAt(token.line, "malformed number '" + text + "'");
    return true;
  }

  bool parseUnsigned(uint64_t &value) {
    if (peek().kind != Token::Number)
      return fail("expects a number, but got '" + std::string(peek().text) +
                  "'");
    Operand operand;
    if (!parseNumber(next(), operand))
      return false;
    if (operand.kind != Operand::Int)
      return fail("expects an integer");
    value = operand.bits;
    return true;
  }

  //===--------------------------------------------------------------------===//
  // Names
  //===--------------------------------------------------------------------===//

  const Binding *lookup(const std::string &name) const {
    for (auto scope = scopes.rbegin(); scope != scopes.rend(); ++scope) {
      auto found = scope->names.find(name);
      if (found != scope->names.end())
        return &found->second;
    }
    return nullptr;
  }

  bool declare(unsigned line, const std::string &name, Binding binding) {
    if (!scopes.back().names.emplace(name, binding).second)
      return failAt(line, "'" + name + "' is declared twice");
    return true;
  }

  //===--------------------------------------------------------------------===//
  // Module level
  //===--------------------------------------------------------------------===//

  bool parseModuleItem() {
    const Token &token = peek();
    if (token.kind == Token::Punctuation && accept(";"))
      return true;
    if (token.kind != Token::Directive)
      return fail("expects a directive, but got '" + std::string(token.text) +
                  "'");
    if (token.text == ".version") {
      next();
      std::string text(next().text);
      char *end = nullptr;
      module.versionMajor = std::strtoul(text.c_str(), &end, 10);
      module.versionMinor =
          *end == '.' ? std::strtoul(end + 1, nullptr, 10) : 0;
      if (module.versionMajor == 0)
        return failAt(token.line, "malformed .version");
      if (module.versionMajor > 9 ||
          (module.versionMajor == 9 && module.versionMinor > 4))
        return failAt(token.line,
                      "PTX ISA " + text +
                          " is newer than 9.4, the newest that is supported");
      return true;
    }
    if (token.text == ".target") {
      next();
      do {
        if (module.target.empty())
          module.target = next().text;
        else
          next();
      } while (accept(","));
      return true;
    }
    if (token.text == ".address_size") {
      next();
      uint64_t bits = 0;
      if (!parseUnsigned(bits))
        return false;
      return bits == 64 || failAt(token.line, "expects 64-bit addresses");
    }
    if (token.text == ".file" || token.text == ".loc" ||
        token.text == ".pragma" || token.text == ".alias")
      return parseSkippedDirective();
    return parseLinkedItem();
  }

  bool parseSkippedDirective() {
    const Token &token = next();
    if (token.text == ".file") {
      uint64_t index = 0;
      if (!parseUnsigned(index))
        return false;
      std::string_view name = next().text;
      if (index < 4096) {
        if (module.files.size() <= index)
          module.files.resize(index + 1);
        module.files[index] = std::string(
            name.size() > 1 ? name.substr(1, name.size() - 2) : name);
      }
      while (peek().line == token.line && peek().kind != Token::End)
        next();
      return true;
    }
    if (token.text == ".loc") {
      if (peek().line == token.line && peek().kind == Token::Number)
        sourceFile =
            std::strtoul(std::string(next().text).c_str(), nullptr, 10);
      if (peek().line == token.line && peek().kind == Token::Number)
        sourceLine =
            std::strtoul(std::string(next().text).c_str(), nullptr, 10);
      while (peek().line == token.line && peek().kind != Token::End)
        next();
      return true;
    }
    while (!is(";") && peek().kind != Token::End)
      next();
    return expect(";");
  }

  bool parseLinkedItem() {
    bool isExtern = false;
    while (true) {
      if (accept(".extern"))
        isExtern = true;
      else if (!accept(".visible") && !accept(".weak") && !accept(".common"))
        break;
    }
    if (is(".entry") || is(".func"))
      return parseFunction(isExtern);
    Space space;
    if (parseSpace(space))
      return parseVariable(space, isExtern, nullptr);
    return fail("unsupported directive '" + std::string(peek().text) + "'");
  }

  bool parseSpace(Space &space) {
    if (is(".global"))
      space = Space::Global;
    else if (is(".shared"))
      space = Space::Shared;
    else if (is(".local"))
      space = Space::Local;
    else if (is(".const"))
      space = Space::Const;
    else if (is(".param"))
      space = Space::Param;
    else
      return false;
    next();
    return true;
  }

  /// After the space: `.align 8 .b8 name[16] = {...};`. `param` is where a
  /// parameter goes, which has no initialiser and no semicolon.
  bool parseVariable(Space space, bool isExtern,
                     std::vector<uint32_t> *params) {
    Variable variable;
    // What a function passes to those that it calls is its own.
    variable.space =
        function && !params && space == Space::Param ? Space::Local : space;
    variable.isExtern = isExtern;
    variable.line = peek().line;
    uint64_t vectorLength = 1;
    bool hasAlign = false;
    while (peek().kind == Token::Directive) {
      const Token &token = next();
      if (token.text == ".align") {
        if (!parseUnsigned(variable.align))
          return false;
        hasAlign = true;
      } else if (token.text == ".ptr") {
        // `.ptr .global .align 16`: a hint about what the parameter points to.
        Space ignored;
        (void)parseSpace(ignored);
        uint64_t align = 0;
        if (accept(".align") && !parseUnsigned(align))
          return false;
      } else if (token.text == ".v2" || token.text == ".v4") {
        vectorLength = token.text == ".v2" ? 2 : 4;
      } else if (token.text == ".attribute") {
        if (!expect("("))
          return false;
        while (!accept(")"))
          if (next().kind == Token::End)
            return fail("unterminated .attribute");
      } else {
        variable.type = parseType(token.text.substr(1));
        if (variable.type == Type::None || variable.type == Type::Pred)
          return failAt(token.line, "unsupported variable type '" +
                                        std::string(token.text) + "'");
      }
    }
    if (variable.type == Type::None)
      return fail("expects the variable's type");
    if (peek().kind != Token::Identifier)
      return fail("expects a variable's name, but got '" +
                  std::string(peek().text) + "'");
    variable.name = std::string(next().text);
    uint64_t elementBytes = byteSize(variable.type) * vectorLength;
    uint64_t count = 1;
    bool isSizedByInit = false;
    while (accept("[")) {
      if (accept("]")) {
        isSizedByInit = true;
        count = isExtern ? 0 : count;
        continue;
      }
      uint64_t extent = 0;
      if (!parseUnsigned(extent) || !expect("]"))
        return false;
      if (extent && count > (uint64_t(1) << 40) / extent)
        return fail("variable '" + variable.name + "' is too large");
      count *= extent;
    }
    if (!hasAlign)
      variable.align = elementBytes;
    if (variable.align == 0 || (variable.align & (variable.align - 1)))
      return fail("expects a power of two as alignment of '" + variable.name +
                  "'");
    variable.bytes = elementBytes * count;
    if (variable.bytes > (uint64_t(1) << 32))
      return fail("variable '" + variable.name + "' is too large");
    if (!params && accept("=")) {
      if (!parseInitializer(variable, byteSize(variable.type)))
        return false;
      if (isSizedByInit && variable.bytes < variable.init.size())
        variable.bytes = variable.init.size();
    }
    auto index = static_cast<uint32_t>(module.variables.size());
    if (!declare(variable.line, variable.name, {Binding::Variable, index}))
      return false;
    module.variables.push_back(std::move(variable));
    if (params) {
      params->push_back(index);
      return true;
    }
    if (function)
      function->variables.push_back(index);
    return expect(";");
  }

  bool parseInitializer(Variable &variable, unsigned elementBytes,
                        unsigned level = 0) {
    if (level > maxDepth)
      return fail("initialisers are nested too deeply");
    if (accept("{")) {
      if (accept("}"))
        return true;
      do {
        if (!parseInitializer(variable, elementBytes, level + 1))
          return false;
      } while (accept(","));
      return expect("}");
    }
    bool isNegative = accept("-");
    uint64_t bits = 0;
    if (peek().kind == Token::Number) {
      Operand operand;
      if (!parseNumber(next(), operand))
        return false;
      bits = operand.bits;
      if (operand.kind == Operand::F64 && elementBytes == 4) {
        double value;
        std::memcpy(&value, &bits, 8);
        auto narrow = static_cast<float>(value);
        uint32_t narrowBits;
        std::memcpy(&narrowBits, &narrow, 4);
        bits = narrowBits;
        if (isNegative)
          bits ^= 0x80000000u;
      } else if (operand.kind != Operand::Int) {
        if (isNegative)
          bits ^= uint64_t(1) << (elementBytes * 8 - 1);
      } else if (isNegative) {
        bits = -bits;
      }
    } else if (peek().kind == Token::Identifier) {
      std::string name(next().text);
      if (name == "generic" && accept("(")) {
        name = std::string(next().text);
        if (!expect(")"))
          return false;
      }
      if (elementBytes != 8)
        return fail("expects an 8-byte element to hold the address of '" +
                    name + "'");
      variable.relocations.emplace_back(variable.init.size(), name);
      if (accept("+") && !parseUnsigned(bits))
        return false;
    } else {
      return fail("expects an initialiser, but got '" +
                  std::string(peek().text) + "'");
    }
    for (unsigned i = 0; i < elementBytes; ++i)
      variable.init.push_back(
          static_cast<uint8_t>(i < 8 ? bits >> (8 * i) : 0));
    return true;
  }

  //===--------------------------------------------------------------------===//
  // Functions
  //===--------------------------------------------------------------------===//

  bool parseParameterList(std::vector<uint32_t> &params) {
    if (!accept("("))
      return true;
    if (accept(")"))
      return true;
    do {
      Space space;
      if (is(".reg"))
        return fail("parameters in .reg space are not supported");
      if (!parseSpace(space) || space != Space::Param)
        return fail("expects a .param");
      if (!parseVariable(Space::Param, false, &params))
        return false;
    } while (accept(","));
    return expect(")");
  }

  bool parseThreads(uint32_t (&extents)[3]) {
    for (unsigned i = 0; i < 3; ++i)
      extents[i] = 1;
    for (unsigned i = 0; i < 3; ++i) {
      uint64_t value = 0;
      if (!parseUnsigned(value))
        return false;
      extents[i] = static_cast<uint32_t>(value);
      if (!accept(","))
        break;
    }
    return true;
  }

  bool parseFunction(bool isExtern) {
    Function parsed;
    parsed.line = peek().line;
    parsed.isEntry = is(".entry");
    next();
    scopes.emplace_back();
    if (!parsed.isEntry && !parseParameterList(parsed.results))
      return false;
    if (peek().kind != Token::Identifier)
      return fail("expects a function's name, but got '" +
                  std::string(peek().text) + "'");
    parsed.name = std::string(next().text);
    if (!parseParameterList(parsed.params))
      return false;
    uint64_t offset = 0;
    for (uint32_t index : parsed.params) {
      Variable &param = module.variables[index];
      offset = alignTo(offset, param.align);
      param.offset = offset;
      offset += param.bytes;
    }
    parsed.paramBytes = offset;
    while (peek().kind == Token::Directive) {
      std::string_view name = next().text;
      uint64_t value = 0;
      bool ok = true;
      if (name == ".maxntid")
        ok = parseThreads(parsed.maxThreads);
      else if (name == ".reqntid")
        ok = parseThreads(parsed.requiredThreads);
      else if (name == ".reqnctapercluster")
        ok = parseThreads(parsed.requiredCluster);
      else if (name == ".explicitcluster")
        parsed.explicitCluster = true;
      else if (name == ".maxclusterrank" || name == ".maxnctapersm")
        ok = parseUnsigned(value);
      else if (name == ".minnctapersm" && (ok = parseUnsigned(value)))
        parsed.minCtas = static_cast<uint32_t>(value);
      else if (name == ".maxnreg" && (ok = parseUnsigned(value)))
        parsed.maxRegisters = static_cast<uint32_t>(value);
      else if (name == ".noreturn" || name == ".blocksareclusters" ||
               name == ".unified")
        ok = true;
      else if (name == ".pragma") {
        while (!is(";") && peek().kind != Token::End)
          next();
        ok = expect(";");
      } else if (ok)
        return fail("unsupported function directive '" + std::string(name) +
                    "'");
      if (!ok)
        return false;
    }
    if (accept(";") || isExtern) {
      // A declaration: its body may follow; if not, a call of it is refused.
      scopes.pop_back();
      return true;
    }
    function = &parsed;
    sourceFile = sourceLine = 0;
    if (!parseScope())
      return false;
    function = nullptr;
    scopes.pop_back();
    module.functions.push_back(std::move(parsed));
    return true;
  }

  bool parseScope() {
    if (!expect("{"))
      return false;
    if (scopes.size() > maxDepth)
      return fail("scopes are nested too deeply");
    scopes.emplace_back();
    while (!accept("}")) {
      if (peek().kind == Token::End)
        return fail("expects '}' before the end of the file");
      if (!parseStatement())
        return false;
    }
    // Labels that this scope does not hold belong to one around it.
    Scope scope = std::move(scopes.back());
    scopes.pop_back();
    Scope &outer = scopes.back();
    bool isOutermost = scopes.size() == 2;
    for (const Scope::Pending &pending : scope.pending) {
      const uint32_t instruction = pending.instruction;
      Operand &whole = function->body[instruction].operands[pending.operand];
      Operand &operand =
          pending.element < 0
              ? whole
              : whole.elements[static_cast<size_t>(pending.element)];
      auto found = scope.labels.find(operand.name);
      if (found != scope.labels.end())
        operand.index = found->second;
      else if (isOutermost)
        return failAt(function->body[instruction].line,
                      "unknown label '" + operand.name + "'");
      else
        outer.pending.push_back(pending);
    }
    return true;
  }

  bool parseStatement() {
    const Token &token = peek();
    if (is("{"))
      return parseScope();
    if (accept(";"))
      return true;
    if (token.kind == Token::Directive) {
      if (token.text == ".reg")
        return parseRegisters();
      if (token.text == ".loc" || token.text == ".pragma" ||
          token.text == ".file")
        return parseSkippedDirective();
      Space space;
      if (parseSpace(space))
        return parseVariable(space, false, nullptr);
      if (token.text == ".extern") {
        next();
        if (parseSpace(space))
          return parseVariable(space, true, nullptr);
      }
      return fail("unsupported directive '" + std::string(token.text) + "'");
    }
    if (token.kind == Token::Identifier && peek(1).text == ":" &&
        peek(1).kind == Token::Punctuation) {
      std::string name(next().text);
      next();
      auto where = static_cast<uint32_t>(function->body.size());
      if (!scopes.back().labels.emplace(name, where).second)
        return failAt(token.line, "label '" + name + "' is defined twice");
      if (accept(".branchtargets"))
        return parseBranchTargets(scopes.back().targetLists[name]);
      if (is(".calltargets") || is(".callprototype"))
        return fail("unsupported directive '" + std::string(peek().text) + "'");
      return true;
    }
    return parseInstruction();
  }

  bool parseBranchTargets(std::vector<std::string> &list) {
    list.clear();
    do {
      if (peek().kind != Token::Identifier)
        return fail("expects a label");
      list.emplace_back(next().text);
    } while (accept(","));
    return expect(";");
  }

  /// The labels that the last operand of brx.idx names.
  bool resolveTargetList(Instruction &instruction) {
    if (instruction.operands.size() != 2 ||
        instruction.operands[1].kind != Operand::Label)
      return failAt(instruction.line, "expects an index and a list of targets");
    Operand &list = instruction.operands[1];
    for (auto scope = scopes.rbegin(); scope != scopes.rend(); ++scope) {
      auto found = scope->targetLists.find(list.name);
      if (found == scope->targetLists.end())
        continue;
      list.kind = Operand::Vector;
      for (const std::string &name : found->second) {
        list.elements.emplace_back();
        list.elements.back().kind = Operand::Label;
        list.elements.back().name = name;
      }
      return true;
    }
    return failAt(instruction.line, "unknown list of targets '" + list.name +
                                        "': expects it before its use");
  }

  bool parseRegisters() {
    next();
    if (peek().kind != Token::Directive)
      return fail("expects the registers' type");
    const Token &typeToken = next();
    if (typeToken.text == ".v2" || typeToken.text == ".v4")
      return failAt(typeToken.line, "vector registers are not supported");
    Type type = parseType(typeToken.text.substr(1));
    if (type == Type::None)
      return failAt(typeToken.line, "unsupported register type '" +
                                        std::string(typeToken.text) + "'");
    do {
      const Token &token = next();
      if (token.kind != Token::Identifier)
        return failAt(token.line, "expects a register's name");
      std::string name(token.text);
      if (accept("<")) {
        uint64_t count = 0;
        if (!parseUnsigned(count) || !expect(">"))
          return false;
        if (count > (1u << 22) || function->regs.size() + count > (1u << 22))
          return failAt(token.line, "too many registers");
        for (uint64_t i = 0; i < count; ++i)
          if (!declareRegister(token.line, name + std::to_string(i), type))
            return false;
      } else if (!declareRegister(token.line, name, type)) {
        return false;
      }
    } while (accept(","));
    return expect(";");
  }

  bool declareRegister(unsigned line, const std::string &name, Type type) {
    auto index = static_cast<uint32_t>(function->regs.size());
    function->regs.push_back({name, type});
    return declare(line, name, {Binding::Register, index});
  }

  //===--------------------------------------------------------------------===//
  // Instructions
  //===--------------------------------------------------------------------===//

  bool parseInstruction() {
    Instruction instruction;
    instruction.line = peek().line;
    instruction.sourceFile = sourceFile;
    instruction.sourceLine = sourceLine;
    if (accept("@")) {
      instruction.guardNegated = accept("!");
      Operand guard;
      if (!parsePrimary(guard, false))
        return false;
      if (guard.kind != Operand::Reg ||
          function->regs[guard.index].type != Type::Pred)
        return failAt(instruction.line, "expects a predicate as guard");
      instruction.guard = static_cast<int32_t>(guard.index);
    }
    const Token &token = next();
    if (token.kind != Token::Identifier)
      return failAt(token.line, "expects an instruction, but got '" +
                                    std::string(token.text) + "'");
    std::string_view text = token.text;
    size_t begin = 0;
    while (true) {
      size_t end = text.find('.', begin);
      instruction.name.emplace_back(text.substr(begin, end - begin));
      if (end == std::string_view::npos)
        break;
      begin = end + 1;
    }
    const std::string &root = instruction.name[0];
    bool takesLabel = root == "bra" || root == "brx";
    if (root == "call") {
      if (!parseCallOperands(instruction))
        return false;
    } else if (!is(";")) {
      do {
        Operand operand;
        bool isIndex = root == "brx" && instruction.operands.empty();
        if (!parseOperand(operand, takesLabel && !isIndex))
          return false;
        instruction.operands.push_back(std::move(operand));
      } while (accept(","));
    }
    if (!accept(";"))
      return fail("expects ';' after '" + std::string(text) + "', but got '" +
                  std::string(peek().text) + "'");
    if (root == "brx" && !resolveTargetList(instruction))
      return false;
    auto where = static_cast<uint32_t>(function->body.size());
    for (uint32_t i = 0; i < instruction.operands.size(); ++i) {
      const Operand &operand = instruction.operands[i];
      if (operand.kind == Operand::Label)
        scopes.back().pending.push_back({where, i, -1});
      for (size_t e = 0; e < operand.elements.size(); ++e)
        if (operand.elements[e].kind == Operand::Label)
          scopes.back().pending.push_back({where, i, static_cast<int64_t>(e)});
    }
    function->body.push_back(std::move(instruction));
    return true;
  }

  /// call{.uni} (ret), name, (args);  each part optional. The result is
  /// always three operands: Vector, Name or Reg, Vector.
  bool parseCallOperands(Instruction &instruction) {
    Operand results, callee, arguments;
    results.kind = arguments.kind = Operand::Vector;
    if (is("(")) {
      if (!parseCallList(results) || !expect(","))
        return false;
    }
    if (peek().kind != Token::Identifier)
      return fail("expects the called function's name");
    callee.kind = Operand::Name;
    callee.name = std::string(next().text);
    if (accept(",")) {
      if (is("(")) {
        if (!parseCallList(arguments))
          return false;
        if (accept(","))
          return fail("indirect calls are not supported");
      } else {
        return fail("indirect calls are not supported");
      }
    }
    instruction.operands = {results, callee, arguments};
    return true;
  }

  bool parseCallList(Operand &list) {
    if (!expect("("))
      return false;
    if (accept(")"))
      return true;
    do {
      Operand operand;
      if (!parsePrimary(operand, false))
        return false;
      list.elements.push_back(std::move(operand));
    } while (accept(","));
    return expect(")");
  }

  bool parseOperand(Operand &operand, bool takesLabel) {
    if (accept("["))
      return parseAddress(operand);
    if (!parsePrimary(operand, takesLabel))
      return false;
    if (accept("|")) {
      Operand pair;
      pair.kind = Operand::Pair;
      pair.elements.push_back(std::move(operand));
      pair.elements.emplace_back();
      if (!parsePrimary(pair.elements[1], false))
        return false;
      operand = std::move(pair);
    } else if ((operand.kind == Operand::Symbol) && (is("+") || is("-"))) {
      return parseOffset(operand);
    }
    return true;
  }

  bool parseOffset(Operand &operand) {
    while (true) {
      bool isNegative;
      if (accept("+"))
        isNegative = accept("-");
      else if (accept("-"))
        isNegative = true;
      else
        return true;
      uint64_t value = 0;
      if (!parseUnsigned(value))
        return false;
      operand.offset += static_cast<int64_t>(isNegative ? -value : value);
    }
  }

  bool parseAddress(Operand &operand) {
    operand.kind = Operand::Address;
    do {
      operand.elements.emplace_back();
      Operand &element = operand.elements.back();
      if (!parsePrimary(element, false))
        return false;
      if (operand.elements.size() == 1 && !parseOffset(operand))
        return false;
    } while (accept(","));
    operand.offset += operand.elements[0].offset;
    operand.elements[0].offset = 0;
    return expect("]");
  }

  bool parsePrimary(Operand &operand, bool takesLabel) {
    ++depth;
    bool ok = depth <= maxDepth ? parsePrimaryAt(operand, takesLabel)
                                : fail("operands are nested too deeply");
    --depth;
    return ok;
  }

  bool parsePrimaryAt(Operand &operand, bool takesLabel) {
    const Token &token = peek();
    if (accept("{")) {
      operand.kind = Operand::Vector;
      do {
        operand.elements.emplace_back();
        if (!parsePrimary(operand.elements.back(), false))
          return false;
      } while (accept(","));
      return expect("}");
    }
    if (accept("!")) {
      operand.negated = true;
      return parsePrimary(operand, takesLabel);
    }
    if (accept("(")) {
      if (!parsePrimary(operand, takesLabel))
        return false;
      return expect(")");
    }
    if (accept("-")) {
      const Token &number = next();
      if (number.kind != Token::Number)
        return failAt(number.line, "expects a number after '-'");
      if (!parseNumber(number, operand))
        return false;
      if (operand.kind == Operand::Int)
        operand.bits = -operand.bits;
      else
        operand.bits ^= uint64_t(1) << (operand.kind == Operand::F32 ? 31 : 63);
      return true;
    }
    if (token.kind == Token::Number)
      return parseNumber(next(), operand);
    if (token.kind != Token::Identifier)
      return fail("expects an operand, but got '" + std::string(token.text) +
                  "'");
    std::string name(next().text);
    if (name == "_") {
      operand.kind = Operand::Sink;
      return true;
    }
    if (takesLabel) {
      operand.kind = Operand::Label;
      operand.name = std::move(name);
      return true;
    }
    if (const Binding *binding = lookup(name)) {
      operand.kind =
          binding->kind == Binding::Register ? Operand::Reg : Operand::Symbol;
      operand.index = binding->index;
      return true;
    }
    auto special = specials.find(name);
    if (special != specials.end()) {
      operand.kind = Operand::Special;
      operand.index = special->second;
      return true;
    }
    if (name == "WARP_SZ") {
      operand.kind = Operand::Int;
      operand.bits = 32;
      return true;
    }
    return failAt(token.line, "unknown name '" + name + "'");
  }
};

} // namespace

Error parse(std::string_view text, Module &module) {
  std::vector<Token> tokens;
  if (Error error = Lexer(text).run(tokens))
    return error;
  return Parser(std::move(tokens), module).run();
}

} // namespace ptx
} // namespace backfuse::emulator
