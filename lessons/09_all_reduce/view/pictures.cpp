// Pictures: a ring of four in the middle of its two phases, worked out by the rules of the lesson's own ring;
// and how long each size of a run took, what that is of the link, and the link that these times fit.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "09_all_reduce/view/all_reduce_run.h"
#include "09_all_reduce/view/schedule_picture.h"
#include "config/load.h"
#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "draw/chart.h"
#include "formula/link_fit.h"
#include "log/run_reader.h"
#include "plot/lesson_view.h"

namespace isobar::lesson_09 {
namespace {

constexpr int kRingRanks = 4;
constexpr double kRingBytes = 4 << 20, kRingLatency_us = 50, kRingGbitPerS = 10;
constexpr std::size_t kMidReduce = 2, kMidSpread = 4;  // steps done

float paint_moment(Sketch& sketch, const Schedule& schedule, std::size_t done, PlotPoint at, float width) {
  at.y = sketch.words(at, width, schedule_sentence(schedule, done)) + sketch.px(8);
  at.y = paint_schedule(sketch, schedule, done, at, width) + sketch.px(6);
  for (const std::string& line : schedule_counter_lines(schedule, schedule.after(done)))
    at.y = sketch.words(at, width, line, {.colour = sketch.theme().dim});
  return at.y;
}

float paint_ring(Sketch& sketch, PlotPoint at, float width) {
  const Schedule schedule = plan_schedule(AllReduceKind::ring, kRingRanks, kRingRanks, kRingBytes,
                                          link_of(kRingLatency_us, kRingGbitPerS));
  at.y = paint_schedule_clock(sketch, schedule, kMidReduce, at, width) + sketch.px(10);
  at.y = paint_schedule_legend(sketch, schedule, at, width) + sketch.px(12);
  const auto moment = [&](std::size_t done) {
    return
        [&, done](PlotPoint place, float wide) { return paint_moment(sketch, schedule, done, place, wide); };
  };
  return paint_pair(sketch, at, width, 710, moment(kMidReduce), moment(kMidSpread));
}

constexpr double kLatencyBytes = 64;  // of the all-reduce whose time a probe calls latency

/// What another run measured between as many ranks before it trained.
struct Beside {
  MeasuredLink link;
  std::string run;

  double large_us() const { return link.bytes / (link.algbw_gb_per_s * 1e3); }
};

struct Timings {
  AllReduceKind kind = AllReduceKind::ring;
  int ranks = 1;
  Link asked;  ///< comm.link; 0 and 0 = none
  std::vector<TimedSize> times = {};
  std::vector<Beside> beside = {};  ///< by backend

