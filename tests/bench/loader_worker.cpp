// The loaders of `bench loader`, as the lessons make them. Usage: bench_loader_worker FOLDER, which holds
// sheet.json and the data set; answers commands (worker.h).
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <time.h>

#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "bench/serve.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/files.h"
#include "core/large_memory.h"
#include "data/device_prefetch.h"
#include "data/ring_loader.h"
#include "data/worker_loader.h"
#include "device/device.h"
#include "device/memory.h"

using namespace isobar;
using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

namespace {

double processor_s() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// Sum of the 32-bit words, each times its odd position, modulo 2^64, as text: JSON's numbers end at 2^53.
std::string checksum(const at::Tensor& tensor) {
  std::uint64_t sum = 0;
  const float* const values = tensor.const_data_ptr<float>();
  for (std::int64_t i = 0; i < tensor.numel(); ++i) {
    std::uint32_t word = 0;
    std::memcpy(&word, values + i, sizeof(word));
    sum += word * (2 * static_cast<std::uint64_t>(i) + 1);
  }
  return std::to_string(sum);
}

class Loaders {
 public:
  explicit Loaders(const fs::path& folder)
      : folder_(folder),
        sheet_(Json::parse(read_text_file(folder / "sheet.json", 16 << 20))),
        device_(choose_device(sheet_["device"])),
        spans_(folder / "spans.jsonl", 200, StreamStart::create, 0, 0, 0) {
    set_up_cpu(sheet_["threads"]);
  }

  /// set KIND LIST: a new loader, ring or workers, ring_shared; milliseconds until its first batch is there.
  Json set(const std::vector<std::string>& words) {
    loader_.reset();
    ring_.reset();
    const Json& list = sheet_["lists"][words.at(1)];
    config_.data.grid = {sheet_["rows"], sheet_["columns"]};
    config_.data.channels = sheet_["channels"];
    config_.data.dt = list["dt"];
    config_.data.workers = sheet_["threads"];
    config_.train.global_batch = sheet_["batch"];
    config_.loader.share_fields = words.at(0) == "ring_shared";
    dataset_ = std::make_unique<Dataset>(config_.data, folder_, "train", list["limit"]);
    const Sampler sampler(dataset_->size(), list["shuffle"], list["seed"]);
    const std::int64_t begin_us = steady_us();
    if (words.at(0) == "workers") {
      loader_ = std::make_unique<WorkerLoader>(*dataset_, sampler, config_, device_, spans_, Passes::single);
    } else {
      ring_ = std::make_unique<RingLoader>(*dataset_, sampler, config_, device_, spans_, Passes::single);
      loader_ = std::make_unique<DevicePrefetch>(*ring_, config_.loader);
    }
    next();
    const double first_ms = static_cast<double>(steady_us() - begin_us) * 1e-3;
    return {{"ms", first_ms}, {"text", loader_->text()}};
  }

  /// check EPOCH: the checksum of every batch.
  Json check(const std::vector<std::string>& words) {
    Json sums = Json::array();
    go_to_epoch(words.at(0));
    for (std::int64_t i = 0; i < loader_->steps_per_epoch(); ++i) {
      const Batch batch = next().to(c10::kCPU);
      sums.push_back({checksum(batch.input), checksum(batch.target)});
    }
    return {{"sums", sums}};
  }

  /// run EPOCH STEP_MS: one epoch for a consumer that sleeps so long after each batch.
  Json run(const std::vector<std::string>& words) {
    const std::chrono::microseconds step(static_cast<std::int64_t>(std::stod(words.at(1)) * 1e3));
    std::vector<double> stalls_ms;
    double bytes = 0;
    const double processor = processor_s();
    const std::int64_t begin_us = steady_us();
    go_to_epoch(words.at(0));
    for (std::int64_t i = 0; i < loader_->steps_per_epoch(); ++i) {
      const std::int64_t asked_us = steady_us();
      const Batch batch = next();
      stalls_ms.push_back(static_cast<double>(steady_us() - asked_us) * 1e-3);
      bytes += static_cast<double>(batch.input.nbytes() + batch.target.nbytes());
      if (step.count() > 0) std::this_thread::sleep_for(step);
    }
    synchronise();
    return {{"seconds", static_cast<double>(steady_us() - begin_us) * 1e-6},
            {"bytes", bytes},
            {"processor_s", processor_s() - processor},
            {"stalls_ms", stalls_ms}};
  }

