// The words that programs print: the glossary of the project knows them, and a file that is none is refused.
#include <algorithm>
#include <set>

#include "analyse/glossary.h"
#include "analyse/parity.h"
#include "analyse/ranks.h"
#include "analyse/scaling.h"
#include "analyse/steady.h"
#include "analyse/verdict.h"
#include "config/choices.h"
#include "core/files.h"
#include "core/stage.h"
#include "log/operators.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/temp_folder.h"

using namespace isobar;
namespace fs = std::filesystem;

namespace {

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

/// What stands between two blanks or more.
std::vector<std::string> cells(const std::string& line) {
  std::vector<std::string> out;
  for (std::size_t at = line.find_first_not_of(' '); at < line.size();) {
    const std::size_t end = std::min(line.find("  ", at), line.size());
    out.push_back(line.substr(at, end - at));
    at = line.find_first_not_of(' ', end);
  }
  return out;
}

void check_explained(const Glossary& glossary, const std::string& name) {
  INFO(name);
  CHECK_NOTHROW(find_term(glossary, name));
}

}  // namespace

TEST_CASE("a glossary is sections with sentences, other names, and related terms") {
  const Glossary glossary = parse_glossary(
      "# Words\n\nsee: nothing\n\n## Peak memory\r\n\nMost bytes,\n  of all.\n\nMore.\n\nalso: peak, ,most "
      "bytes\nsee: MFU\n\n## MFU\nA share.",
      "words.md");
  REQUIRE(glossary.size() == 2);
  CHECK(glossary[0].name == "Peak memory");
  CHECK(glossary[0].text == "Most bytes, of all. More.");
  CHECK(glossary[0].also == std::vector<std::string>{"peak", "most bytes"});
  CHECK(glossary[0].see == std::vector<std::string>{"MFU"});
  CHECK(glossary[1].text == "A share.");
  CHECK(glossary[1].also.empty());
  for (const char* const name : {"peak memory", "PEAK  memory", "peak-memory", "peak_memory ", "Most Bytes"})
    CHECK(&find_term(glossary, name) == &glossary[0]);
  CHECK_THAT(error_of([&] { find_term(glossary, "muf"); }), says("did you mean mfu?") && says("lists all"));
  CHECK_THAT(error_of([&] { find_term(glossary, "something else"); }),
             says("\"something else\"") && !says("mean"));
  CHECK_THAT(error_of([&] { find_term(glossary, std::string(100'000, 'x') + "\x1b[2J"); }), !says("\x1b"));
  CHECK_THAT(error_of([&] { find_term({}, ""); }), says("lists all terms"));
}

TEST_CASE("words are taken as many at a time as a term has") {
  const Glossary glossary =
      parse_glossary("## peak memory\nOne.\n## ring\nTwo.\n## peak\nThree.\n", "words.md");
  const auto found = [&](const std::vector<std::string>& words) {
    std::string out;
    for (const Term* const term : find_terms(glossary, words)) out += term->text;
    return out;
  };
  CHECK(found({"ring", "Peak", "memory"}) == "Two.One.");
  CHECK(found({"peak memory", "ring"}) == "One.Two.");
  CHECK(found({"peak", "ring"}) == "Three.Two.");
  CHECK(found({}).empty());
  CHECK_THAT(error_of([&] { found({"peak", "memry"}); }), says("did you mean peak memory?"));
  CHECK_THAT(error_of([&] { found({"ring", "x"}); }), says("\"ring x\"") && says("lists all"));
}

TEST_CASE("a name of its own comes before another name of an earlier term") {
  const Glossary glossary = parse_glossary("## a\nOne.\nalso: b\n## b\nTwo.\n", "words.md");
  CHECK(find_term(glossary, "B").text == "Two.");
}

TEST_CASE("what is no glossary is refused with its name") {
  for (const char* const text : {"", "# Title\n\nsentences", "##x\n", "see: a\nalso: b", "##  \nText."})
    CHECK_THAT(error_of([&] { parse_glossary(text, "words.md"); }), says("no terms") && says("words.md"));
  for (const char* const text : {"## a\n## b\nText.\n", "## a\nsee: b\n"})
    CHECK_THAT(error_of([&] { parse_glossary(text, "words.md"); }), says("not explained"));
  const TempFolder home;
  CHECK_THAT(error_of([&] { read_glossary(home.path()); }), says("lessons/glossary.md"));
  fs::create_directories(home / "lessons/glossary.md");
  CHECK_THAT(error_of([&] { read_glossary(home.path()); }), says("lessons/glossary.md"));
  fs::remove(home / "lessons/glossary.md");
  const auto read = [&](const std::string& text) {
    write_file_whole(home / "lessons/glossary.md", text);
    return read_glossary(home.path());
  };
  std::string bytes;
  for (int i = 0; i < 4096; ++i) bytes += static_cast<char>(i * 7 % 256);
  CHECK_THAT(error_of([&] { read(bytes + "\n"); }), says("glossary"));
  CHECK_THAT(error_of([&] { read("## a\n" + std::string(2 << 20, 'x')); }), says("at most"));
  CHECK(read("## a\x1b[2J\n\xff" + std::string(1, '\0') + "b\n").front().text == "??b");
  CHECK(read("## a\x1b[2J\nb\n").front().name == "a?[2J");
}

TEST_CASE("the terms of the project are sorted, have one place each, and lead to each other") {
  const Glossary glossary = read_glossary(project_home());
  std::set<std::string> names, all;
  for (const Term& term : glossary) names.insert(term.name);
  CHECK(std::is_sorted(glossary.begin(), glossary.end(), [](const Term& one, const Term& other) {
    return lower(one.name) < lower(other.name);
  }));
  for (const Term& term : glossary) {
    INFO(term.name);
    CHECK(all.insert(lower(term.name)).second);
    for (const std::string& other : term.also) {
      INFO(other);
      CHECK(all.insert(lower(other)).second);
      CHECK(&find_term(glossary, other) == &term);
    }
    for (const std::string& other : term.see) {
      INFO(other);
      CHECK(names.contains(other));
      CHECK(other != term.name);
    }
    CHECK(term.text.back() == '.');
  }
}

TEST_CASE("whatever a step, a verdict or a table of ranks is made of is explained") {
  const Glossary glossary = read_glossary(project_home());
  std::set<std::string> names;
  for (const Term& term : glossary) names.insert(lower(term.name));
  for (const char* const stage : kStageNames) CHECK(names.contains(stage));
  CHECK(names.contains("rest"));
  for (auto bound = Bound::fault; bound <= Bound::compute; bound = static_cast<Bound>(int(bound) + 1))
    CHECK(names.contains(bound_name(bound)));
  for (const char* const kind : kOperatorClassNames) CHECK(names.contains(kind));
  for (const char* const part : kPartNames) CHECK(names.contains(lower(part)));
  for (const ScalingLine line : kScalingLines) check_explained(glossary, line_name(line));
  for (const ScalingLaw law : {ScalingLaw::weak, ScalingLaw::strong})
    check_explained(glossary, law_name(law));
  for (const AmpMode mode : {AmpMode::tf32, AmpMode::fp16, AmpMode::bf16})
    CHECK(names.contains(name_of(mode)));
  for (auto state = RunState::empty; state <= RunState::died; state = static_cast<RunState>(int(state) + 1))
    check_explained(glossary, state_name(state));
  for (auto parity = Parity::baseline; parity <= Parity::differs;
       parity = static_cast<Parity>(int(parity) + 1))
    check_explained(glossary, parity_name(parity));
  RanksView view;
  view.world = 2;
  view.steps = 1;
  RankFigures rank;
  rank.host = "n1";
  for (const RankColumn& column : kRankColumns) rank.*column.figure = 1;
  view.ranks = {rank};
  const std::vector<std::string> heads = cells(rank_lines(view).at(1));
  CHECK(heads.size() == 9);
  for (const std::string& head : heads) check_explained(glossary, head);
}