  bool has_link() const { return asked.latency_us > 0 || asked.bytes_per_us > 0; }
  double busbw(double bytes, double time_us) const { return bus_bandwidth(ranks, bytes, time_us) * 1e-3; }
};

/// The newest probe of each backend, of the runs that lie beside this one.
std::vector<Beside> probes_beside(const std::filesystem::path& folder, int ranks) {
  constexpr std::size_t kMostRuns = 200;
  std::vector<Beside> out;
  std::size_t looked_at = 0;
  for (const KnownRun& known : known_runs(folder.parent_path())) {
    if (value_in(known.config, "comm.probe") != "true" || value_in(known.config, "run.ranks") == "1")
      continue;
    if (++looked_at > kMostRuns) break;
    try {
      const RunView view = glance(known.folder);
      if (!view.probe || view.probe->bytes <= 0 || view.probe->algbw_gb_per_s <= 0) continue;
      const bool is_known = std::ranges::any_of(
          out, [&](const Beside& one) { return one.link.backend == view.probe->backend; });
      if (view.summary.world == ranks && !is_known)
        out.push_back({*view.probe, known.folder.filename().string()});
    } catch (const Error&) {  // of another version
    }
  }
  return out;
}

Timings timings_of(const OwnRun& run) {
  const AllReduceRun made = read_all_reduces(run.folder);
  Timings out{.kind = made.kind, .ranks = made.ranks, .asked = made.link};
  for (const TimedSize& one : made.times()) {
    if (one.bytes > 0 && one.time_us > 0) out.times.push_back(one);
  }
  if (out.ranks > 1) out.beside = probes_beside(run.folder, out.ranks);
  return out;
}

std::string rate_text(double bytes_per_us) {
  if (bytes_per_us <= 0) return "no limit that these sizes show";
  return fmt::format("{:.3g} GB/s", bytes_per_us * 1e-3);
}

std::vector<std::string> fit_lines(const Timings& timings, const LinkFit& fit) {
  const TimedSize& last = fit.medians.back();
  const std::string beta = fit.link.bytes_per_us > 0
                               ? fmt::format(" (beta = 1/B = {:.3g} ns a byte)", 1e3 / fit.link.bytes_per_us)
                               : "";
  std::vector<std::string> out = {
      fmt::format("Fitted link: alpha = {:.3g} us a message, B = {}{}. Its "
                  "curve, {}, misses the medians by {:.0f} % at most.",
                  fit.link.latency_us, rate_text(fit.link.bytes_per_us), beta,
                  all_reduce_formula(timings.kind), 100 * fit.worst),
      fmt::format("busbw at {}: {:.3g} GB/s.", value_text(Quantity::bytes, last.bytes),
                  timings.busbw(last.bytes, last.time_us))};
  if (timings.has_link())
    out.push_back(
        fmt::format("comm.link asks for {:.3g} us and {}.", timings.asked.latency_us,
                    timings.asked.bytes_per_us > 0 ? rate_text(timings.asked.bytes_per_us) : "no limit"));
  for (const Beside& one : timings.beside)
    out.push_back(fmt::format("{} between {} ranks (run {}): {} at 64 B, busbw {:.3g} GB/s at {}.",
                              one.link.backend, timings.ranks, one.run,
                              microseconds_text(one.link.latency_us), one.link.busbw_gb_per_s,
                              value_text(Quantity::bytes, one.link.bytes)));
  return out;
}

/// What was measured, as marks.
struct TimedSeries {
  LegendEntry look;
  std::vector<TimedSize> points;
};

/// What a link gives by the formula, as a line.
struct LinkLine {
  LegendEntry look;
  Link link;
  std::size_t run = 0;  ///< place of its run, where there are several
};

std::vector<TimedSeries> timed_series(const Theme& theme, const Timings& timings, const LinkFit& fit) {
  constexpr std::array<Mark, 3> kMarks = {Mark::square, Mark::triangle, Mark::diamond};  // three backends
  std::vector<TimedSeries> out = {
      {{.words = "an all-reduce", .colour = with_alpha(theme.dim, 0.7F), .mark = Mark::ring}, timings.times}};
  for (std::size_t i = 0; i < timings.beside.size(); ++i) {
    const Beside& one = timings.beside[i];
    const std::size_t place = i % kMarks.size();
    out.push_back({{.words = one.link.backend + " in another run",
                    .colour = theme.series[3 + place],
                    .mark = kMarks[place]},
                   {{kLatencyBytes, one.link.latency_us}, {one.link.bytes, one.large_us()}}});
    std::erase_if(out.back().points, [](const TimedSize& point) { return !(point.time_us > 0); });
  }
  out.push_back(
      {{.words = "median of a size", .colour = theme.series[0], .mark = Mark::circle}, fit.medians});
  return out;
}

std::vector<LinkLine> link_lines(const Theme& theme, const Timings& timings, const LinkFit& fit) {
  std::vector<LinkLine> out = {
      {{.words = "fitted link", .colour = theme.series[1], .line = Dash::solid}, fit.link}};
  if (timings.has_link())
    out.push_back(
        {{.words = "comm.link by the formula", .colour = theme.text, .line = Dash::dotted}, timings.asked});
  return out;
}

/// Over the size either the time, or what that is of the link.
struct TimingChart {
  const Timings& timings;
  const std::vector<TimedSeries>& series;
  const std::vector<LinkLine>& lines;
  bool is_busbw = false;
  const std::vector<Timings>* runs = nullptr;  ///< several; null: `timings` alone

