// The benches must not rot, and what they print must mean what it says. No time is asserted here.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <thread>

#include "bench/bench_report.h"
#include "bench/bench_result.h"
#include "bench/loader_data.h"
#include "bench/peers.h"
#include "bench/tree_memory.h"
#include "bench/worker.h"
#include "core/files.h"
#include "fields/year_file.h"
#include "support/bin_folder.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/process.h"
#include "support/temp_folder.h"

using namespace isobar;
using Json = nlohmann::ordered_json;

namespace {

std::string bin(const std::string& name) { return bin_folder(ISOBAR_BIN) + "/" + name; }

PairedRow row_of(std::vector<double> ours, std::vector<double> peer) {
  return {"step", "ms", "PyTorch", std::move(ours), std::move(peer)};
}

Json machine(double others, double stolen, int throttled_before, int throttled_after) {
  return {{"before", {{"throttled", throttled_before}}},
          {"after", {{"throttled", throttled_after}}},
          {"busy_by_others", others},
          {"stolen", stolen}};
}

}  // namespace

TEST_CASE("a ratio above 1 means ours is faster, and its interval is Student's t of the pairs") {
  const Estimate twice = ratio_of(row_of({10, 10, 10, 10}, {20, 20, 20, 20}));
  CHECK(twice.value == Approx(2));
  CHECK(twice.least == Approx(2));
  CHECK(twice.most == Approx(2));
  const Estimate noisy = ratio_of(row_of({10, 10, 10}, {10, 20, 40}));
  CHECK(noisy.value == Approx(2));
  const double half = 4.3027 * std::log(2) / std::sqrt(3);  // 2 degrees of freedom
  CHECK(noisy.least == Approx(2 * std::exp(-half)));
  CHECK(noisy.most == Approx(2 * std::exp(half)));
}

TEST_CASE("figures that have no logarithm stand with their median, without an interval") {
  const Estimate copies = estimate_of({0, 3, 1});
  CHECK(copies.value == 1);
  CHECK(copies.least == 1);
  CHECK(copies.most == 1);
}

TEST_CASE("a bench that is cut off keeps its rows, and one that cannot be measured costs no other",
          "[.][nightly]") {
  const TempFolder folder;
  const std::string out = (folder / "out.json").string();
  OptionParser parser("", "bench");
  BenchReport report("rungs", parser);
  std::vector<std::string> words = {"bench_rungs", "--out", out, "--json", "--quick"};
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  write_file_whole(out, std::string_view("{\"name\": \"theirs\"}"));
  const auto over = error_of([&] { report.parse(static_cast<int>(argv.size()), argv.data()); });
  CHECK_THAT(over, says("is no result of a bench of ours") && says("--out"));
  std::filesystem::remove(out);
  REQUIRE(report.parse(static_cast<int>(argv.size()), argv.data()));
  const auto written = [&] { return Json::parse(read_text_file(out, 1 << 20)); };
  report.begin();
  report.add(row_of({10, 10}, {20, 20}));
  CHECK(written()["rows"].size() == 1);
  CHECK(written()["rows"][0]["ratio"] == Approx(2));
  CHECK(written()["complete"] == false);
  CHECK(written()["options"] == Json::array({"--quick"}));
  report.refuse("04-amp", "PyTorch", Error("losses differ by 1", "step 3", ""));
  CHECK(written()["rows"].size() == 2);
  CHECK_THAT(written()["rows"][1]["not_measured"].get<std::string>(), says("losses differ by 1"));
  report.add(row_of({10, 10}, {10, 10}));
  CHECK(report.finish() == 1);  // it is told, at the end
  CHECK(written()["rows"].size() == 3);
  CHECK_FALSE(written().contains("complete"));
}

