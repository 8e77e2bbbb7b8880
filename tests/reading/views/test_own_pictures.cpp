// Pictures that are drawn from a run, and what is said when there is nothing to draw.
#include <fmt/format.h>

#include "config/load.h"
#include "core/files.h"
#include "formula/link.h"
#include "plot/lesson_view.h"
#include "record/gradient_histogram.h"
#include "record/json_line.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/made_spans.h"
#include "support/recording_canvas.h"
#include "support/temp_folder.h"

namespace isobar::test_own_pictures {

namespace {

struct MadeRun {
  std::string lesson = "01_baseline", device = "cpu", group, provenance;
  int world = 1, steps = 12;
  double step_us = 20'000;
  std::int64_t peak_bytes = 0;
  std::string keys;   ///< more of run.toml
  std::string lines;  ///< more of the stream
  std::map<std::string, double> fields = {
      {"load_us", 3000}, {"forward_us", 6000}, {"backward_us", 9000}, {"optimize_us", 1000}};
};

std::string made_stream(const MadeRun& made) {
  JsonLine run("run");
  run.add("schema", 1).add("lesson", made.lesson).add("preset", "cpu_micro").add("device", made.device);
  run.add("world", made.world)
      .add("replicas", made.world)
      .add("group", made.group)
      .add("wanted_steps", made.steps);
  if (!made.provenance.empty()) run.add("provenance", made.provenance);
  std::string out = run.text() + JsonLine("note").add("text", "plan").add("steps_per_epoch", 4).text();
  out += made.lines;
  for (int step = 0; step < made.steps; ++step) {
    JsonLine line("step");
    line.add("step", step)
        .add("t_us", made.step_us * (step + 1))
        .add("samples", 4)
        .add("step_us", made.step_us);
    for (const auto& [name, value] : made.fields) line.add(name, value);
    out += line.text();
  }
  if (made.peak_bytes > 0) {
    JsonLine summary("summary");
    summary.add("steps", made.steps)
        .add("samples", 4 * made.steps)
        .add("step_us", made.step_us)
        .add("peak_bytes", made.peak_bytes);
    for (const auto& [name, value] : made.fields) summary.add(name, value);
    out += summary.text();
  }
  return out + JsonLine("end").add("status", "done").add("reason", "").text();
}

void write_run(const std::filesystem::path& folder, const MadeRun& made) {
  std::filesystem::create_directories(folder);
  write_file_whole(folder / "run.toml", made.keys);
  write_file_whole(folder / "rank-0000.jsonl", made_stream(made));
}

OwnPicture picture_of(const MadeRun& made) {
  const TempFolder folder;
  write_run(folder / "run", made);
  return own_picture(folder / "run");
}

/// The file; the picture keeps to its box at several widths.
std::string drawn(const OwnPicture& picture) {
  REQUIRE(picture.nothing == "");
  for (const float width : {360.0F, 480.0F, 960.0F}) {
    RecordingCanvas canvas;
    const Box box = {0, 0, width, drawing_height(canvas, picture.drawing, width)};
    paint_drawing(canvas, theme_of(true), box, picture.drawing);
    INFO(picture.drawing.title << " " << width);
    CHECK(canvas.reached().x0 >= box.x0);
    CHECK(canvas.reached().x1 <= box.x1);
    CHECK(canvas.reached().y1 <= box.y1);
    CHECK(covered_texts(canvas.texts()) == std::vector<std::string>{});
  }
  return drawing_svg(picture.drawing);
}

std::string spans_of_three_steps(const std::string& beside) {
  MadeSpans out;
  out.attempt(0);
  for (int step = 0; step < 12; ++step) {
    const std::int64_t at = step * 20'000;
    out.span(step, "loop", "forward", at, 6000).span(step, "loop", "backward", at + 6000, 9000);
    out.span(step, "loop", "optimize", at + 15'000, 1000);
    out.span(step, beside, beside == "bucket.0" ? "all-reduce" : "read", at + 8000, 4000, 1000);
  }
  return out.text();
}

}  // namespace

TEST_CASE("a run of lesson 01 shows its step and its memory with the peak as it was") {
  MadeRun made;
  made.lines = JsonLine("note")
                   .add("text", "memory")
                   .add("weights_bytes", 3'000'000)
                   .add("activations_bytes", 9'000'000)
                   .add("predicted_bytes", 12'000'000)
                   .text();
  made.peak_bytes = 11'000'000;
  const std::string svg = drawn(picture_of(made));
  CHECK_THAT(svg, says("measured here: 01_baseline, cpu_micro") && says(">backward<") && says(">9.00 ms<") &&
                      says(">rest<"));
  CHECK_THAT(
      svg, says(">activations<") && says(">9.00 MB<") && says("75 %") && says("the peak as it was, 11.0 MB"));
}

TEST_CASE("a run that nothing is known of says so") {
  MadeRun made;
  made.steps = 0;
  CHECK_THAT(picture_of(made).nothing, says("no stages of steady steps"));
  made.lesson = "99_unknown";
  CHECK_THAT(picture_of(made).nothing, says("99_unknown has no picture"));
  made.lesson = "";
  CHECK_THAT(picture_of(made).nothing, says("does not say of which lesson"));
  const TempFolder empty;
  CHECK_THAT(error_of([&] { own_picture(empty.path()); }), says(empty.path().string()));
}

TEST_CASE("a run of lesson 02 or 03 shows what read beside its loop, and needs spans") {
  for (const char* const lesson : {"02_workers", "03_gpu_loader"}) {
    MadeRun made;
    made.lesson = lesson;
    const TempFolder folder;
    write_run(folder.path(), made);
    const OwnPicture without = own_picture(folder.path());
    CHECK_THAT(without.nothing, says("spans"));
    CHECK_THAT(without.hint, says("run.trace_steps"));
    write_file_whole(folder / "rank-0000.spans.jsonl", spans_of_three_steps("load.1"));
    const std::string svg = drawn(own_picture(folder.path()));
    CHECK_THAT(svg, says(">load.1<") && says(">the loop<") && says(">time in ms<") && says(">step ") &&
                        says(">read<"));
  }
}

TEST_CASE("a run of a sweep over workers shows the rates of all its runs") {
  const TempFolder parent;
  for (const int workers : {1, 2}) {
    for (const int repeat : {0, 1}) {
      MadeRun made;
      made.lesson = "02_workers";
      made.group = "sweep-1";
      made.step_us = workers == 1 ? 40'000 + 1000 * repeat : 20'000;
      made.keys = fmt::format("[data]\nworkers = {}\n[run]\ngroup = \"sweep-1\"\n", workers);
      write_run(parent / fmt::format("w{}-{}", workers, repeat), made);
    }
  }
  MadeRun other;  // at another rate of the disk
  other.lesson = "02_workers";
  other.group = "sweep-1";
  other.keys = "[data]\nworkers = 4\nthrottle_mb_per_s = 40\n[run]\ngroup = \"sweep-1\"\n";
  write_run(parent / "w4-slow", other);
  const std::string svg = drawn(own_picture(parent / "w1-0"));
  CHECK_THAT(svg, says("4 runs of its sweep") && says(">200<") && says(">98.78<") && says("samples/s"));
}

TEST_CASE("a run of lesson 04 shows its last histogram over the ranges of types") {
  GradientHistogram histogram{.step = 10, .scale = 1024};
  histogram.add(std::vector<float>{1e-3F, 2e-3F, 4.0F});
  MadeRun made;
  made.lesson = "04_amp";
  const OwnPicture without = picture_of(made);
  CHECK_THAT(without.hint, says("amp.histogram_every"));
  made.lines = gradients_event(histogram, 5).text();
  const std::string svg = drawn(picture_of(made));
  CHECK_THAT(svg, says("in step 10") && says("times the loss scale, 1024") && says(">fp16<"));
}

TEST_CASE("a run of lesson 05 shows its operators by class, and needs those that it watched") {
  MadeRun made;
  made.lesson = "05_fusion";
  CHECK_THAT(picture_of(made).nothing, says("watched no operators"));
  for (const auto& [name, kind, bytes] :
       {std::tuple{"aten::mm", "gemm", 4'000'000}, std::tuple{"aten::add", "pointwise", 8'000'000}}) {
    made.lines += JsonLine("note")
                      .add("text", "operator")
                      .add("module", "head")
                      .add("operator", name)
                      .add("class", kind)
                      .add("calls", 1)
                      .add("moved_bytes", bytes)
                      .add("op_us", 1000)
                      .text();
  }
  made.lines += JsonLine("step")
                    .add("step", 0)
                    .add("t_us", 1)
                    .add("samples", 4)
                    .add("step_us", 100)
                    .add("launches", 2)
                    .add("moved_bytes", 12'000'000)
                    .add("gemm_op_us", 1000)
                    .add("pointwise_op_us", 1000)
                    .text();
  const std::string svg = drawn(picture_of(made));
  // 8 MB in 1 ms, an operation for each 4 bytes.
  CHECK_THAT(svg, says("pointwise, 1.00 ms: 0.25 FLOP a byte, 2.00 GFLOP/s") && says("gemm, 1.00 ms"));
}

TEST_CASE("a run of lesson 06 shows its buckets, and needs several ranks") {
  MadeRun made;
  made.lesson = "06_ddp";
  CHECK_THAT(picture_of(made).nothing, says("one rank"));
  made.world = 2;
  const TempFolder folder;
  write_run(folder.path(), made);
  write_file_whole(folder / "rank-0000.spans.jsonl", spans_of_three_steps("bucket.0"));
  CHECK_THAT(drawn(own_picture(folder.path())), says(">bucket.0<") && says(">all-reduce<"));
}

TEST_CASE("a run of lesson 07 shows memory and bytes by how many ranks share its model") {
  MadeRun made;
  made.lesson = "07_tensor_parallel";
  made.keys =
      "[run]\nranks = 2\n[mesh]\ntp = 2\n[model]\nembed = 96\nheads = 4\ndepth = 2\n[data]\ngrid = [48, "
      "96]\n";
  const std::string svg = drawn(picture_of(made));
  CHECK_THAT(svg, says("mesh.tp = 1: ") && says("mesh.tp = 2 (this run): ") && says("mesh.tp = 4: ") &&
                      !says("mesh.tp = 8"));
  CHECK_THAT(svg,
             says("nothing goes through f and g") && says("a step through f and g") && says("by formula"));
  made.keys = "[model]\nno_such_key = 1\n";
  CHECK_THAT(picture_of(made).nothing, says("not of this version"));
}

TEST_CASE("a run of lesson 08 shows how long host and device are busy") {
  MadeRun made;
  made.lesson = "08_cuda_graphs";
  CHECK_THAT(picture_of(made).nothing, says("on a processor"));
  made.device = "H200";
  CHECK_THAT(picture_of(made).nothing, says("host and device"));
  made.fields = {
      {"forward_us", 4000}, {"backward_us", 6000}, {"forward_host_us", 2000}, {"backward_host_us", 3000}};
  CHECK_THAT(drawn(picture_of(made)),
             says("backward 6.00 ms") && says("backward 3.00 ms") && says("done 5.00 ms before the device"));
  made.provenance = "predicted";
  made.fields = {{"step_host_us", 20'000}, {"idle_us", 5000}};
  CHECK_THAT(drawn(picture_of(made)), says("launches 20.00 ms") && says("kernels 15.00 ms") &&
                                          says("5.00 ms more than the device") && says("predicted by model"));
}

namespace {

/// Four ranks on a link of 100 us and 1 GB/s, without noise; a rank may be slower.
MadeRun made_all_reduces(double times = 1) {
  MadeRun made;
  made.lesson = "09_all_reduce";
  made.world = 4;
  made.keys = "[comm]\nalgorithm = \"ring\"\n[comm.link]\nlatency_us = 100.0\ngbit_per_s = 8.0\n";
  const Link link = link_of(100, 8);
  for (int step = 0; step < 21; ++step) {
    const double bytes = 1024 << 2 * (step % 7);
    made.lines += JsonLine("step")
                      .add("step", step)
                      .add("t_us", 1)
                      .add("samples", 1)
                      .add("step_us", 1)
                      .add("bytes", bytes)
                      .add("all_reduce_us", times * ring_all_reduce_us(link, 4, bytes))
                      .text();
  }
  made.steps = 0;
  return made;
}

/// A run that probed 2 GB/s (algbw, 3 GB/s busbw) with 1 MB, and 30 us with 64 bytes.
MadeRun made_probe(const std::string& backend, int world) {
  MadeRun made;
  made.lesson = "06_ddp";
  made.world = world;
  made.keys = "[comm]\nprobe = true\n[run]\nranks = 4\n";
  made.lines = JsonLine("note")
                   .add("text", "probe")
                   .add("backend", backend)
                   .add("latency_us", 30)
                   .add("bytes", 1'000'000)
                   .add("algbw_gb_per_s", 2)
                   .add("busbw_gb_per_s", 3)
                   .text();
  return made;
}

}  // namespace

TEST_CASE("a run of lesson 09 shows its times over the size, and the link that they fit") {
  MadeRun made;
  made.lesson = "09_all_reduce";
  CHECK_THAT(picture_of(made).nothing, says("one rank"));
  made.world = 4;
  CHECK_THAT(picture_of(made).nothing, says("two sizes"));
  const OwnPicture picture = picture_of(made_all_reduces());
  CHECK_THAT(drawn(picture), says("bytes of the buffer") && says("fitted link") && says("busbw in B/s"));
  CHECK_THAT(picture.drawing.alt, says("alpha = 100 us") && says("B = 1 GB/s (beta = 1/B = 1 ns a byte)") &&
                                      says("busbw at 4.19 MB") &&
                                      says("comm.link asks for 100 us and 1 GB/s"));
  CHECK_THAT(picture.drawing.title, says("ring of 4 ranks"));
  made = made_all_reduces();
  made.lines.clear();
  CHECK_THAT(picture_of(made).nothing, says("no all-reduce"));
}

TEST_CASE("the times of lesson 09's picture are those of the slowest rank") {
  const TempFolder folder;
  write_run(folder / "run", made_all_reduces());
  write_file_whole(folder / "run" / "rank-0001.jsonl", made_stream(made_all_reduces(2)));
  CHECK_THAT(own_picture(folder / "run").drawing.alt, says("alpha = 200 us") && says("B = 0.5 GB/s"));
}

TEST_CASE("what other runs probed between as many ranks stands beside a run of lesson 09") {
  const TempFolder folder;
  write_run(folder / "run", made_all_reduces());
  write_run(folder / "one", made_probe("nccl", 4));
  write_run(folder / "two", made_probe("gloo", 2));  // of other ranks
  const OwnPicture picture = own_picture(folder / "run");
  CHECK_THAT(drawn(picture), says("nccl in another run") && !says("gloo"));
  CHECK_THAT(picture.drawing.alt,
             says("nccl between 4 ranks (run one): 30 us at 64 B, busbw 3 GB/s at 1.00 MB"));
}

}  // namespace isobar::test_own_pictures
