#include <random>
#include <string>

#include "support/catch.h"
#include "text/cpp_colours.h"

using namespace isobar;

namespace {

// The line again, one letter a byte: . plain, k keyword, t type, n number, s string, c comment, p
// preprocessor, f call. A gap or overlap shows as '?'.
std::string painted(std::string_view line, const std::vector<ColouredPiece>& pieces) {
  static constexpr std::string_view kLetters = ".ktnscpf";
  std::string out;
  for (const ColouredPiece& piece : pieces) {
    if (piece.begin != out.size() || piece.end <= piece.begin) out += '?';
    out.resize(piece.end, kLetters[static_cast<std::size_t>(piece.shade)]);
  }
  if (out.size() != line.size()) out += '?';
  return out;
}

std::string cpp(std::string_view line) {
  ColourState state;
  return painted(line, colour_cpp(line, state));
}

std::string shell(std::string_view line) { return painted(line, colour_shell(line)); }

}  // namespace

TEST_CASE("words of C++ have the colours of what they are") {
  CHECK(cpp("const int x = f(1'000, 0x1fULL);") == "kkkkk.ttt.....f.nnnnn..nnnnnnn..");
  CHECK(cpp("std::size_t n = value.size();") == ".....tttttt...........ffff...");
  CHECK(cpp("return Error(kName);  // why") == "kkkkkk.ttttt..........cccccc");
  CHECK(cpp("a = .5e-3f + 1.e+4 - b2;") == "....nnnnnn...nnnnn......");
  CHECK(cpp("if (x) CHECK(y);") == "kk.....fffff....");
  CHECK(cpp("") == "");
  CHECK(cpp("   ") == "...");
}

TEST_CASE("strings end where they end") {
  CHECK(cpp(R"(f("a\"b", 'c', '\'', x))") == "f.ssssss..sss..ssss....");
  CHECK(cpp(R"--(u8"a" L'x' R"x(a")b)x" + y)--") == "sssss.ssss.sssssssssss....");
  CHECK(cpp("\"open // x") == "ssssssssss");
  CHECK(cpp("R\"(open") == "sssssss");
  CHECK(cpp("\"ends in \\") == "ssssssssss");
}

TEST_CASE("comments last over lines until they are closed") {
  ColourState state;
  const auto next = [&](std::string_view line) { return painted(line, colour_cpp(line, state)); };
  CHECK(next("int a; /* one") == "ttt....cccccc");
  CHECK(state.in_comment);
  CHECK(next("") == "");
  CHECK(next("# \"two") == "cccccc");
  CHECK(next("*/ int b; /* x */ /*/") == "cc.ttt....ccccccc.ccc");
  CHECK(state.in_comment);
  CHECK(next("*/") == "cc");
  CHECK_FALSE(state.in_comment);
}

TEST_CASE("directives") {
  CHECK(cpp("#include <vector>  // x") == "pppppppp.ssssssss..cccc");
  CHECK(cpp("#include \"core/text.h\"") == "pppppppp.sssssssssssss");
  CHECK(cpp("  # define N 3") == "..pppppppp...n");
  CHECK(cpp("#pragma once") == "ppppppp.....");
  CHECK(cpp("#include <open") == "pppppppp.sssss");
  CHECK(cpp("#") == "p");
}

TEST_CASE("a shell line: commands, strings, comments") {
  CHECK(shell("./isobar run 'a b' # why") == "ffffffff.....sssss.ccccc");
  CHECK(shell("A=1 cmd x#y | jq \"a\\\"b\"") == "....fff.......ff.ssssss");
  CHECK(shell("if true; then ls; fi") == "kk.ffff..kkkk.ff..kk");
  CHECK(shell("make 2>&1 && ls") == "ffff.........ff");
  CHECK(shell("# all of it") == "ccccccccccc");
  CHECK(shell("echo 'open") == "ffff.sssss");
}

TEST_CASE("any bytes are covered without gaps, and characters stay whole") {
  std::mt19937 random(7);
  const std::string letters = "ab R\"'(/*#\\<>0x.e+-=[]{},;&|\t_\xc3\xa9\xff" + std::string(1, '\0');
  for (int round = 0; round < 20000; ++round) {
    std::string line;
    const std::size_t length = random() % 24;
    for (std::size_t i = 0; i < length; ++i) line += letters[random() % letters.size()];
    CAPTURE(line);
    REQUIRE(cpp(line).find('?') == std::string::npos);
    REQUIRE(shell(line).find('?') == std::string::npos);
  }
  CHECK(cpp("é = \"é\\é\";") == ".....sssssss.");
}

TEST_CASE("hostile long lines take time in proportion to their length") {
  for (const char* piece :
       {"R\"", "R\"(", "/*", "*/", "\"", "'", "\\", "# ", "[", "]", "1'", "a ", "=", "\"\"\""}) {
    std::string line;
    while (line.size() < 300'000) line += piece;
    ColourState state;
    colour_cpp(line, state);
    colour_shell(line);
  }
  SUCCEED("finished");
}