TEST_CASE("a row is divided by another one with the spread of both, and not at all without it") {
  PairedRow whole = row_of({10, 10, 10}, {30, 30, 30});
  const PairedRow part = {"model", "ms", "PyTorch", {5, 5, 5, 5}, {10, 20, 10, 20}};
  CHECK_FALSE(row_json(whole).contains("divided"));
  divide(whole, part);
  REQUIRE(whole.divided);
  CHECK(whole.divided->value == Approx(3 / std::sqrt(8)));   // 3 over the mean of 2, 4, 2 and 4
  const double half = 3.1824 * std::log(2) / std::sqrt(12);  // 3 degrees of freedom: only `part` varies
  CHECK(whole.divided->least == Approx(whole.divided->value * std::exp(-half)));
  CHECK(whole.divided->most == Approx(whole.divided->value * std::exp(half)));
  CHECK(row_json(whole)["divided_by"] == "model");
  CHECK(row_json(whole)["divided"] == Approx(3 / std::sqrt(8)));
  CHECK(row_json(whole)["divided_min"] < row_json(whole)["divided"]);
  CHECK(row_json(whole)["divided_max"] > row_json(whole)["divided"]);
  PairedRow few = row_of({10, 10}, {30, 30});
  divide(few, part);
  CHECK_FALSE(few.divided);
  CHECK(row_json(few)["divided_by"] == "model");
  CHECK(row_json(few)["divided"].is_null());
  CHECK(row_json(few)["divided_min"].is_null());
  divide(whole, few);
  CHECK_FALSE(whole.divided);
}

TEST_CASE("of rates more is better") {
  PairedRow row = row_of({20, 22, 21}, {10, 11, 10.5});
  row.unit = "GB/s";
  const Estimate ratio = ratio_of(row);
  CHECK(ratio.value == Approx(2));
  CHECK(ratio.least == Approx(2));
  CHECK(ratio.most == Approx(2));
}

TEST_CASE("noise that both sides of a pair share does not widen the interval") {
  // Five quiet pairs and five slow ones, each with the same ratio.
  const std::vector<double> shared = {1, 1, 1, 1, 1, 9, 9, 9, 9, 9};
  std::vector<double> peer;
  for (const double value : shared) peer.push_back(1.5 * value);
  const Estimate ratio = ratio_of(row_of(shared, peer));
  CHECK(ratio.least == Approx(1.5));
  CHECK(ratio.most == Approx(1.5));
}

TEST_CASE("rows carry what readers of the JSON expect") {
  PairedRow row = row_of({2, 2}, {3, 3});
  const Json unknown_floor = row_json(row);
  for (const char* key :
       {"case", "unit", "ours", "peer", "peer_name", "ratio", "ratio_min", "ratio_max", "floor"}) {
    CHECK(unknown_floor.contains(key));
  }
  CHECK(unknown_floor["floor"].is_null());
  CHECK(unknown_floor["ratio"] == Approx(1.5));
  CHECK(unknown_floor["ours_min"] == Approx(2));
  CHECK(unknown_floor["ours_max"] == Approx(2));
  row.floor = 0.5;
  CHECK(row_json(row)["floor"] == 0.5);
  CHECK_FALSE(row_json(row).contains("moved_bytes"));
  row.moved_bytes = 4e6;  // in 2 us
  CHECK(row_json(row)["moved_bytes"] == 4e6);
  CHECK(row_json(row)["gb_per_s"] == Approx(2000));
  const Json alone = row_json(BenchRow{"frame", "ms", {5, 1, 3}, 16});
  CHECK(alone["ours"] == Approx(std::cbrt(15)));
  CHECK(alone["ours_min"] < alone["ours"]);
  CHECK(alone["ours_max"] > alone["ours"]);
  CHECK(alone["least"] == 1);
  CHECK(alone["most"] == 5);
  CHECK(alone["limit"] == 16);
}

TEST_CASE("what makes figures doubtful is said, and nothing on a quiet machine") {
  CHECK(doubts(machine(0.01, 0, 5, 5)).empty());
  CHECK(doubts(machine(0.4, 0, 5, 5)).at(0).find("other processes used 40 %") != std::string::npos);
  CHECK(doubts(machine(0, 0.2, 5, 5)).at(0).find("20 %") != std::string::npos);
  CHECK(doubts(machine(0, 0, 5, 6)).at(0).find("heat") != std::string::npos);
}

TEST_CASE("the machine's state is there, and our own work is not counted as that of others") {
  const MachineState state = look_at_machine();
  CHECK(state.all_ticks > 0);
  CHECK(state.busy_ticks > 0);
  CHECK(state.free_bytes > 0);
  const MachineWatch watch;
  const MachineState begin = look_at_machine();
  volatile double sum = 0;
  while (look_at_machine().own_ticks < begin.own_ticks + 20) sum = sum + std::sqrt(2.0);
  const MachineState end = look_at_machine();
  const Json found = watch.finish();
  const double others = found["busy_by_others"];
  const double all_busy = static_cast<double>(end.busy_ticks - begin.busy_ticks) /
                          static_cast<double>(end.all_ticks - begin.all_ticks);
  CHECK(others >= 0);
  CHECK(others < all_busy);
  for (const char* key : {"processor", "cores", "load", "before", "after", "stolen"})
    CHECK(found.contains(key));
}

