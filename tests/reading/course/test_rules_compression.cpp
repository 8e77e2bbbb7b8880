// Rules of compressed gradients: what is sent, whether it pays, why not, up to which link, and the error.
#include <cmath>

#include "11_compression/view/slow_terms.h"
#include "asked_rule.h"
#include "record/json_line.h"
#include "support/errors.h"
#include "support/made_ranks.h"
#include "support/says.h"

namespace isobar::test_rules_compression {

namespace {

const char* const kLesson = "11_compression";

/// Times of a step in us, as a rank records them.
struct MadeStep {
  int forward = 20'000, backward = 50'000, comm = 10'000, optimize = 5000, rest = 500;
  int compress = 0, waited = 0, under_way = 40'000;
  int calls = 4;
  int wire_bytes = 4'000'000;

  int step() const { return forward + backward + comm + optimize + rest; }
};

constexpr const char* kLink = "link.latency_us = 500\nlink.gbit_per_s = 1\n";

MadeRanks made(const MadeStep& one, const std::string& comm, int repeat) {
  MadeRanks out;
  out.lesson = kLesson;
  out.step_us = one.step() + 10 * repeat;
  out.config = "[run]\nranks = 2\n[comm]\n" + comm;
  out.more = [one](int, int, JsonLine& line) {
    line.add("forward_us", one.forward).add("backward_us", one.backward).add("comm_us", one.comm);
    line.add("optimize_us", one.optimize).add("comm_total_us", one.under_way);
    line.add("comm_calls", one.calls).add("wire_bytes", one.wire_bytes);
    line.add("waited_for", 1).add("waited_us", one.waited);
    if (one.compress > 0) line.add("compress_us", one.compress).add("comm_wait_us", 0);
  };
  return out;
}

class TwoMade {
 public:
  TwoMade(const MadeStep& plain, const MadeStep& other, const std::string& link = kLink,
          const std::string& other_link = "", const std::string& scheme = "powersgd") {
    write("plain", plain, link);
    write("other", other,
          (other_link.empty() ? link : other_link) + "compress_rank = 2\ncompress = \"" + scheme + "\"\n");
  }
  AskedRule ask(const std::string& rule) const {
    return AskedRule(rule, {{"base", {"plain"}}, {"other", {"other"}}})
        .of_lesson(kLesson)
        .run("plain", folder_ / "plain0", kLesson)
        .run("other", folder_ / "other0", kLesson);
  }

