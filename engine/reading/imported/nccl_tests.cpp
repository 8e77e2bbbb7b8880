#include "imported/nccl_tests.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <map>
#include <optional>

#include "core/error.h"
#include "core/files.h"
#include "core/number_text.h"
#include "core/text.h"
#include "formula/link.h"
#include "record/run_tree.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kMostBytes = 64U << 20, kLookedAt = 1U << 20;
constexpr std::size_t kMostLine = 4096, kMostWords = 64, kMostTableRows = 5000, kMostGpuBytes = 80;
constexpr std::size_t kLeastRowsOfCut = 3;
constexpr std::int64_t kMostRanks = 1'000'000;
constexpr double kTolerance = 0.02, kRounding = 0.0051;  // bandwidths have two digits behind the point

struct Unit {
  std::string_view name;
  double value;
};
constexpr std::array kUnits = {Unit{"", 1}, Unit{"GBps", 1}, Unit{"KiB", 0x1p10}, Unit{"MiB", 0x1p20},
                               Unit{"GiB", 0x1p30}};
constexpr std::array kOps = {"all_reduce", "all_gather", "reduce_scatter", "alltoall", "sendrecv"};

/// What bus bandwidth is to algorithm bandwidth, as nccl-tests defines it.
double bus_factor(std::string_view op, std::int64_t ranks) {
  if (op == "sendrecv") return 1;
  const double all_reduce = bus_bandwidth(static_cast<int>(ranks), 1, 1);
  return op == "all_reduce" ? all_reduce : all_reduce / 2;
}

