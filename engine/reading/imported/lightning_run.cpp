#include "imported/lightning_run.h"

#include <algorithm>
#include <cctype>

#include "core/error.h"
#include "core/text.h"
#include "imported/metrics_csv.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

enum class Role { train_loss, valid_loss, lr, train_other, valid_other };

struct Column {
  std::size_t index;
  Role role;
  std::string key;  ///< of an other one
};

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

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

/// As a key of our stream: letters that fit, and no unit that ours have, since its own is not known.
std::string key_of(const std::string& name) {
  constexpr std::size_t kMost = 60;
  std::string out;
  for (const char c : name.substr(0, kMost))
    out += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  constexpr std::string_view kUnits[] = {"_us", "_bytes", "_slots", "_calls", "_per_s"};
  constexpr std::string_view kTaken[] = {"kind",    "step",  "steps", "t_us",       "epoch", "samples",
                                         "skipped", "world", "loss",  "stands_for", "lr",    "launches"};
  const bool has_unit =
      std::any_of(std::begin(kUnits), std::end(kUnits), [&](auto u) { return out.ends_with(u); });
  const bool is_taken = std::find(std::begin(kTaken), std::end(kTaken), out) != std::end(kTaken);
  return has_unit || is_taken ? out + "_logged" : out;
}

Column column_of(std::size_t index, const std::string& name, const ImportWish& wish) {
  if (name == wish.train_loss) return {index, Role::train_loss, ""};
  if (name == wish.valid_loss) return {index, Role::valid_loss, ""};
  std::string rest = lower(name);
  if (rest == "lr" || rest.starts_with("lr-") || rest == "learning_rate") return {index, Role::lr, ""};
  if (rest.starts_with("test")) return {index, Role::valid_other, key_of(rest)};
  const bool valid = take_stage(rest, {"validation", "valid", "val"});
  if (!valid) take_stage(rest, {"training", "train"});
  const bool is_loss = rest.find("loss") != std::string::npos;
  if (is_loss && valid && wish.valid_loss.empty()) return {index, Role::valid_loss, key_of(rest)};
  if (is_loss && !valid && wish.train_loss.empty()) return {index, Role::train_loss, key_of(rest)};
  return {index, valid ? Role::valid_other : Role::train_other, key_of(rest)};
}

/// Of several losses the plain one counts, then that of each step, then the first; the others stay as they
/// are called.
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
                  did_you_mean(name, table.columns, "it has " + join(table.columns, ", ").substr(0, 400)));
  }
  std::vector<Column> out;
  for (std::size_t i = 0; i < table.columns.size(); ++i) out.push_back(column_of(i, table.columns[i], wish));
  keep_one(out, Role::train_loss, Role::train_other);
  keep_one(out, Role::valid_loss, Role::valid_other);
  const bool any = std::any_of(out.begin(), out.end(), [](const Column& column) {
    return column.role == Role::train_loss || column.role == Role::valid_loss;
  });
  if (!any)
    throw Error("no column is a loss by its name: " + printable(join(table.columns, ", "), 400), where,
                "--train-loss NAME and --valid-loss NAME say which are");
  return out;
}

class RunBuilder {
 public:
  RunBuilder(const std::vector<Column>& columns, ForeignRun& out) : columns_(columns), out_(out) {}

  void take(const MetricsRow& row) {
    ForeignStep step{.step = row.step, .epoch = row.epoch.value_or(last_epoch_)};
    ForeignScore score{.step = row.step + 1};  // it validates after the step that it counts
    bool trains = false, scores = false;
    for (const Column& column : columns_) {
      const std::optional<double> value = row.values[column.index];
      if (!value) continue;
      if (column.role == Role::valid_loss) score.loss = value;
      if (column.role == Role::train_loss) step.loss = value;
      if (column.role == Role::lr) lr_ = value;
      if (column.role == Role::valid_other) score.others.emplace_back(column.key, *value);
      if (column.role == Role::train_other) step.others.emplace_back(column.key, *value);
      scores = scores || column.role == Role::valid_loss || column.role == Role::valid_other;
      trains = trains || column.role == Role::train_loss;
    }
    last_epoch_ = step.epoch;
    if (trains) add_step(std::move(step));
    if (scores && score.loss) add_score(std::move(score), row);
  }

 private:
  /// The loss of an epoch has the step of its last step, which has a line of its own: the first counts. A
  /// step that goes back is of a table that a second training went on in.
  void add_step(ForeignStep step) {
    if (!out_.steps.empty() && step.step == out_.steps.back().step) return;
    while (!out_.steps.empty() && out_.steps.back().step >= step.step) out_.steps.pop_back();
    step.stands_for = step.step - (out_.steps.empty() ? -1 : out_.steps.back().step);
    step.lr = lr_;
    out_.steps.push_back(std::move(step));
  }

  void add_score(ForeignScore score, const MetricsRow& row) {
    while (!out_.scores.empty() && out_.scores.back().step >= score.step) out_.scores.pop_back();
    const std::int64_t epochs = row.epoch.value_or(-1) + 1;
    if (out_.steps_per_epoch == 0 && epochs > 0 && score.step % epochs == 0)
      out_.steps_per_epoch = score.step / epochs;
    out_.scores.push_back(std::move(score));
  }

  const std::vector<Column>& columns_;
  ForeignRun& out_;
  std::int64_t last_epoch_ = 0;
  std::optional<double> lr_;
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
  if (out.steps.empty() && out.scores.empty())
    throw Error("the table holds no loss", where, "its columns of losses are empty");
  if (out.batch == 0) out.notes.emplace_back("how many samples a step has is not known: --batch says it");
  out.notes.emplace_back("it has no times: speed is not known");
  out.files = {file};
  return out;
}

}  // namespace isobar
