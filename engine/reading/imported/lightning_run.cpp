#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <utility>

#include "core/error.h"
#include "core/find.h"
#include "core/text.h"
#include "imported/foreign_run.h"
#include "imported/log_files.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

enum class Role { train_loss, valid_loss, lr, train_other, valid_other };

struct Column {
  std::size_t index;
  Role role;
  std::string key;  ///< key of another figure
};

/// Takes "train_", "train/" and their kin from the front of a name.
bool take_stage(std::string& name, std::initializer_list<std::string_view> stages) {
  for (const std::string_view stage : stages) {
    if (!name.starts_with(stage) || name.size() < stage.size() + 2) continue;
    const char next = name[stage.size()];
    if (next != '_' && next != '/' && next != '-' && next != '.') continue;
    name.erase(0, stage.size() + 1);
    return true;
  }
  return false;
}

/// A key of our stream: letters that fit, and no unit that ours have, since its own is not known.
std::string key_of(const std::string& name) {
  constexpr std::size_t kMost = 60;
  std::string out;
  for (const char c : name.substr(0, kMost))
    out += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  constexpr std::string_view kUnits[] = {"_us", "_bytes", "_slots", "_calls", "_per_s"};
  constexpr std::string_view kTaken[] = {"kind",    "step",  "steps", "t_us",       "epoch", "samples",
                                         "skipped", "world", "loss",  "stands_for", "lr",    "launches"};
  const bool has_unit = std::ranges::any_of(kUnits, [&](auto unit) { return out.ends_with(unit); });
  return has_unit || holds(kTaken, out) ? out + "_logged" : out;
}

Column column_of(std::size_t index, const std::string& name, const ImportWish& wish) {
  if (name == wish.train_loss) return {index, Role::train_loss, ""};
  if (name == wish.valid_loss) return {index, Role::valid_loss, ""};
  std::string rest = lowered(name);
  if (rest == "lr" || rest.starts_with("lr-") || rest == "learning_rate") return {index, Role::lr, ""};
  if (rest.starts_with("test")) return {index, Role::valid_other, key_of(rest)};
  const bool valid = take_stage(rest, {"validation", "valid", "val"});
  if (!valid) take_stage(rest, {"training", "train"});
  const bool is_loss = rest.find("loss") != std::string::npos;
  if (is_loss && valid && wish.valid_loss.empty()) return {index, Role::valid_loss, key_of(rest)};
  if (is_loss && !valid && wish.train_loss.empty()) return {index, Role::train_loss, key_of(rest)};
  return {index, valid ? Role::valid_other : Role::train_other, key_of(rest)};
}

/// One of several losses counts: the plain one, then that of each step, then the first; the others keep
/// their names.
void keep_one(std::vector<Column>& columns, Role role, Role other) {
  Column* kept = nullptr;
  const auto rank = [](const Column& column) {
    return column.key.empty() || column.key == "loss_logged" ? 0 : column.key == "loss_step" ? 1 : 2;
  };
  for (Column& column : columns) {
    if (column.role == role && (kept == nullptr || rank(column) < rank(*kept))) kept = &column;
  }
  for (Column& column : columns) {
    if (column.role == role && &column != kept) column.role = other;
  }
}

std::vector<Column> columns_of(const MetricsTable& table, const ImportWish& wish, const std::string& where) {
  for (const std::string& name : {wish.train_loss, wish.valid_loss}) {
    if (!name.empty() && !table.column(name))
      throw Error("there is no column \"" + printable(name, 60) + "\"", where,
                  did_you_mean(name, table.columns, "it has " + joined(table.columns).substr(0, 400)));
  }
  std::vector<Column> out;
  for (std::size_t i = 0; i < table.columns.size(); ++i) out.push_back(column_of(i, table.columns[i], wish));
  keep_one(out, Role::train_loss, Role::train_other);
  keep_one(out, Role::valid_loss, Role::valid_other);
  std::set<std::pair<bool, std::string>> keys;  // two names may come to one key
  for (Column& column : out) {
    const bool is_of_scores = column.role == Role::valid_other;
    if (!is_of_scores && column.role != Role::train_other) continue;
    const std::string key = column.key;
    for (int i = 2; !keys.emplace(is_of_scores, column.key).second; ++i)
      column.key = fmt::format("{}_{}", key, i);
  }
  if (!find_by(out, &Column::role, Role::train_loss) && !find_by(out, &Column::role, Role::valid_loss))
    throw Error("no column is a loss by its name: " + printable(joined(table.columns), 400), where,
                "--train-loss NAME and --valid-loss NAME name them");
  return out;
}