 private:
  void write(const std::string& name, const MadeStep& step, const std::string& comm) {
    for (int i = 0; i < 3; ++i) {
      const auto place = folder_ / (name + std::to_string(i));
      std::filesystem::create_directory(place);
      made(step, comm, i).write(place);
    }
  }
  TempFolder folder_;
};

AskedRule sent(const std::string& rule, const std::string& unit, const std::vector<std::string>& set,
               const std::string& preset = "base") {
  return AskedRule(rule, {{"preset", {preset}}, {"set", set}}, unit).of_lesson(kLesson);
}

double ms(const Truth& truth, const std::string& name) { return std::stod(truth.figures.at(name)); }

AskedRule with_norms(const TempFolder& folder, const std::vector<std::pair<double, double>>& norms) {
  MadeRanks run = made({}, "", 0);
  run.more = [norms](int, int step, JsonLine& line) {
    const auto at = static_cast<std::size_t>(step / 5);
    if (step % 5 == 4 && at < norms.size())
      line.add("error_norm", norms[at].first).add("mean_error_norm", norms[at].second);
  };
  const auto place = folder / "r";
  std::filesystem::create_directory(place);
  run.write(place);
  return AskedRule("error_growth", {{"run", {"r"}}}).run("r", place, kLesson);
}

}  // namespace

TEST_CASE("what a scheme sends follows from its settings") {
  const auto ratio = [](const std::vector<std::string>& set) {
    return sent("compression_ratio", "x", set).truth();
  };
  CHECK(ratio({"comm.compress=none"}).number == 1);
  CHECK(ratio({"comm.compress=bf16"}).number == 2);
  const Truth power = ratio({"comm.compress=powersgd", "fusion.qkv=false"});
  CHECK(power.number == Approx(56.2).margin(0.05));
  CHECK(power.figures.at("mb") == "1.70");
  CHECK(power.figures.at("plain_mb") == "95.3");
  CHECK(power.figures.at("calls") == "10");
  CHECK(power.source == "by formula");
  CHECK(ratio({"comm.compress=powersgd"}).number == Approx(61.6).margin(0.05));
  CHECK(ratio({"comm.compress=powersgd", "comm.compress_rank=1"}).number == Approx(167).margin(0.5));
  CHECK(ratio({"comm.compress=acpsgd"}).number == Approx(106.4).margin(0.05));
  CHECK(sent("compression_ratio", "MB", {"comm.compress=acpsgd"}).truth().number ==
        Approx(0.896).margin(0.0005));
  CHECK(sent("compression_ratio", "x", {"comm.compress=powersgd"}).with("flat", {"true"}).truth().number ==
        Approx(12.4).margin(0.05));
  const AskedRule wrong = sent("compression_ratio", "ms", {});
  CHECK_THAT(error_of([&] { wrong.rule().check(wrong.question()); }), says("does not give ms"));
  CHECK_THAT(error_of([] { sent("compression_ratio", "x", {"comm.sync=at_end"}).truth(); }),
             says("comm.sync=buckets"));
}

TEST_CASE("compression pays where samples come faster") {
  MadeStep quicker, slower;
  quicker.comm = 2000;
  slower.comm = 30'000;
  CHECK(TwoMade({}, quicker).ask("pays").accepted() == Keys{"faster"});
  CHECK(TwoMade({}, slower).ask("pays").accepted() == Keys{"slower"});
  CHECK(TwoMade({}, {}).ask("pays").accepted() == Keys{"same"});
  const Truth truth = TwoMade({}, slower).ask("pays").truth();
  CHECK(truth.figures.at("gain_pct") == "-19");
  CHECK(truth.figures.at("base_ms") == "85.5");
  CHECK(truth.figures.at("other_mb") == "4");
  CHECK_THAT(TwoMade({}, {}, kLink, "link.latency_us = 5\n").ask("pays").cannot("other"),
             says("differ in comm.link.latency_us"));
}

TEST_CASE("the largest of four terms is why a step is longer, and they sum to the difference") {
  const auto reason = [](const MadeStep& other) { return TwoMade({}, other).ask("slow_reason"); };
  // 40 ms under way: 4 calls of 1 ms and 4 MB at 125 MB/s are 36 of them, and 30 are hidden.
  MadeStep calls;  // 24 more: 24 ms, and as much is hidden
  calls.calls = 28;
  calls.wire_bytes = 1'000'000;
  calls.under_way = 40'000;
  CHECK(reason(calls).accepted() == Keys{"extra_calls"});
  MadeStep exposed;  // nothing is hidden any more
  exposed.wire_bytes = 2'000'000;
  exposed.under_way = 24'000;
  exposed.comm = 24'000;
  CHECK(reason(exposed).accepted() == Keys{"lost_overlap"});
  MadeStep longer;
  longer.backward = 70'000;
  longer.waited = 1000;
  longer.comm = 11'000;
  CHECK(reason(longer).accepted() == Keys{"contention"});
  MadeStep work;
  work.compress = 15'000;
  work.backward = 65'000;
  CHECK(reason(work).accepted() == Keys{"arithmetic"});
  for (const MadeStep& other : {calls, exposed, longer, work}) {
    const Truth truth = reason(other).truth();
    const double difference = (other.step() - MadeStep().step()) * 1e-3;
    CHECK(ms(truth, "difference_ms") == Approx(difference).margin(0.06));
    CHECK(ms(truth, "sum_ms") == Approx(difference).margin(0.06));
    CHECK(ms(truth, "saved_ms") == -ms(truth, "bytes_ms"));
  }
  const Truth truth = reason(exposed).truth();
  CHECK(ms(truth, "lost_overlap_ms") == Approx(30));
  CHECK(ms(truth, "saved_ms") == Approx(16));
  CHECK(ms(truth, "extra_calls_ms") == 0);
  CHECK(ms(truth, "arithmetic_ms") == 0);
}

TEST_CASE("each term is what it is of, whatever the others are") {
  using namespace isobar::lesson_11;
  const RunTimes plain{.step_us = 100, .exposed_us = 20, .under_way_us = 50, .calls = 2, .wire_bytes = 40};
  const CallCost link{.call_us = 5, .bytes_per_us = 1};
  const auto more = [&](double RunTimes::*part, double by) {
    RunTimes other = plain;
    other.*part += by;
    return slow_terms(plain, other, link);
  };
  CHECK(more(&RunTimes::step_us, 7).contention_us == 7);          // computing takes longer
  CHECK(more(&RunTimes::under_way_us, 7).above_formula_us == 7);  // longer than by the formula ...
  CHECK(more(&RunTimes::under_way_us, 7).contention_us == 7);
  CHECK(more(&RunTimes::under_way_us, 7).lost_overlap_us == -7);  // ... and hidden
  CHECK(more(&RunTimes::wire_bytes, -10).bytes_us == -10);
  CHECK(more(&RunTimes::calls, 2).extra_calls_us == 10);
  RunTimes works = plain;
  works.arithmetic_us = 7;
  works.step_us += 7;
  CHECK(slow_terms(plain, works, link).arithmetic_us == 7);
  CHECK(slow_terms(plain, works, link).contention_us == 0);
  RunTimes exposed = plain;
  exposed.exposed_us += 7;
  exposed.step_us += 7;
  CHECK(slow_terms(plain, exposed, link).lost_overlap_us == 7);
  CHECK(slow_terms(plain, exposed, link).sum_us() == 7);
  RunTimes waits = plain;  // for a rank that came later
  waits.waited_us = 9;
  waits.exposed_us += 9;
  waits.step_us += 9;
  CHECK(slow_terms(plain, waits, link).contention_us == 9);
  CHECK(slow_terms(plain, waits, link).lost_overlap_us == 0);
  CHECK(slow_terms(plain, plain, {}).sum_us() == 0);
}

TEST_CASE("a reason needs runs whose link and times are there") {
  CHECK_THAT(TwoMade({}, {}, "sync = \"buckets\"\n").ask("slow_reason").cannot("plain"),
             says("did not measure their link"));
  AskedRule wrong = TwoMade({}, {}).ask("slow_reason");
  wrong.choice("overlap", "no overlap");
  CHECK_THAT(error_of([&] { wrong.rule().check(wrong.question()); }), says("never accepts \"overlap\""));
}

TEST_CASE("where two runs cross follows from their terms, if they do") {
  const auto turn = [](int compress) {
    MadeStep power;
    power.compress = compress;
    power.backward += compress;
    return TwoMade({}, power).ask("pays").truth();
  };
  const Truth cheap = turn(2000), dear = turn(20'000);
  CHECK(ms(cheap, "turn") > ms(dear, "turn"));
  CHECK(ms(dear, "turn") > 0);
  CHECK_THAT(dear.text, says("both take as long at " + dear.figures.at("turn") + " Gb/s"));
  MadeStep busy;  // other programs: equal work stands for both
  busy.compress = 2000;
  busy.backward += 2000 + 30'000;
  CHECK(ms(TwoMade({}, busy).ask("pays").truth(), "turn") > ms(dear, "turn"));
  CHECK(TwoMade({}, {}, kLink, kLink, "none").ask("pays").truth().figures.at("turn") == "-");
}

TEST_CASE("the norm that grows is named") {
  const auto which = [](const std::vector<std::pair<double, double>>& norms) {
    const TempFolder folder;
    return with_norms(folder, norms).accepted();
  };
  CHECK(which({{1, 1}, {2, 1.1}, {4, 1.2}}) == Keys{"own"});
  CHECK(which({{1, 1}, {2, 2}}) == Keys{"both"});
  CHECK(which({{1, 1}, {1.1, 0.9}}) == Keys{"neither"});
  CHECK(which({{1, 1}, {1, 3}}) == Keys{"mean"});
  const TempFolder folder;
  const Truth truth = with_norms(folder, {{36, 18}, {121, 20}, {224, 23}}).truth();
  CHECK(truth.figures.at("own_first") == "36");
  CHECK(truth.figures.at("own_last") == "224");
  CHECK(truth.figures.at("mean_last") == "23");
  CHECK(truth.figures.at("own_times") == "6.22");
  const TempFolder bare, zero;
  CHECK_THAT(with_norms(bare, {}).cannot("r"), says("comm.error_every"));
  CHECK_THAT(with_norms(zero, {{0, 0}, {1, 1}}).cannot("r"), says("no length to compare with"));
}

TEST_CASE("losses are equal but for rounding, or apart") {
  const auto compared = [](double other_loss) {
    TempFolder folder;
    for (const std::string name : {"plain", "other"}) {
      MadeRanks run = made({}, "average = \"" + name + "\"\n", 0);
      run.measure = "none";
      const double last = name == "plain" ? 0.5 : other_loss;
      run.more = [last](int, int step, JsonLine& line) { line.add("loss", step < 10 ? 1.0 : last); };
      std::filesystem::create_directory(folder / name);
      run.write(folder / name);
    }
    return AskedRule("losses_apart", {{"base", {"plain"}}, {"other", {"other"}}})
        .run("plain", folder / "plain", kLesson)
        .run("other", folder / "other", kLesson)
        .truth();
  };
  CHECK(compared(0.5).accepted == Keys{"equal"});
  CHECK(compared(0.500001).accepted == Keys{"equal"});
  CHECK(compared(0.51).accepted == Keys{"apart"});
  CHECK(compared(0.51).figures.at("apart") == "0.02");
  CHECK(compared(0.51).figures.at("unequal_from") == "10");
}

}  // namespace isobar::test_rules_compression
