// Pictures in characters.
#include <array>
#include <map>
#include <set>

#include "core/text.h"
#include "draw/chart.h"
#include "draw/text_canvas.h"
#include "plot/bars.h"
#include "support/catch.h"

using namespace isobar;

namespace {

using Glyphs = TextStyle::Glyphs;
using Colours = TextStyle::Colours;

TextStyle style_of(const std::map<std::string, std::string>& set, bool is_terminal = true) {
  return text_style(
      [&](const char* name) {
        const auto found = set.find(name);
        return found == set.end() ? nullptr : found->second.c_str();
      },
      is_terminal, 80);
}

/// Letters of a line, its escape sequences left out.
std::size_t visible_letters(const std::string& line) {
  std::string shown;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\x1b') i = line.find('m', i) + 1;
    if (i < line.size()) shown += line[i];
  }
  return letters_of(shown).size();
}

Drawing made_drawing() {
  return {"Two lines", "schematic", "One line rises, the other falls.",
          [](Sketch& sketch, PlotPoint at, float width) {
            ChartSpec spec;
            spec.x = {.least = 0, .most = 4};
            spec.y = {.least = 0, .most = 4};
            spec.x_title = "steps";
            spec.height = 80;
            return paint_chart_lines(sketch, spec,
                                     {{"up", {{0, 0}, {4, 4}}}, {"down", {{0, 4}, {2, 2}, {4, 0}}}}, at,
                                     width)
                .end;
          }};
}

std::string text_of(const Drawing& drawing, const TextStyle& style) {
  return isobar::joined(drawing_lines(drawing, style), "\n");
}

}  // namespace

TEST_CASE("the style follows what the terminal is and what its user asks for") {
  const std::map<std::string, std::string> utf8 = {{"LANG", "en_GB.UTF-8"}, {"TERM", "xterm-256color"}};
  CHECK(style_of(utf8).glyphs == Glyphs::braille);
  CHECK(style_of(utf8).colours == Colours::few);
  CHECK(style_of(utf8, false).colours == Colours::none);
  const auto with = [&](const char* name, const char* value) {
    auto set = utf8;
    set[name] = value;
    return style_of(set);
  };
  CHECK(with("COLORTERM", "truecolor").colours == Colours::all);
  CHECK(with("NO_COLOR", "1").colours == Colours::none);
  CHECK(with("NO_COLOR", "").colours == Colours::few);
  CHECK(with("LC_ALL", "C").glyphs == Glyphs::ascii);
  CHECK(with("TERM", "linux").glyphs == Glyphs::ascii);
  CHECK(with("TERM", "dumb").glyphs == Glyphs::words);
  CHECK(with("ISOBAR_PICTURES", "words").glyphs == Glyphs::words);
  CHECK(with("ISOBAR_PICTURES", "ascii").glyphs == Glyphs::ascii);
  CHECK(with("COLORFGBG", "0;15").dark == false);
  CHECK(style_of({}).glyphs == Glyphs::ascii);
}

TEST_CASE("a chart in braille and in ASCII") {
  CHECK("\n" + text_of(made_drawing(), {.columns = 40}) + "\n" == R"(
Two lines
schematic
4 ■⠁⠐⠢⠄⢀⣀                      ⢀⣀⡠⠤⠒⠒⠉●
  ⡇      ⠁⠈⠒⠂⠠⢄⡀        ⡀⣀⠤⠤⠂⠊⠉⠁
2 ⡇             ⠈⣉⡡⠴■⠖⢊⣉
  ⡇      ⢀⣀⡠⠤⠒⠒⠉⠉       ⠁⠈⠒⠂⠠⢄⡀
  ⣇⣀⠤⠤⠒⠊⠉⠁                     ⠈⠉⠂⠐⠤⠄⢀⡀
0 0⠉⠉⠉⠉⠉⠉⠉⠉1⠉⠉⠉⠉⠉⠉⠉⠉2⠉⠉⠉⠁⠉⠉⠉⠁3⠉⠉⠉⠉⠉⠉⠉⠉4
                                  steps

⠤●⠤⠄ up
⠤■⠠⠄ down
)");
  CHECK("\n" + text_of(made_drawing(), {.glyphs = Glyphs::ascii, .columns = 40}) + "\n" == R"(
Two lines
schematic
4 #'---._                      ._----'o
  |      ''----.        ._---'''
2 |             '_'-#-'_
  |      ._----''       ''----.
  |_---'''                     ''----..
0 0''''''''1''''''''2''''''''3''''''''4
                                  steps

-o-- up
-#-- down
)");
}