using Others = std::vector<std::pair<std::string, double>>;

class RunBuilder {
 public:
  RunBuilder(const std::vector<Column>& columns, ForeignRun& out) : columns_(columns), out_(out) {}

  void take(const MetricsRow& row) {
    if (is_misplaced(row)) {
      const auto values = std::ranges::count_if(
          columns_, [&](const Column& column) { return row.values[column.index].has_value(); });
      return out_.left_out.add("value", "their row goes back to a step of another epoch than it names",
                               values);
    }
    ForeignStep step{.step = row.step, .epoch = row.epoch.value_or(last_epoch_)};
    ForeignScore score{.step = row.step + 1};  // it validates after the step that it counts
    for (const Column& column : columns_) {
      const std::optional<double> value = row.values[column.index];
      if (!value) continue;
      if (column.role == Role::valid_loss) score.loss = value;
      if (column.role == Role::train_loss) step.loss = value;
      if (column.role == Role::lr) take_lr(*value);
      if (column.role == Role::valid_other) score.others.emplace_back(column.key, *value);
      if (column.role == Role::train_other) step.others.emplace_back(column.key, *value);
    }
    if (row.epoch) {
      if (*row.epoch < last_epoch_ && row.step > last_step_) ++epochs_back_;
      places_.emplace_back(row.step, *row.epoch);
      if (score.loss) scored_[*row.epoch] = score.step;
    }
    last_epoch_ = step.epoch;
    last_step_ = row.step;
    add_step(std::move(step));
    add_score(std::move(score));
  }

  void finish() {
    if (lr_waits_) out_.left_out.add("value", kNoLossInRow);
    if (epochs_back_ > 0)
      out_.notes.push_back(fmt::format(
          "{} an earlier epoch than the row before, at a later step: which of the two is wrong is not known",
          epochs_back_ == 1 ? "1 row names" : fmt::format("{} rows name", epochs_back_)));
    find_steps_per_epoch();
  }

 private:
  static constexpr const char* kNoLossInRow = "no loss stands in their row, or in another at their step";
  static constexpr const char* kTwice = "another value of the same column stands at their step";
  static constexpr const char* kGoesBack = "the table goes back to an earlier step, and what follows counts";

  /// A row that goes back is of a second training, which passes the same epochs at the same steps.
  bool is_misplaced(const MetricsRow& row) const {
    if (!row.epoch || out_.steps.empty() || row.step >= out_.steps.back().step) return false;
    const auto behind = std::ranges::lower_bound(out_.steps, row.step, {}, &ForeignStep::step);
    const std::int64_t least = behind == out_.steps.begin() ? 0 : std::prev(behind)->epoch;
    return *row.epoch < least || *row.epoch > behind->epoch;
  }

  void take_lr(double value) {
    if (lr_waits_) out_.left_out.add("value", kNoLossInRow);
    lr_ = value;
    lr_waits_ = true;
  }

  /// The other values of a row at a step that has a row already.
  void add_others(const Others& more, Others& others) {
    for (const auto& one : more) {
      if (find_by(others, &Others::value_type::first, one.first) != nullptr)
        out_.left_out.add("value", kTwice);
      else
        others.push_back(one);
    }
  }

