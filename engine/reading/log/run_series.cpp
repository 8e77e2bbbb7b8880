#include "log/run_series.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/text.h"
#include "log/tag_rows.h"

namespace isobar {
namespace {

constexpr std::size_t kMostCurves = 512;
constexpr std::size_t kMostRows = 20'000'000;
constexpr std::size_t kMostNameBytes = 120;
constexpr const char* kTooManyNames = "their name is none of the first 512";
constexpr const char* kNoPlace = "their step goes back within an attempt, is none, or is one of too many";

/// The least value that keeps a place non-decreasing; a place that is no number stays where it was.
double not_before(const Series& places, double value) {
  const double last = places.empty() ? -std::numeric_limits<double>::infinity() : places.back();
  if (!std::isfinite(value)) return places.empty() ? 0 : last;
  return std::max(last, value);
}

bool is_place(std::string_view key) {
  return key == "kind" || key == "step" || key == "t_us" || key == "epoch" || key == "samples" ||
         key == "stands_for";
}

std::size_t rows_before(const Places& places, double step) { return places.step.lower_bound(step); }

void truncate(CurveTable& table, std::size_t rows) {
  if (rows >= table.places.step.size()) return;
  table.places.truncate(rows);
  for (auto& [name, curve] : table.curves) curve.truncate(rows);
}

/// A tag of event files as rows (log/tag_rows.h): each has one value.
struct TagTable {
  CurveTable& table;
  Curve& curve;

