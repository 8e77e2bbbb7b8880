// Pictures: the model, and what a step of it keeps in memory; and what a step of a run took and kept.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "core/text.h"
#include "formula/vit_memory.h"
#include "plot/bars.h"
#include "plot/lesson_view.h"

namespace isobar::lesson_01 {
namespace {

constexpr float kPanelHeight = 128;
constexpr int kShownTokens = 5;

/// Fields behind each other, the first cut into patches.
void paint_fields(Sketch& sketch, const Box& box, const char* words) {
  const Theme& theme = sketch.theme();
  const float w = std::min(box.width() - sketch.px(16), sketch.px(124)), h = w * 0.6F;
  const float x = box.x0 + (box.width() - w - sketch.px(12)) / 2,
              y = box.y0 + (box.height() - h - sketch.px(28)) / 2 + sketch.px(12);
  for (int sheet = 2; sheet >= 0; --sheet) {
    const float off = sketch.px(6) * static_cast<float>(sheet);
    sketch.pale({x + off, y - off, x + off + w, y - off + h}, theme.series[0]);
  }
  constexpr int kColumns = 6, kRows = 4;
  for (int i = 1; i < kColumns; ++i)
    sketch.line({x + w * static_cast<float>(i) / kColumns, y},
                {x + w * static_cast<float>(i) / kColumns, y + h}, theme.series[0]);
  for (int i = 1; i < kRows; ++i)
    sketch.line({x, y + h * static_cast<float>(i) / kRows}, {x + w, y + h * static_cast<float>(i) / kRows},
                theme.series[0]);
  sketch.area({x + w / kColumns, y + h / kRows, x + 2 * w / kColumns, y + 2 * h / kRows}, theme.series[4],
              Hatch::none);
  sketch.words({box.x0, y + h + sketch.px(8)}, box.width(), words, {.colour = theme.dim, .across = 0.5F});
}

float token_y(const Box& box, int i) {
  return box.y0 + box.height() * (static_cast<float>(i) + 0.5F) / kShownTokens;
}

void paint_tokens(Sketch& sketch, const Box& box) {
  const Theme& theme = sketch.theme();
  const Box rows = {box.x0 + sketch.px(14), box.y0, box.x1 - sketch.px(14), box.y1 - sketch.px(24)};
  for (int i = 0; i < kShownTokens; ++i) {
    const float y = token_y(rows, i), half = sketch.px(6);
    const Box token = {rows.x0, y - half, rows.x1, y + half};
    if (i == 1)
      sketch.area(token, theme.series[4]);
    else
      sketch.pale(token, theme.series[0]);
    for (int k = 1; k < 8; ++k) {
      const float x = rows.x0 + rows.width() * static_cast<float>(k) / 8;
      sketch.line({x, y - half}, {x, y + half}, i == 1 ? theme.panel : theme.series[0]);
    }
  }
  sketch.words({box.x0, box.y1 - sketch.px(18)}, box.width(), "N tokens of E values",
               {.colour = theme.dim, .across = 0.5F});
}

/// Tokens before and after, and who looks at whom.
void paint_mixing(Sketch& sketch, const Box& box, const char* words, bool all) {
  const Theme& theme = sketch.theme();
  sketch.pale(box, theme.dim);
  const Box rows = {box.x0, box.y0 + sketch.px(18), box.x1, box.y1 - sketch.px(4)};
  sketch.words({box.x0, box.y0 + sketch.px(2)}, box.width(), words, {.across = 0.5F});
  const float left = box.x0 + sketch.px(12), right = box.x1 - sketch.px(12);
  for (int i = 0; i < kShownTokens; ++i) {
    for (int k = 0; k < kShownTokens; ++k) {
      if (!all && i != k) continue;
      const bool strong = k == 1;
      sketch.line({left, token_y(rows, i)}, {right, token_y(rows, k)},
                  strong ? theme.series[4] : with_alpha(theme.dim, 0.5F), strong ? 1.5F : 1);
    }
  }
  for (int i = 0; i < kShownTokens; ++i) {
    const Colour colour = i == 1 ? theme.series[4] : theme.series[0];
    sketch.canvas().circle({left, token_y(rows, i)}, sketch.px(3.5F), colour, true);
    sketch.canvas().circle({right, token_y(rows, i)}, sketch.px(3.5F), colour, true);
  }
}

void paint_block(Sketch& sketch, const Box& box) {
  const float middle = (box.x0 + box.x1) / 2, gap = sketch.px(9), bottom = box.y1 - sketch.px(24);
  paint_mixing(sketch, {box.x0, box.y0, middle - gap, bottom}, "attention", true);
  sketch.arrow({middle - gap, (box.y0 + bottom) / 2}, {middle + gap, (box.y0 + bottom) / 2},
               sketch.theme().text);
  paint_mixing(sketch, {middle + gap, box.y0, box.x1, bottom}, "MLP", false);
  sketch.words({box.x0, box.y1 - sketch.px(18)}, box.width(), "D such blocks",
               {.colour = sketch.theme().dim, .across = 0.5F});
}

struct ModelPart {
  std::string words;
  void (*paint)(Sketch&, const Box&);
};

const std::array<ModelPart, 4>& model_parts() {
  static const std::array<ModelPart, 4> kParts = {{
      {"1. Patches. The state of the weather, C fields of H x W values, is cut into patches of P x P.",
       [](Sketch& sketch, const Box& box) { paint_fields(sketch, box, "C x H x W"); }},
      {"2. Tokens. A linear layer makes a row of E values of each patch; its position is added.",
       paint_tokens},
      {"3. Blocks. In attention each token looks at all others; in the MLP each is by itself. Both add to "
       "what came in.",
       paint_block},
      {"4. Un-patching. A linear layer makes the patch of all C fields of each token: the forecast.",
       [](Sketch& sketch, const Box& box) { paint_fields(sketch, box, "C x H x W"); }},
  }};
  return kParts;
}

float paint_transformer(Sketch& sketch, PlotPoint at, float width) {
  const auto& parts = model_parts();
  const std::size_t columns = width >= sketch.px(660) ? 4 : 2;
  const float gap = sketch.px(26);
  const float wide = (width - gap * static_cast<float>(columns - 1)) / static_cast<float>(columns);
  float bottom = at.y;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::size_t column = i % columns;
    if (column == 0 && i > 0) at.y = bottom + sketch.px(14);
    const float x = at.x + static_cast<float>(column) * (wide + gap), y = at.y + sketch.px(kPanelHeight);
    parts[i].paint(sketch, {x, at.y, x + wide, y});
    if (column + 1 < columns) {
      const float middle = at.y + sketch.px(kPanelHeight - 24) / 2;
      sketch.arrow({x + wide + sketch.px(4), middle}, {x + wide + gap - sketch.px(4), middle},
                   sketch.theme().text, 2);
    }
    bottom = std::max(bottom, sketch.words({x, y + sketch.px(4)}, wide, parts[i].words));
  }
  const VitShape& tiny = kTinyShape;
  const std::string sizes = fmt::format(
      "In cpu_tiny C = {}, H x W = {} x {}, P = {}, so that N = (H/P)(W/P) = {}; E = {} and D = {}. In base "
      "H x W = {} x {}, N = {}, E = {} and D = {}.",
      tiny.channels, tiny.height, tiny.width, tiny.patch, tiny.tokens(), tiny.embed, tiny.depth,
      kBaseShape.height, kBaseShape.width, kBaseShape.tokens(), kBaseShape.embed, kBaseShape.depth);
  return sketch.words({at.x, bottom + sketch.px(12)}, width, sizes, {.colour = sketch.theme().dim});
}

StackedBar step_memory_bar(const Theme& theme, const std::string& title, const VitShape& shape,
                           std::int64_t batch) {
  const TrainingBytes bytes = count_training_bytes(shape, {.batch = batch});
  const auto batch_bytes =
      2 * sizeof(float) * static_cast<std::uint64_t>(batch * shape.channels * shape.height * shape.width);
  static const std::map<std::string, const char*> kWords = {{"moments", "the two moments of Adam"},
                                                            {"activations", "activations, kept for backward"},
                                                            {"working", "what backward works with"},
                                                            {"batches", "the batch"}};
  const auto bytes_of = [](auto value) { return static_cast<std::uint64_t>(value); };
  StackedBar out = memory_bar(theme, fmt::format("{}, {} samples", title, batch),
                              {{"weights", bytes_of(bytes.weights)},
                               {"gradients", bytes_of(bytes.gradients)},
                               {"moments", bytes_of(bytes.moments)},
                               {"activations", bytes_of(bytes.activations)},
                               {"working", bytes_of(bytes.working)},
                               {"batches", batch_bytes}});
  for (StackPart& part : out.parts) {
    if (const auto words = kWords.find(part.name); words != kWords.end()) part.name = words->second;
  }
  return out;
}

float paint_memory(Sketch& sketch, PlotPoint at, float width) {
  const auto bar = [&](const char* title, const VitShape& shape, std::int64_t batch) {
    return [&sketch, bar = step_memory_bar(sketch.theme(), title, shape, batch)](
               PlotPoint place, float wide) { return paint_stacked_bar(sketch, bar, place, wide); };
  };
  return paint_pair(sketch, at, width, 660, bar("cpu_tiny", kTinyShape, kTinyBatch),
                    bar("base", kBaseShape, kBaseBatch));
}

StackedBar own_step_bar(const Theme& theme, const RunSummary& summary) {
  StackedBar out;
  out.title = "Time of a step, mean of the steady ones";
  out.total = fmt::format("{:.2f} ms", summary.step_us * 1e-3);
  out.axis = "time in ms";
  out.unit = 1e3;
  double rest = summary.step_us;
  for (const auto& [stage, us] : summary.stages_us) {
    out.parts.push_back(stage_part(theme, stage, us));
    rest -= us;
  }
  out.parts.push_back(stage_part(theme, "rest", std::max(0.0, rest)));
  return out;
}

StackedBar own_memory_bar(const Theme& theme, const RunView& view) {
  const std::uint64_t peak = view.summary.peak_bytes;
  StackedBar out =
      memory_bar(theme, "Memory at its peak, by formula", view.memory, static_cast<double>(peak));
  out.mark = static_cast<double>(peak);
  if (peak > 0) out.mark_words = "upright line: the peak as it was, " + human_bytes(peak);
  return out;
}

OwnPicture own_step_and_memory(const OwnRun& run) {
  const RunView view = run.view();
  if (!(view.summary.step_us > 0) || view.summary.stages_us.empty())
    return nothing_to_draw("no stages of steady steps are known",
                           "let it run on beyond its warm-up, then ask again");
  const std::string alt =
      fmt::format("Two stacked bars: a step of {:.1f} ms by stage, and the memory of a rank by category.",
                  view.summary.step_us * 1e-3);
  const auto body = [view](Sketch& sketch, PlotPoint at, float width) {
    at.y = paint_stacked_bar(sketch, own_step_bar(sketch.theme(), view.summary), at, width);
    if (view.memory.empty()) return at.y;
    return paint_stacked_bar(sketch, own_memory_bar(sketch.theme(), view), {at.x, at.y + sketch.px(18)},
                             width);
  };
  return {{"A step of this run, and its memory", run.note, alt, body}};
}

std::vector<LessonPicture> pictures() {
  return {
      {"idea",
       {"From one state of the weather to the next: a vision transformer", "",
        "Four stations from left to right. Fields of the weather are cut into patches. Each patch becomes a "
        "token, a row of E values. In each of D blocks attention lets every token look at all others, and an "
        "MLP then works on each token by itself. At the end each token becomes its patch of the forecast.",
        paint_transformer}},
      {"memory",
       {"What a step keeps in memory",
        "by formula, fp32; what the program and its libraries take is left out",
        "Two stacked bars of memory by category. In cpu_tiny weights, gradients and moments of Adam take "
        "about as much as activations. In base, which has more tokens, nearly all is activations.",
        paint_memory}}};
}

const AddLessonView kView{{"01_baseline", pictures, own_step_and_memory}};

}  // namespace
}  // namespace isobar::lesson_01
