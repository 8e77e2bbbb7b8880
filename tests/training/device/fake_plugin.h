#pragma once
// A plugin for tests on machines without a GPU: its facts are given, and its device is a clock that a test
// moves.
#include <deque>
#include <string>
#include <vector>

#include "device/cuda_plugin.h"

namespace isobar {

class FakePlugin : public CudaPlugin {
 public:
  explicit FakePlugin(CudaFacts facts = {}) : facts_(std::move(facts)) {}

  /// Work of so many microseconds is asked of the device.
  void launch(double us) const { asked_us_ += us; }
  /// The device does so much of what was asked of it.
  void work(double us) const { done_us_ = done_us_ + us < asked_us_ ? done_us_ + us : asked_us_; }
  std::size_t events_made() const { return at_us_.size(); }
  std::size_t waits() const { return waits_; }
  /// Names of ranges as they were opened, "-" where one was closed, "profile" and "stop".
  const std::vector<std::string>& ranges() const { return ranges_; }

  CudaFacts facts() const override { return facts_; }
  CUstream_st* current_stream(int) const override { return nullptr; }
  CUevent_st* create_event() const override {
    at_us_.push_back(-1);
    return reinterpret_cast<CUevent_st*>(&at_us_.back());
  }
  void destroy_event(CUevent_st*) const noexcept override {}
  void record_event(CUevent_st* event, CUstream_st*) const override { place(event) = asked_us_; }
  bool event_passed(CUevent_st* event) const override { return place(event) <= done_us_; }
  void wait_for_event(CUevent_st* event) const override {
    if (place(event) > done_us_) {
      ++waits_;
      done_us_ = place(event);
    }
  }
  void make_stream_wait(CUstream_st*, CUevent_st*) const override {}
  double elapsed_us(CUevent_st* begin, CUevent_st* end) const override { return place(end) - place(begin); }
  void* allocate_pinned(std::size_t) const override { return nullptr; }
  void free_pinned(void*) const noexcept override {}
  FreeAndTotal memory_now(int) const override { return {}; }
  void watch_allocations(AllocationWatch& watch) const override { watch_ = &watch; }
  /// Who hears of blocks; null = nobody asked to.
  AllocationWatch* allocation_watch() const { return watch_; }
  void upload(void*, const void*, std::size_t, CUstream_st*) const override {}
  void count_nonfinite(const float*, std::int64_t, std::int64_t*, CUstream_st*) const override {}
  void normalise(const DeviceFields&, FieldOutput, CUstream_st*) const override {}
  void unpack(const DeviceFields&, PackedField, FieldOutput, CUstream_st*) const override {}
  void compute(const BiasGeluForward&, CUstream_st*) const override {}
  void compute(const BiasGeluBackward&, CUstream_st*) const override {}
  void compute(const ResidualNormForward&, CUstream_st*) const override {}
  void compute(const ResidualNormBackward&, CUstream_st*) const override {}
  void compute(const HeadLossForward&, CUstream_st*) const override {}
  void compute(const HeadLossBackward&, CUstream_st*) const override {}
  void compute(const AdamStep&, CUstream_st*) const override {}
  void compute(const GradientNorm&, CUstream_st*) const override {}
  /// What was done with graphs: "begin", "end", "abandon", "launch" and "destroy".
  const std::vector<std::string>& graphs() const { return graphs_; }
  c10d::Backend* make_nccl_backend(c10d::Store*, const NcclGroup&) const override { return nullptr; }
  std::string current_device_address() const override { return "0000:00:00.0"; }
  CudaGraph* begin_graph() const override {
    graphs_.emplace_back("begin");
    return reinterpret_cast<CudaGraph*>(&graphs_);
  }
  void end_graph(CudaGraph*) const override { graphs_.emplace_back("end"); }
  void abandon_graph(CudaGraph*) const noexcept override { graphs_.emplace_back("abandon"); }
  GraphNodes graph_nodes(CudaGraph*) const override { return {40, 3, 2, 0}; }
  void launch_graph(CudaGraph*) const override { graphs_.emplace_back("launch"); }
  void destroy_graph(CudaGraph*) const noexcept override { graphs_.emplace_back("destroy"); }
  void push_range(const char* name) const noexcept override { ranges_.push_back(name); }
  void pop_range() const noexcept override { ranges_.emplace_back("-"); }
  void start_profiler() const noexcept override { ranges_.emplace_back("profile"); }
  void stop_profiler() const noexcept override { ranges_.emplace_back("stop"); }

 private:
  static double& place(CUevent_st* event) { return *reinterpret_cast<double*>(event); }

  CudaFacts facts_;
  mutable std::deque<double> at_us_;  ///< of each event; a deque, so that they stay where they are
  mutable double asked_us_ = 0;
  mutable double done_us_ = 0;
  mutable std::size_t waits_ = 0;
  mutable AllocationWatch* watch_ = nullptr;
  mutable std::vector<std::string> ranges_;
  mutable std::vector<std::string> graphs_;
};

}  // namespace isobar
