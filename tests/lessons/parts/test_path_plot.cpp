// The picture in characters: what stands where.
#include <cmath>
#include <limits>
#include <string>

#include "00_sgd/parts/path_plot.h"
#include "support/catch.h"
#include "support/says.h"

using namespace isobar;

namespace {

std::size_t column_of(const std::vector<std::string>& lines, char sign, std::size_t& row) {
  for (row = 0; row < 13; ++row) {
    const std::size_t at = lines[row].find(sign);
    if (at != std::string::npos) return at;
  }
  return 0;
}

}  // namespace

TEST_CASE("start, steps and the least loss stand where slope and intercept put them") {
  const LinePoints points = draw_points({});
  const Line bottom = LossBowl(points).bottom();
  const std::vector<std::string> lines =
      path_plot(points, {{0, 2}, {0.5, 1.5}}, {.glyphs = TextStyle::Glyphs::ascii});
  std::size_t start_row = 0, end_row = 0, step_row = 0;
  const std::size_t start = column_of(lines, 'O', start_row), end = column_of(lines, 'x', end_row),
                    step = column_of(lines, 'o', step_row);
  CHECK(start < step);
  CHECK(step < end);
  CHECK(start_row < step_row);
  CHECK(step_row < end_row);
  // Linear in between: the columns of slopes 0, 0.5 and that of the bottom.
  CHECK(static_cast<double>(step - start) / static_cast<double>(end - start) ==
        Approx(0.5 / bottom.slope).margin(0.04));
  CHECK_THAT(lines.back(), says("after 1 steps: slope 0.5000, intercept 1.5000"));
  for (const std::string& line : lines) CHECK(line.size() <= 80);
}

TEST_CASE("a path that leaves is drawn as far as it goes, and that is said") {
  const LinePoints points = draw_points({});
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<std::string> lines = path_plot(points, {{0, 2}, {1e200, -1e200}, {nan, nan}});
  CHECK_THAT(lines.back(), says("the path leaves"));
  CHECK_NOTHROW(path_plot(points, {{0, 2}}));
  CHECK_NOTHROW(path_plot(points, {{nan, 2}}));
}
