#pragma once
// What a question asks of each of its runs: a figure, or mean times of the fields of a step.
#include <string>
#include <vector>

#include "course/rules/parts.h"

namespace isobar {

using Fields = std::vector<std::string>;

/// Values of the figure. Cannot where the run does not report it.
Spread reported(const Figure& figure, const NamedRun& run);
/// Error (exit code 2) where there is none of this name.
const Figure& figure_in(const Question& question, const std::string& name);

class Measure {
 public:
  /// From its arguments `of`, `less` and `over`. Error (exit code 2) for a figure that is not there.
  explicit Measure(const Question& question);

  Quantity quantity() const {
    return figure_ != nullptr ? figure_->quantity : over_.empty() ? Quantity::time : Quantity::share;
  }
  bool is_timed() const { return figure_ == nullptr || figure_->made == Made::timed; }
  bool wants_more() const { return figure_ != nullptr && figure_->better == Better::more; }
  std::string name() const;
  const Fields& part() const { return of_; }
  /// What the part is taken from, or is a share of; empty where it stands for itself.
  const Fields& whole() const { return less_.empty() ? over_ : of_; }

  NamedRun run(const RuleInput& input, const std::string& name) const {
    return is_timed() ? timed_run(input, name) : ended_run(input, name);
  }
  /// Cannot where the run does not report it.
  Spread of(const NamedRun& run) const;
  std::string source(const NamedRun& run) const {
    return figure_ != nullptr && figure_->made == Made::planned ? "by formula" : source_of(run);
  }

 private:
  Fields of_, less_, over_;
  const Figure* figure_ = nullptr;  ///< null: fields
};

/// Zeros as values above them, which compare() takes.
Spread above_zero(const Spread& values);

/// "12.5" of 12,500 us: a value in the unit that texts have, without and with it.
std::string number_text(Quantity quantity, double value);
std::string with_unit(Quantity quantity, double value);

}  // namespace isobar
