#pragma once
// The all-reduces of a run, message by message, from the spans that its ranks recorded.
#include <filesystem>
#include <string>
#include <vector>

#include "analyse/run_files.h"
#include "analyse/spans.h"
#include "analyse/theatre.h"

namespace isobar {

/// One collective of one step.
struct TheatreChoice {
  std::int64_t step = 0;
  std::string of;  ///< "all_reduce", "bucket.0"

  bool operator==(const TheatreChoice&) const = default;
};

class TheatreRun {
 public:
  /// Reads the spans of all ranks. Error (exit code 2) for a run without any, without an all-reduce whose
  /// steps are told (so of one rank, or of another backend than ours), or of more ranks than the theatre has
  /// room for.
  explicit TheatreRun(const std::filesystem::path& run);

  /// In order of their steps.
  const std::vector<TheatreChoice>& choices() const { return choices_; }
  /// Error (exit code 2) for one that is none of them, and for ranks that form several rings. Of start values
  /// those of lesson 09's first step are known.
  Theatre theatre(const TheatreChoice& choice) const;

 private:
  struct Row {
    SpanRow span;
    int rank = 0;
    std::string track, of;
    CollectivePhase phase = CollectivePhase::reduce;
  };
  void read_rank(const std::filesystem::path& run, int rank);
  void list_choices();
  /// Of the first call in that step, times on one clock.
  std::vector<Row> rows_of(const TheatreChoice& choice) const;

  std::string where_;
  ConfigText config_;
  int ranks_ = 0;
  std::vector<Row> rows_;
  std::vector<TheatreChoice> choices_;
};

/// The first collective of step `step`.
Theatre read_theatre(const std::filesystem::path& run, std::int64_t step);

}  // namespace isobar
