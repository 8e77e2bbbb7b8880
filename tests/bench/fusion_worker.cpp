// The fused operations of `bench fusion` as the lessons use them. Usage: bench_fusion_worker FOLDER, which
// holds case.json; writes the inputs that both sides use, then answers commands (worker.h).
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>

#include "bench/bench_result.h"
#include "bench/fusion_ops.h"
#include "bench/serve.h"
#include "core/error.h"
#include "core/files.h"
#include "device/device.h"
#include "device/event_pool.h"
#include "device/precision.h"

using namespace isobar;
using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

namespace {

class Side {
 public:
  explicit Side(const fs::path& folder)
      : folder_(folder),
        sheet_(Json::parse(read_text_file(folder / "case.json", 1 << 20))),
        device_(choose_device(sheet_["device"])) {
    set_up_cpu(sheet_["threads"]);
    set_deterministic(Determinism::automatic, device_);  // PyTorch's side has all kernels too
    apply_precision(sheet_["tf32"] ? AmpMode::tf32 : AmpMode::none);
    if (device_.is_cuda()) events_.emplace(device_);
    inputs_ = fusion_inputs(sheet_);
    write_tensors(folder / "inputs.safetensors", inputs_);
  }

  /// prepare OPERATION TYPE: the one that is meant from now on, from its start.
  Json prepare(const std::vector<std::string>& words) {
    op_ = make_fused_op(words.at(0), words.at(1), sheet_, inputs_, device_);
    return {{"moved_bytes", op_.moved_bytes}};
  }

  /// write FILE: the results of three runs from the start.
  Json write(const std::vector<std::string>& words) {
    std::vector<at::Tensor> results;
    for (int i = 0; i < 3; ++i) results = op_.run();
    NamedTensors named;
    for (std::size_t i = 0; i < results.size(); ++i) named.emplace_back(std::to_string(i), results[i]);
    write_tensors(folder_ / words.at(0), named);
    return {{"count", results.size()}};
  }

  /// run N: microseconds of each.
  Json run(const std::vector<std::string>& words) {
    return {{"us", time(std::stoi(words.at(0)), [&] { op_.run(); })}};
  }

  /// copy BYTES: microseconds of a copy that moves as many bytes, half of them read and half written.
  Json copy(const std::vector<std::string>& words) {
    const std::int64_t values = std::max<std::int64_t>(1, std::stoll(words.at(0)) / 8);
    const at::Tensor from = random_field("copy", {values}).to(device_);
    at::Tensor to = at::empty(from.sizes(), from.options());
    const auto once = [&] { to.copy_(from); };
    time(5, once);
    return {{"us", median(time(50, once))}};
  }

 private:
  std::vector<double> time(int count, const std::function<void()>& work) {
    std::vector<double> out;
    if (events_) {
      std::vector<CUevent_st*> marks = {events_->record()};
      for (int i = 0; i < count; ++i) {
        work();
        marks.push_back(events_->record());
      }
      events_->wait_for(marks.back());
      for (std::size_t i = 1; i < marks.size(); ++i)
        out.push_back(events_->elapsed_us(marks[i - 1], marks[i]));
      for (CUevent_st* const mark : marks) events_->give_back(mark);
      return out;
    }
    for (int i = 0; i < count; ++i) {
      const auto begin = std::chrono::steady_clock::now();
      work();
      out.push_back(
          std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count());
    }
    return out;
  }

  fs::path folder_;
  Json sheet_;
  c10::Device device_;
  std::optional<EventPool> events_;
  NamedTensors inputs_;
  FusedOp op_;
};

int serve_side(int argc, char** argv) {
  if (argc != 2)
    throw Error("which folder?", "bench_fusion_worker FOLDER", "./isobar bench fusion starts it");
  Side side(argv[1]);
  const auto bound = [&](Json (Side::*method)(const std::vector<std::string>&)) {
    return [&side, method](const std::vector<std::string>& words) { return (side.*method)(words); };
  };
  serve({{"prepare", bound(&Side::prepare)},
         {"write", bound(&Side::write)},
         {"run", bound(&Side::run)},
         {"copy", bound(&Side::copy)}});
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return guarded_main("bench_fusion_worker", [&] { return serve_side(argc, argv); });
}
