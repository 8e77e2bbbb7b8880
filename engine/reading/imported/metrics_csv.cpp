#include "imported/metrics_csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "core/files.h"
#include "core/number_text.h"
#include "core/text.h"

namespace isobar {
namespace {

constexpr std::uint64_t kMostTableBytes = 256U << 20;
constexpr std::size_t kMostColumns = 512, kMostRows = 2'000'000, kMostNameBytes = 120;
constexpr std::size_t kMostCells = 50'000'000;  // empty ones take memory too

struct Place {
  const std::string& name;
  std::size_t line = 0;

  [[noreturn]] void refuse(const std::string& what, const std::string& hint) const {
    throw Error(what, fmt::format("{}:{}", name, line), hint);
  }
};

/// RFC 4180 within one line.
std::vector<std::string> cells_of(std::string_view line, const Place& place) {
  std::vector<std::string> out(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"') {
      out.back() += line[++i];
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      if (out.size() > kMostColumns + 2) place.refuse("more than 512 columns", "is it the right file?");
      out.emplace_back();
    } else {
      out.back() += c;
    }
  }
  if (quoted) place.refuse("a quotation mark is not closed", "names of metrics stay on one line");
  return out;
}

/// Steps are whole; a table that pandas wrote again has them as "31.0".
std::optional<std::int64_t> count_of(std::string_view text) {
  constexpr double kMost = 1e12;
  const std::optional<double> value = number_of<double>(text);
  const bool fits = value && *value >= 0 && *value < kMost;
  if (!fits || *value != static_cast<double>(static_cast<std::int64_t>(*value))) return std::nullopt;
  return static_cast<std::int64_t>(*value);
}

class TableReader {
 public:
  TableReader(std::vector<std::string> head, const Place& place) : width_(head.size()) {
    for (std::size_t i = 0; i < head.size(); ++i) {
      if (head[i] == "step" || head[i] == "epoch") {
        std::size_t& place_of = head[i] == "step" ? step_ : epoch_;
        if (place_of != width_)
          place.refuse("two columns \"" + head[i] + "\"", "are two tables joined side by side?");
        place_of = i;
      } else {
        table_.columns.push_back(printable(head[i], kMostNameBytes));
      }
    }
    if (step_ == width_)
      place.refuse("the table has no column \"step\"", "metrics.csv of Lightning's CSVLogger has one");
    if (table_.columns.size() > kMostColumns) place.refuse("more than 512 columns", "is it the right file?");
  }

  void take(const std::vector<std::string>& cells, const Place& place) {
    if (cells.size() != width_)
      place.refuse(fmt::format("{} in a table of {}",
                               counted(static_cast<std::int64_t>(cells.size()), "cell"), width_),
                   "was the file cut short, or are two joined?");
    if (table_.rows.size() >= kMostRows || (table_.rows.size() + 1) * width_ > kMostCells)
      place.refuse("the table has too many rows", "log less often: log_every_n_steps");
    const std::optional<std::int64_t> step = count_of(cells[step_]);
    if (!step)
      place.refuse("the step \"" + printable(cells[step_], 40) + "\" is no count",
                   "it counts from 0, and to 10^12 at most");
    MetricsRow row;
    row.step = *step;
    for (std::size_t i = 0; i < width_; ++i) {
      if (i == step_) continue;
      if (i == epoch_) {
        row.epoch = count_of(cells[i]);
      } else {
        row.values.push_back(number_of<double>(cells[i]));
      }
      const bool is_known = i == epoch_ ? row.epoch.has_value() : row.values.back().has_value();
      if (!is_known && !cells[i].empty()) table_.left_out.add("cell", "it holds no number");
    }
    table_.rows.push_back(std::move(row));
  }

  MetricsTable result(std::string_view rest) {
    if (rest.find_first_not_of(" \r") != std::string_view::npos)
      table_.left_out.add("line", "it is the last and has no end, as of one that is still being written");
    return std::move(table_);
  }

 private:
  std::size_t width_;
  std::size_t step_ = width_, epoch_ = width_;
  MetricsTable table_;
};

}  // namespace

std::optional<std::size_t> MetricsTable::column(std::string_view name) const {
  const auto found = std::find(columns.begin(), columns.end(), name);
  if (found == columns.end()) return std::nullopt;
  return static_cast<std::size_t>(found - columns.begin());
}

MetricsTable parse_metrics_csv(std::string_view text, const std::string& name) {
  Place place{name};
  std::optional<TableReader> reader;
  for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    ++place.line;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) continue;
    std::vector<std::string> cells = cells_of(line, place);
    if (reader) {
      reader->take(cells, place);
    } else {
      reader.emplace(std::move(cells), place);
    }
  }
  if (!reader) place.refuse("the table is empty", "Lightning writes it every flush_logs_every_n_steps");
  return reader->result(text);
}

MetricsTable read_metrics_csv(const std::filesystem::path& file) {
  return parse_metrics_csv(read_text_file(file, kMostTableBytes), printable(file.string(), 4096));
}

}  // namespace isobar