  /// pread THREADS: GB/s of reading the file's records into memory that is used again and again.
  Json pread_rate(const std::vector<std::string>& words) {
    const int threads = std::stoi(words.at(0));
    const fs::path path = folder_ / "train/2000.h5";
    const FileDescriptor file = open_for_reading(path);
    const std::uint64_t records = sheet_["records"];
    const std::uint64_t begin = file_size(file, path) - records * field_bytes();  // the records end the file
    return rate(threads, [&](std::size_t n, std::byte* to) {
      pread_exactly(file, path, begin + n * 7 % records * field_bytes(), {to, field_bytes()});
    });
  }

  /// upload: GB/s of copying a field from page-locked memory to the device; 0 without one.
  Json upload_rate(const std::vector<std::string>&) {
    if (device_.is_cpu()) return {{"gb_per_s", 0.0}};
    HostBuffer buffer(field_bytes(), device_);
    const auto values = static_cast<std::int64_t>(field_bytes() / sizeof(float));
    const at::Tensor from = at::from_blob(buffer.bytes().data(), {values}, at::kFloat);
    const at::Tensor to = at::empty({values}, at::TensorOptions(device_).dtype(at::kFloat));
    to.copy_(from, /*non_blocking=*/true);
    synchronise();
    const std::int64_t begin_us = steady_us();
    for (std::size_t n = 0; n < kTurns; ++n) to.copy_(from, /*non_blocking=*/true);
    synchronise();
    const auto us = static_cast<double>(steady_us() - begin_us);
    return {{"gb_per_s", static_cast<double>(kTurns * field_bytes()) / us * 1e-3}};
  }

  /// memcpy: GB/s of copying a field from memory to memory, one thread.
  Json memcpy_rate(const std::vector<std::string>&) {
    const std::shared_ptr<std::byte> from = allocate_large(kBuffers * field_bytes());
    std::memset(from.get(), 1, kBuffers * field_bytes());
    return rate(1, [&](std::size_t n, std::byte* to) {
      std::memcpy(to, from.get() + n % kBuffers * field_bytes(), field_bytes());
    });
  }

 private:
  static constexpr std::size_t kBuffers = 8;  // fields; a few caches' worth
  static constexpr std::size_t kTurns = 48;   // fields that are moved for one figure

  std::size_t field_bytes() const {
    return sheet_["channels"].get<std::size_t>() * sheet_["rows"].get<std::size_t>() *
           sheet_["columns"].get<std::size_t>() * sizeof(float);
  }

  template <typename Move>
  Json rate(int threads, const Move& move) {
    const std::shared_ptr<std::byte> memory = allocate_large(kBuffers * field_bytes());
    std::vector<std::thread> started;
    const std::int64_t begin_us = steady_us();
    for (std::size_t t = 0; t < static_cast<std::size_t>(threads); ++t) {
      started.emplace_back([&, t] {
        for (std::size_t n = t; n < kTurns; n += static_cast<std::size_t>(threads))
          move(n, memory.get() + n % kBuffers * field_bytes());
      });
    }
    for (std::thread& thread : started) thread.join();
    const auto us = static_cast<double>(steady_us() - begin_us);
    return {{"gb_per_s", static_cast<double>(kTurns * field_bytes()) / us * 1e-3}};
  }

  void go_to_epoch(const std::string& number) {
    loader_->seek(std::stoll(number) * loader_->steps_per_epoch());
  }
  Batch next() { return loader_->next().to(device_); }
  void synchronise() const {
    if (!device_.is_cpu()) c10::impl::VirtualGuardImpl(device_.type()).synchronizeDevice(device_.index());
  }

  fs::path folder_;
  Json sheet_;
  c10::Device device_;
  SpanWriter spans_;
  Config config_;
  std::unique_ptr<Dataset> dataset_;
  std::unique_ptr<RingLoader> ring_;  ///< what the loader takes from, in lesson 03
  std::unique_ptr<Loader> loader_;
};

int serve_loaders(int argc, char** argv) {
  if (argc != 2)
    throw Error("which folder?", "bench_loader_worker FOLDER", "./isobar bench loader starts it");
  Loaders loaders(argv[1]);
  const auto bound = [&](Json (Loaders::*method)(const std::vector<std::string>&)) {
    return [&loaders, method](const std::vector<std::string>& words) { return (loaders.*method)(words); };
  };
  serve({{"set", bound(&Loaders::set)},
         {"check", bound(&Loaders::check)},
         {"run", bound(&Loaders::run)},
         {"pread", bound(&Loaders::pread_rate)},
         {"upload", bound(&Loaders::upload_rate)},
         {"memcpy", bound(&Loaders::memcpy_rate)}});
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return guarded_main("bench_loader_worker", [&] { return serve_loaders(argc, argv); });
}
