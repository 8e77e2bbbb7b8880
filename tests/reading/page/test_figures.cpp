#include "draw/colour.h"
#include "page/figures.h"
#include "support/catch.h"
#include "support/count_of.h"
#include "support/says.h"

using namespace isobar;

TEST_CASE("what a figure is drawn with in the light theme has its colour of the dark one beside it") {
  const Theme &light = theme_of(false), &dark = theme_of(true);
  Figures figures;
  const std::string markup =
      figures.stage_bars({{"A", "3.00 ms", {{"forward", 2000}, {"rest", 1000}}}}, "Stages", "said");
  for (const auto& colour : {&Theme::panel, &Theme::text, &Theme::dim}) {
    const std::string one = hex_text(light.*colour), other = hex_text(dark.*colour);
    REQUIRE(one != other);
    CHECK_THAT(markup, says("fill=\"" + one + "\" style=\"--dark:" + other + "\""));
  }
  CHECK(count_of(markup, "fill=\"" + hex_text(light.text) + "\"") ==
        count_of(markup, "fill=\"" + hex_text(light.text) + "\" style=\"--dark:"));
}

TEST_CASE("bars have a legend that names each stage once, the rest last") {
  const std::vector<StageBar> bars = {{"A", "", {{"forward", 2}, {"rest", 1}, {"copy", 0}}},
                                      {"B", "", {{"forward", 2}, {"comm", 1}}}};
  CHECK(stages_of(bars) == std::vector<std::string>{"forward", "comm", "rest"});
  Figures figures;
  CHECK_THAT(figures.stage_bars(bars, "", ""), says(">comm</text>"));
}

TEST_CASE("words of a figure cannot become markup") {
  Figures figures;
  const std::string markup = figures.stage_bars({{"<b>", "", {{"a\"<i>", 1}}}}, "<u>", "</figure>");
  for (const char* part : {"<b>", "<i>", "<u>"}) CHECK(markup.find(part) == std::string::npos);
  CHECK(count_of(markup, "</figure>") == 1);
}
