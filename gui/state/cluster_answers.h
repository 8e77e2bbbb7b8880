#pragma once
// What a lesson's step takes on clusters that are not here, with the errors that such predictions had.
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analyse/cluster_prediction.h"

namespace isobar {

struct ClusterAsk {
  std::filesystem::path home;
  std::string lesson;
  std::string preset;  ///< "" = the one that the lesson has for a GPU
  std::vector<std::string> sets;
  std::vector<ClusterMachine> machines;
  ScalingLaw law = ScalingLaw::weak;
  int gpus = 512;
  std::map<std::string, std::string> terms;  ///< terms that are not as they were fitted, with their values

  bool operator==(const ClusterAsk&) const = default;
  /// "jitter=0.03"
  std::vector<std::string> term_words() const;
  /// The command that prints the same.
  std::string command() const;
};

struct ClusterAnswer {
  ClusterAsk of;
  std::string problem;  ///< why nothing is predicted; "" = it is
  ClusterStudy study;
  EarnedErrors fitted, earned;  ///< with the fitted terms, and with those that were asked for
  std::string errors_problem;   ///< why published points cannot be read; "" = they can
};

/// `last`, which may be null, lends the errors that it has already.
ClusterAnswer answer_to(const ClusterAsk& ask, const LessonInfo& lesson, const ClusterAnswer* last);

/// Machines of the shipped profiles that have a table [machine]. Adds to `problems` why one cannot be read.
std::vector<ClusterMachine> known_clusters(const std::filesystem::path& home,
                                           std::vector<std::string>& problems);

}  // namespace isobar
