// ./isobar bench loader: the loaders of lessons 02 and 03 beside PyTorch's DataLoader over h5py, on one file
// and one list of samples. Every batch must be the same first; then epochs in turn, one side asleep
// meanwhile.
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>

#include "bench/bench_report.h"
#include "bench/loader_data.h"
#include "bench/peers.h"
#include "bench/tree_memory.h"
#include "bench/worker.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/memory.h"
#include "core/text.h"
#include "samples/sampler.h"
#include "support/bin_folder.h"
#include "support/temp_folder.h"

using namespace isobar;
using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

namespace {

constexpr int kPatience_s = 300;                // for one answer, on a slow machine
constexpr double kStep_ms = 30;                 // a step of the consumer that computes
constexpr std::int64_t kEpochs = 32;            // orders that both sides know
constexpr std::int64_t kCase_us = 120'000'000;  // a busy machine gets fewer pairs, not hours
constexpr int kFewestPairs = 5;
constexpr double kMostLeft = 0.05;  // of the file in the page cache, for a figure to be called cold

struct Options {
  std::string device = "cpu";
  int threads = static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1U, 4U));
  int pairs = 7;
  int batch = 4;
  std::array<std::int64_t, 4> shape = {60, 20, 360, 720};
  std::vector<std::pair<int, int>> peer_settings;  ///< workers, prefetch
};

/// One list of samples: with dt of a third of the records, samples 0 .. dt - 1 have no field in common.
struct List {
  std::string name;
  std::int64_t dt;
  std::int64_t limit;
  bool shuffle;
};

std::vector<List> lists_of(const Options& options) {
  const std::int64_t records = options.shape[0];
  return {{"again", records / 3, records, true},     // each sample three times
          {"once", records / 3, records / 3, true},  // each field once
          {"in_order", 1, records, false}};          // each field is target and then input
}

Json sheet_of(const Options& options) {
  Json lists = Json::object();
  for (const List& list : lists_of(options)) {
    const Sampler sampler(list.limit, list.shuffle, /*seed=*/333);
    Json epochs = Json::array();
    for (std::int64_t epoch = 0; epoch < kEpochs; ++epoch) epochs.push_back(sampler.order(epoch));
    lists[list.name] = {
        {"dt", list.dt}, {"limit", list.limit}, {"shuffle", list.shuffle}, {"seed", 333}, {"epochs", epochs}};
  }
  return {{"records", options.shape[0]}, {"channels", options.shape[1]},
          {"rows", options.shape[2]},    {"columns", options.shape[3]},
          {"batch", options.batch},      {"threads", options.threads},
          {"device", options.device},    {"lists", lists}};
}

/// What one epoch took.
struct Epoch {
  double gb_per_s = 0;
  double processor_s_per_gb = 0;
  double stall_ms = 0;  ///< mean over the steps but the first, which waits for an empty pipeline
};

/// One side: a process, and how its next epoch is asked for.
struct Side {
  std::unique_ptr<Worker> worker;
  std::string set;   ///< the words that make its loader
  std::string list;  ///< "" for ours, whose loader has one list
  Epoch run(std::int64_t epoch, double step_ms) const {
    // Threads of the other side may need a moment until they sleep.
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    const nlohmann::json answer =
        worker->ask(fmt::format("run {} {} {}", list, epoch % kEpochs, step_ms), kPatience_s);
    const double gb = answer["bytes"].get<double>() * 1e-9;
    const std::vector<double> stalls = answer["stalls_ms"];
    double sum = 0;
    for (std::size_t i = 1; i < stalls.size(); ++i) sum += stalls[i];
    return {gb / answer["seconds"].get<double>(), answer["processor_s"].get<double>() / gb,
            sum / static_cast<double>(std::max<std::size_t>(1, stalls.size() - 1))};
  }
  /// Milliseconds until the first batch of a new loader.
  double start() const { return worker->ask("set " + set, kPatience_s)["ms"]; }
};

