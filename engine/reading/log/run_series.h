#pragma once
// Every value that a run recorded, as curves over four x axes.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "log/event.h"
#include "log/series.h"
#include "record/left_out.h"

namespace isobar {

enum class XAxis { step, epoch, time, samples };

/// Rows of events with their four places; each place is non-decreasing. Step counts from 0, epoch is
/// fractional (steps over steps per epoch where known), time is in seconds since the run began (a resumed
/// attempt continues behind the last), samples are those that all ranks trained on before the event.
struct Places {
  Series step, epoch, time_s, samples;
  // A log of another program may lack them, and 0 stands in their place.
  bool knows_epoch = true, knows_time = true, knows_samples = true;

  bool knows(XAxis axis) const;
  const Series& of(XAxis axis) const;
  void push(double step, double epoch, double time_s, double samples);
  void truncate(std::size_t rows);
  Places snapshot();
};

/// Values of one name. Most are there in every row; others, such as the loss, only in some.
struct Curve {
  Series y;
  Series rows;  ///< row of each value; empty while value i is in row i

  std::size_t row(std::size_t i) const { return rows.empty() ? i : static_cast<std::size_t>(rows[i]); }
  /// Whether the last value is that of `row`, the newest: a row has one value.
  bool has_row(std::size_t newest) const { return !y.empty() && row(y.size() - 1) == newest; }
  /// First index whose row is not less than `row`.
  std::size_t index_of_row(std::size_t row) const;
  /// The value of a row; nothing where the row has none.
  std::optional<double> at_row(std::size_t row) const;
  void push(std::size_t row, double value);
  void truncate(std::size_t rows_kept);
};

/// Curves that share their rows.
struct CurveTable {
  /// Where the fields of the newest event went, in their order: those of the next one are mostly the same. A
  /// copy of a table has curves of its own, and finds them again.
  struct Fields : std::vector<std::pair<std::string, Curve*>> {
    Fields() = default;
    Fields(const Fields& /*other*/) : Fields() {}
    Fields(Fields&&) = default;
    Fields& operator=(const Fields& /*other*/) { return *this = Fields(); }
    Fields& operator=(Fields&&) = default;
  };

  Places places;
  std::map<std::string, Curve, std::less<>> curves;
  Fields newest = {};

  /// Null where there is no such curve.
  const Curve* find(std::string_view name) const;
  CurveTable snapshot();
};

struct CurveRef {
  const Places* places = nullptr;
  const Curve* curve = nullptr;
  explicit operator bool() const { return curve != nullptr && !curve->y.empty(); }

  /// Over the steps from `first` to `last`.
  Extent between(std::int64_t first, std::int64_t last) const;
  /// Places and values, also those that are not finite; none where there is no such curve.
  std::vector<std::pair<double, double>> points(XAxis over = XAxis::step) const;
};

/// All curves of a run. Names: "train/loss", "train/step_us", ... from step events, "valid/loss",
/// "valid/rmse_u10m", ... from evaluations; "train/samples_per_s" is worked out. Tags of event files keep
/// their names unless they mean one of these.
class RunSeries {
 public:
  void take(const Event& event);
  /// Drops steps and evaluations: lines were left out behind them.
  void skip() { steps_ = evaluations_ = {}; }
  /// One scalar of an event file, put in by its step and session (log/tag_rows.h).
  void take_scalar(std::string_view tag, double step, double wall_s, double value, std::int64_t session = 0);

  CurveRef find(std::string_view name) const;
  std::vector<std::string> names() const;
  std::size_t step_rows() const { return steps_.places.step.size(); }
  const CurveTable& steps() const { return steps_; }
  double last_step() const;
  /// Values and events beyond a limit (names, rows), or whose steps went back within an attempt.
  const LeftOut& left_out() const { return left_out_; }
  RunSeries snapshot();

 private:
  void take_step(const Event& event);
  void take_eval(const Event& event);
  void begin_attempt(const Attempt& attempt);
  void add(CurveTable& table, std::string_view prefix, const Event& event);
  Curve* curve(CurveTable& table, std::string_view name);

  CurveTable steps_;
  CurveTable evaluations_;
  std::map<std::string, CurveTable, std::less<>> tags_;
  std::map<std::string, std::int64_t, std::less<>> sessions_;  ///< the newest of each tag
  double steps_per_epoch_ = 0;
  double attempt_begins_s_ = 0;
  double samples_ = 0;
  double replicas_ = 1;  ///< models that train side by side
  double first_wall_s_ = 0;
  double attempt_samples_ = -1;  ///< trained on before this attempt, -1 = not known
  bool any_scalar_ = false;
  bool attempt_is_new_ = false;
  LeftOut left_out_;
};

/// The name under which a tag of the ERA5 tutorial's event files is kept: "Loss/train" -> "train/loss".
std::string name_of_tag(std::string_view tag);

}  // namespace isobar
