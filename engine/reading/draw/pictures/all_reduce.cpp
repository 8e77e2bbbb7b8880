// Lesson 09: a ring of four in the middle of its two phases. Worked out by the rules of the lesson's own
// ring.
#include "draw/pictures/pictures.h"
#include "draw/theatre_scene.h"

namespace isobar {
namespace {

constexpr int kRingRanks = 4;
constexpr double kRingBytes = 4 << 20, kRingLatency_us = 50, kRingGbitPerS = 10;
constexpr std::size_t kMidReduce = 2, kMidSpread = 4;  // steps done

float paint_moment(Sketch& sketch, const Theatre& theatre, std::size_t done, PlotPoint at, float width) {
  at.y = sketch.words(at, width, theatre_sentence(theatre, done)) + sketch.px(8);
  at.y = paint_theatre(sketch, theatre, done, at, width) + sketch.px(6);
  for (const std::string& line : theatre_counter_lines(theatre, theatre.after(done)))
    at.y = sketch.words(at, width, line, {.colour = sketch.theme().dim});
  return at.y;
}

float paint_ring(Sketch& sketch, PlotPoint at, float width) {
  const Theatre theatre = plan_theatre(AllReduceKind::ring, kRingRanks, kRingRanks, kRingBytes,
                                       link_of(kRingLatency_us, kRingGbitPerS));
  at.y = paint_theatre_clock(sketch, theatre, kMidReduce, at, width) + sketch.px(10);
  at.y = paint_theatre_legend(sketch, theatre, at, width) + sketch.px(12);
  const auto moment = [&](std::size_t done) {
    return
        [&, done](PlotPoint place, float wide) { return paint_moment(sketch, theatre, done, place, wide); };
  };
  return paint_pair(sketch, at, width, 710, moment(kMidReduce), moment(kMidSpread));
}

}  // namespace

std::vector<LessonPicture> all_reduce_pictures() {
  return {
      {"09_all_reduce",
       "idea",
       {"A ring of four ranks, before its third step and before its fifth",
        "4 MiB over a link of 50 us and 10 Gb/s, worked out with the lesson's own ring",
        "Four columns, one a rank, of four chunks with a number each. In the first picture the third of "
        "three steps of the reduce phase comes next: every rank sends one chunk, a sum of three ranks, to "
        "its right neighbour, which adds its own, so that four cells on a diagonal will hold the sum of "
        "all. In the second the spread phase is under way: sums of all go round the same way and take the "
        "place of parts. A bar above shows the six steps in the colours of both phases.",
        paint_ring}}};
}

}  // namespace isobar
