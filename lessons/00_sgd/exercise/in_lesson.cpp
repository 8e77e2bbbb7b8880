// ./isobar run 00_sgd --mine: ranks broadcast and average with the learner's share_start and average. With a
// fault, or another comm.sync, what is sent is the engine's.
#include "00_sgd/exercise/part.h"
#include "check/own_part.h"
#include "running/run_ranks.h"

using namespace isobar;

namespace {

class GroupOfRing final : public exercise::RankGroup {
 public:
  explicit GroupOfRing(RingGroup& group) : group_(group) {}
  int rank() const override { return group_.rank(); }
  int size() const override { return group_.size(); }
  void sum(std::span<double> values) override { group_.sum(values); }
  void broadcast(std::span<double> values, int root) override { group_.broadcast(values, root); }

 private:
  RingGroup& group_;
};

void change(std::span<double> values, RingGroup& ring, void (*with)(exercise::RankGroup&, Line&)) {
  GroupOfRing group(ring);
  Line line = {values[0], values[1]};
  with(group, line);
  values[0] = line.slope;
  values[1] = line.intercept;
}

const PluggedIn start(seams::broadcast, [](RingGroup& group, std::span<double> values) {
  change(values, group, own_part_as<exercise::Part>().share_start);
});
const PluggedIn mean(seams::average, [](RingGroup& group, std::span<double> values) {
  change(values, group, own_part_as<exercise::Part>().average);
});

}  // namespace
