#include "cluster/published.h"
#include "core/text.h"
#include "support/catch.h"
#include "support/errors.h"

using namespace isobar;

namespace {

const std::string kPoint =
    "[[point]]\nid = \"a\"\nclass = \"dp\"\nsplit = \"calibration\"\nsamples_per_s_per_gpu = 100\n"
    "[point.machine]\ngpu = \"X\"\nbetween_gb_s = 12.5\nluck = 3\n"
    "[point.model]\nparameters = 25e6\nsample = \"image\"\n[point.job]\ngpus = 8\nmicro_batch = 32\n";

std::string replaced(std::string text, const std::string& old, const std::string& now) {
  const std::size_t at = text.find(old);
  REQUIRE(at != std::string::npos);
  return text.replace(at, old.size(), now);
}

std::string second(const std::string& anchor) {
  return replaced(replaced(kPoint, "id = \"a\"", "id = \"b\""), "gpus = 8",
                  "gpus = 16\nanchor = \"" + anchor + "\"");
}

std::string refused(const std::string& text) {
  return error_of([&] { parse_published(text, "points.toml"); });
}

}  // namespace

TEST_CASE("a point is read, and fields that are not known are reported") {
  const PublishedFile file = parse_published(kPoint + second("a"), "points.toml");
  REQUIRE(file.points.size() == 2);
  CHECK(file.points[0].machine.between_gb_s == 12.5);
  CHECK(file.points[0].machine.name == "X");
  CHECK(file.points[0].split == PointSplit::calibration);
  CHECK(file.points[1].anchor == "a");
  REQUIRE(file.notes.size() == 1);
  CHECK(file.notes[0] == "machine.luck of 2 points is not used");
}

TEST_CASE("what a point lacks is filled in and named") {
  const PublishedFile file = parse_published(
      "[[point]]\nid = \"a\"\nclass = \"fsdp\"\nsamples_per_s_per_gpu = 1e4\nmodel = { sample = \"token\", "
      "parameters = "
      "1e9, width = 2048 }\njob = { gpus = 8, precision = \"bf16\" }\n",
      "points.toml");
  std::vector<std::string> assumed;
  const TrainingJob job = job_of(file.points[0], assumed);
  CHECK(job.zero == 3);
  CHECK(job.gather_bytes == 2);
  CHECK(job.reduce_bytes == 2);
  CHECK(job.micro_batch == 2048);
  CHECK(job.outer_parameters == 50'000.0 * 2048);
  CHECK(assumed.size() == 3);  // sequence, layers, vocabulary
}

TEST_CASE("a pipeline whose order or axes are not stated is predicted with usual ones, which are named") {
  const auto assumed_for = [](const std::string& job) {
    const std::string point = replaced(replaced(kPoint, "class = \"dp\"", "class = \"pp\""), "gpus = 8",
                                       "gpus = 8\npp = 4\naccumulate = 8\n" + job);
    std::vector<std::string> out;
    const PublishedFile file = parse_published(point, "points.toml");
    CHECK(job_of(file.points[0], out).schedule ==
          (job.empty() ? PipelineForm::one_f_one_b : PipelineForm::zb_h1));
    return joined(out);
  };
  const std::string stated = assumed_for("dp = 2\norder = \"tp-cp-pp-dp\"\nschedule = \"zb_h1\"\n");
  CHECK_THAT(stated, !Says("schedule") && !Says("order"));
  CHECK_THAT(assumed_for("dp = 2\nschedule = \"zb_h1\"\n"), Says("order is not stated: tp-cp-dp-pp"));
  CHECK_THAT(assumed_for(""), Says("schedule is not stated: 1f1b"));
}

TEST_CASE("a file that is no list of points is refused with the place and the way out") {
  CHECK_THAT(refused("a = 1\n"), Says("no [[point]] stands in it"));
  for (const char* const field :
       {"id = \"a\"\n", "class = \"dp\"\n", "samples_per_s_per_gpu = 100\n", "gpus = 8\n"}) {
    INFO(field);
    const std::string text = refused(replaced(kPoint, field, ""));
    CHECK_THAT(text, Says("has no "));
    CHECK_THAT(text, Says("points.toml:1:"));
  }
  CHECK_THAT(refused(kPoint + kPoint), Says("two points are called a"));
  CHECK_THAT(refused(kPoint + second("c")), Says("no point is called so"));
  CHECK_THAT(refused(replaced(kPoint, "class = \"dp\"", "class = \"ddp\"")), Says("did you mean dp"));
  CHECK_THAT(refused(replaced(kPoint, "gpus = 8", "gpus = 0")), Says("an integer from 1"));
  CHECK_THAT(refused(replaced(kPoint, "= 100", "= -100")), Says("a number above 0"));
}

TEST_CASE("anchors that form a cycle are refused with the way round") {
  const std::string a = replaced(kPoint, "gpus = 8", "gpus = 8\nanchor = \"b\"");
  CHECK_THAT(refused(a + second("a")), Says("anchors form a cycle: a -> b -> a"));
  CHECK_THAT(refused(second("b")), Says("anchors form a cycle: b -> b"));
}

TEST_CASE("what is blank is not stated, and words have more than one form") {
  const PublishedFile file = parse_published(
      "[[point]]\nid = \"a\"\nclass = \"fsdp\"\nsamples_per_s_per_gpu = 1e4\nassumed = \"all of it\"\n"
      "machine = { gpu = \"X\", latency_us = 0, gpus_per_node = 8, gpus_per_nic = 0.5, busbw_by_nodes = { 4 "
      "= 180.5, 1 = 230 } "
      "}\n"
      "model = { sample = \"tokens\", parameters = 1e9, vocabulary = 0 }\n"
      "job = { gpus = 8, accumulate = 2.0, anchor = \"\", precision = \"BF16\", reduce_precision = \"FP32\", "
      "shard_group = 0, checkpoint = "
      "\"selective\" "
      "}\n",
      "points.toml");
  const PublishedPoint& point = file.points[0];
  CHECK(point.sample == "token");
  CHECK(point.accumulate == 2);
  CHECK(point.machine.latency_us == 14);
  CHECK(point.machine.gpus_per_nic == 1);
  REQUIRE(point.machine.busbw_by_nodes.size() == 2);
  CHECK(point.machine.busbw_by_nodes[1].gb_s == 180.5);
  CHECK(point.checkpoint);
  std::vector<std::string> assumed;
  const TrainingJob job = job_of(point, assumed);
  CHECK(job.gather_bytes == 2);
  CHECK(job.reduce_bytes == 4);
  CHECK_THAT(refused(replaced(kPoint, "gpus = 8", "gpus = 8\naccumulate = 1.5")), Says("an integer from 1"));
}