class Bench {
 public:
  Bench(const Options& options, const fs::path& folder, const fs::path& peers, BenchReport& report)
      : options_(options), report_(report), folder_(folder) {
    const MemoryState memory = memory_state();
    const std::uint64_t bytes = field_bytes() * static_cast<std::uint64_t>(options.shape[0]);
    if (memory.total_bytes > 0 && memory.available_bytes < 3 * bytes) {
      throw Error(fmt::format("{} of memory are free; the file of the bench has {} and is to stay in it",
                              human_bytes(memory.available_bytes), human_bytes(bytes)),
                  "./isobar bench loader", "--records with a smaller number (a multiple of 3)");
    }
    report_.say(fmt::format("making a file of {} ...", human_bytes(bytes)));
    file_ = make_loader_data(folder_, options.shape);
    write_file_whole(folder_ / "sheet.json", sheet_of(options).dump());
    const auto ours = [&] {
      return std::make_unique<Worker>(
          "our side",
          std::vector<std::string>{bin_folder(ISOBAR_BIN) + "/bench_loader_worker", folder_.string()},
          std::vector<std::string>{}, folder_ / "ours.log", kPatience_s);
    };
    ring_ = {ours(), "ring again", ""};
    workers_ = {ours(), "workers again", ""};
    std::vector<std::string> words = peer_words("loader_peer.py");
    words.push_back(folder_.string());
    peer_ = {std::make_unique<Worker>("PyTorch's side", words, peer_environment(peers), folder_ / "peer.log",
                                      kPatience_s),
             "", "again"};
    ceilings_ = {
        {"memcpy", {}}, {"pread 1", {}}, {fmt::format("pread {}", options.threads), {}}, {"upload", {}}};
  }

  void run() {
    check_equality();
    const std::string peer = warm();
    shared(peer);
    cold();
  }

 private:
  std::uint64_t field_bytes() const {
    return static_cast<std::uint64_t>(options_.shape[1] * options_.shape[2] * options_.shape[3]) * 4;
  }

  /// Every batch of an epoch of each list, from each loader, must be the same bit for bit.
  void check_equality() {
    peer_.worker->ask("set 0 2", kPatience_s);
    std::size_t batches = 0;
    for (const List& list : lists_of(options_)) {
      const nlohmann::json theirs =
          peer_.worker->ask(fmt::format("check {} 1", list.name), kPatience_s)["sums"];
      for (const auto& [kind, side] :
           {std::pair("ring", &ring_), {"ring_shared", &ring_}, {"workers", &workers_}}) {
        side->worker->ask(fmt::format("set {} {}", kind, list.name), kPatience_s);
        const nlohmann::json mine = side->worker->ask("check 1", kPatience_s)["sums"];
        if (mine == theirs && !mine.empty()) continue;
        std::size_t n = 0;
        while (n < mine.size() && n < theirs.size() && mine[n] == theirs[n]) ++n;
        throw Error(fmt::format("batch {} of list \"{}\" differs; nothing was timed", n, list.name),
                    fmt::format("ours ({}): {} of {}; PyTorch's: {} of {}", kind,
                                n < mine.size() ? mine[n].dump() : "nothing", mine.size(),
                                n < theirs.size() ? theirs[n].dump() : "nothing", theirs.size()),
                    "./build/bin/test_data compares the loaders with plain reading", Exit::failed);
      }
      batches += theirs.size();
    }
    report_.say(
        fmt::format("checksums of {} batches of {} samples are the same on both sides, from all loaders",
                    batches, options_.batch));
  }

  /// The peer's setting that delivers most on this list, in the page cache or not; says all of them.
  std::string choose(const std::string& list, bool is_cold) {
    const int repeats = report_.quick() ? 1 : 2;
    std::string best;
    std::string cheapest;
    double most = 0;
    double least_cost = 0;
    peer_.list = list;
    for (const auto& [workers, prefetch] : options_.peer_settings) {
      peer_.set = fmt::format("{} {}", workers, prefetch);
      peer_.start();
      std::vector<double> rates;
      std::vector<double> costs;
      if (!is_cold) peer_.run(0, 0);
      for (int i = 0; i < repeats; ++i) {
        if (is_cold) drop_from_cache(file_);
        const Epoch epoch = peer_.run(i + 1, 0);
        rates.push_back(epoch.gb_per_s);
        costs.push_back(epoch.processor_s_per_gb);
      }
      if (median(rates) > most) best = peer_.set, most = median(rates);
      if (cheapest.empty() || median(costs) < least_cost) cheapest = peer_.set, least_cost = median(costs);
    }
    peer_.set = best;
    peer_.start();
    const auto told = [](const std::string& set) {
      const std::size_t space = set.find(' ');
      return fmt::format("{} workers, prefetch {}", set.substr(0, space), set.substr(space + 1));
    };
    report_.say(
        fmt::format("PyTorch's best here: {} ({:.3g} GB/s); its cheapest: {} ({:.3g} s of processor a GB)",
                    told(best), most, told(cheapest), least_cost));
    return "PyTorch 2.11.0 DataLoader, h5py, " + told(best);
  }

  PairedRow row(const std::string& name, const std::string& unit, const std::string& peer) const {
    return {name, unit, peer, {}, {}};
  }

