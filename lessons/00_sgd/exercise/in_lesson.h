#pragma once
// Read before main.cpp by ./isobar run 00_sgd --mine: its ranks broadcast and average with your share_start
// and average. The update, the meeting of the ranks and what they record are the page's.
#include <span>
#include <string>
#include <vector>

#include "00_sgd/exercise/part.h"
#include "check/own_part.h"
#include "running/standalone_run.h"

namespace isobar {

class YourGroup final : public exercise::RankGroup {
 public:
  explicit YourGroup(RingGroup& group) : group_(group) {}
  int rank() const override { return group_.rank(); }
  int size() const override { return group_.size(); }
  void sum(std::span<double> values) override { group_.sum(values); }
  void broadcast(std::span<double> values, int root) override { group_.broadcast(values, root); }

 private:
  RingGroup& group_;
};

/// Stands where the page has RunRanks. With a fault, or another comm.sync, what is sent is ours.
class YourRanks {
 public:
  YourRanks(RunRanks& ranks, const CommConfig& config)
      : ranks_(ranks), config_(config), group_(ranks.group()) {}
  int rank() const { return ranks_.rank(); }
  int size() const { return ranks_.size(); }

  void broadcast(std::span<double, 2> values) {
    config_.broadcasts_start ? change(values, part_.share_start) : ranks_.broadcast(values);
  }
  void average(std::span<double, 2> values) {
    const bool ours = config_.sync == SyncKind::none || !config_.divides;
    ours ? ranks_.average(values) : change(values, part_.average);
  }

 private:
  void change(std::span<double, 2> values, void (*with)(exercise::RankGroup& group, Line& line)) {
    Line line = {values[0], values[1]};
    with(group_, line);
    values[0] = line.slope;
    values[1] = line.intercept;
  }

  const exercise::Part& part_ = own_part_as<exercise::Part>();
  RunRanks& ranks_;
  CommConfig config_;
  YourGroup group_;
};

/// A run whose page gets these ranks.
class YourRun {
 public:
  explicit YourRun(StandaloneRun& run) : run_(run), ranks_(run.ranks(), run.config().comm) {}
  const Config& config() const { return run_.config(); }
  YourRanks& ranks() { return ranks_; }
  void announce(const std::vector<std::string>& lines) { run_.announce(lines); }
  void note(const std::string& text, const std::vector<std::pair<const char*, double>>& figures) {
    run_.note(text, figures);
  }
  void say(const std::vector<std::string>& lines) { run_.say(lines); }
  bool goes_on() const { return run_.goes_on(); }
  StandaloneStep begin_step() { return run_.begin_step(); }

 private:
  StandaloneRun& run_;
  YourRanks ranks_;
};

inline int run_with_your_part(const std::string& lesson, int argc, char** argv, void (*page)(YourRun&)) {
  static void (*its_page)(YourRun&);
  its_page = page;
  return run_standalone(lesson, argc, argv, [](StandaloneRun& run) {
    YourRun yours(run);
    its_page(yours);
  });
}

}  // namespace isobar

#define RunRanks YourRanks
#define StandaloneRun YourRun
#define run_standalone run_with_your_part