TEST_CASE("memory of a process is counted with that of the processes it started") {
  constexpr std::int64_t kChild = std::int64_t{64} << 20;
  const std::int64_t alone = tree_memory_bytes(getpid());
  CHECK(alone > 1'000'000);
  TreeMemoryWatch watch(getpid());
  const TempFolder folder;
  const Worker child("a child",
                     {"python3", "-c",
                      "import os, sys; x = bytearray(os.urandom(1 << 20) * 64); "
                      "os.write(3, b'{}\\n'); sys.stdin.read()"},
                     {}, folder / "log", 60);
  CHECK(tree_memory_bytes(child.pid()) > kChild);
  CHECK(own_memory(child.pid()).now > kChild);
  CHECK(own_memory(child.pid()).peak >= own_memory(child.pid()).now);
  forget_peak(child.pid());
  CHECK(own_memory(child.pid()).peak >= own_memory(child.pid()).now);
  const std::int64_t both = tree_memory_bytes(getpid());
  CHECK(both > alone + kChild);
  while (watch.seen() < alone + kChild) std::this_thread::yield();
  CHECK(watch.most() >= alone + kChild);
}

TEST_CASE("the bench's file is as its shape says, and its share of the page cache is told") {
  const TempFolder folder;
  const std::filesystem::path path = make_loader_data(folder.path(), {6, 2, 64, 128});
  const YearFile file(path);
  CHECK(file.shape() == std::array<std::int64_t, 4>{6, 2, 64, 128});
  CHECK(file.storage() == FieldStorage::contiguous);
  bring_into_cache(path);
  CHECK(share_in_cache(path) == 1);
  const double left = drop_from_cache(path);
  CHECK((left >= 0 && left <= 1));
  CHECK(left == share_in_cache(path));
  CHECK_THAT(error_of([&] { share_in_cache(folder / "nothing.h5"); }), says("nothing.h5"));
}

TEST_CASE("a worker that cannot work is an error with its name and its last words, not a hang") {
  const TempFolder folder;
  const auto start = [&](const std::vector<std::string>& words, int deadline_s) {
    return error_of([&] { Worker("the worker", words, {}, folder / "log", deadline_s); }, Exit::failed);
  };
  CHECK_THAT(start({"ls", "/no/such/place"}, 20), says("ended before it answered") && says("the worker"));
  CHECK_THAT(start({"ls", "/no/such/place"}, 20), says("/no/such/place"));
  const std::string told = "worker: error: there is no device\n  where: here\n  hint:  another\n\n";
  CHECK_THAT(start({"printf", told}, 20), says("its last words: worker: error: there is no device"));
  CHECK_THAT(start({"sleep", "60"}, 1), says("no answer within 1 s"));
  CHECK_THAT(error_of([&] { Worker("x", {"/no/such/program"}, {}, folder / "log", 5); }, Exit::bad_input),
             says("/no/such/program"));
  Worker not_waited_for("the worker", {"ls", "/no/such/place"}, {}, folder / "log", 0);
  CHECK_THAT(error_of([&] { not_waited_for.hear(20); }, Exit::failed), says("ended before it answered"));
  Worker late("the worker", {"sh", "-c", "echo '{\"ready\": true}' >&3"}, {}, folder / "log", 0);
  CHECK(late.hear(20)["ready"] == true);
}

TEST_CASE("bench telemetry measures, and prints one JSON object and nothing else", "[.][nightly]") {
  const TempFolder folder;
  const std::string file = folder / "out.json";  // of before, and written over
  const std::string before = read_text_file(project_home() / "tests/bench/results/telemetry.json", 1 << 20);
  write_file_whole(file, before);
  const ProcessResult result = run_process(
      {bin("bench_telemetry"), "--quick", "--repeats", "1", "--json", "--out", file, "--against", file},
      {.deadline_s = 280});
  INFO(result.err);
  REQUIRE(result.code == 0);
  const Json out = Json::parse(result.out);
  CHECK(out["bench"] == "telemetry");
  CHECK(out == Json::parse(read_text_file(file, 1 << 20)));
  REQUIRE(out["rows"].size() == 8);
  for (const Json& row : out["rows"]) CHECK(row["ours"] > 0);
  CHECK(out["rows"][0]["limit"] == 1);
  CHECK(out["options"] == Json::array({"--quick", "--repeats", "1"}));
  CHECK(out["against"]["file"] == "out.json");
  CHECK(out["against"]["commit"] == Json::parse(before)["commit"]);
  CHECK(out["against"]["rows"].size() == 8);
  CHECK(out["against"]["rows"][0]["ours"]["ratio"].is_null());  // measured once
}

