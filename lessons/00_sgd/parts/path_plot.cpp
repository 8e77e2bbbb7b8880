#include "00_sgd/parts/path_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace isobar {
namespace {

constexpr int kColumns = 66;
constexpr int kRows = 19;
constexpr double kBand = 3;  // each contour stands for so many times the height of the next lower one

std::string short_number(double value) {
  return std::abs(value) < 1e6 ? fmt::format("{:.4f}", value) : fmt::format("{:.4g}", value);
}

/// Cells over a rectangle of lines.
class Grid {
 public:
  Grid(const LossBowl& bowl, const std::vector<Line>& path) : cells_(kRows, std::string(kColumns, ' ')) {
    low_ = high_ = bowl.bottom();
    for (const Line& line : path) {
      low_ = {std::min(low_.slope, line.slope), std::min(low_.intercept, line.intercept)};
      high_ = {std::max(high_.slope, line.slope), std::max(high_.intercept, line.intercept)};
    }
    widen(low_.slope, high_.slope);
    widen(low_.intercept, high_.intercept);
  }

  void draw_contours(const LossBowl& bowl) {
    const double scale = std::max(bowl.loss(low_), bowl.loss(high_)) - bowl.least_loss();
    const auto band = [&](int row, int column) {
      const double height = (bowl.loss(line_at(row, column)) - bowl.least_loss()) / scale;
      return std::floor(std::log(std::max(height, 1e-9)) / std::log(kBand));
    };
    for (int row = 0; row < kRows; ++row) {
      for (int column = 0; column < kColumns; ++column) {
        // A line stands on its higher side, once.
        const double here = band(row, column);
        const double lowest = std::min(
            {band(row, column + 1), band(row, column - 1), band(row + 1, column), band(row - 1, column)});
        if (here > lowest) put(row, column, '.');
      }
    }
  }

  void draw_path(const std::vector<Line>& path) {
    constexpr int kBetween = 200;
    for (std::size_t i = 0; i + 1 < path.size(); ++i) {
      for (int k = 0; k <= kBetween; ++k) {
        const double t = static_cast<double>(k) / kBetween;
        mark({path[i].slope + t * (path[i + 1].slope - path[i].slope),
              path[i].intercept + t * (path[i + 1].intercept - path[i].intercept)},
             '-');
      }
    }
    for (const Line& line : path) mark(line, 'o');
  }

  void mark(const Line& line, char sign) {
    const double column = (line.slope - low_.slope) / (high_.slope - low_.slope) * (kColumns - 1);
    const double row = (high_.intercept - line.intercept) / (high_.intercept - low_.intercept) * (kRows - 1);
    put(static_cast<int>(std::lround(row)), static_cast<int>(std::lround(column)), sign);
  }

  std::vector<std::string> lines() const {
    std::vector<std::string> out;
    for (int row = 0; row < kRows; ++row) {
      const bool labelled = row % ((kRows - 1) / 2) == 0;
      const std::string label = labelled   ? fmt::format("{:.2f}", line_at(row, 0).intercept)
                                : row == 4 ? "intercept"
                                           : "";
      out.push_back(fmt::format("{:>10} |{}", label, cells_[static_cast<std::size_t>(row)]));
      out.back().erase(out.back().find_last_not_of(' ') + 1);
    }
    out.push_back(fmt::format("{:>10} +{}", "", std::string(kColumns, '-')));
    const std::string middle = fmt::format("slope {:.2f}", line_at(0, kColumns / 2).slope);
    out.push_back(fmt::format("{:>10}  {:<20.2f}{:^26}{:>20.2f}", "", low_.slope, middle, high_.slope));
    return out;
  }

 private:
  /// A margin on both sides, and a width where there is none.
  static void widen(double& low, double& high) {
    const double margin = std::max(0.12 * (high - low), 1e-3 * std::max(1.0, std::abs(high)));
    low -= margin;
    high += margin;
  }

  Line line_at(int row, int column) const {
    return {low_.slope + (high_.slope - low_.slope) * column / (kColumns - 1),
            high_.intercept - (high_.intercept - low_.intercept) * row / (kRows - 1)};
  }

  void put(int row, int column, char sign) {
    cells_[static_cast<std::size_t>(std::clamp(row, 0, kRows - 1))]
          [static_cast<std::size_t>(std::clamp(column, 0, kColumns - 1))] = sign;
  }

  Line low_;
  Line high_;
  std::vector<std::string> cells_;
};

}  // namespace

std::vector<std::string> path_plot(const LinePoints& points, const std::vector<Line>& path) {
  constexpr double kFar = 1e12;  // a path that leaves is drawn up to there
  std::vector<Line> drawn;
  for (const Line& line : path) {
    if (!(std::abs(line.slope) < kFar && std::abs(line.intercept) < kFar)) break;
    drawn.push_back(line);
  }
  const LossBowl bowl(points);
  Grid grid(bowl, drawn);
  grid.draw_contours(bowl);
  grid.draw_path(drawn);
  if (!drawn.empty()) grid.mark(drawn.front(), 'S');
  grid.mark(bowl.bottom(), 'X');
  std::vector<std::string> out = grid.lines();
  out.push_back(
      fmt::format("            S start, o after each step, X least loss ({:.4g}); . contours of the loss, "
                  "each {:g} times "
                  "as high",
                  bowl.least_loss(), kBand));
  const Line& end = path.back();
  out.push_back(fmt::format("            after {} steps: slope {}, intercept {}, loss over all points {:.6g}",
                            path.size() - 1, short_number(end.slope), short_number(end.intercept),
                            bowl.loss(end)));
  if (drawn.size() < path.size())
    out.push_back("            the path leaves: the learning rate is too large");
  return out;
}

}  // namespace isobar
