#include <cmath>
#include <random>

#include "log/run_series.h"
#include "record/json_line.h"
#include "support/catch.h"

using namespace isobar;

namespace {

Extent plain_extent(const std::vector<double>& values, std::size_t begin, std::size_t end) {
  Extent out;
  for (std::size_t i = begin; i < std::min(end, values.size()); ++i) {
    ++out.size;
    if (!std::isfinite(values[i])) continue;
    out.least = out.finite == 0 ? values[i] : std::min(out.least, values[i]);
    out.most = out.finite == 0 ? values[i] : std::max(out.most, values[i]);
    out.sum += values[i];
    ++out.finite;
  }
  return out;
}

void take(RunSeries& series, const std::string& line) {
  static EventParser parser;
  const Event* const event = parser.parse(line);
  REQUIRE(event != nullptr);
  series.take(*event);
}

void take_step(RunSeries& series, int step, double loss) {
  take(series, JsonLine("step")
                   .add("step", step)
                   .add("t_us", 1000 * step)
                   .add("samples", 4)
                   .add("step_us", 2000)
                   .add("loss", loss)
                   .text());
}

}  // namespace

TEST_CASE("A column knows the extremes of any range, through cuts and with values that are not finite") {
  std::mt19937 random(3);
  Series series;
  std::vector<double> plain;
  for (int round = 0; round < 30; ++round) {
    const std::size_t grow = random() % 3000;
    for (std::size_t i = 0; i < grow; ++i) {
      const double value = random() % 50 == 0 ? NAN : static_cast<double>(random() % 100000) - 5e4;
      series.push(value);
      plain.push_back(value);
    }
    if (round % 3 == 2) {
      const std::size_t kept = plain.empty() ? 0 : random() % plain.size();
      series.truncate(kept);
      plain.resize(kept);
    }
    REQUIRE(series.size() == plain.size());
    for (int k = 0; k < 20; ++k) {
      const std::size_t begin = plain.empty() ? 0 : random() % plain.size();
      const std::size_t end = begin + random() % 5000;
      const Extent found = series.extent(begin, end);
      const Extent wanted = plain_extent(plain, begin, end);
      REQUIRE(found.finite == wanted.finite);
      REQUIRE(found.size == wanted.size);
      REQUIRE(found.least == wanted.least);
      REQUIRE(found.most == wanted.most);
      REQUIRE(found.sum == Approx(wanted.sum).margin(1e-6));
    }
  }
}

TEST_CASE("A snapshot does not change when its source goes on, is cut, or goes on after that") {
  Series series;
  for (int i = 0; i < 5000; ++i) series.push(i);
  const Series before = series.snapshot();
  for (int i = 0; i < 5000; ++i) series.push(-1);
  series.truncate(4500);
  for (int i = 0; i < 9000; ++i) series.push(-2);
  REQUIRE(before.size() == 5000);
  for (std::size_t i = 0; i < 5000; ++i) REQUIRE(before[i] == static_cast<double>(i));
  CHECK(before.extent(4400, 5000).least == 4400);
  CHECK(series[4499] == 4499);
  CHECK(series[4500] == -2);
  CHECK(before.lower_bound(77.5) == 78);
}

TEST_CASE("A value that is there only in some rows keeps its rows") {
  RunSeries series;
  for (int i = 0; i < 100; ++i) {
    JsonLine line("step");
    line.add("step", i).add("t_us", i).add("samples", 2).add("step_us", 10);
    if (i % 10 == 0) line.add("loss", 1.0 / (i + 1));
    take(series, line.text());
  }
  const CurveRef loss = series.find("train/loss");
  REQUIRE(loss);
  CHECK(loss.curve->y.size() == 10);
  CHECK(loss.curve->row(3) == 30);
  CHECK(loss.places->samples[30] == 60);
  CHECK(series.find("train/samples_per_s").curve->y[5] == Approx(2e5));
  CHECK_FALSE(series.find("train/nothing"));
}