TEST_CASE("bench comm measures both transports, and knows its sizes", "[.][nightly]") {
  const ProcessResult result = run_process(
      {bin("bench_comm"), "--quick", "--json", "--processes", "2", "--size", "64 B", "--size", "256 KiB"},
      {.deadline_s = 120});
  INFO(result.err);
  REQUIRE(result.code == 0);
  const Json out = Json::parse(result.out);
  CHECK(out["bench"] == "comm");
  REQUIRE(out["rows"].size() == 2);
  CHECK(out["rows"][1]["case"] == "256 KiB");
  for (const Json& row : out["rows"]) {
    CHECK(row["ours"] > 0);
    CHECK(row["peer"] > 0);
    CHECK(row["busbw_gb_per_s"] == row["gb_per_s"]);  // of two
  }
  const ProcessResult wrong = run_process({bin("bench_comm"), "--size", "24 MiB"});
  CHECK(wrong.code == 2);
  CHECK_THAT(wrong.err, says("there is no such size") && says("\"25 MiB\""));
  CHECK(run_process({bin("bench_comm"), "--processes", "1"}).code == 2);
}

TEST_CASE("a peer gets the library path of before the bundle's, and else what is there") {
  const auto sets = [](const std::string& what) {
    const std::vector<std::string> all = peer_environment("/peers");
    return std::count(all.begin(), all.end(), what) == 1;
  };
  unsetenv("ISOBAR_LIBRARY_PATH_BEFORE");
  CHECK(sets("PYTHONPATH=/peers"));
  CHECK(peer_environment("/peers").size() == 2);
  setenv("ISOBAR_LIBRARY_PATH_BEFORE", "/the/machine's", 1);
  CHECK(sets("LD_LIBRARY_PATH=/the/machine's"));
  setenv("ISOBAR_LIBRARY_PATH_BEFORE", "", 1);
  CHECK(sets("LD_LIBRARY_PATH="));
  unsetenv("ISOBAR_LIBRARY_PATH_BEFORE");
}

TEST_CASE("wrong words and missing peers are refused with a way out", "[.][nightly]") {
  const TempFolder folder;
  const auto bench = [&](std::vector<std::string> words) {
    words.front() = bin(words.front());
    return run_process(words, {.environment = {"ISOBAR_PREFIX=" + folder.path().string(), "ISOBAR_PEERS="}});
  };
  for (const char* name :
       {"bench_step", "bench_start", "bench_loader", "bench_fusion", "bench_rungs", "bench_normalise",
        "bench_emulated", "bench_telemetry", "bench_comm", "bench_compress"}) {
    CHECK(bench({name, "--help"}).code == 0);
    const ProcessResult wrong = bench({name, "--qick"});
    CHECK(wrong.code == 2);
    CHECK_THAT(wrong.err, says("--qick") && says("--help"));
  }
  for (const char* name :
       {"bench_step", "bench_start", "bench_loader", "bench_fusion", "bench_rungs", "bench_compress"}) {
    const ProcessResult missing = bench({name, "--quick"});
    CHECK(missing.code == 2);
    CHECK_THAT(missing.err, says("are not here") && says("./isobar bench"));
  }
  const ProcessResult no_case = bench({"bench_step", "--case", "cpu_tniy"});
  CHECK(no_case.code == 2);
  CHECK_THAT(no_case.err, says("cpu_tiny"));
  CHECK(bench({"bench_step", "--pairs", "0"}).code == 2);
  const ProcessResult no_operation = bench({"bench_fusion", "--case", "bias_gelo"});
  CHECK(no_operation.code == 2);
  CHECK(no_operation.err.find("bias_gelu, residual_norm") != std::string::npos);
  CHECK(bench({"bench_fusion", "--preset", "cpu_tniy"}).code == 2);
  CHECK(bench({"bench_loader", "--records", "3"}).code == 2);
  CHECK(bench({"bench_loader", "--threads", "0"}).code == 2);
  const ProcessResult on_cpu = bench({"bench_normalise", "--device", "cpu"});
  CHECK(on_cpu.code == 2);
  CHECK_THAT(on_cpu.err, says("those of a CUDA device"));
}