bool agree(double one, double other) {
  return std::abs(one - other) <= kTolerance * std::max(one, other) + kRounding;
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> out;
  while (out.size() < kMostWords) {
    const std::size_t begin = line.find_first_not_of(" \t\r|");
    if (begin == std::string_view::npos) break;
    line.remove_prefix(begin);
    const std::size_t end = std::min(line.find_first_of(" \t\r|"), line.size());
    out.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
  return out;
}

/// Without "[1,0]<stdout>:" of mpirun and "0: " of srun.
std::string_view without_prefix(std::string_view line) {
  constexpr std::string_view kMpi = "<stdout>:";
  if (const std::size_t at = line.substr(0, 80).find(kMpi); at != std::string_view::npos)
    line.remove_prefix(at + kMpi.size());
  const std::size_t digits = std::min(line.find_first_not_of(" 0123456789"), line.size());
  if (digits > 0 && line.substr(digits).starts_with(": ")) line.remove_prefix(digits + 2);
  return trimmed(line);
}

/// "all_reduce" of a line that holds ".../all_reduce_perf" or "all_reduce_perf_mpi"; "" of any other.
std::string op_in(std::string_view line) {
  const std::size_t end = line.find("_perf");
  if (end == std::string_view::npos) return "";
  const std::size_t before = line.substr(0, end).find_last_of(" \t/'\"");
  const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
  const std::string_view word = line.substr(begin, end - begin);
  const bool is_word = !word.empty() && std::ranges::all_of(word, is_name_letter);
  return is_word ? printable(word, 40) : "";
}

/// "360.07", and of the Markdown table "1.44GBps" and "32KiB".
std::optional<double> quantity(std::string_view word) {
  const std::size_t end = std::min(word.find_first_of("KMG"), word.size());
  const std::optional<double> value = number_of<double>(word.substr(0, end));
  const auto unit = std::ranges::find(kUnits, word.substr(end), &Unit::name);
  return value && unit != kUnits.end() ? std::optional(*value * unit->value) : std::nullopt;
}

/// Where the columns of a table are; a row has `size` words or more.
struct Columns {
  std::size_t alg = 0, bus = 0, size = 0;
  std::optional<std::size_t> time, wrong, redop, root;  ///< the Markdown table has none
};

class NcclReader {
 public:
  explicit NcclReader(const std::string& name) { out_.name = name; }

  void take_line(std::string_view line) {
    ++line_;
    if (line.size() > kMostLine) return;
    line = without_prefix(line);
    const bool is_comment = line.starts_with('#');
    if (is_comment) line = trimmed(line.substr(1));
    if (line.starts_with("Collective test starting:")) {
      begin();
      test_.op = op_in(line);
    } else if (line.starts_with("nThread ")) {
      if (test_.line == 0 || columns_ || !ranks_of_.empty()) begin();
    } else if (line.starts_with("Rank ") && line.find(" device ") != std::string_view::npos) {
      take_device(line);
    } else if (line.starts_with("Avg bus bandwidth")) {
      is_done_ = true;
    } else if (line.starts_with("The average bandwidth of all_reduce ")) {
      begin();
      take_markdown_ranks(words_of(line));
    } else {
      take_table(line);
    }
  }

  NcclLog result() {
    end();
    if (out_.tests.empty() && problem_) throw Error(*problem_);
    if (out_.tests.empty())
      throw Error("there is no table of nccl-tests" + missed(), out_.name,
                  "the output of all_reduce_perf, with the lines that begin with '#'");
    return std::move(out_);
  }

 private:
  struct Read {
    NcclRow row;
    double alg_gb_s = 0;
  };

  [[noreturn]] void refuse(const std::string& what, const std::string& hint) const {
    throw Error(what, fmt::format("{}:{}", out_.name, line_), hint);
  }

  void begin() {
    end();
    test_ = {};
    test_.line = line_;
    ranks_of_.clear();
    columns_.reset();
    rows_.clear();
    is_done_ = reduces_ = false;
  }

  /// "Rank 0 Group 0 Pid 4711 on node-a device 0 [0000:30:00] NVIDIA H100", older ones without the group.
  void take_device(std::string_view line) {
    const std::vector<std::string_view> words = words_of(line);
    const auto on = std::ranges::find(words, "on");
    const auto rank = words.size() > 1 ? number_of<std::int64_t>(words[1]) : std::nullopt;
    const std::size_t bracket = line.find("] ");
    if (columns_ || !rank || std::distance(on, words.end()) < 3 || bracket == std::string_view::npos) return;
    if (words[2] == "Group" && words[3] != "0")
      refuse("the ranks are split into groups", "import a log without NCCL_TESTS_SPLIT_MASK");
    if (*rank == 0 && !ranks_of_.empty())
      refuse("two ranks 0: each process measured itself alone", "build nccl-tests with MPI=1");
    const std::string gpu = printable(trimmed(line.substr(bracket + 2)), kMostGpuBytes);
    if (!test_.gpu.empty() && test_.gpu != gpu)
      refuse("ranks on different GPUs, " + test_.gpu + " and " + gpu, "measure on GPUs of one kind");
    test_.gpu = gpu;
    ++ranks_of_[std::string(on[1])];
  }

  void take_markdown_ranks(const std::vector<std::string_view>& words) {
    const auto at = std::ranges::find_if(words, [](auto word) { return word.starts_with("ranks"); });
    if (at == words.begin() || at == words.end()) return;
    const auto ranks = number_of<std::int64_t>(at[-1].starts_with('(') ? at[-1].substr(1) : at[-1]);
    if (ranks && *ranks >= 1 && *ranks <= kMostRanks) test_.ranks = *ranks;
  }

  void take_table(std::string_view line) {
    const std::vector<std::string_view> words = words_of(line);
    if (columns_ && !columns_->time && !line.starts_with('|')) columns_.reset();  // a Markdown table ends
    if (words.size() < 3) return;
    if ((words[0] == "size" || words[0] == "payload") && std::ranges::find(words, "busbw") != words.end()) {
      take_head(words);
    } else if (is_row(words)) {
      take_row(words);
    } else if (const std::string op = op_in(line); !op.empty()) {
      mentioned_ = op;
    }
  }

  bool is_row(const std::vector<std::string_view>& words) const {
    if (!columns_ || !quantity(words[0])) return false;
    const bool is_markdown = !columns_->time;
    return is_markdown || (!is_done_ && number_of<std::int64_t>(words[1]));
  }

  void take_head(const std::vector<std::string_view>& words) {
    const auto place = [&](std::string_view name) -> std::optional<std::size_t> {
      const auto at = std::ranges::find(words, name);
      return at == words.end() ? std::nullopt : std::optional(static_cast<std::size_t>(at - words.begin()));
    };
    const bool is_markdown = words[0] == "payload";
    if (place("cputime")) refuse("the times are those of the CPU", "measure without the option -C");
    if (!place("algbw") || (!is_markdown && !place("time")))
      refuse("the table has no columns time and algbw", "is it the output of nccl-tests?");
    if (is_markdown && (columns_ || !rows_.empty())) begin();
    if (test_.line == 0) test_.line = line_;
    columns_ = {*place("algbw"), *place("busbw"), 0, place("time"), place("#wrong"),
                place("redop"),  place("root")};
    // The first half counts, which ends with #wrong or, in older editions, with error.
    for (const char* const name : {"algbw", "busbw", "time", "#wrong", "error", "redop", "root"})
      columns_->size = std::max(columns_->size, place(name).value_or(0) + 1);
    is_done_ = reduces_ = is_markdown;
  }

  void take_row(const std::vector<std::string_view>& words) {
    const auto at = [&](std::size_t column) {
      return words.size() < columns_->size ? std::nullopt : quantity(words[column]);
    };
    const auto bytes = quantity(words[0]), alg = at(columns_->alg), bus = at(columns_->bus);
    const auto us = columns_->time ? at(*columns_->time)
                    : alg          ? std::optional(*bytes / *alg * 1e-3)
                                   : std::nullopt;
    if (!us || !alg || !bus) return out_.left_out.add("row", "it is cut, or another line runs into it");
    const auto wrong =
        columns_->wrong ? at(*columns_->wrong) : std::nullopt;  // "N/A" where nothing was checked
    if (wrong && *wrong > 0) return out_.left_out.add("row", "it has wrong elements (#wrong)");
    if (columns_->redop && words[*columns_->redop] != "none")
      reduces_ = !columns_->root || words[*columns_->root] == "-1";
    add({{*bytes, *us, *bus}, *alg});
  }

  void add(const Read& read) {
    const NcclRow& row = read.row;
    const bool fits = row.bytes > 0 && row.us > 0 && row.gb_s >= 0 && read.alg_gb_s >= 0 &&
                      row.bytes < 1e18 && row.us < 1e15 && row.gb_s < 1e9 && read.alg_gb_s < 1e9;
    if (!fits) return out_.left_out.add("row", "its size, time or bandwidth cannot be");
    if (rows_.size() >= kMostTableRows)
      refuse("a table of more than " + human_count(kMostTableRows) + " rows", "measure with a factor (-f 2)");
    rows_.push_back(read);
  }

  /// Ranks and collective where no line names them, by the row whose bandwidth is greatest.
  void complete() {
    for (const auto& [host, ranks] : ranks_of_) test_.ranks += ranks;
    if (!ranks_of_.empty() && ranks_of_.begin()->second * std::ssize(ranks_of_) == test_.ranks)
      test_.ranks_per_host = ranks_of_.begin()->second;
    const Read& best = *std::ranges::max_element(rows_, {}, [](const Read& read) { return read.row.gb_s; });
    const double factor = best.alg_gb_s > 0 ? best.row.gb_s / best.alg_gb_s : 0;
    if (test_.op.empty()) test_.op = mentioned_;
    const bool may_be_all_reduce = reduces_ && factor >= 0.98 && factor < 2;
    if (test_.op.empty() && may_be_all_reduce &&
        (test_.ranks == 0 || agree(factor, bus_factor("all_reduce", test_.ranks))))
      test_.op = "all_reduce";
    if (test_.ranks == 0 && test_.op == "all_reduce" && may_be_all_reduce) {
      const double ranks = 2 / (2 - factor);
      if (ranks < 1e4 && std::abs(ranks - std::round(ranks)) < 0.25) test_.ranks = std::llround(ranks);
    }
  }

  /// Takes what the test has so far; nothing where nothing has begun.
  void end() {
    if (rows_.empty() && !columns_ && ranks_of_.empty()) return;
    if (rows_.empty())
      return drop("its table is empty", "sizes are given as -b 8 -e 4G -f 2; a test that failed prints why");
    complete();
    if (std::ranges::find(kOps, test_.op) == kOps.end())
      return drop(test_.op.empty() ? "no line names its collective" : "it is of " + test_.op,
                  "collectives: " + joined(kOps));
    for (const Read& read : rows_) {
      const double alg = algorithm_bandwidth(read.row.bytes, read.row.us) * 1e-3;
      const double bus = alg * bus_factor(test_.op, std::max<std::int64_t>(test_.ranks, 1));
      if (agree(alg, read.alg_gb_s) && (test_.ranks == 0 || agree(bus, read.row.gb_s))) {
        test_.rows.push_back(read.row);
      } else {
        out_.left_out.add("row", "its size and time give other bandwidths, by more than 2 %");
      }
    }
    test_.is_cut = !is_done_;
    test_.last_line = line_;
    if (test_.rows.empty()) return drop("none of its rows can be used", "measure again");
    if (test_.is_cut && test_.rows.size() < kLeastRowsOfCut)
      return drop("it is cut before its third row", "let it run to its end: its last lines are averages");
    out_.tests.push_back(std::move(test_));
  }

  /// Leaves the test out; where it is the only one, this is the error.
  void drop(const std::string& why, const std::string& hint) {
    if (!problem_)
      problem_ =
          Error("the test cannot be used: " + why + missed(), fmt::format("{}:{}", out_.name, line_), hint);
    out_.left_out.add("test", why);
  }

  std::string missed() const {
    return out_.left_out.empty() ? "" : "; " + joined(out_.left_out.sentences(), "; ");
  }

  NcclLog out_;
  NcclTest test_;
  std::map<std::string, std::int64_t> ranks_of_;  ///< by host
  std::optional<Columns> columns_;
  std::vector<Read> rows_;
  std::string mentioned_;  ///< collective of the last command that a line holds
  std::optional<Error> problem_;
  std::size_t line_ = 0;
  bool is_done_ = false;
  bool reduces_ = false;  ///< it adds, and all ranks get the sum or a part of it
};

/// Without a word for what cannot be read: it lies beside other files of a folder.
bool is_nccl_file(const fs::path& file) {
  std::error_code code;
  if (!fs::is_regular_file(file, code)) return false;
  std::ifstream stream(file, std::ios::binary);
  std::string begin(kLookedAt, ' ');
  stream.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  begin.resize(static_cast<std::size_t>(stream.gcount()));
  return looks_like_nccl_tests(begin);
}

}  // namespace

