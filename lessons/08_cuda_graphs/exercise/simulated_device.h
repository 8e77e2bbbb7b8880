#pragma once
// A device of the checks: does at once what it is asked for, or writes it down, and reports what cannot be.
#include <fmt/format.h>

#include <cmath>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "08_cuda_graphs/exercise/exercise.h"
#include "check/check.h"

namespace isobar::exercise {

class SimulatedDevice final : public GraphDevice {
 public:
  using Names = std::vector<std::string>;

  DeviceMemory allocate(std::size_t values) override {
    refuse("allocate()", "memory that is there before the recording begins");
    expect(values > 0, {"memory of at least one value", "allocate(0)", "what is allocated in renew()"});
    memory_.emplace_back(values, 0.0);
    return {memory_.size() - 1 + kFirst, values};
  }

  void copy(const DeviceMemory& from, const DeviceMemory& to) override {
    expect(from.values == to.values, {"copy() between memories of one size",
                                      fmt::format("{} values to {}", from.values, to.values), "renew()"});
    ask("copy", [this, from, to] { at(to) = at(from); });
  }

  void write(double value, const DeviceMemory& to) override {
    ask("write", [this, value, to] { at(to).front() = value; });
  }

  void begin_recording() override {
    refuse("begin_recording()", "one recording at a time");
    recording_ = true;
    recorded_.clear();
  }

  void end_recording() override {
    expect(recording_, {"begin_recording() before end_recording()", "no recording", "record()"});
    recording_ = false;
    ++recordings_;
  }

  void replay() override {
    refuse("replay()", "the end of record()");
    expect(recordings_ > 0, {"a recording before replay()", "none", "record() and end_recording()"});
    ++replays_;
    for (const Asked& one : recorded_) one.run();
  }

  /// Name of a kernel; its first use sets something up.
  void kernel(const std::string& name, std::function<void()> run) {
    expect(!recording_ || set_up_.count(name) > 0,
           {fmt::format("{} to be launched before it is recorded", name),
            "its first use, which sets libraries up, in the recording", "how many steps are launched first"});
    set_up_.insert(name);
    ask(name, std::move(run));
  }

  /// What only a host does.
  void host(const std::string& name) {
    refuse(name + "()", "what needs a value of a kernel that is only written down: it stays outside");
    asked_.push_back(name);
  }

  std::vector<double>& at(const DeviceMemory& memory) {
    expect(memory.address >= kFirst && memory.address - kFirst < memory_.size(),
           {"memory that was allocated", "other memory", "batch_ and rate_"});
    return memory_[memory.address - kFirst];
  }

  /// What was asked for outside of recordings since the last call of this.
  Names take_asked() { return std::exchange(asked_, {}); }
  Names recorded() const {
    Names out;
    for (const Asked& one : recorded_) out.push_back(one.name);
    return out;
  }
  bool is_recording() const { return recording_; }
  int replays() const { return replays_; }
  std::size_t allocations() const { return memory_.size(); }

 private:
  static constexpr std::size_t kFirst = 100;
  struct Asked {
    std::string name;
    std::function<void()> run;
  };

  void refuse(const std::string& call, const char* look) const {
    expect(!recording_, {"a recording in which nothing but the device takes part",
                         fmt::format("{} while a step is recorded", call), look});
  }

  void ask(const std::string& name, std::function<void()> run) {
    if (recording_) {
      recorded_.push_back({name, std::move(run)});
      return;
    }
    asked_.push_back(name);
    run();
  }

  std::vector<std::vector<double>> memory_;
  std::vector<Asked> recorded_;
  Names asked_;
  std::set<std::string> set_up_;
  bool recording_ = false;
  int recordings_ = 0;
  int replays_ = 0;
};

}  // namespace isobar::exercise
