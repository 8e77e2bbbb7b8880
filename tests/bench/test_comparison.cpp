// ./isobar bench NAME --against FILE: what is said of two results. Nothing is measured here.
#include <cmath>
#include <filesystem>

#include "bench/comparison.h"
#include "bench/recorded_result.h"
#include "core/files.h"
#include "core/text.h"
#include "support/bin_folder.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/process.h"
#include "support/temp_folder.h"

using namespace isobar;
using Json = nlohmann::ordered_json;

namespace {

/// As a bench writes it, of pairs that vary by a tenth.
Json paired(const std::string& name, const std::string& unit, double ours, double peer, int pairs = 10) {
  PairedRow row{name, unit, "PyTorch", {}, {}};
  for (int i = 0; i < pairs; ++i) {
    row.ours.push_back(ours * (1 + 0.01 * (i % 5)));
    row.peer.push_back(peer * (1 + 0.01 * (i % 3)));
  }
  return row_json(row);
}

Json machine(const std::string& processor = "Processor A") {
  return {{"processor", processor},
          {"cores", 2},
          {"instructions", "avx2 fma"},
          {"memory_bytes", 25'000'000'000},
          {"gpu", "none"},
          {"libtorch", "2.11.0"},
          {"load", 0.25},
          {"before", {{"load", 0.25}, {"free_bytes", 24'000'000'000}}},
          {"after", {{"load", 0.5}, {"free_bytes", 24'000'000'000}}},
          {"busy_by_others", 0.01},
          {"stolen", 0.0},
          {"environment", {{"OMP_WAIT_POLICY", nullptr}, {"OMP_NUM_THREADS", nullptr}}}};
}

Json result(const std::vector<Json>& rows, const Json& of_machine = machine()) {
  Json out = result_json("step", {"--pairs", "10"}, of_machine, rows);
  out["commit"] = "0123456789ab";
  return out;
}

RecordedResult parsed(const Json& json) { return parse_result(json.dump(), "step", "old.json"); }

Comparison compared(const Json& recorded, const Json& now) { return compare(parsed(recorded), parsed(now)); }

std::string refused(const Json& json) {
  return error_of([&] { parsed(json); });
}

std::string lines(const Comparison& comparison) { return joined(comparison_lines(comparison), "\n"); }

RecordedFigure figure(double value, double least, double most) {
  return {{value, least, most}, SpreadFrom::interval, 10};
}

}  // namespace

TEST_CASE("a quotient of two figures has the interval that theirs give") {
  const Compared alone = quotient(figure(10, 8, 12.5), figure(5, 5, 5)).value();
  CHECK(alone.ratio == Approx(2));
  CHECK(alone.low == Approx(1.6));  // of a figure that is exact, the other's interval is left
  CHECK(alone.high == Approx(2.5));
  const Compared both = quotient(figure(10, 8, 12.5), figure(5, 4, 6.25)).value();
  const double wide =
      std::exp(2.1010 / 2.2622 * std::sqrt(2) * std::log(1.25));  // 18 and 9 degrees of freedom
  CHECK(both.low == Approx(2 / wide).epsilon(1e-3));
  CHECK(both.high == Approx(2 * wide).epsilon(1e-3));
  CHECK_FALSE(quotient({{10, 0, 0}, SpreadFrom::none, 1}, figure(5, 5, 5)));
  CHECK_FALSE(quotient(figure(5, 5, 5), {{10, 0, 0}, SpreadFrom::none, 1}));
  CHECK_FALSE(quotient(figure(1, 0, 2), figure(1, 1, 1)));
  CHECK_FALSE(quotient(figure(1, 1, 1), figure(0, 0, 0)));
  CHECK_FALSE(quotient(figure(1, 1, 1e308), figure(1e-300, 1e-300, 1e-300)));
}

TEST_CASE("a result beside itself is the same, and nothing differs") {
  const Json one = result({paired("cpu_tiny", "ms", 10, 20), paired("warm", "GB/s", 4, 2),
                           row_json(BenchRow{"frame", "ms", {5, 6, 7, 5, 6, 7}, 0})});
  const Comparison found = compared(one, one);
  REQUIRE(found.rows.size() == 3);
  for (const ComparedRow& row : found.rows) {
    CHECK(row.ours.change.value().ratio == 1);
    CHECK(row.ours.change.value().low < 1);
    CHECK(row.ours.change.value().high > 1);
    CHECK(row.ours.verdict == ChangeVerdict::same);
    CHECK(row.to_peer.has_value() == (row.name != "frame"));
    if (row.to_peer) CHECK(row.to_peer->verdict == ChangeVerdict::same);
  }
  CHECK(found.only_now.empty());
  CHECK(found.only_recorded.empty());
  CHECK(found.differences.empty());
  CHECK(found.machines == Machines::alike);
  CHECK_THAT(lines(found), says("nothing that is told of both differs"));
}

TEST_CASE("above 1 now is better, whichever direction the unit has") {
  const Json before = result({paired("step", "ms", 20, 30), paired("memory", "MB", 200, 300),
                              paired("cost", "s/GB", 0.2, 0.3), paired("warm", "GB/s", 2, 1)});
  const Json after = result({paired("step", "ms", 10, 30), paired("memory", "MB", 100, 300),
                             paired("cost", "s/GB", 0.1, 0.3), paired("warm", "GB/s", 4, 1)});
  for (const ComparedRow& row : compared(before, after).rows) {
    INFO(row.name);
    CHECK(row.ours.change.value().ratio == Approx(2));
    CHECK(row.ours.verdict == ChangeVerdict::better);
    CHECK(row.to_peer.value().change.value().ratio == Approx(2));
    CHECK(row.to_peer.value().verdict == ChangeVerdict::better);
  }
  for (const ComparedRow& row : compared(after, before).rows) {
    CHECK(row.ours.change.value().ratio == Approx(0.5));
    CHECK(row.ours.verdict == ChangeVerdict::worse);
    CHECK(row.to_peer.value().verdict == ChangeVerdict::worse);
  }
  CHECK(is_rate("GB/s"));
  CHECK_FALSE(is_rate("s/GB"));
  CHECK_FALSE(is_rate("ms"));
}

TEST_CASE("no ratio is printed without a spread") {
  Json before = result({paired("step", "ms", 20, 30), paired("memory", "MB", 200, 300, 1),
                        row_json(BenchRow{"frame", "ms", {5, 6, 7, 5, 6, 7}, 0})});
  const Json after = before;
  for (const char* const key : {"ours_min", "ours_max"})  // as results of before are
    for (Json& row : before["rows"]) row.erase(key);
  const Comparison found = compared(before, after);
  CHECK_FALSE(found.rows[0].ours.change);
  CHECK(found.rows[0].ours.verdict == ChangeVerdict::none);
  CHECK(found.rows[0].to_peer.value().verdict == ChangeVerdict::same);  // whose interval was always recorded
  CHECK_FALSE(found.rows[1].ours.change);
  CHECK_FALSE(found.rows[1].to_peer.value().change);
  CHECK(found.rows[2].ours.recorded.spread == SpreadFrom::range);
  CHECK(found.rows[2].ours.now.spread == SpreadFrom::interval);
  CHECK(found.rows[2].ours.verdict == ChangeVerdict::same);
  const std::string text = lines(found);
  CHECK_THAT(text, says("no ratio: no spread then\n") && says("no ratio: no spread then and now"));
  CHECK_THAT(text, says("1.50 (no spread)") && says("* without a recorded interval"));
  const Json json = comparison_json(found);
  CHECK(json["rows"][0]["ours"]["ratio"].is_null());
  CHECK(json["rows"][0]["ours"]["recorded"]["min"].is_null());
  CHECK(json["rows"][0]["to_peer"]["verdict"] == "same");
}

TEST_CASE("few repeats and another peer allow no verdict") {
  const Json few = result({paired("step", "ms", 10, 30, 2)});
  const Json many = result({paired("step", "ms", 20, 30, 6)});
  for (const Comparison& found : {compared(many, few), compared(few, many)}) {
    CHECK(found.rows[0].ours.change.has_value());
    CHECK(found.rows[0].ours.verdict == ChangeVerdict::few);
    CHECK(found.rows[0].to_peer.value().verdict == ChangeVerdict::few);
    CHECK_THAT(lines(found), says("few repeats: under three"));
  }
  CHECK(compared(many, many).rows[0].ours.verdict == ChangeVerdict::same);
  Json other = many;
  other["rows"][0]["peer_name"] = "PyTorch, compiled";
  const Comparison found = compared(many, other);
  CHECK(found.rows[0].ours.verdict == ChangeVerdict::same);
  CHECK(found.rows[0].to_peer.value().verdict == ChangeVerdict::another_peer);
  CHECK_THAT(lines(found), says("another peer: PyTorch then, PyTorch, compiled now"));
}

TEST_CASE("rows that only one has are named, with the reason where there is one") {
  const Json refusal = {
      {"case", "04-amp"}, {"peer_name", "PyTorch"}, {"not_measured", "losses differ\n  where: step 3"}};
  const Json before = result({paired("a", "ms", 1, 2), paired("gone", "ms", 1, 2), paired("a", "MB", 1, 2),
                              paired("04-amp, step", "ms", 1, 2)});
  const Json after = result({paired("a", "ms", 1, 2), paired("new", "ms", 1, 2), refusal});
  const Comparison found = compared(before, after);
  REQUIRE(found.rows.size() == 1);
  CHECK(found.rows[0].unit == "ms");
  CHECK(found.only_now == std::vector<std::string>{"new (ms)"});
  CHECK(found.only_recorded ==
        std::vector<std::string>{"gone (ms)", "a (MB)",
                                 "04-amp, step (ms): not measured now: losses differ;  where: step 3"});
  CHECK(compared(after, before).only_now.back() ==
        "04-amp, step (ms): not measured then: losses differ;  where: step 3");
  CHECK_THAT(lines(found), says("only recorded: gone (ms)") && says("only now: new (ms)"));
  CHECK_THAT(lines(compared(result({paired("x", "ms", 1, 2)}), after)), says("no row of now was recorded"));
  Json cut = before;
  cut["complete"] = false;
  CHECK_THAT(lines(compared(cut, after)), says("was cut off"));
}

TEST_CASE("what differs between machines is told, and that ratios of times mix them") {
  const std::vector<Json> rows = {paired("step", "ms", 20, 30)};
  Json here = machine("Processor B");
  here["instructions"] = "avx2 fma avx512f";
  here["memory_bytes"] = 25'000'004'096;  // the same memory
  here["libtorch"] = "2.12.0";
  here["environment"]["OMP_WAIT_POLICY"] = "passive";
  here["before"]["load"] = 3.5;
  here["busy_by_others"] = 0.4;
  Json after = result({paired("step", "ms", 10, 30)}, here);
  after["commit"] = "ba9876543210";
  after["options"] = Json::array({"--quick"});
  const Comparison found = compared(result(rows), after);
  std::vector<std::string> told;
  for (const Difference& one : found.differences)
    told.push_back(one.what + ": " + one.recorded + " -> " + one.now);
  CHECK(told == std::vector<std::string>{
                    "options: --pairs 10 -> --quick", "commit: 0123456789ab -> ba9876543210",
                    "processor: Processor A -> Processor B", "instruction sets: avx2 fma -> avx2 fma avx512f",
                    "libtorch: 2.11.0 -> 2.12.0", "load before: 0.25 -> 3.50",
                    "busy by others: 1.0 % -> 40.0 %", "environment.OMP_WAIT_POLICY: not set -> passive"});
  CHECK(found.machines == Machines::other);
  CHECK(found.rows[0].ours.change.value().ratio == Approx(2));
  CHECK(found.rows[0].ours.verdict == ChangeVerdict::none);  // who is quicker, the program or the machine?
  CHECK(found.rows[0].to_peer.value().verdict == ChangeVerdict::better);
  CHECK_THAT(lines(found), says("these ratios mix two machines; the ratio to the peer is what compares"));
  CHECK(comparison_json(found)["machines"] == "other");
  const std::vector<Json> alone = {row_json(BenchRow{"frame", "ms", {5, 6, 7}, 0})};
  CHECK_THAT(lines(compared(result(alone), result(alone, here))), says("no row has a peer"));
}

TEST_CASE("what an older result does not tell is no difference, and not sameness either") {
  Json old = machine();
  for (const char* const key : {"instructions", "memory_bytes", "gpu", "libtorch", "before", "after"})
    old.erase(key);
  Json before = result({paired("step", "ms", 20, 30)}, old);
  before.erase("options");
  const Comparison found = compared(before, result({paired("step", "ms", 20, 30)}));
  CHECK(found.machines == Machines::not_known);
  CHECK(found.differences.empty());
  const std::string text = lines(found);
  CHECK_THAT(text, says("not recorded then: options, instruction sets, memory, GPU, libtorch, load after"));
  CHECK_THAT(text, says("Whether it is the same kind of machine is not known"));
  old.erase("environment");
  Json here = machine();
  here["environment"]["OMP_NUM_THREADS"] = "2";
  const Comparison variables = compared(result({}, old), result({}, here));
  CHECK(variables.not_recorded.back() == "environment.OMP_NUM_THREADS");  // the other is not set now either
  CHECK(variables.differences.empty());
  Json less = machine("Processor B");
  less.erase("memory_bytes");
  CHECK(compared(result({}), result({}, less)).machines == Machines::other);
  old["cores"] = 64;
  CHECK(compared(result({}, old), result({})).machines == Machines::other);
}

TEST_CASE("a recorded result that no bench wrote is refused before anything is measured") {
  const Json good = result({paired("step", "ms", 20, 30)});
  const auto with = [&](const std::function<void(Json&)>& change) {
    Json out = good;
    change(out);
    return refused(out);
  };
  CHECK_THAT(error_of([&] { parse_result(good.dump(), "loader", "old.json"); }),
             says("results of bench step, not loader") && says("old.json") && says("./isobar bench loader"));
  for (const char* const key : {"bench", "commit", "date", "machine", "rows"})
    CHECK_THAT(with([&](Json& json) { json.erase(key); }),
               says("\"" + std::string(key) + "\"") && says("--out"));
  for (const char* const key :
       {"case", "unit", "ours", "peer_name", "pairs", "ratio", "ratio_min", "ours_max"})
    CHECK_THAT(with([&](Json& json) { json["rows"][0].erase(key); }),
               says("without \"" + std::string(key) + "\"") && says("old.json, row 1"));
  for (const char* const key : {"ours", "peer", "ratio", "ratio_max", "ours_min"}) {
    for (const Json& wrong : {Json("fast"), Json(nullptr), Json(true), Json::array(), Json::object()})
      CHECK_THAT(with([&](Json& json) { json["rows"][0][key] = wrong; }), says("where a number belongs"));
  }
  CHECK_THAT(with([](Json& json) { json["rows"][0]["pairs"] = 0; }), says("0 repeats"));
  CHECK_THAT(with([](Json& json) { json["rows"][0]["ratio_min"] = 99; }), says("not between"));
  CHECK_THAT(with([](Json& json) { json["rows"][0]["unit"] = "GB/s"; }), says("\"ours\" and \"peer\" give"));
  CHECK_THAT(with([](Json& json) { json["rows"].push_back(json["rows"][0]); }), says("two rows \"step\""));
  CHECK_THAT(with([](Json& json) { json["rows"] = {{"a", 1}}; }), says("no list"));
  CHECK_THAT(with([](Json& json) { json["rows"] = "none"; }), says("no list"));
  CHECK_THAT(with([](Json& json) { json["rows"][0] = 3; }), says("without \"case\""));
  CHECK_THAT(with([](Json& json) { json["rows"] = Json(1001, json["rows"][0]); }),
             says("more than 1000 rows"));
  CHECK_THAT(with([](Json& json) { json["machine"] = "fast"; }), says("nothing is told of the machine"));
  CHECK_THAT(with([](Json& json) {
               for (int i = 0; i < 300; ++i) json["machine"]["before"][std::to_string(i)] = i;
             }),
             says("more than 200 fields"));
  CHECK_THAT(with([](Json& json) { json["options"] = Json(101, "x"); }), says("more options"));
  for (const std::string text : {"", "{", "step: 1", "[]", "{\"bench\": NaN}"})
    error_of([&] { parse_result(text, "step", "old.json"); });
  std::string endless = good.dump();
  endless.replace(endless.find("\"ours\":") + 7, 2, "1e999");
  CHECK_THAT(error_of([&] { parse_result(endless, "step", "old.json"); }), says("no JSON at byte"));
}

TEST_CASE("texts of a recorded result steer no terminal") {
  std::vector<Json> rows = {paired("st\x1b[31mep", "ms", 20, 30),
                            paired(std::string(5000, 'x'), "ms", 20, 30)};
  rows[0]["peer_name"] = "Py\rTorch\u009b2J";
  Json there = machine("A\x1b]0;title\x07 \u202e B");
  there["fo\x1b[2Jreign"] = "x\x1b[2J";
  Json hostile = result(rows, there);
  hostile["commit"] = "\x1b[2J";
  hostile["date"] = "today\x7f";
  hostile["options"] = Json::array({"--x\x1b[2J"});
  const Comparison found = compared(hostile, result({paired("st?[31mep", "ms", 20, 30)}));
  const std::string text = lines(found) + found.date + found.commit + comparison_json(found).dump(2);
  CHECK(found.rows.size() == 1);
  CHECK_THAT(text, says("A?]0;title? ? B") && says("fo?[2Jreign") && says("today?"));
  for (const char* const steering : {"\x1b", "\x07", "\r", "\x7f", "\u009b", "\u202e", "\\u001b"})
    CHECK(text.find(steering) == std::string::npos);
  CHECK(text.size() < 10'000);
}

TEST_CASE("every recorded result of the project can be compared with") {
  int results = 0;
  const auto place = project_home() / "tests/bench/results";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(place)) {
    if (entry.path().extension() != ".json") continue;
    INFO(entry.path());
    const std::string name = entry.path().stem().string();
    const std::string bench = name.substr(0, name.find('-'));
    const RecordedResult recorded = read_result(entry.path(), bench);
    const Comparison found = compare(recorded, recorded);
    const auto measured = std::count_if(recorded.rows.begin(), recorded.rows.end(),
                                        [](const RecordedRow& row) { return row.not_measured.empty(); });
    CHECK(found.rows.size() == static_cast<std::size_t>(measured));
    CHECK(found.only_now.empty());
    for (const ComparedRow& row : found.rows) {
      const bool paired_often = row.to_peer && row.to_peer->change;
      if (paired_often)
        CHECK((row.to_peer->verdict == ChangeVerdict::same || row.to_peer->verdict == ChangeVerdict::few));
    }
    ++results;
  }
  CHECK(results >= 13);
}

TEST_CASE("a bench refuses a bad --against at once, and says what is wrong with it", "[.][nightly]") {
  const TempFolder folder;
  const std::string bench = bin_folder(ISOBAR_BIN) + "/bench_telemetry";
  const auto run = [&](const std::string& file) {
    return run_process({bench, "--quick", "--against", file}, {.deadline_s = 60});
  };
  const auto put = [&](const std::string& text) {
    write_file_whole(folder / "old.json", text);
    return (folder / "old.json").string();
  };
  const auto refuses = [&](const std::string& file, const std::string& words) {
    const ProcessResult found = run(file);
    INFO(found.err);
    CHECK(found.code == 2);
    CHECK(found.out.empty());  // no row was begun
    CHECK_THAT(found.err, says(words));
  };
  refuses((folder / "nothing.json").string(), "nothing.json");
  refuses(folder.path().string(), "not a regular file");
  refuses("", "");
  refuses(put(""), "no JSON at byte");
  refuses(put("no JSON"), "no JSON at byte");
  refuses(put(std::string(2 << 20, ' ')), "at most 1048576 are read");
  refuses(put(result({paired("step", "ms", 20, 30)}).dump()), "results of bench step, not telemetry");
}
