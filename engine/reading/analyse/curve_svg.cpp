#include "analyse/curve_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analyse/nice_step.h"
#include "analyse/svg.h"
#include "core/error.h"
#include "core/text.h"

namespace isobar {
namespace {

constexpr double kWidth = 720, kHeight = 380, kLeft = 62, kRight = 118, kTop = 52, kBottom = 46;

class Picture {
 public:
  Picture(double most_x, double most_y) : most_x_(most_x), most_y_(most_y) {}

  double x(double value) const { return kLeft + value / most_x_ * (kWidth - kLeft - kRight); }
  double y(double value) const { return kHeight - kBottom - value / most_y_ * (kHeight - kTop - kBottom); }

  void text(double at_x, double at_y, const std::string& words, const std::string& style) {
    svg_.text(at_x, at_y, words, style);
  }
  void level(double value, const std::string& name, const std::string& dashes) {
    svg_.line(x(0), y(value), x(most_x_), y(value),
              fmt::format("stroke=\"#5b6470\" stroke-width=\"1.5\" stroke-dasharray=\"{}\"", dashes));
    text(x(most_x_) + 8, y(value) + 4, fmt::format("{} {:.3f}", name, value), "fill=\"#5b6470\"");
  }
  void grid() {
    for (double value = 0; value <= most_y_ * 1.0001; value += nice_step(most_y_, 5)) {
      svg_.line(x(0), y(value), x(most_x_), y(value), "stroke=\"#e3e6ea\"");
      text(x(0) - 8, y(value) + 4, fmt::format("{:.1f}", value), "fill=\"#5b6470\" text-anchor=\"end\"");
    }
    for (double value = 0; value <= most_x_ * 1.0001; value += nice_step(most_x_, 6)) {
      text(x(value), kHeight - kBottom + 20, human_count(std::llround(value)),
           "fill=\"#5b6470\" text-anchor=\"middle\"");
    }
  }
  void curve(const std::vector<RunScores>& scores) {
    std::vector<SvgPoint> points;
    for (const RunScores& at : scores) {
      if (std::isfinite(at.rmse))
        points.push_back({x(static_cast<double>(at.step)), y(std::min(at.rmse, most_y_))});
    }
    svg_.polyline(points, "stroke=\"#3b82f6\" stroke-width=\"2.5\" stroke-linejoin=\"round\"");
    const RunScores& last = scores.back();
    text(x(static_cast<double>(last.step)) + 8, y(last.rmse) + 4, fmt::format("forecast {:.3f}", last.rmse),
         "fill=\"#1d4ed8\" font-weight=\"600\"");
  }
  std::string svg() const { return svg_.document(kWidth, kHeight); }

 private:
  double most_x_;
  double most_y_;
  Svg svg_;
};

}  // namespace

std::string draw_curve(const RunReader& reader) {
  const RunView& view = reader.view();
  if (view.scores.size() < 2) {
    throw Error("the run has fewer than two scores to draw", reader.folder().string(),
                "wait for its first epoch");
  }
  double most_y = 0;
  for (const RunScores& at : view.scores) {
    for (const double value : {at.rmse, at.persistence_rmse, at.climatology_rmse}) {
      if (std::isfinite(value)) most_y = std::max(most_y, value);
    }
  }
  const RunScores& last = view.scores.back();
  Picture picture(std::max(1.0, static_cast<double>(last.step)), std::max(1e-6, most_y * 1.02));
  picture.grid();
  picture.level(last.persistence_rmse, "persistence", "6 4");
  if (last.climatology_rmse > 0) picture.level(last.climatology_rmse, "climatology", "2 3");
  picture.curve(view.scores);
  picture.text(kLeft, 22,
               fmt::format("{}, {}: validation RMSE of {} by step", view.lesson, view.preset, last.headline),
               "fill=\"#1b1e23\" font-size=\"15\" font-weight=\"600\"");
  picture.text(
      kLeft, 39,
      "in standard deviations; lower is better; on " + view.device + ", " + view.started.substr(0, 10),
      "fill=\"#5b6470\"");
  return picture.svg();
}

}  // namespace isobar
