#include "ring/ring_plan.h"

#include <algorithm>

namespace isobar {
namespace {

int around(int chunk, int size) { return ((chunk % size) + size) % size; }

/// Reducing moves: chunk first, first - 1, ... pass this rank; the last sum stays with it.
void add_reducing(std::vector<RingAction>& out, int first, int size) {
  out.push_back({.chunk = around(first, size), .receives_step = -1, .sends_step = 0});
  for (int o = 1; o < size; ++o) {
    out.push_back({.chunk = around(first - o, size),
                   .receives_step = o - 1,
                   .sends_step = o < size - 1 ? o : -1,
                   .adds = true,
                   .is_last_sum = o == size - 1,
                   .keeps = o == size - 1});
  }
}

/// Spreading moves: chunk first is here, first - 1, ... arrive and are passed on.
void add_spreading(std::vector<RingAction>& out, int first, int size, int step) {
  for (int o = 1; o < size; ++o) {
    out.push_back({.chunk = around(first - o, size),
                   .receives_step = step + o - 1,
                   .sends_step = o < size - 1 ? step + o : -1,
                   .keeps = true});
  }
}

}  // namespace

std::vector<RingAction> ring_actions(RingKind kind, int rank, int size, int root) {
  std::vector<RingAction> out;
  switch (kind) {
    case RingKind::all_reduce:
      add_reducing(out, rank, size);
      out.back().sends_step = size - 1;
      add_spreading(out, rank + 1, size, size - 1);
      break;
    case RingKind::reduce_scatter:
      add_reducing(out, rank - 1, size);
      break;
    case RingKind::all_gather:
      out.push_back({.chunk = rank, .receives_step = -1, .sends_step = 0, .keeps = true});
      add_spreading(out, rank, size, 0);
      break;
    case RingKind::broadcast: {
      const int place = around(rank - root, size);
      out.push_back({.chunk = 0,
                     .receives_step = place > 0 ? 0 : -1,
                     .sends_step = place < size - 1 ? 0 : -1,
                     .keeps = place > 0});
      break;
    }
    case RingKind::all_to_all:
      break;
  }
  return out;
}

std::vector<CollectiveStep> ring_steps(const std::vector<RingAction>& actions, int size) {
  std::vector<CollectiveStep> out;
  const auto at = [&](int index) -> CollectiveStep& {
    if (static_cast<std::size_t>(index) >= out.size()) out.resize(static_cast<std::size_t>(index) + 1);
    return out[static_cast<std::size_t>(index)];
  };
  const bool reduces = std::any_of(actions.begin(), actions.end(), [](const auto& a) { return a.adds; });
  for (const RingAction& action : actions) {
    if (action.sends_step >= 0) at(action.sends_step).sent_chunk = action.chunk;
    if (action.receives_step >= 0) at(action.receives_step).received_chunk = action.chunk;
  }
  for (int index = 0; index < static_cast<int>(out.size()); ++index) {
    const bool spreads = !reduces || index >= size - 1;
    at(index).phase = spreads ? CollectivePhase::spread : CollectivePhase::reduce;
    at(index).step = reduces && spreads ? index - (size - 1) : index;
  }
  return out;
}

RingCut::Range RingCut::chunk(int index) const {
  const std::int64_t begin = elements * index / chunks;
  return {.begin = begin, .count = elements * (index + 1) / chunks - begin};
}

RingCut::Range RingCut::piece_of(int index, std::int64_t piece_index) const {
  const Range whole = chunk(index);
  const std::int64_t from = std::min(whole.count, piece_index * piece);
  return {.begin = whole.begin + from, .count = std::min(piece, whole.count - from)};
}

RingCut cut_ring(std::int64_t elements, int chunks, std::size_t element_bytes, std::size_t most_bytes) {
  constexpr std::int64_t kLeastBytes = 16 << 10;  // below it a message costs more than its bytes
  constexpr std::int64_t kPieces = 4;             // so that all ranks have something to do
  RingCut cut{.elements = elements, .chunks = chunks};
  const std::int64_t longest = (elements + chunks - 1) / chunks;
  const auto size = static_cast<std::int64_t>(element_bytes);
  const std::int64_t wanted =
      std::clamp<std::int64_t>(longest * size / kPieces, kLeastBytes, static_cast<std::int64_t>(most_bytes));
  cut.piece = std::max<std::int64_t>(1, wanted / size);
  cut.pieces = (longest + cut.piece - 1) / cut.piece;
  return cut;
}

}  // namespace isobar