bool looks_like_nccl_tests(std::string_view begin) {
  const auto has = [&](std::string_view words) { return begin.find(words) != std::string_view::npos; };
  return (has("nThread ") && has(" minBytes ")) ||
         (has(" busbw ") && (has("(elements)") || has("| payload |")));
}

NcclLog parse_nccl_tests(std::string_view text, const std::string& name) {
  NcclReader reader(name);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    reader.take_line(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return reader.result();
}

NcclLog read_nccl_tests(const fs::path& file) {
  const std::string name = printable(file.string(), 4096);
  std::error_code code;
  if (const auto bytes = fs::file_size(file, code); !code && bytes > kMostBytes)
    throw Error("the log has " + human_bytes(bytes) + ", at most 64 MiB are read", name,
                "grep -v \"NCCL INFO\" makes it shorter; the lines that begin with '#' have to stay");
  return parse_nccl_tests(read_text_file(file, kMostBytes), name);
}

std::vector<fs::path> find_nccl_tests(const fs::path& place) {
  std::error_code code;
  std::vector<fs::path> files = fs::is_directory(place, code) ? entries_in(place) : std::vector{place};
  std::erase_if(files, [](const fs::path& file) { return !is_nccl_file(file); });
  std::ranges::sort(files);
  return files;
}

}  // namespace isobar
