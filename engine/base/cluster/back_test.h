#pragma once
// Published points predicted, each from its anchor: how far off the simulation is, beside the prediction that
// nothing changes ("as fast as its anchor"), by class and by split. Terms are fitted to the calibration
// split.
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cluster/published.h"

namespace isobar {

struct PointResult {
  const PublishedPoint* point = nullptr;
  const PublishedPoint* anchor =
      nullptr;                            ///< whose rate calibrates compute; null = none, or it is one itself
  std::optional<double> predicted = {};   ///< samples a second and GPU
  double error = 0;                       ///< predicted / published - 1
  double null_error = 0;                  ///< error of the anchor's rate
  StepTerms terms = {};                   ///< parts of the simulated step
  std::vector<std::string> assumed = {};  ///< what the point lacks, and what stands in its place
  std::string reason = "";                ///< why nothing was predicted
  std::string suspect = "";               ///< why the measurement looks wrong; "" = it does not

  bool is_moved() const;  ///< published further than 5 % from its anchor
};

/// Points that were predicted of one class and split.
struct ErrorFigures {
  std::size_t points = 0;
  double median = 0, nine_of_ten = 0;  ///< figures of |error|
  double within_25 = 0;                ///< share with |error| <= 25 %
  double null_median = 0;
  std::size_t moved = 0;  ///< further than 5 % from their anchors
  double moved_median = 0, moved_null_median = 0;
  std::size_t pairs = 0, pairs_right = 0;  ///< two of a series, anchors included, in the right order
};

struct BackTest {
  std::vector<PointResult> results;  ///< one for each point, in their order

  /// Nothing for a class of which nothing was predicted; `kind` nullopt = all of them.
  std::optional<ErrorFigures> errors(PointSplit split, std::optional<PointClass> kind = {}) const;
};

/// `file` outlives what is returned.
BackTest back_test(const PublishedFile& file, const SimulationTerms& terms);

/// The terms of a grid with the least mean |error| over the calibration split, without the machine `hidden`.
SimulationTerms fit_terms(const PublishedFile& file, const std::string& hidden = "");

/// Names of the machines of a split, sorted.
std::vector<std::string> machines_of(const PublishedFile& file, PointSplit split);

}  // namespace isobar
