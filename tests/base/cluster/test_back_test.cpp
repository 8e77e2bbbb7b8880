// How often predictions of published points are right, and that their terms come from the calibration split.
#include <fmt/format.h>

#include <cmath>
#include <set>

#include "cluster/back_test.h"
#include "cluster/terms.h"
#include "support/catch.h"
#include "support/errors.h"

using namespace isobar;

namespace {

const PublishedFile& published() {
  static const PublishedFile kFile = read_published("lessons/published_scaling.toml");
  return kFile;
}

/// Four points of one machine whose rates are those of the simulation, but for the third's.
PublishedFile series(double third) {
  PublishedFile out;
  const double rates[] = {100, 0, third, 0};
  for (int i = 0; i < 4; ++i) {
    PublishedPoint& point = out.points.emplace_back();
    point.id = fmt::format("on-{}", 8 << i);
    point.machine = {.name = "X", .gpu = "X", .gpus_per_node = 8, .inside_gb_s = 200, .between_gb_s = 25};
    point.parameters = 100e6;
    point.sample = "image";
    point.micro_batch = 32;
    point.gpus = 8 << i;
    point.samples_per_s_per_gpu = rates[i] > 0 ? rates[i] : 1;
    if (i > 0) point.anchor = "on-8";
  }
  for (const PointResult& one : back_test(out, fitted_terms()).results)
    for (PublishedPoint& point : out.points)
      if (point.id == one.point->id && one.predicted && point.samples_per_s_per_gpu == 1)
        point.samples_per_s_per_gpu = *one.predicted;
  return out;
}

}  // namespace

TEST_CASE("a machine is wholly in one split, and so are anchors") {
  std::set<std::string> calibration, test;
  for (const PublishedPoint& point : published().points) {
    (point.split == PointSplit::test ? test : calibration).insert(point.machine.name);
    if (const PublishedPoint* const anchor = published().find(point.anchor)) {
      INFO(point.id);
      CHECK(anchor->split == point.split);
    }
    CHECK(!point.source.empty());
  }
  for (const std::string& name : calibration) CHECK(!test.contains(name));
  CHECK(calibration.size() >= 8);
  CHECK(test.size() >= 15);
}

TEST_CASE("the published record: the test split is predicted as well as is claimed") {
  const BackTest test = back_test(published(), fitted_terms());
  const auto errors = test.errors(PointSplit::test);
  REQUIRE(errors);
  CHECK(errors->points >= 80);
  CHECK(errors->median <= 0.10);
  CHECK(errors->within_25 >= 0.9);
  CHECK(static_cast<double>(errors->pairs_right) >= 0.95 * static_cast<double>(errors->pairs));
  CHECK(errors->moved >= 6);
  CHECK(errors->moved_median <= errors->moved_null_median / 2);
  CHECK(errors->median < errors->null_median);
  std::size_t unmodelled = 0;
  for (const PointResult& one : test.results) {
    if (one.predicted) {
      std::vector<std::string> assumed;
      const TrainingJob job = job_of(*one.point, assumed);
      const double step_us =
          job.micro_batch * job.accumulate / one.point->model_ranks() / *one.predicted * 1e6;
      CHECK(one.terms.step_us() == Approx(step_us).epsilon(1e-9));
    }
    if (one.point->is_modelled()) continue;
    ++unmodelled;
    CHECK_THAT(one.reason, Says("not modelled yet"));
  }
  CHECK(unmodelled > 10);
}

TEST_CASE("the published record: pipelines of two machines and more, with no term of their own") {
  const BackTest test = back_test(published(), fitted_terms());
  std::set<std::string> machines;
  for (const PointResult& one : test.results)
    if (one.predicted && one.point->kind == PointClass::pp) machines.insert(one.point->machine.name);
  CHECK(machines.size() >= 3);
  const auto errors = test.errors(PointSplit::test, PointClass::pp);
  REQUIRE(errors);
  CHECK(errors->points >= 30);
  CHECK(errors->median <= 0.10);
  CHECK(errors->median < errors->null_median);
  CHECK(test.errors(PointSplit::calibration, PointClass::pp)->points == 1);
  const auto reason_of = [&](const std::string& id) {
    return std::ranges::find_if(test.results, [&](const PointResult& one) { return one.point->id == id; })
        ->reason;
  };
  CHECK_THAT(reason_of("dlperf-gpt-pp-1x8x4"), Says("its anchor is tp, which is not modelled yet"));
}