TEST_CASE("A resumed attempt replaces the steps it repeats; within an attempt nothing goes back") {
  RunSeries series;
  const std::string run = JsonLine("run").add("schema", 1).text();
  take(series, run);
  for (int i = 0; i < 20; ++i) take_step(series, i, 1);
  take(series, JsonLine("eval").add("step", 20).add("rmse_u10m", 0.5).text());
  take_step(series, 3, 9);
  CHECK(series.left_out().count() == 1);
  take(series, run);
  for (int i = 15; i < 30; ++i) take_step(series, i, 2);
  CHECK(series.step_rows() == 30);
  CHECK(series.find("train/loss").places->samples[15] == 15 * series.find("train/loss").places->samples[1]);
  const CurveRef loss = series.find("train/loss");
  CHECK(loss.curve->y[14] == 1);
  CHECK(loss.curve->y[15] == 2);
  CHECK_FALSE(series.find("valid/rmse_u10m"));
  const Series& time = loss.places->time_s;
  for (std::size_t i = 1; i < time.size(); ++i) CHECK(time[i] >= time[i - 1]);
}

TEST_CASE("Samples of a resumed attempt go on from its checkpoint, though steps are missing in between") {
  RunSeries series;
  take(series, JsonLine("run").add("schema", 1).add("attempt", 0).add("from_samples", 0).text());
  for (int i = 0; i < 20; ++i) take_step(series, i, 1);
  const double batch = series.find("train/loss").places->samples[1];
  take(series, JsonLine("run").add("schema", 1).add("attempt", 1).add("from_samples", 16 * batch).text());
  take(series, JsonLine("eval").add("step", 16).add("rmse_u10m", 0.5).text());
  CHECK(series.find("valid/rmse_u10m").places->samples[0] == 16 * batch);
  for (int i = 16; i < 30; ++i) take_step(series, i, 2);
  take(series, JsonLine("run").add("schema", 1).add("attempt", 2).add("from_samples", 40 * batch).text());
  for (int i = 40; i < 50; ++i) take_step(series, i, 3);
  const Places& places = *series.find("train/loss").places;
  for (std::size_t i = 0; i < places.step.size(); ++i) CHECK(places.samples[i] == places.step[i] * batch);
}

TEST_CASE("Tags of the ERA5 tutorial stand beside our own curves") {
  CHECK(name_of_tag("Loss/train") == "train/loss");
  CHECK(name_of_tag("RMSE(u10m)/valid") == "valid/rmse_u10m");
  CHECK(name_of_tag("something else") == "something else");
  RunSeries series;
  for (int i = 0; i < 5; ++i) series.take_scalar("Loss/valid", 100 * i, 1e9 + i, 1.0 / (1 + i));
  series.take_scalar("Loss/valid", 200, 2e9, 7, 1);  // the program began again from there
  const CurveRef loss = series.find("valid/loss");
  REQUIRE(loss);
  CHECK(loss.curve->y.size() == 3);
  CHECK(loss.curve->y[2] == 7);
  CHECK_FALSE(loss.places->knows_samples);
}

TEST_CASE("Scalars that come late go where they belong, and what is dropped of a tag is counted") {
  RunSeries series;
  const auto put = [&](double step, double value, std::int64_t session = 1) {
    series.take_scalar("t", step, 1.7e9 + step, value, session);
  };
  const auto values = [&] {
    const CurveRef curve = series.find("t");
    std::vector<double> out;
    for (std::size_t i = 0; i < curve.curve->y.size(); ++i) {
      CHECK((i == 0 || curve.places->step[i] > curve.places->step[i - 1]));
      out.push_back(curve.curve->y[i]);
    }
    return out;
  };
  for (const double step : {0, 1, 2, 4, 3, 5}) put(step, step);
  CHECK(values() == std::vector<double>{0, 1, 2, 3, 4, 5});
  CHECK(series.left_out().empty());
  put(4, 40);  // twice at one step: the later one counts
  CHECK(values() == std::vector<double>{0, 1, 2, 3, 40, 5});
  CHECK(series.left_out().count() == 1);
  put(3, 30, 2);  // the program was started again, and repeats what it lost
  CHECK(values() == std::vector<double>{0, 1, 2, 30});
  CHECK(series.left_out().count() == 4);
  for (int step = 4; step < 200; ++step) put(step, step, 2);
  put(0, -1, 2);  // each epoch counts its own steps
  CHECK(values() == std::vector<double>{-1});
  CHECK(series.left_out().count() == 204);
  series.take_scalar("t", NAN, 0, 0, 2);
  CHECK(series.left_out().count() == 205);
}