  /// What nobody can beat here, measured between the epochs.
  void measure_ceilings() {
    for (auto& [command, rates] : ceilings_)
      rates.push_back(ring_.worker->ask(command, kPatience_s)["gb_per_s"]);
  }
  void report_ceilings() {
    for (const auto& [command, rates] : ceilings_) {
      if (median(rates) > 0) report_.add(BenchRow{"ceiling: " + command, "GB/s", rates, 0});
    }
  }
  double pread_rate() const { return median(ceilings_.at(kPreadAll).second); }

  bool has_time(std::int64_t begin_us, int pair) const {
    return pair < kFewestPairs || steady_us() - begin_us < kCase_us;
  }

  std::string warm();
  void shared(const std::string& peer);
  void cold();

  const Options& options_;
  BenchReport& report_;
  fs::path folder_;
  fs::path file_;
  Side ring_;
  Side workers_;
  Side peer_;
  static constexpr std::size_t kPreadAll = 2;
  std::vector<std::pair<std::string, std::vector<double>>> ceilings_;  ///< command with threads, GB/s
};

/// Gives the peer's name with its best setting.
std::string Bench::warm() {
  bring_into_cache(file_);
  const std::string peer = choose("again", /*is_cold=*/false);
  ring_.set = "ring again";
  workers_.set = "workers again";
  PairedRow first = row("first batch of a new loader", "ms", peer);
  for (int i = 0; i < std::min(3, options_.pairs); ++i) {
    first.ours.push_back(ring_.start());
    first.peer.push_back(peer_.start());
  }
  workers_.start();
  for (const Side* side : {&ring_, &workers_, &peer_}) side->run(0, 0);  // the first epoch is dropped
  PairedRow rate = row("warm", "GB/s", peer);
  PairedRow cost = row("warm, processor time", "s/GB", peer);
  PairedRow workers_rate = row("warm, lesson 02", "GB/s", peer);
  PairedRow workers_cost = row("warm, lesson 02, processor time", "s/GB", peer);
  PairedRow stall = row(fmt::format("warm, stall of a {:g} ms step", kStep_ms), "ms", peer);
  rate.least_ratio = cost.least_ratio = 3;
  const std::int64_t begin_us = steady_us();
  for (int pair = 0; pair < options_.pairs && has_time(begin_us, pair); ++pair) {
    const Epoch ours = ring_.run(pair, 0);
    const Epoch theirs = peer_.run(pair, 0);
    const Epoch lesson_02 = workers_.run(pair, 0);
    rate.ours.push_back(ours.gb_per_s);
    cost.ours.push_back(ours.processor_s_per_gb);
    workers_rate.ours.push_back(lesson_02.gb_per_s);
    workers_cost.ours.push_back(lesson_02.processor_s_per_gb);
    for (PairedRow* const one : {&rate, &workers_rate}) one->peer.push_back(theirs.gb_per_s);
    for (PairedRow* const one : {&cost, &workers_cost}) one->peer.push_back(theirs.processor_s_per_gb);
    stall.ours.push_back(ring_.run(pair, kStep_ms).stall_ms);
    stall.peer.push_back(peer_.run(pair, kStep_ms).stall_ms);
    measure_ceilings();
  }
  report_ceilings();
  rate.floor = workers_rate.floor = pread_rate();
  for (const PairedRow& one : {rate, cost, workers_rate, workers_cost, stall, first}) report_.add(one);
  report_.say(fmt::format("  lesson 03's loader delivers {:.0f} % of pread's rate with {} threads",
                          100 * median(rate.ours) / pread_rate(), options_.threads));
  PairedRow memory = row("warm, peak memory", "MB", peer);
  for (const auto& [side, most] : {std::pair(&ring_, &memory.ours), {&peer_, &memory.peer}}) {
    TreeMemoryWatch watch(side->worker->pid());
    side->run(1, 0);
    most->push_back(static_cast<double>(watch.most()) * 1e-6);
  }
  report_.add(memory);
  return peer;
}

/// In order, the target of a sample is the input of the next one: lesson 03 reads it once.
void Bench::shared(const std::string& peer) {
  peer_.list = "in_order";
  ring_.set = "ring_shared in_order";
  ring_.start();
  for (const Side* side : {&ring_, &peer_}) side->run(0, 0);
  PairedRow rate = row("warm shared", "GB/s", peer);
  PairedRow cost = row("warm shared, processor time", "s/GB", peer);
  const std::int64_t begin_us = steady_us();
  for (int pair = 0; pair < options_.pairs && has_time(begin_us, pair); ++pair) {
    const Epoch ours = ring_.run(pair, 0);
    const Epoch theirs = peer_.run(pair, 0);
    rate.ours.push_back(ours.gb_per_s);
    rate.peer.push_back(theirs.gb_per_s);
    cost.ours.push_back(ours.processor_s_per_gb);
    cost.peer.push_back(theirs.processor_s_per_gb);
  }
  for (const PairedRow& one : {rate, cost}) report_.add(one);
}

