#include "state/cluster_answers.h"

#include <fmt/format.h>

#include "cluster/profile.h"
#include "core/error.h"
#include "core/find.h"
#include "core/text.h"
#include "jobs/job_settings.h"

namespace isobar {
namespace {

std::string problem_of(const Error& error) {
  return printable(error.what(), 300) + (error.hint().empty() ? "" : ": " + printable(error.hint(), 200));
}

}  // namespace

std::vector<std::string> ClusterAsk::term_words() const {
  std::vector<std::string> out;
  for (const auto& [name, value] : terms) out.push_back(name + "=" + value);
  return out;
}

std::string ClusterAsk::command() const {
  std::string names;
  for (const ClusterMachine& machine : machines) names += (names.empty() ? "" : ",") + machine.name;
  std::string out = fmt::format("./isobar predict {} --ranks {} --cluster {}", lesson, gpus, names);
  if (law == ScalingLaw::strong) out += " --law strong";
  if (!preset.empty()) out += " --preset " + shell_quoted(preset);
  for (const std::string& set : sets) out += " --set " + shell_quoted(set);
  for (const std::string& word : term_words()) out += " --term " + word;
  return out;
}

ClusterAnswer answer_to(const ClusterAsk& ask, const LessonInfo& lesson, const ClusterAnswer* last) {
  ClusterAnswer out;
  out.of = ask;
  try {
    out.study = study_clusters(ask.machines, lesson, {.preset = ask.preset, .sets = ask.sets}, ask.law,
                               ask.gpus, ask.term_words(), ask.command());
  } catch (const Error& error) {
    out.problem = problem_of(error);
  }
  try {
    const bool known = last != nullptr && last->errors_problem.empty();
    out.fitted = known ? last->fitted : earned_errors(ask.home, fitted_terms());
    if (ask.terms.empty())
      out.earned = out.fitted;
    else
      out.earned = known && last->of.terms == ask.terms
                       ? last->earned
                       : earned_errors(ask.home, fitted_terms(ask.term_words()));
  } catch (const Error& error) {
    out.errors_problem = problem_of(error);
  }
  return out;
}

std::vector<ClusterMachine> known_clusters(const std::filesystem::path& home,
                                           std::vector<std::string>& problems) {
  std::vector<ClusterMachine> out;
  for (const std::string& name : profile_names(home)) {
    try {
      const std::filesystem::path file = profile_file(home, name);
      const std::vector<TomlEntry> entries = read_toml(file);
      if (find_where(entries, [](auto& entry) { return entry.key.starts_with("machine."); }) != nullptr)
        out.push_back(read_cluster(file));
    } catch (const Error& error) {
      problems.push_back(problem_of(error));
    }
  }
  return out;
}

}  // namespace isobar
