// Words of a command line: what is taken, what is refused, and in which words.
#include "config/option_parser.h"
#include "support/catch.h"
#include "support/errors.h"

using namespace isobar;

namespace {

/// A parser with an option of each kind.
struct Given {
  std::string text = "as it was";
  std::int64_t count = 7;
  double share = 0.5;
  bool flag = false, shown = true;
  std::vector<std::string> sets, places = {"as", "they", "were"};
  std::vector<int> sizes = {1, 2};
  std::filesystem::path file = "as it was";
  std::vector<std::filesystem::path> files;
  std::string page;

  bool parse(const std::vector<std::string>& words, const ParseWords& say = {}) {
    OptionParser parser("What it is for", "./isobar try");
    parser.add("PLACES", places, "where");
    parser.add("--text", text, "a text").one_of({"dark", "light"});
    parser.add("--count,--counts", count, "how many").in_range(1, 100);
    parser.add("--share", share, "a part");
    parser.flag("--flag", flag, "yes");
    parser.flag("!--no-show", shown, "no");
    parser.add("--set", sets, "again for more");
    parser.add("-o,--out", file, "a file");
    parser.add("--config", files, "again for more");
    parser.group("Sizes");
    parser.add("--size", sizes, "again for more").in_range(2, 16);
    parser.group("");
    parser.add("--hidden", hidden, "for tests");
    parser.footer("The end.");
    const bool parsed = parser.parse(words, page, say);
    was_given = parsed && parser.given("--count");
    return parsed;
  }
  std::string hidden;
  bool was_given = false;
};

std::string refused(const std::vector<std::string>& words, const ParseWords& say = {}) {
  return error_of([&] { Given().parse(words, say); });
}

}  // namespace

TEST_CASE("options fill their variables, and leave them alone where nothing is given") {
  Given none;
  REQUIRE(none.parse({}));
  CHECK(none.text == "as it was");
  CHECK((none.count == 7 && none.share == 0.5 && !none.flag && none.shown && !none.was_given));
  CHECK(none.places.size() == 3);
  CHECK(none.sizes == std::vector{1, 2});

  Given all;
  REQUIRE(all.parse({"--text",    "dark",  "here",   "--counts=9", "--share",   "1e-3",  "--flag",
                     "--no-show", "--set", "a=1",    "there",      "--set=b=2", "--out", "o",
                     "--config",  "c",     "--size", "4",          "--size",    "8"}));
  CHECK(all.text == "dark");
  CHECK((all.count == 9 && all.share == 1e-3 && all.flag && !all.shown && all.was_given));
  CHECK(all.sets == std::vector<std::string>{"a=1", "b=2"});
  CHECK(all.places == std::vector<std::string>{"here", "there"});
  CHECK(all.sizes == std::vector{4, 8});
  CHECK((all.file == "o" && all.files == std::vector<std::filesystem::path>{"c"}));
}

TEST_CASE("the page has every option but the hidden ones, under their titles") {
  Given given;
  REQUIRE_FALSE(given.parse({"--help"}));
  for (const char* const part : {"What it is for", "./isobar try", "PLACES", "--text {dark,light}",
                                 "--count,--counts INT from 1 to 100", "--share FLOAT", "--no-show",
                                 "--set TEXT", "Sizes", "The end."})
    CHECK_THAT(given.page, says(part));
  CHECK(given.page.find("--hidden") == std::string::npos);
}

TEST_CASE("options that are known are taken out of a command line") {
  OptionParser parser("What it is for", "./isobar try");
  std::vector<std::string> sets;
  parser.add("--set", sets, "");
  const std::vector<std::string> left =
      parser.parse_known({"run", "--set", "--mine", "--set=a b", "--json", "-h", "--", "--set"});
  CHECK(sets == std::vector<std::string>{"--mine", "a b"});
  CHECK(left == std::vector<std::string>{"run", "--json", "-h", "--", "--set"});
  CHECK(error_of([&] { parser.parse_known({"--set"}); }).find("--set what?") != std::string::npos);
}

TEST_CASE("--version alone gives the version of the build in place of the page") {
  Given given;
  REQUIRE_FALSE(given.parse({"--version"}));
  CHECK(given.page == version_text() + "\n");
  CHECK_THAT(version_text(), says("isobar ") && says("."));
}

TEST_CASE("wrong words are refused with what, where and a hint") {
  CHECK_THAT(refused({"--txt", "dark"}), says("unknown argument \"--txt\"") && says("did you mean --text?"));
  CHECK_THAT(refused({"--text", "grey"}), says("grey is none of dark, light"));
  CHECK_THAT(refused({"--count", "x"}), says("a whole number is wanted") && says("--counts = x"));
  CHECK_THAT(refused({"--count", "1.5"}), says("a whole number is wanted"));
  CHECK_THAT(refused({"--count", "0x10"}), says("a whole number is wanted"));
  CHECK_THAT(refused({"--count", ""}), says("--count"));
  CHECK_THAT(refused({"--count", "99999999999999999999"}), says("out of range"));
  CHECK_THAT(refused({"--count", "-1"}), says("from 1 to 100"));
  CHECK_THAT(refused({"--count", " 3"}), says("a whole number is wanted"));
  CHECK_THAT(refused({"--count", "3", "--count", "4"}), says("--count"));
  CHECK_THAT(refused({"--count", "0"}), says("out of range") && says("from 1 to 100"));
  CHECK_THAT(refused({"--share", "much"}), says("a number is wanted"));
  CHECK_THAT(refused({"--share", "nan"}), says("out of range"));
  CHECK_THAT(refused({"--size", "17"}), says("from 2 to 16"));
  CHECK_THAT(refused({"--count"}), says("--count") && says("what?"));
  CHECK_THAT(refused({"--out", ""}), says("--out is empty"));
  CHECK_THAT(refused({"-o", ""}), says("--out is empty"));
  CHECK_THAT(refused({"--out="}), says("--out"));
  CHECK_THAT(refused({"--config", "a", "--config", ""}), says("--config is empty"));
  CHECK_THAT(refused({"--count", "x"}, {.where = "here", .example = "--count 3"}),
             says("for example  --count 3"));
}

TEST_CASE("who knows better says what a word that nothing takes is") {
  const auto hint = [](const std::string& word) { return word == "--odd" ? "even, not --odd" : ""; };
  CHECK_THAT(refused({"--odd"}, {.hint_extra = hint}), says("even, not --odd"));
  CHECK_THAT(refused({"--cuont"}, {.hint_extra = hint}), says("did you mean --count?"));
}
