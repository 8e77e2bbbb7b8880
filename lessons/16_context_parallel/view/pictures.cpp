// Pictures: a block over three ranks, the four ways of attention, and what a window leaves to be sent. Of a
// run, what its rank 0 sends in a step; of choices, bytes by the number of ranks.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "config/load.h"
#include "core/machine.h"
#include "core/text.h"
#include "core/token_shares.h"
#include "draw/chart.h"
#include "formula/context_parallel.h"
#include "plot/bars.h"
#include "plot/lesson_view.h"
#include "sent.h"

namespace isobar::lesson_16 {
namespace {

constexpr std::array<std::size_t, 4> kShareSeries = {1, 6, 2, 4};

Colour share_colour(const Theme& theme, std::size_t rank) {
  return theme.series[kShareSeries.at(rank % kShareSeries.size())];
}

float row_height(const Sketch& sketch, float pixels) {
  return sketch.is_text() ? sketch.px(16) : sketch.px(pixels);
}

// ---- A block over three ranks ----------------------------------------------------------------------------

constexpr std::size_t kLanes = 3;
constexpr std::int64_t kStripTokens = 12;

/// From lane `first` to the end of lane `last`.
struct LaneRow {
  float x = 0, width = 0, gap = 0;
  Box box(std::size_t first, std::size_t last, float top, float high) const {
    const float each = (width - gap * static_cast<float>(kLanes - 1)) / static_cast<float>(kLanes);
    const float x0 = x + static_cast<float>(first) * (each + gap);
    return {x0, top, x + static_cast<float>(last) * (each + gap) + each, top + high};
  }
};

void paint_words_box(Sketch& sketch, const Box& box, Colour colour, const std::string& words) {
  sketch.pale(box, colour);
  sketch.words_in(box, std::array{words}, sketch.theme().text);
}

/// Tokens in a row, in the colours of the ranks that have them.
float paint_strip(Sketch& sketch, const LaneRow& lanes, float y, bool is_cut) {
  const float high = row_height(sketch, 16);
  const auto shares = token_shares(kStripTokens, kLanes);
  const Box whole = lanes.box(0, kLanes - 1, y, high);
  for (std::size_t rank = 0; rank < kLanes; ++rank) {
    const Box lane = lanes.box(rank, rank, y, high);
    const auto count = shares[rank].count;
    for (std::int64_t i = 0; i < count; ++i) {
      const float from = is_cut ? lane.x0 : whole.x0, wide = is_cut ? lane.width() : whole.width();
      const auto all = static_cast<float>(is_cut ? count : kStripTokens);
      const auto at = static_cast<float>(is_cut ? i : shares[rank].begin + i);
      sketch.area({from + wide * at / all, y, from + wide * (at + 1) / all, y + high},
                  share_colour(sketch.theme(), rank));
    }
  }
  return y + high;
}

float paint_lane_boxes(Sketch& sketch, const LaneRow& lanes, float y, const std::string& words) {
  const float high = row_height(sketch, 28);
  for (std::size_t rank = 0; rank < kLanes; ++rank)
    paint_words_box(sketch, lanes.box(rank, rank, y, high), share_colour(sketch.theme(), rank), words);
  return y + high;
}

float paint_wide_box(Sketch& sketch, const LaneRow& lanes, float y, Colour colour, const std::string& words) {
  const float high = row_height(sketch, 30);
  paint_words_box(sketch, lanes.box(0, kLanes - 1, y, high), colour, words);
  return y + high;
}

float paint_block(Sketch& sketch, PlotPoint at, float width) {
  const Theme& theme = sketch.theme();
  const LaneRow lanes{at.x, width, sketch.px(sketch.is_text() ? 16 : 22)};
  const float step = sketch.px(10), more = sketch.px(sketch.is_text() ? 0 : 4);
  const auto arrows = [&](float y) {
    if (sketch.is_text()) return y;  // rows follow one another
    for (std::size_t rank = 0; rank < kLanes; ++rank) {
      const Box lane = lanes.box(rank, rank, y, step);
      const float x = (lane.x0 + lane.x1) / 2;
      sketch.arrow({x, y + sketch.px(1)}, {x, y + step - sketch.px(1)}, theme.dim, 1);
    }
    return y + step;
  };
  float y = paint_wide_box(sketch, lanes, at.y, theme.dim, "patches and positions: all tokens, on each rank");
  y = paint_strip(sketch, lanes, arrows(y), false) + more;
  y = paint_strip(sketch, lanes, arrows(y), true) + more;
  for (std::size_t rank = 0; rank < kLanes; ++rank) {
    const Box lane = lanes.box(rank, rank, y, 1);
    sketch.words({lane.x0, y}, lane.width(), fmt::format("rank {}", rank), {.across = 0.5F});
  }
  y += row_height(sketch, 18);
  y = paint_lane_boxes(sketch, lanes, y, "norm; q, k and v");
  y = paint_wide_box(sketch, lanes, arrows(y), stage_colour(theme, "comm"),
                     "attention: own queries, keys and values of all");
  y = paint_lane_boxes(sketch, lanes, arrows(y), "product, + x");
  y = paint_lane_boxes(sketch, lanes, arrows(y), "norm, MLP, + x");
  y = paint_strip(sketch, lanes, arrows(y), false) + more;
  return paint_wide_box(sketch, lanes, arrows(y), theme.dim, "head: all tokens, on each rank") + sketch.px(6);
}

// ---- Four ways -------------------------------------------------------------------------------------------

constexpr std::int64_t kWayRanks = 4;

struct WayLook {
  const char *words, *held;
  ContextForm way;
};
constexpr std::array<WayLook, 4> kWayLooks = {
    {{"gather", "all at once, and kept for backward", ContextForm::gather},
     {"gather_again", "all at once, twice, and not kept", ContextForm::gather_again},
     {"ring", "one share at a time, three hops", ContextForm::ring},
     {"a2a", "all tokens of a quarter of the heads", ContextForm::a2a}}};

/// Tokens x heads of K and V, in quarters; those that rank 1 has in attention are filled.
void paint_kv(Sketch& sketch, const Box& box, std::size_t first, std::size_t last, bool is_heads,
              Hatch hatch) {
  const Theme& theme = sketch.theme();
  const float high = box.height() / 4, wide = box.width() / 4;
  for (std::size_t share = 0; share < 4; ++share) {
    const auto at = static_cast<float>(share);
    const Box row = {box.x0, box.y0 + high * at, box.x1, box.y0 + high * (at + 1)};
    const Box part = is_heads ? Box{box.x0 + wide, row.y0, box.x0 + 2 * wide, row.y1} : row;
    if (share >= first && share <= last)
      sketch.area(part, share_colour(theme, share), share == 1 ? Hatch::none : hatch);
  }
  sketch.canvas().frame(box, theme.dim);
}

float paint_way(Sketch& sketch, const WayLook& look, PlotPoint at, float width) {
  const Theme& theme = sketch.theme();
  at.y = sketch.words(at, width, look.words, {.face = Face::bold});
  at.y = sketch.words(at, width, look.held, {.colour = theme.dim}) + sketch.px(4);
  const float high = sketch.px(64);
  const bool is_ring = look.way == ContextForm::ring, is_again = look.way == ContextForm::gather_again;
  const std::size_t charts = is_ring ? 4 : is_again ? 2 : 1;
  const float gap = sketch.px(16), wide = std::min(sketch.px(is_ring ? 26 : 64), width / 4 - gap);
  for (std::size_t i = 0; i < charts; ++i) {
    const float x = at.x + static_cast<float>(i) * (wide + gap);
    const Box box = {x, at.y, x + wide, at.y + high};
    const std::size_t share = (1 + 4 - i) % 4;  // what comes to rank 1 after i hops
    paint_kv(sketch, box, is_ring ? share : 0, is_ring ? share : 3, look.way == ContextForm::a2a,
             Hatch::rising);
    if (i + 1 < charts)
      sketch.arrow({box.x1 + sketch.px(2), at.y + high / 2}, {box.x1 + gap - sketch.px(2), at.y + high / 2},
                   theme.text, 1);
  }
  return at.y + high + sketch.px(12);
}

float paint_ways(Sketch& sketch, PlotPoint at, float width) {
  const Theme& theme = sketch.theme();
  const auto pair = [&](std::size_t one, std::size_t other) {
    const auto way = [&](std::size_t i) {
      return [&, i](PlotPoint from, float wide) { return paint_way(sketch, kWayLooks[i], from, wide); };
    };
    at.y = paint_pair(sketch, at, width, 420, way(one), way(other));
  };
  pair(0, 1);
  pair(2, 3);
  std::vector<LegendEntry> legend;
  for (std::size_t rank = 0; rank < 4; ++rank)
    legend.push_back({fmt::format("tokens of rank {}", rank), share_colour(theme, rank),
                      rank == 1 ? Hatch::none : Hatch::rising});
  at.y = sketch.legend(at, width, legend);
  at.y = sketch.words(at, width,
                      "Keys and values on rank 1 while it attends: tokens downwards, heads across. Hatched: "
                      "from other ranks.",
                      {.colour = theme.dim}) +
         sketch.px(10);
  at.y = sketch.words(at, width, "Bytes that a rank sends in a block, forward and backward, in R E v:") +
         sketch.px(2);
  const VitShape shape{.height = 4, .width = 1, .patch = 1, .embed = 1, .depth = 1, .heads = 4};
  std::vector<IntervalBar> bars;
  for (const WayLook& look : kWayLooks) {
    const ContextParallelForm form{.cp = kWayRanks, .way = look.way, .value_bytes = 1, .gradient_bytes = 1};
    const double sent = context_block_traffic(shape, form, 1).bytes() / static_cast<double>(shape.tokens());
    bars.push_back({look.words, Spread({sent}), fmt::format("{:g}", sent)});
  }
  return paint_interval_bars(sketch, bars, at, width);
}

// ---- A window --------------------------------------------------------------------------------------------

constexpr int kHaloTokens = 32, kHaloWindow = 3;

/// Queries downwards, keys across; `window` = 0: all of them.
float paint_attended(Sketch& sketch, const std::string& title, int window, PlotPoint at, float width) {
  const Theme& theme = sketch.theme();
  at.y = sketch.words(at, width, title, {.face = Face::bold}) + sketch.px(4);
  const float side = std::min(width, sketch.px(220)), high = sketch.is_text() ? side / 2 : side;
  const float wide_cell = side / kHaloTokens, high_cell = high / kHaloTokens;
  const auto shares = token_shares(kHaloTokens, kWayRanks);
  const auto stretch = [&](int row, std::int64_t from, std::int64_t to, Colour colour) {
    if (to <= from) return;
    const float y = at.y + high_cell * static_cast<float>(row);
    sketch.canvas().fill({at.x + wide_cell * static_cast<float>(from), y,
                          at.x + wide_cell * static_cast<float>(to), y + high_cell + sketch.px(0.3F)},
                         colour);
  };
  for (int row = 0; row < kHaloTokens; ++row) {
    const std::int64_t from = window == 0 ? 0 : std::max(0, row - window);
    const std::int64_t to = window == 0 ? kHaloTokens : std::min(kHaloTokens, row + window + 1);
    const auto own = *std::ranges::find_if(
        shares, [&](const TokenShare& share) { return row < share.begin + share.count; });
    const bool is_shown = own == shares[1];
    stretch(row, from, to, mixed(theme.panel, theme.dim, 0.35F));
    if (!is_shown) continue;
    stretch(row, from, to, theme.bad);
    stretch(row, std::max(from, own.begin), std::min(to, own.begin + own.count), share_colour(theme, 1));
  }
  for (const TokenShare& share : shares) {
    if (share.begin == 0) continue;
    const auto part = static_cast<float>(share.begin) / kHaloTokens;
    sketch.line({at.x, at.y + high * part}, {at.x + side, at.y + high * part}, theme.text, 1, Dash::dotted);
    sketch.line({at.x + side * part, at.y}, {at.x + side * part, at.y + high}, theme.text, 1, Dash::dotted);
  }
  paint_outline(sketch.canvas(), {at.x, at.y, at.x + side, at.y + high}, theme.dim, sketch.px(1));
  return at.y + high + sketch.px(12);
}

float paint_halo(Sketch& sketch, PlotPoint at, float width) {
  const Theme& theme = sketch.theme();
  const auto full = [&](PlotPoint from, float wide) {
    return paint_attended(sketch, "All tokens", 0, from, wide);
  };
  const auto window = [&](PlotPoint from, float wide) {
    return paint_attended(sketch, "A window", kHaloWindow, from, wide);
  };
  at.y = paint_pair(sketch, at, width, 420, full, window);
  at.y =
      sketch.legend(at, width,
                    std::array{LegendEntry{"queries and keys of rank 1", share_colour(theme, 1)},
                               LegendEntry{"its queries, keys of other ranks", theme.bad},
                               LegendEntry{"queries of other ranks", mixed(theme.panel, theme.dim, 0.35F)}});
  return sketch.words(at, width,
                      "Queries downwards, keys across; dotted: where four ranks are cut. Empty: does not "
                      "attend.",
                      {.colour = theme.dim});
}

// ---- Choices ---------------------------------------------------------------------------------------------

std::vector<LessonPicture> pictures() {
  return {{"idea",
           {"One block on three ranks", "schematic",
            "Three lanes, one for each rank, with a block of a transformer. Above, patches and positions of "
            "all tokens; below them the strip of tokens is cut in three. Norms, products and MLP lie within "
            "each lane. Attention is the only box that reaches over all lanes. Below, the strip is whole "
            "again in front of the head.",
            paint_block}},
          {"ways",
           {"Four ways to the keys and values of others", "four ranks that share the tokens equally",
            "Four small charts for four ranks, of keys and values on rank 1. Gather: those of all others at "
            "once, which stay. Gather again: the same twice, and nothing is kept. Ring: one share of tokens "
            "at a time, three hops. All-to-all: all tokens of a quarter of the heads. Bars below: 3, 4.5, "
            "4.5 and 1.5 times R E v are sent in a block.",
            paint_ways}},
          {"halo",
           {"Who attends to whom", "schematic: four ranks share the tokens of a sample",
            "Two squares, queries downwards and keys across, each cut in four ranks. Left, all tokens: the "
            "rows of rank 1 are full, and three quarters of them are keys of other ranks. Right, a window: a "
            "narrow band along the diagonal, and only two small corners of the rows of rank 1 lie in the "
            "columns of its neighbours.",
            paint_halo}}};
}

const AddLessonView kView{{"16_context_parallel", pictures, own_sent, {}, runs_together}};

}  // namespace
}  // namespace isobar::lesson_16
