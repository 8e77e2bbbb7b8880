#include "pipeline/orders.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "core/error.h"
#include "core/text.h"

namespace isobar {
namespace {

using Row = std::vector<PipelineAction>;

Row gpipe_order(int rank, int parts) {
  Row row;
  for (int part = 0; part < parts; ++part) row.push_back({rank, PipelineWork::forward, part});
  for (int part = 0; part < parts; ++part) row.push_back({rank, PipelineWork::backward, part});
  return row;
}

/// `ahead` forward passes, then one and one in turn, then the backward passes that are left.
Row in_turn(int count, int ahead, const std::function<PipelineAction(int)>& forward,
            const std::function<void(Row&, int)>& add_backward) {
  Row row;
  ahead = std::min(ahead, count);
  for (int next = 0; next < ahead; ++next) row.push_back(forward(next));
  for (int next = ahead; next < count; ++next) {
    row.push_back(forward(next));
    add_backward(row, next - ahead);
  }
  for (int next = count - ahead; next < count; ++next) add_backward(row, next);
  return row;
}

Row one_f_one_b_order(int rank, int ranks, int parts) {
  return in_turn(
      parts, ranks - rank - 1,
      [&](int part) {
        return PipelineAction{rank, PipelineWork::forward, part};
      },
      [&](Row& row, int part) {
        row.push_back({rank, PipelineWork::backward, part});
      });
}

/// Micro-batches go by rounds of `ranks`: each through all stages of a rank before the next round begins.
Row interleaved_order(int rank, int ranks, int chunks, int parts) {
  const auto part_of = [=](int next) { return next / (ranks * chunks) * ranks + next % ranks; };
  const auto chunk_of = [=](int next) { return next / ranks % chunks; };
  return in_turn(
      chunks * parts, 2 * (ranks - rank - 1) + (chunks - 1) * ranks,
      [&](int next) {
        return PipelineAction{chunk_of(next) * ranks + rank, PipelineWork::forward, part_of(next)};
      },
      [&](Row& row, int next) {
        row.push_back({(chunks - 1 - chunk_of(next)) * ranks + rank, PipelineWork::backward, part_of(next)});
      });
}

/// Rank i puts W off by i micro-batches: it then keeps p of them as the first rank of 1f1b does, and what is
/// put off fills the end, where 1f1b waits for gradients.
Row zb_h1_order(int rank, int ranks, int parts) {
  Row row = in_turn(
      parts, ranks - rank - 1,
      [&](int part) {
        return PipelineAction{rank, PipelineWork::forward, part};
      },
      [&](Row& out, int part) {
        out.push_back({rank, PipelineWork::input, part});
        if (part >= rank) out.push_back({rank, PipelineWork::weight, part - rank});
      });
  for (int part = std::max(0, parts - rank); part < parts; ++part)
    row.push_back({rank, PipelineWork::weight, part});
  return row;
}

/// One rank's row of zb_v as it grows: each work of a stage takes its micro-batches in order.
class RowOfV {
 public:
  RowOfV(int rank, int ranks) : stages_{rank, 2 * ranks - 1 - rank} {}

  void add(int side, PipelineWork work) {
    row_.push_back({stages_[side], work, done_[side][static_cast<std::size_t>(work)]++});
  }
  void add_both(int side) {
    add(side, PipelineWork::input);
    add(side, PipelineWork::weight);
  }
  int done(int side, PipelineWork work) const { return done_[side][static_cast<std::size_t>(work)]; }
  Row of_parts(int parts) && {
    std::erase_if(row_, [&](const PipelineAction& action) { return action.part >= parts; });
    return std::move(row_);
  }

 private:
  int stages_[2];
  int done_[2][4] = {};
  Row row_ = {};
};

/// Side 0 goes forth, side 1 comes back. The pattern takes 2 p - 1 micro-batches; of fewer, cells are left
/// out.
Row zb_v_order(int rank, int ranks, int parts) {
  RowOfV row(rank, ranks);
  const int count = std::max(2 * ranks - 1, parts);
  const auto times = [](int number, const auto& body) {
    for (int next = 0; next < number; ++next) body();
  };
  times(2 * (ranks - rank) - 1, [&] { row.add(0, PipelineWork::forward); });
  times(rank, [&] {
    row.add(1, PipelineWork::forward);
    row.add(0, PipelineWork::forward);
  });
  times(ranks - rank, [&] {
    row.add(1, PipelineWork::forward);
    row.add_both(1);
  });
  while (row.done(1, PipelineWork::forward) < count) {
    if (row.done(0, PipelineWork::forward) < count) row.add(0, PipelineWork::forward);
    row.add_both(0);
    row.add(1, PipelineWork::forward);
    row.add_both(1);
  }
  times(rank, [&] {
    row.add(0, PipelineWork::input);
    row.add(1, PipelineWork::input);
  });
  times(ranks - rank, [&] { row.add_both(0); });
  for (const int side : {1, 0})
    times(count - row.done(side, PipelineWork::weight), [&] { row.add(side, PipelineWork::weight); });
  return std::move(row).of_parts(parts);
}

void require_form(PipelineForm form, int ranks, int chunks, int parts) {
  if (ranks < 1 || chunks < 1 || parts < 1)
    throw Error(fmt::format("a schedule of {}, {} each and {}", counted(ranks, "rank"),
                            counted(chunks, "stage"), counted(parts, "micro-batch")),
                "", "at least one of each");
  if (form == PipelineForm::file) throw Error("the schedule of a file is read, not made", "", "");
  if (form == PipelineForm::interleaved) {
    if (chunks < 2) throw Error("interleaved takes at least two stages a rank", "", "mesh.chunks=2");
    if (parts % ranks != 0)
      throw Error(
          fmt::format("interleaved takes micro-batches by rounds of {}, and there are {}", ranks, parts), "",
          "a multiple");
    return;
  }
  const int wanted = form == PipelineForm::zb_v ? 2 : 1;
  if (chunks != wanted)
    throw Error(fmt::format("{} takes {} a rank, not {}", name_of(form), counted(wanted, "stage"), chunks),
                "", fmt::format("mesh.chunks={}", wanted));
}

}  // namespace

std::vector<PipelineAction> order_of(PipelineForm form, int rank, int ranks, int chunks, int parts) {
  switch (form) {
    case PipelineForm::gpipe:
      return gpipe_order(rank, parts);
    case PipelineForm::one_f_one_b:
      return one_f_one_b_order(rank, ranks, parts);
    case PipelineForm::interleaved:
      return interleaved_order(rank, ranks, chunks, parts);
    case PipelineForm::zb_h1:
      return zb_h1_order(rank, ranks, parts);
    case PipelineForm::zb_v:
      return zb_v_order(rank, ranks, parts);
    case PipelineForm::file:
      break;
  }
  return {};
}

PipelineSchedule make_schedule(PipelineForm form, int ranks, int stages_a_rank, int parts) {
  require_form(form, ranks, stages_a_rank, parts);
  PipelineSchedule out;
  out.stages = ranks * stages_a_rank;
  out.parts = parts;
  for (int stage = 0; stage < out.stages; ++stage) {
    const bool comes_back = form == PipelineForm::zb_v && stage >= ranks;
    out.rank_of_stage.push_back(comes_back ? 2 * ranks - 1 - stage : stage % ranks);
  }
  for (int rank = 0; rank < ranks; ++rank)
    out.ranks.push_back(seams::order_of(form, rank, ranks, stages_a_rank, parts));
  return out;
}

}  // namespace isobar