void Bench::cold() {
  if (const double left = drop_from_cache(file_); left > kMostLeft) {
    report_.say(fmt::format("no cold figures: {:.0f} % of the file stay in memory whatever is asked for",
                            100 * left));
    return;
  }
  const std::string peer = choose("once", /*is_cold=*/true);
  ring_.set = "ring once";
  workers_.set = "workers once";
  for (const Side* const side : {&ring_, &workers_}) side->start();
  PairedRow rate = row("cold", "GB/s", peer);
  PairedRow cost = row("cold, processor time", "s/GB", peer);
  PairedRow workers_rate = row("cold, lesson 02", "GB/s", peer);
  std::vector<double> disk;  // GB/s of plain reads
  double left = 0;
  const auto run = [&](const Side& side, int pair) {
    left = std::max(left, drop_from_cache(file_));
    return side.run(pair, 0);
  };
  const std::int64_t begin_us = steady_us();
  for (int pair = 0; pair < options_.pairs && has_time(begin_us, pair); ++pair) {
    const Epoch ours = run(ring_, pair), theirs = run(peer_, pair);
    workers_rate.ours.push_back(run(workers_, pair).gb_per_s);
    rate.ours.push_back(ours.gb_per_s);
    cost.ours.push_back(ours.processor_s_per_gb);
    for (PairedRow* const one : {&rate, &workers_rate}) one->peer.push_back(theirs.gb_per_s);
    cost.peer.push_back(theirs.processor_s_per_gb);
    drop_from_cache(file_);
    disk.push_back(ring_.worker->ask(ceilings_.at(kPreadAll).first, kPatience_s)["gb_per_s"]);
  }
  rate.floor = workers_rate.floor = median(disk);
  report_.add(BenchRow{"ceiling: cold " + ceilings_.at(kPreadAll).first, "GB/s", disk, 0});
  for (const PairedRow& one : {rate, cost, workers_rate}) report_.add(one);
  report_.say(fmt::format("  before each cold epoch at most {:.1f} % of the file was in memory", 100 * left));
}

/// The file of a bench that is stopped does not stay: unlink and _exit are what a handler may call.
std::array<char, 4096> file_to_remove{};

void remove_file_and_end(int signal_number) {
  unlink(file_to_remove.data());
  _exit(128 + signal_number);
}

void remove_when_stopped(const fs::path& file) {
  file.string().copy(file_to_remove.data(), file_to_remove.size() - 1);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) signal(number, remove_file_and_end);
}

int run(int argc, char** argv) {
  Options options;
  OptionParser parser("Our loaders beside PyTorch's DataLoader over h5py: same file, same samples, same bits",
                      "./isobar bench loader");
  BenchReport report("loader", parser);
  parser.add("--device", options.device, "where batches are wanted: cpu, or cuda");
  parser.add("--threads", options.threads, "that read, in our loaders").in_range(1, 256);
  const OptionParser::Option pairs =
      parser.add("--pairs", options.pairs, "epochs of each side").in_range(1, 1000);
  parser.add("--batch", options.batch, "samples in a batch").in_range(1, 16);
  const OptionParser::Option records =
      parser.add("--records", options.shape[0], "fields in the file, 48 or more").in_range(48, 3000);
  if (!report.parse(argc, argv)) return 0;
  options.peer_settings = {{0, 2}, {1, 2}, {1, 4}, {2, 2}, {2, 4}, {4, 2}, {4, 4}, {8, 2}, {8, 4}};
  if (report.quick()) {
    if (!pairs.given()) options.pairs = 2;
    if (!records.given()) options.shape = {48, 20, 90, 180};
    options.peer_settings = {{0, 2}, {2, 2}};
  }
  options.shape[0] -= options.shape[0] % 3;
  const fs::path peers = require_peers("loader");
  report.begin();
  {
    const TempFolder folder;
    remove_when_stopped(folder / "train/2000.h5");
    Bench bench(options, folder.path(), peers, report);
    bench.run();
  }
  return report.finish();
}

}  // namespace

int main(int argc, char** argv) {
  return guarded_main("isobar bench loader", [&] { return run(argc, argv); });
}