  /// The loss of an epoch has the step of its last step, which has a line of its own: the first counts. A
  /// step that goes back is of a table that a second training continued.
  void add_step(ForeignStep step) {
    if (!out_.steps.empty() && step.step == out_.steps.back().step) {
      if (step.loss) out_.left_out.add("value", kTwice);
      return add_others(step.others, out_.steps.back().others);
    }
    if (!step.loss) return out_.left_out.add("value", kNoLossInRow, std::ssize(step.others));
    while (!out_.steps.empty() && out_.steps.back().step >= step.step) {
      drop_last(out_.steps, kGoesBack);
      while (!out_.scores.empty() && out_.scores.back().step > step.step) drop_last(out_.scores, kGoesBack);
    }
    step.stands_for = step.step - (out_.steps.empty() ? -1 : out_.steps.back().step);
    step.lr = lr_;
    lr_waits_ = false;
    out_.steps.push_back(std::move(step));
  }

  /// A training that begins again at a step has none of the steps and scores behind it.
  template <class Line>
  void drop_last(std::vector<Line>& lines, const char* why) {
    const Line& last = lines.back();
    out_.left_out.add("value", why, std::ssize(last.others) + (last.loss ? 1 : 0));
    lines.pop_back();
  }

  void add_score(ForeignScore score) {
    const bool is_again = !out_.scores.empty() && out_.scores.back().step == score.step;
    if (!score.loss && is_again) return add_others(score.others, out_.scores.back().others);
    if (!score.loss) return out_.left_out.add("value", kNoLossInRow, std::ssize(score.others));
    while (!out_.scores.empty() && out_.scores.back().step >= score.step)
      drop_last(out_.scores, out_.scores.back().step == score.step ? kTwice : kGoesBack);
    out_.scores.push_back(std::move(score));
  }

  /// A guess from where the first epoch was scored last; the rows' own epochs show whether it holds.
  void find_steps_per_epoch() {
    if (scored_.empty()) return;
    const auto [epoch, step] = *scored_.begin();
    if (step % (epoch + 1) != 0) return;
    const std::int64_t steps = step / (epoch + 1);
    const auto elsewhere = std::ranges::count_if(
        places_, [&](const auto& place) { return place.first / steps != place.second; });
    if (elsewhere == 0) {
      out_.steps_per_epoch = steps;
      return;
    }
    const bool holds = 2 * elsewhere < std::ssize(places_);
    if (holds) out_.steps_per_epoch = steps;
    out_.notes.push_back(
        fmt::format("{} of {} rows are not in the epoch that they name, at {} steps an epoch (where the "
                    "first was scored): {}",
                    elsewhere, places_.size(), steps,
                    holds ? "they are placed by their steps" : "they are placed by their epochs"));
  }

  const std::vector<Column>& columns_;
  ForeignRun& out_;
  std::int64_t last_epoch_ = 0, last_step_ = 0, epochs_back_ = 0;
  std::vector<std::pair<std::int64_t, std::int64_t>> places_;  ///< step and epoch of rows
  std::map<std::int64_t, std::int64_t> scored_;                ///< epoch and the step after its last score
  std::optional<double> lr_;
  bool lr_waits_ = false;  ///< for a step
};

}  // namespace

ForeignRun read_lightning_run(const fs::path& file, const ImportWish& wish) {
  const std::string where = printable(file.string(), 4096);
  const MetricsTable table = read_metrics_csv(file);
  const std::vector<Column> columns = columns_of(table, wish, where);
  const fs::path folder = fs::absolute(file).lexically_normal().parent_path();
  ForeignRun out{.source = "lightning",
                 .name = folder.parent_path().filename().string() + "-" + folder.filename().string()};
  out.device = wish.device;
  out.batch = wish.batch;
  RunBuilder builder(columns, out);
  for (const MetricsRow& row : table.rows) builder.take(row);
  builder.finish();
  out.left_out.add(table.left_out);
  if (out.steps.empty() && out.scores.empty())
    throw Error("the table holds no loss", where, "its columns of losses are empty");
  if (out.batch == 0) out.notes.emplace_back("how many samples a step has is not known: --batch sets it");
  out.notes.emplace_back("it has no times: speed is not known");
  out.files = {file};
  return out;
}

}  // namespace isobar