TEST_CASE("the fitted terms are those of the calibration split, whatever the test split holds") {
  PublishedFile other = published();
  for (PublishedPoint& point : other.points)
    if (point.split == PointSplit::test) point.samples_per_s_per_gpu *= 3;
  const SimulationTerms found = fit_terms(other);
  SimulationTerms expected = fitted_terms();
  for (const TermRange& range : term_ranges()) {
    INFO(range.name);
    SimulationTerms copy = found;
    CHECK(range.in(copy) == range.in(expected));
  }
}

TEST_CASE("without one machine of the calibration split the test split is predicted about as well",
          "[.nightly]") {
  const double with_all = back_test(published(), fitted_terms()).errors(PointSplit::test)->median;
  for (const std::string& machine : machines_of(published(), PointSplit::calibration)) {
    INFO(machine);
    const SimulationTerms terms = fit_terms(published(), machine);
    CHECK(std::fabs(back_test(published(), terms).errors(PointSplit::test)->median - with_all) < 0.05);
  }
}

TEST_CASE("a measurement that stands apart from its series is suspect") {
  const auto suspects = [](const PublishedFile& file) {
    std::vector<std::string> out;
    for (const PointResult& one : back_test(file, fitted_terms()).results)
      if (!one.suspect.empty()) out.push_back(one.point->id);
    return out;
  };
  const double right = *back_test(series(1), fitted_terms()).results[2].predicted;
  CHECK(suspects(series(right)).empty());
  CHECK(suspects(series(right * 0.8)) == std::vector<std::string>{"on-32"});
  CHECK(suspects(series(right * 1.2)) == std::vector<std::string>{"on-32"});
  const std::vector<std::string> published_ones = suspects(published());
  CHECK(std::ranges::find(published_ones, "llmfoundry-1b-32") != published_ones.end());
  CHECK(published_ones.size() < 10);
}

TEST_CASE("more GPUs that are faster each are other hardware, or another day") {
  PublishedFile file = series(1);
  file.points[3].samples_per_s_per_gpu = 110;
  const BackTest test = back_test(file, fitted_terms());
  CHECK_THAT(test.results[3].suspect, Says("10 % faster a GPU on 64 than its anchor on 8"));
}

TEST_CASE("what a prediction lacks is named, and nothing is made up in its place") {
  PublishedFile file = series(1);
  file.points[1].parameters = 0;
  file.points[2].machine.between_gb_s = 0;
  file.points[3].kind = PointClass::tp;
  const BackTest test = back_test(file, fitted_terms());
  CHECK_THAT(test.results[0].reason, Says("it has no anchor"));
  CHECK_THAT(test.results[1].reason, Says("model.parameters"));
  CHECK_THAT(test.results[2].reason, Says("machine.between_gb_s"));
  CHECK(test.results[3].reason == "tp is not modelled yet");
  CHECK(!test.errors(PointSplit::test));
}

TEST_CASE("an anchor that is faster than its links allow calibrates what it can") {
  PublishedFile file = series(1);
  for (PublishedPoint& point : file.points) point.samples_per_s_per_gpu *= 1e4;
  const BackTest test = back_test(file, fitted_terms());
  REQUIRE(test.results[1].predicted);
  CHECK(*test.results[1].predicted > 0);
  CHECK(test.results[1].assumed.size() == 1);
}

TEST_CASE("a point is predicted from the anchor that it names, by the work of a sample") {
  PublishedFile file = series(1);
  file.points[1].anchor = "on-8";
  file.points[2].anchor = "on-16";
  file.points[3].checkpoint = true;
  const BackTest test = back_test(file, fitted_terms());
  CHECK(test.results[2].anchor == &file.points[1]);
  const double plain = *back_test(series(1), fitted_terms()).results[3].predicted;
  CHECK(*test.results[3].predicted < 0.8 * plain);
  CHECK(*test.results[3].predicted > 0.7 * plain);
  file.points[3].sample = "token";
  CHECK(back_test(file, fitted_terms()).results[3].reason == "its anchor counts images");
}

TEST_CASE("split models of any class, and numbers that no memory holds, are reasons and no predictions") {
  PublishedFile file = series(1);
  file.points[1].tensor = 8;
  file.points[2].parameters = 1e300;
  file.points[3].kind = PointClass::fsdp;
  file.points[3].layers = 1e12;
  file.points[3].accumulate = 1'000'000;
  const BackTest test = back_test(file, fitted_terms());
  CHECK(test.results[1].reason == "dp with split models is not modelled yet");
  CHECK_THAT(test.results[2].reason, Says("messages"));
  CHECK_THAT(test.results[3].reason, Says("messages"));
}
