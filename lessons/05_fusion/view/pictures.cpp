// Pictures: passes over memory, and operations under the roofline.
#include <fmt/format.h>

#include <array>
#include <string>
#include <vector>

#include "draw/chart.h"
#include "formula/device_rates.h"
#include "formula/step_time.h"
#include "plot/lesson_view.h"
#include "plot/roofline.h"

namespace isobar::lesson_05 {
namespace {

constexpr float kChainCell = 28, kChainGap = 58;

/// Values in memory at even places, kernels between them.
struct Chain {
  std::string title;
  std::vector<std::pair<int, std::string>> cells;
  std::vector<std::pair<int, std::string>> kernels;
};

float paint_chain(Sketch& sketch, const Chain& chain, PlotPoint at, float width) {
  const Theme& theme = sketch.theme();
  at.y = sketch.words(at, width, chain.title) + sketch.px(6);
  const float place = width / 5, top = at.y + sketch.px(16);
  const float cell_end = top + sketch.px(kChainCell), kernel = cell_end + sketch.px(kChainGap);
  sketch.canvas().text(at.x, at.y - sketch.px(1), "memory", Face::small, theme.dim);
  sketch.canvas().fill({at.x, top - sketch.px(1), at.x + width, cell_end + sketch.px(1)}, theme.raised);
  const auto box_of = [&](int index, float y) {
    const float x = at.x + place * static_cast<float>(index);
    return Box{x + sketch.px(2), y, x + place - sketch.px(2), y + sketch.px(kChainCell)};
  };
  for (const auto& [index, words] : chain.cells) {
    sketch.pale(box_of(index, top), theme.series[0]);
    sketch.words_in(box_of(index, top), std::array{words}, theme.text);
  }
  std::size_t pass = 0;
  for (std::size_t i = 0; i < chain.kernels.size(); ++i) {
    Box box = box_of(chain.kernels[i].first, kernel);
    box.x0 -= place * 0.2F;
    box.x1 += place * 0.2F;
    sketch.pale(box, theme.series[1], Hatch::none);
    sketch.words_in(box, std::array{chain.kernels[i].second}, theme.text);
    const Box from = box_of(chain.cells[i].first, top), to = box_of(chain.cells[i + 1].first, top);
    const float quarter = box.width() / 4;
    const PlotPoint read_from = {(from.x0 + from.x1) / 2 + (i > 0 ? sketch.px(14) : 0), cell_end},
                    read_to = {box.x0 + quarter, kernel};
    const PlotPoint write_from = {box.x1 - quarter, kernel},
                    write_to = {(to.x0 + to.x1) / 2 - (i + 1 < chain.kernels.size() ? sketch.px(14) : 0),
                                cell_end};
    sketch.arrow(read_from, read_to, theme.text);
    sketch.arrow(write_from, write_to, theme.text);
    const auto number = [&](PlotPoint a, PlotPoint b) {
      paint_number(sketch, {(a.x + b.x) / 2, (a.y + b.y) / 2}, ++pass);
    };
    number(read_from, read_to);
    number(write_from, write_to);
  }
  return kernel + sketch.px(kChainCell);
}

struct FusedBytes {
  const char* name;
  double plain, fused;
};

/// In fp32: every operand once, 4 bytes each. Plain: the bias 2, GELU 2; the bias 2, the sum 3, the norm 2.
constexpr std::array<FusedBytes, 3> kFusedBytes = {
    {{"bias and GELU, forward: a value", 4 * 4, 2 * 4},
     {"bias, residual and norm, forward: a value", 7 * 4, 4 * 4},
     {"Adam: a parameter", kPlainAdamBytes, kFusedAdamBytes}}};

float paint_fused_bytes(Sketch& sketch, PlotPoint at, float width) {
  const Theme& theme = sketch.theme();
  Axis x{.least = 0, .most = kPlainAdamBytes};
  x.begin = at.x;
  x.end = at.x + width - sketch.text_width("65 bytes") - sketch.px(10);
  for (const FusedBytes& row : kFusedBytes) {
    at.y = sketch.words(at, width, row.name) + sketch.px(2);
    for (const auto& [bytes, colour, hatch] :
         {std::tuple{row.plain, theme.series[1], Hatch::rising}, {row.fused, theme.series[2], Hatch::none}}) {
      const Box box = {x.begin, at.y, x.pixel(bytes), at.y + sketch.px(15)};
      sketch.area(box, colour, hatch);
      sketch.canvas().text(box.x1 + sketch.px(8), at.y - sketch.px(1), fmt::format("{:g} bytes", bytes),
                           Face::small, theme.text);
      at.y += sketch.px(18);
    }
    at.y += sketch.px(6);
  }
  return sketch.legend(
      at, width,
      std::array{LegendEntry{"one operation after the other", theme.series[1], Hatch::rising},
                 LegendEntry{"fused: one kernel", theme.series[2]}});
}

float paint_passes(Sketch& sketch, PlotPoint at, float width) {
  const Chain plain = {"Before: two kernels, 4 passes over memory",
                       {{0, "x"}, {2, "x + b"}, {4, "y"}},
                       {{1, "add bias"}, {3, "GELU"}}};
  const Chain fused = {"After: one kernel, 2 passes", {{0, "x"}, {4, "y"}}, {{2, "bias, GELU"}}};
  const auto chain = [&sketch](const Chain& one) {
    return [&](PlotPoint place, float wide) { return paint_chain(sketch, one, place, wide); };
  };
  const float bottom = paint_pair(sketch, at, width, 660, chain(plain), chain(fused));
  at.y =
      sketch.words({at.x, bottom + sketch.px(18)}, width, "Bytes that move, in fp32", {.face = Face::bold}) +
      sketch.px(4);
  return paint_fused_bytes(sketch, at, width);
}

/// Attention that keeps its N x N matrices in the cache: 4 N^2 E operations; q, k, v are read and one is
/// written.
double attention_intensity(double bytes) { return static_cast<double>(kBaseShape.tokens()) / bytes; }

float paint_operators_roofline(Sketch& sketch, PlotPoint at, float width) {
  const double peak = rates_of("A100").peak_16 * kTera;
  RooflineChart chart;
  chart.bytes_per_s = kA100BytesPerS;
  chart.roofs = {{"16 bits", peak}};
  chart.points = {
      point_below("residual addition (1 operation a value)", 1.0 / 6, peak),
      point_below("LayerNorm (about 8 a value)", 8.0 / 4, peak),
      point_below("product behind attention, E x E", product_intensity(1, 2), peak),
      point_below("first product of the MLP, E x 4E", product_intensity(4, 2), peak),
      point_below("attention, without its N x N matrices in memory", attention_intensity(2), peak)};
  at.y = paint_roofline(sketch, chart, at, width);
  return sketch.words({at.x, at.y + sketch.px(2)}, width,
                      "Fusion saves bytes: what several operations far left do in several passes is done in "
                      "one pass, with more operations for each byte.");
}

std::vector<LessonPicture> pictures() {
  return {
      {"idea",
       {"Passes over memory, before and after fusion", "by formula",
        "Above, y = GELU(x + b). Before fusion one kernel reads x and writes x + b, another reads that and "
        "writes y: four passes over memory. After fusion one kernel reads x and writes y: two passes. "
        "Below, bytes moved before and after: 16 and 8 a value for bias and GELU, 28 and 16 for bias, "
        "residual and norm, 65 and 28 a parameter for Adam.",
        paint_passes}},
      {"roofline",
       {"Operations of base under the roofline of an A100-40GB",
        "by formula, in 16 bits: min(peak, bandwidth x FLOP for each byte), with the figures of its data "
        "sheet",
        "FLOP per second over FLOP per byte, both logarithmic. A residual addition and a LayerNorm lie far "
        "down on the slope of the memory's bandwidth. The smaller product of a block lies near the bend at "
        "200 "
        "FLOP a byte; the product of the MLP and attention lie under the level roof of 312 TFLOP/s.",
        paint_operators_roofline}}};
}

const AddLessonView kView{{"05_fusion", pictures, own_roofline}};

}  // namespace
}  // namespace isobar::lesson_05