TEST_CASE("where no picture can be the drawing's words stand") {
  const std::string words = "Two lines\nschematic\nOne line rises, the other falls.";
  CHECK(text_of(made_drawing(), {.glyphs = Glyphs::words, .columns = 40}) == words);
  CHECK(text_of(made_drawing(), {.columns = 20}) ==
        "Two lines\nschematic\nOne line rises, the\nother falls.");
}

TEST_CASE("no line is wider than the columns, in any style") {
  for (const std::size_t columns : {1U, 7U, 30U, 40U, 80U, 133U}) {
    for (const Glyphs glyphs : {Glyphs::braille, Glyphs::ascii, Glyphs::words}) {
      for (const Colours colours : {Colours::none, Colours::few, Colours::all}) {
        for (const std::string& line :
             drawing_lines(made_drawing(), {.glyphs = glyphs, .colours = colours, .columns = columns}))
          CHECK(visible_letters(line) <= columns);
      }
    }
  }
}

TEST_CASE("spans of a timeline are told apart by colour, or by their patterns") {
  const Drawing gantt = {"", "", "", [](Sketch& sketch, PlotPoint at, float width) {
                           const Theme& theme = sketch.theme();
                           Gantt out{.rows = {{"loop",
                                               {stage_span(theme, 0, 4, "forward", "forward"),
                                                stage_span(theme, 4, 10, "backward", "backward")}}},
                                     .end = 10,
                                     .axis = "ms"};
                           return paint_gantt(sketch, out, at, width);
                         }};
  CHECK(drawing_lines(gantt, {.columns = 40}).at(1).find("▒forward") != std::string::npos);
  CHECK(drawing_lines(gantt, {.columns = 40}).at(1).find("░backward░") != std::string::npos);
  const std::string coloured = drawing_lines(gantt, {.colours = Colours::few, .columns = 40}).at(1);
  CHECK(coloured.find("▒") == std::string::npos);
  CHECK(coloured.find("48;5;") != std::string::npos);
  CHECK(coloured.ends_with("\x1b[0m"));
}

TEST_CASE("words stay legible under dots, and do not cover each other") {
  TextCanvas canvas({.columns = 20});
  const std::array<PlotPoint, 2> level = {PlotPoint{0, 8}, PlotPoint{160, 8}};
  canvas.text(16, 0, "first", Face::small, kWhite, 0);
  canvas.line(level, kWhite, 1, Dash::solid);
  canvas.text(32, 0, "second", Face::small, kWhite, 0);
  const std::vector<std::string> lines = canvas.lines();
  REQUIRE(lines.size() == 2);
  CHECK(lines[0].find("first") != std::string::npos);
  CHECK(lines[1] == "    second");
  TextCanvas hostile({.columns = 5});
  hostile.text(100, 0,
               "\xff\xe4\xb8\xad"
               "abcdef",
               Face::small, kWhite, 0.5F);
  CHECK(hostile.lines() == std::vector<std::string>{"??ab…"});
}

TEST_CASE("what lies far outside or is no number leaves the canvas as it is") {
  TextCanvas canvas({.columns = 10});
  const std::array<PlotPoint, 3> far = {PlotPoint{-1e9F, -1e9F}, PlotPoint{1e9F, -1e8F}, PlotPoint{NAN, 3}};
  canvas.line(far, kWhite, 1, Dash::solid);
  canvas.fill({1e7F, 1e7F, 2e7F, 2e7F}, kWhite, 0);
  canvas.text(0, 1e9F, "far", Face::small, kWhite, 0);
  canvas.mark({NAN, NAN}, Mark::circle, 5, kWhite);
  CHECK(canvas.lines().empty());
}

TEST_CASE("drawings stand beside each other where there is room") {
  const Drawing one = made_drawing();
  const std::vector<std::string> wide = drawing_lines(beside_each_other({one, one}), {.columns = 80});
  const std::vector<std::string> narrow = drawing_lines(beside_each_other({one, one}), {.columns = 40});
  CHECK(wide.front().find("Two lines") != wide.front().rfind("Two lines"));
  CHECK(narrow.size() > wide.size());
}
