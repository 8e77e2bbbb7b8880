#pragma once
// Terms of the simulation by name, for those who change one and look at what the published points answer.
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/training_job.h"

namespace isobar {

/// What the terms were fitted to, by fit_terms: the calibration split of lessons/published_scaling.toml; then
/// each of `set` as set_term takes it.
SimulationTerms fitted_terms(const std::vector<std::string>& set = {});

struct TermRange {
  const char* name;
  double least, most;  ///< what set_term takes
  const char* what;
  double& (*in)(SimulationTerms&);
};
/// Terms that are numbers.
const std::array<TermRange, 11>& term_ranges();

/// "jitter=0.03", "way=ring", "busbw=constant" (as measured between the fewest nodes, for all). Error (exit
/// code 2) for a term that there is not, and a value outside its range.
void set_term(SimulationTerms& terms, std::string_view text);

/// A term or a number of the machine. Error (exit code 2) for a key that is neither.
void set_unknown(ClusterMachine& machine, SimulationTerms& terms, const std::string& key, double value);

}  // namespace isobar