  std::size_t size() const { return table.places.step.size(); }
  double step(std::size_t i) const { return table.places.step[i]; }
  TagRow row(std::size_t i) const { return {step(i), table.places.time_s[i], curve.y[i]}; }
  void truncate(std::size_t rows) { isobar::truncate(table, rows); }
  void push(const TagRow& row) {
    table.places.push(row.step, row.step, row.wall_s, row.step);
    curve.push(size() - 1, row.value);
  }
};

}  // namespace

bool Places::knows(XAxis axis) const {
  const std::array<bool, 4> known = {true, knows_epoch, knows_time, knows_samples};
  return known[static_cast<std::size_t>(axis)];
}

const Series& Places::of(XAxis axis) const {
  const std::array<const Series*, 4> all = {&step, &epoch, &time_s, &samples};
  return *all[static_cast<std::size_t>(axis)];
}

void Places::push(double at_step, double at_epoch, double at_time_s, double at_samples) {
  step.push(not_before(step, at_step));
  epoch.push(not_before(epoch, at_epoch));
  time_s.push(not_before(time_s, at_time_s));
  samples.push(not_before(samples, at_samples));
}

void Places::truncate(std::size_t rows) {
  for (Series* series : {&step, &epoch, &time_s, &samples}) series->truncate(rows);
}

Places Places::snapshot() {
  return {step.snapshot(), epoch.snapshot(), time_s.snapshot(), samples.snapshot(),
          knows_epoch,     knows_time,       knows_samples};
}

std::size_t Curve::index_of_row(std::size_t row) const {
  return rows.empty() ? std::min(row, y.size()) : rows.lower_bound(static_cast<double>(row));
}

std::optional<double> Curve::at_row(std::size_t row) const {
  const std::size_t i = index_of_row(row);
  return i < y.size() && this->row(i) == row ? std::optional(y[i]) : std::nullopt;
}

void Curve::push(std::size_t row, double value) {
  if (rows.empty() && row != y.size()) {
    for (std::size_t i = 0; i < y.size(); ++i) rows.push(static_cast<double>(i));
    rows.push(static_cast<double>(row));
  } else if (!rows.empty()) {
    rows.push(static_cast<double>(row));
  }
  y.push(value);
}

void Curve::truncate(std::size_t rows_kept) {
  const std::size_t kept = index_of_row(rows_kept);
  y.truncate(kept);
  rows.truncate(kept);
}

const Curve* CurveTable::find(std::string_view name) const {
  const auto found = curves.find(name);
  return found == curves.end() ? nullptr : &found->second;
}

CurveTable CurveTable::snapshot() {
  CurveTable out;
  out.places = places.snapshot();
  for (auto& [name, curve] : curves) {
    out.curves.emplace_hint(out.curves.end(), name, Curve{curve.y.snapshot(), curve.rows.snapshot()});
  }
  return out;
}

std::string name_of_tag(std::string_view tag) {
  if (tag == "Loss/train") return "train/loss";
  if (tag == "Loss/valid") return "valid/loss";
  if (tag == "Learning Rate") return "train/lr";
  if (tag == "Avg samples per sec") return "train/samples_per_s";
  for (const auto& [begin, curve] : {std::pair<std::string_view, const char*>{"RMSE(", "valid/rmse_"},
                                     {"CRPS(", "valid/crps_"},
                                     {"Spread(", "valid/spread_"}}) {
    const std::size_t around = begin.size() + 7;
    if (tag.starts_with(begin) && tag.size() > around && tag.ends_with(")/valid"))
      return curve + printable(tag.substr(begin.size(), tag.size() - around), kMostNameBytes);
  }
  return printable(tag, kMostNameBytes);
}

Curve* RunSeries::curve(CurveTable& table, std::string_view name) {
  const auto found = table.curves.find(name);
  if (found != table.curves.end()) return &found->second;
  if (table.curves.size() >= kMostCurves) {
    left_out_.add("value", kTooManyNames);
    return nullptr;
  }
  return &table.curves[std::string(name)];
}

void RunSeries::add(CurveTable& table, std::string_view prefix, const Event& event) {
  const std::size_t row = table.places.step.size() - 1;
  std::size_t place = 0;
  for (const EventField& field : event.fields()) {
    double value = 0;
    const bool is_expected = place < table.newest.size() && table.newest[place].first == field.key;
    if ((!is_expected && is_place(field.key)) || !field.number(value)) continue;
    if (!is_expected) {
      Curve* const found = curve(table, std::string(prefix) + printable(field.key, kMostNameBytes));
      if (found == nullptr) continue;
      table.newest.resize(place);
      table.newest.emplace_back(field.key, found);
    }
    Curve& column = *table.newest[place++].second;
    if (!column.has_row(row)) column.push(row, value);
  }
}

void RunSeries::take(const Event& event) {
  const std::string_view kind = event.kind();
  if (kind == "step") {
    take_step(event);
  } else if (kind == "eval") {
    take_eval(event);
  } else if (kind == "note") {
    steps_per_epoch_ = std::max(0.0, event.number("steps_per_epoch", steps_per_epoch_));
  } else if (kind == "run") {
    begin_attempt(Attempt(event));
  }
}

void RunSeries::begin_attempt(const Attempt& attempt) {
  attempt_samples_ = attempt.number >= 1 ? static_cast<double>(attempt.from_samples) : -1;
  replicas_ = static_cast<double>(attempt.replicas);
  if (attempt_samples_ >= 0) samples_ = attempt_samples_;
  attempt_begins_s_ = steps_.places.time_s.empty() ? 0 : steps_.places.time_s.back();
  attempt_is_new_ = true;
}

void RunSeries::take_step(const Event& event) {
  const double step = event.number("step", -1);
  Places& places = steps_.places;
  const bool goes_back = !places.step.empty() && step <= places.step.back();
  if (!(step >= 0) || !std::isfinite(step) || (goes_back && !attempt_is_new_) ||
      places.step.size() >= kMostRows) {
    left_out_.add("step", kNoPlace);
    return;
  }
  if (goes_back) {  // a resumed attempt repeats steps: the last attempt counts
    const std::size_t rows = rows_before(places, step);
    if (attempt_samples_ < 0) samples_ = places.samples[rows];  // what was trained on before the step
    truncate(steps_, rows);
    truncate(evaluations_, rows_before(evaluations_.places, step + 0.5));
  }
  const double batch = std::max(0.0, event.number("samples")) * replicas_;  // each model has as many
  // A recorded run leaves steps out; what they trained on counts. A log of another program says how many.
  const double stands_for = event.number("stands_for");
  const double between = stands_for >= 1                          ? stands_for - 1
                         : places.step.empty() || attempt_is_new_ ? 0
                                                                  : step - places.step.back() - 1;
  if (between > 0 && std::isfinite(between * batch)) samples_ += between * batch;
  attempt_is_new_ = false;
  places.knows_samples = places.knows_samples && event.find("samples") != nullptr;
  places.knows_time = places.knows_time && event.find("t_us") != nullptr;
  const double epoch = steps_per_epoch_ > 0 ? step / steps_per_epoch_ : event.number("epoch");
  places.push(step, epoch, attempt_begins_s_ + event.number("t_us") * 1e-6, samples_);
  samples_ += std::isfinite(batch) ? batch : 0;
  add(steps_, "train/", event);
  const double step_us = event.number("step_us");
  if (step_us > 0 && batch > 0) {
    Curve* const speed = curve(steps_, "train/samples_per_s");
    const std::size_t row = places.step.size() - 1;
    if (speed != nullptr && !speed->has_row(row)) speed->push(row, batch / step_us * 1e6);
  }
}

void RunSeries::take_eval(const Event& event) {
  const double step = event.number("step", -1);
  Places& places = evaluations_.places;
  if (!(step >= 0) || !std::isfinite(step) || places.step.size() >= kMostRows) {
    left_out_.add("score", kNoPlace);
    return;
  }
  if (!attempt_is_new_)
    left_out_.add("score", "one of an earlier step follows, and counts",
                  static_cast<std::int64_t>(places.step.size() - rows_before(places, step + 0.5)));
  truncate(evaluations_, rows_before(places, step));  // scored again after a resume: the last one counts
  places.knows_samples = steps_.places.knows_samples;
  places.knows_time = steps_.places.knows_time;
  const double last_epoch = steps_.places.epoch.empty() ? 0 : steps_.places.epoch.back();
  const double last_time_s = steps_.places.time_s.empty() ? 0 : steps_.places.time_s.back();
  places.push(step, steps_per_epoch_ > 0 ? step / steps_per_epoch_ : last_epoch,
              event.find("t_us") != nullptr ? attempt_begins_s_ + event.number("t_us") * 1e-6 : last_time_s,
              samples_);
  add(evaluations_, "valid/", event);
}

void RunSeries::take_scalar(std::string_view tag, double step, double wall_s, double value,
                            std::int64_t session) {
  if (!std::isfinite(step)) return left_out_.add("value", kNoPlace);
  if (!any_scalar_ && std::isfinite(wall_s)) {
    first_wall_s_ = wall_s;
    any_scalar_ = true;
  }
  const std::string name = name_of_tag(tag);
  const auto found = tags_.find(name);
  if (found == tags_.end() && tags_.size() >= kMostCurves) return left_out_.add("value", kTooManyNames);
  CurveTable& table = found == tags_.end() ? tags_[name] : found->second;
  table.places.knows_epoch = table.places.knows_samples = false;
  TagTable rows{table, table.curves[name]};
  if (rows.size() >= kMostRows) return left_out_.add("value", kNoPlace);
  std::int64_t& newest = sessions_[name];
  const bool is_new_session = session > newest;
  newest = std::max(newest, session);
  put_row(rows, {step, wall_s - first_wall_s_, value}, is_new_session, left_out_);
}

Extent CurveRef::between(std::int64_t first, std::int64_t last) const {
  if (curve == nullptr) return {};
  const auto index = [&](double step) { return curve->index_of_row(places->step.lower_bound(step)); };
  return curve->y.extent(index(static_cast<double>(first)), index(static_cast<double>(last) + 0.5));
}

std::vector<std::pair<double, double>> CurveRef::points(XAxis over) const {
  std::vector<std::pair<double, double>> out;
  for (std::size_t i = 0; curve != nullptr && i < curve->y.size(); ++i)
    out.emplace_back(places->of(over)[curve->row(i)], curve->y[i]);
  return out;
}

CurveRef RunSeries::find(std::string_view name) const {
  const auto tag = tags_.find(name);
  for (const CurveTable* table : {&steps_, &evaluations_, tag == tags_.end() ? nullptr : &tag->second}) {
    const Curve* const found = table == nullptr ? nullptr : table->find(name);
    if (found != nullptr) return {&table->places, found};
  }
  return {};
}

std::vector<std::string> RunSeries::names() const {
  std::vector<std::string> out;
  for (const CurveTable* table : {&steps_, &evaluations_}) {
    for (const auto& [name, curve] : table->curves) out.push_back(name);
  }
  for (const auto& [name, table] : tags_) out.push_back(name);
  std::ranges::sort(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

double RunSeries::last_step() const {
  double last = 0;
  for (const CurveTable* table : {&steps_, &evaluations_}) {
    if (!table->places.step.empty()) last = std::max(last, table->places.step.back());
  }
  for (const auto& [name, table] : tags_) {
    if (!table.places.step.empty()) last = std::max(last, table.places.step.back());
  }
  return last;
}

RunSeries RunSeries::snapshot() {
  RunSeries out;
  out.steps_ = steps_.snapshot();
  out.evaluations_ = evaluations_.snapshot();
  for (auto& [name, table] : tags_) out.tags_.emplace_hint(out.tags_.end(), name, table.snapshot());
  out.steps_per_epoch_ = steps_per_epoch_;
  out.left_out_ = left_out_;
  return out;
}

}  // namespace isobar