  double value(double bytes, double time_us) const {
    return is_busbw ? timings.busbw(bytes, time_us) * 1e9 : time_us;
  }
  ChartSpec spec() const;
  float paint(Sketch& sketch, PlotPoint at, float width) const;
};

ChartSpec TimingChart::spec() const {
  constexpr double kRoom = 1.5;
  ChartSpec out;
  out.x = out.y = {.least = 1e300, .most = 0, .log = true};
  for (const TimedSeries& one : series) {
    for (const TimedSize& point : one.points) {
      const double y = value(point.bytes, point.time_us);
      out.x.least = std::min(out.x.least, point.bytes / kRoom);
      out.x.most = std::max(out.x.most, point.bytes * kRoom);
      out.y.least = std::min(out.y.least, y / kRoom);
      out.y.most = std::max(out.y.most, y * kRoom);
    }
  }
  out.x_title = "bytes of the buffer";
  out.y_title = is_busbw ? "busbw in B/s" : "time of an all-reduce in us";
  out.height = 280;
  return out;
}

float TimingChart::paint(Sketch& sketch, PlotPoint at, float width) const {
  constexpr int kParts = 120;
  const ChartArea area = paint_chart(sketch, spec(), at, width);
  sketch.canvas().push_clip(area.box);
  for (const LinkLine& one : lines) {
    std::vector<PlotPoint> curve;
    for (int i = 0; i <= kParts; ++i) {
      const double bytes =
          area.x.least * std::pow(area.x.most / area.x.least, static_cast<double>(i) / kParts);
      const Timings& of = runs == nullptr ? timings : runs->at(one.run);
      const double us = all_reduce_us(of.kind, one.link, of.ranks, bytes);
      if (us > 0) curve.push_back(area.at(bytes, value(bytes, us)));
    }
    if (curve.size() > 1) sketch.canvas().line(curve, one.look.colour, sketch.px(2), *one.look.line);
  }
  for (const TimedSeries& one : series) {
    for (const TimedSize& point : one.points)
      sketch.mark(area.at(point.bytes, value(point.bytes, point.time_us)), one.look.mark, one.look.colour,
                  one.look.mark == Mark::ring ? 3 : 4);
  }
  sketch.canvas().pop_clip();
  return area.end;
}

float paint_timings(Sketch& sketch, const Timings& timings, const LinkFit& fit, PlotPoint at, float width) {
  const std::vector<TimedSeries> series = timed_series(sketch.theme(), timings, fit);
  const std::vector<LinkLine> lines = link_lines(sketch.theme(), timings, fit);
  std::vector<LegendEntry> legend;
  for (const TimedSeries& one : series) legend.push_back(one.look);
  for (const LinkLine& one : lines) legend.push_back(one.look);
  at.y = sketch.legend(at, width, legend) + sketch.px(6);
  const TimingChart time{timings, series, lines}, busbw{timings, series, lines, true};
  const auto chart = [&sketch](const TimingChart& one) {
    return [&](PlotPoint place, float wide) { return one.paint(sketch, place, wide); };
  };
  at.y = paint_pair(sketch, at, width, 710, chart(time), chart(busbw)) + sketch.px(8);
  for (const std::string& line : fit_lines(timings, fit)) at.y = sketch.words(at, width, line) + sketch.px(2);
  return at.y;
}

OwnPicture picture_of(const Timings& timings, const std::string& note) {
  if (timings.ranks < 2)
    return nothing_to_draw("a run of one rank has nobody to send to", "./isobar run 09_all_reduce --ranks 4");
  const std::optional<LinkFit> fit = fit_link(timings.kind, timings.ranks, timings.times);
  if (!fit)
    return nothing_to_draw("a link is fitted to the times of two sizes or more, and the run has fewer",
                           "more steps: the sizes come in turn");
  const std::string alt = fmt::format(
      "Points of measured time over bytes on logarithmic axes, with the curve of a link that was fitted to "
      "them: flat for small buffers, where latency decides, and rising with the size. Beside it what that is "
      "of the link, busbw, which rises to a limit. {}",
      joined(fit_lines(timings, *fit), " "));
  const auto body = [timings, fit = *fit](Sketch& sketch, PlotPoint at, float width) {
    return paint_timings(sketch, timings, fit, at, width);
  };
  return {{fmt::format("Time of an all-reduce over its size: {} of {}", name_of(timings.kind),
                       counted(timings.ranks, "rank")),
           note, alt, body}};
}

OwnPicture own_all_reduce(const OwnRun& run) {
  try {
    return picture_of(timings_of(run), run.note);
  } catch (const Error& error) {
    return nothing_to_draw(printable(error.what(), 200), printable(error.hint(), 200));
  }
}

/// Medians of the sizes of several runs, each with its fitted link.
Drawing times_together(std::string_view rule, const std::vector<ShownRun>& runs) {
  if (!is_one_of(
          rule, {"all_reduce_ratio", "link_fit", "bandwidth_falls", "quickest_all_reduce", "ring_overtakes"}))
    return {};
  std::vector<Timings> timings;
  std::vector<std::string> labels;
  std::string alt = "Time of an all-reduce over its size.";
  for (const ShownRun& one : runs) {
    const AllReduceRun made = read_all_reduces(one.run->folder);
    const std::vector<TimedSize> medians = made.medians();
    timings.push_back({.kind = made.kind, .ranks = made.ranks, .asked = made.link, .times = medians});
    labels.push_back(fmt::format("{}: {} of {}", one.label, name_of(made.kind), counted(made.ranks, "rank")));
    if (!medians.empty())
      alt +=
          fmt::format(" {}: {} at {} bytes, {} at {}.", one.label, microseconds_text(medians.front().time_us),
                      medians.front().bytes, microseconds_text(medians.back().time_us), medians.back().bytes);
  }
  return {
      "Time of an all-reduce over its size", "marks: medians of your runs; lines: the links that fit them",
      alt, [timings, labels](Sketch& sketch, PlotPoint at, float width) {
        constexpr std::array<Mark, 4> kMarks = {Mark::circle, Mark::square, Mark::triangle, Mark::diamond};
        std::vector<TimedSeries> series;
        std::vector<LinkLine> lines;
        std::vector<LegendEntry> legend;
        for (std::size_t i = 0; i < timings.size(); ++i) {
          const Colour colour = sketch.theme().series[i % kMarks.size()];
          legend.push_back({.words = labels[i], .colour = colour, .mark = kMarks[i % kMarks.size()]});
          series.push_back({legend.back(), timings[i].times});
          if (const auto fit = fit_link(timings[i].kind, timings[i].ranks, timings[i].times))
            lines.push_back({{.words = "", .colour = colour, .line = Dash::solid}, fit->link, i});
        }
        at.y = sketch.legend(at, width, legend);
        return TimingChart{timings.front(), series, lines, false, &timings}.paint(sketch, at, width);
      }};
}

std::vector<LessonPicture> pictures() {
  return {
      {"idea",
       {"A ring of four ranks, before its third step and before its fifth",
        "4 MiB over a link of 50 us and 10 Gb/s, worked out with the lesson's own ring",
        "Four columns, one a rank, of four chunks with a number each. In the first picture the third of "
        "three steps of the reduce phase comes next: every rank sends one chunk, a sum of three ranks, to "
        "its right neighbour, which adds its own, so that four cells on a diagonal will hold the sum of "
        "all. In the second the spread phase is under way: sums of all go round the same way and take the "
        "place of parts. A bar above shows the six steps in the colours of both phases.",
        paint_ring}}};
}

const AddLessonView kView{{"09_all_reduce",
                           pictures,
                           own_all_reduce,
                           {{"train/all_reduce_us", "Time of an all-reduce, microseconds"},
                            {"train/busbw_gb_per_s", "Bus bandwidth, GB/s"},
                            {"train/bytes", "Bytes of the buffer"}},
                           times_together}};

}  // namespace
}  // namespace isobar::lesson_09
