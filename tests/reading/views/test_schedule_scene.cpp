// The schedule's drawing: it keeps to its width, no text covers another, and looks mean what they should.
#include <algorithm>

#include "09_all_reduce/view/schedule_picture.h"
#include "support/catch.h"
#include "support/recording_canvas.h"
#include "support/says.h"

namespace isobar::test_schedule_scene {

namespace {

const Link kLink = {.latency_us = 50, .bytes_per_us = 1250};

struct Drawn {
  std::vector<WrittenText> texts;
  Box reached;
  float end = 0;

  bool has(const std::string& words) const {
    return std::any_of(texts.begin(), texts.end(), [&](const auto& text) { return text.words == words; });
  }
};

Drawn drawn(const Schedule& schedule, std::size_t done, float width, float height = 0, float scale = 1) {
  RecordingCanvas canvas(scale);
  Sketch sketch(canvas, theme_of(true));
  float y = paint_schedule_clock(sketch, schedule, done, {20, 30}, width);
  y = sketch.words({20, y}, width, schedule_sentence(schedule, done));
  y = paint_schedule(sketch, schedule, done, {20, y}, width, height);
  y = paint_schedule_legend(sketch, schedule, {20, y}, width);
  return {canvas.texts(), canvas.reached(), y};
}

}  // namespace

TEST_CASE("the schedule keeps to its width and covers no text, for every number of ranks") {
  for (const AllReduceKind kind : {AllReduceKind::naive, AllReduceKind::tree, AllReduceKind::ring}) {
    for (int ranks = 2; ranks <= kMostScheduleRanks; ++ranks) {
      for (const int chunks : {1, ranks, 2 * ranks + 1}) {
        const Schedule schedule = plan_schedule(kind, ranks, chunks, 4 << 20, kLink);
        for (const float width : {340.0F, 640.0F, 1300.0F}) {
          for (const std::size_t done : {std::size_t{0}, schedule.steps.size() / 2, schedule.steps.size()}) {
            INFO(name_of(kind) << " " << ranks << " x " << chunks << ", " << width << ", step " << done);
            const Drawn picture = drawn(schedule, done, width);
            CHECK(picture.reached.x0 >= 20 - 0.01F);
            CHECK(picture.reached.x1 <= 20 + width + 0.01F);
            CHECK(picture.reached.y0 >= 30);
            CHECK(picture.reached.y1 <= picture.end);
            CHECK(covered_texts(picture.texts) == std::vector<std::string>{});
          }
        }
      }
    }
  }
}

TEST_CASE("the picture does not move while one steps") {
  const Schedule schedule = plan_schedule(AllReduceKind::tree, 8, 8, 4 << 20, kLink);
  RecordingCanvas canvas;
  Sketch sketch(canvas, theme_of(true));
  const float end = paint_schedule(sketch, schedule, 0, {0, 0}, 800, 300);
  for (std::size_t done = 1; done <= schedule.steps.size(); ++done)
    CHECK(paint_schedule(sketch, schedule, done, {0, 0}, 800, 300) == end);
  CHECK(end == Approx(300 + schedule_rest_height(sketch, schedule, 800)));
}

TEST_CASE("values, ranks and what was sent are written where there is room") {
  const Schedule schedule = plan_schedule(AllReduceKind::ring, 4, 4, 16, kLink);
  const Drawn start = drawn(schedule, 0, 700), end = drawn(schedule, 6, 700);
  CHECK(start.has("rank 3"));
  CHECK(start.has("chunk 2"));
  CHECK(start.has("0 sent"));
  CHECK(end.has("6 sent"));
  CHECK(end.has("24 B"));
  CHECK(end.has("22"));  // the sum of 4 to 7, chunk 3
  CHECK_FALSE(start.has("22"));
  CHECK(start.has("reduce (reduce-scatter): 3 steps"));
  CHECK(start.has("spread (all-gather): 3 steps"));
  const Drawn many = drawn(plan_schedule(AllReduceKind::ring, 16, 256, 1 << 20, kLink), 3, 340, 200);
  CHECK_FALSE(many.has("rank 3"));
  CHECK(many.has("3"));
}

TEST_CASE("the sentence says one message with its numbers, and the end") {
  const Schedule schedule = plan_schedule(AllReduceKind::ring, 4, 4, 16, kLink);
  CHECK_THAT(
      schedule_sentence(schedule, 0),
      says("Next, reduce, step 1 of 3: rank 0 sends chunk 0 (1) to rank 1, which adds it to its 2: 3."));
  CHECK_THAT(schedule_sentence(schedule, 3), says("spread, step 1 of 3") && says("in the place of its"));
  CHECK_THAT(schedule_sentence(schedule, 6), says("all ranks hold the sum"));
  Schedule broken = schedule;
  broken.steps.back().moves[2].arrives = false;
  CHECK_THAT(schedule_sentence(broken, 5),
             says("rank 2 sends") && says("of whose arrival the run recorded nothing."));
  CHECK_THAT(schedule_sentence(broken, 6),
             says("1 message never came, chunk") && says("from rank 2 to rank 3."));
  broken.steps.back().moves[2].arrives = true;
  broken.steps.pop_back();
  CHECK_THAT(schedule_sentence(broken, 5), says("of 4 ranks' values"));
  broken = schedule;
  broken.steps.back().moves.front().value = 1.5;
  CHECK_THAT(schedule_sentence(broken, 6), says("no sum") && says("has 1.5"));
}

TEST_CASE("counters stand beside the formulas, and a step of the clock's bar can be chosen") {
  const Schedule ring = plan_schedule(AllReduceKind::ring, 8, 8, 100e6, kLink);
  const std::vector<std::string> lines = schedule_counter_lines(ring, ring.after(3));
  CHECK_THAT(lines[0], says("Each rank sent 3 of 2(N-1) = 14 messages"));
  CHECK_THAT(lines[1], says("2(N-1)S/N = 175 MB"));
  const Schedule uneven = plan_schedule(AllReduceKind::ring, 8, 11, 100e6, kLink);
  CHECK_THAT(schedule_counter_lines(uneven, uneven.after(1))[0], says("The busiest rank sent 1 of"));
  const Schedule naive = plan_schedule(AllReduceKind::naive, 8, 8, 100e6, kLink);
  CHECK(schedule_counter_lines(naive, naive.after(3)).size() == 3);
  CHECK(schedule_step_at(ring, 0) == 0);
  CHECK(schedule_step_at(ring, 0.5) == 7);
  CHECK(schedule_step_at(ring, 1) == 14);
}

TEST_CASE("the clock stands beside the formula, and says where that is not the plan's time") {
  const auto has_line = [](const Schedule& schedule, const std::string& part) {
    const Drawn picture = drawn(schedule, 0, 1300);
    return std::any_of(picture.texts.begin(), picture.texts.end(),
                       [&](const auto& text) { return text.words.find(part) != std::string::npos; });
  };
  CHECK(has_line(plan_schedule(AllReduceKind::naive, 4, 4, 1e6, kLink), "0 us of 4.9 ms = 2a + 2(N-1)S/B"));
  CHECK(has_line(plan_schedule(AllReduceKind::tree, 4, 4, 1e6, kLink), "= 2L(a + S/B)"));
  CHECK(has_line(plan_schedule(AllReduceKind::ring, 4, 5, 1e6, kLink), "In equal groups 2(N-1)a"));
  CHECK(has_line(plan_schedule(AllReduceKind::ring, 4, 4, 1e6, {}), "without latency and limit"));
}

TEST_CASE("numbers can be read on every ground of a cell, in both themes") {
  for (const bool dark : {false, true}) {
    const Theme& theme = theme_of(dark);
    for (int ranks = 2; ranks <= kMostScheduleRanks; ++ranks) {
      for (int count = 1; count <= ranks; ++count) {
        INFO(dark << " " << count << " of " << ranks);
        CHECK(contrast(theme.text, cell_colour(theme, count, ranks)) >= 4.5);
      }
    }
  }
}

}  // namespace isobar::test_schedule_scene
