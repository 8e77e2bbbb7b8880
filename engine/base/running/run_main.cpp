#include "running/run_main.h"

#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <sstream>

#include "check/yours.h"
#include "config/fault.h"
#include "config/toml_text.h"
#include "core/clock.h"
#include "core/commit.h"
#include "core/error.h"
#include "core/files.h"
#include "core/machine.h"
#include "core/text.h"
#include "launch/rank_launcher.h"
#include "launch/supervise.h"
#include "record/run_removal.h"
#include "running/signals.h"

namespace isobar {
namespace {

/// The table [environment] of run.toml: where and with what the run is made.
std::string environment_toml(const RunPlace& place, const std::vector<std::string>& command) {
  std::vector<std::string> typed;
  for (const std::string& argument : command) typed.push_back(shell_quoted(argument));
  std::ostringstream out;
  out << "[environment]  # where and with what; not read back\n"
      << "started = " << toml_string(wall_iso()) << "\n"
      << "host = " << toml_string(host_name()) << "\n"
      << "cpu = " << toml_string(cpu_name()) << "\n";
  for (const auto& [name, value] : place.about) out << name << " = " << toml_string(value) << "\n";
  out << "threads = " << place.threads << "\n"
      << "compiler = " << toml_string(__VERSION__) << "\n"
      << "commit = " << toml_string(project_commit()) << "\n"
      << "command = " << toml_string(joined(typed, " ")) << "\n";
  return out.str();
}

}  // namespace

int run_main(const std::string& lesson, int argc, char** argv,
             const std::function<int(const RunStart&)>& body) {
  follow_launcher();
  std::signal(SIGXFSZ, SIG_IGN);  // so that a file size limit is an error that can be reported
  std::signal(SIGPIPE, SIG_IGN);  // so that a run continues when nobody reads its output any more
  return guarded_main(lesson, [&] {
    RunStart start{read_lesson(project_home(), lesson), {}, {argv, argv + argc}, {}};
    start.arguments = parse_run_arguments({argv + 1, argv + argc}, start.lesson, project_home());
    if (start.arguments.help) {
      std::fputs(start.arguments.help_text.c_str(), stdout);
      return static_cast<int>(Exit::done);
    }
    start.ranks = read_rank_environment();
    if (start.ranks.launched_by != LaunchedBy::nobody)
      start.arguments.settings.sets.push_back("run.ranks=" + std::to_string(start.ranks.world));
    return body(start);
  });
}

JournalFolder meet_in_folder(const RunStart& start, const RunPlace& place, Console& console,
                             const std::function<std::string(std::string)>& broadcast) {
  JournalFolder out;
  const std::filesystem::path& run_dir = start.arguments.run_dir;
  const std::string& lesson = start.lesson.name;
  if (start.ranks.rank == 0) {
    out.folder = !place.resumed.empty() ? RunFolder{place.resumed}
                 : run_dir.empty()      ? make_run_folder("runs", lesson)
                                        : take_run_folder(run_dir);
    out.owner = RunOwner(out.folder.path, host_name());
    remove_parts(out.folder.path);
    out.attempt = next_attempt(out.folder);
    console.keep_in(out.folder.console_file());
    if (start.ranks.world > 1) show_run_folder(start.ranks.meeting_file, out.folder.path);
  }
  out.folder.path = broadcast(out.folder.path.string());
  out.attempt = std::stoi(broadcast(std::to_string(out.attempt)));
  if (start.ranks.rank > 0) return out;
  const std::string again =
      out.attempt > 0
          ? fmt::format("# Attempt {} at a run of lesson {}\n", out.attempt, lesson)
          : fmt::format("# A run of lesson {0}. Again: ./isobar run {0} --config run.toml\n", lesson);
  write_file_whole(out.folder.attempt_file(out.attempt),
                   again + to_toml(place.config) + "\n" + environment_toml(place, start.command));
  return out;
}

void announce_changes(RunJournal& journal) {
  if (!yours().empty())
    journal.console().line(fmt::format("  YOURS   {} replaces a part of this lesson", printable(yours())));
  const FaultSetting& fault = made_fault();
  if (fault.fault == Fault::none) return;
  journal.console().line(fmt::format("  FAULT   {}: {}", name_of(fault.fault), fault_sentence(fault)));
  if (journal.events() != nullptr)
    journal.events()->scalar(std::string("Fault/") + name_of(fault.fault), 1, 0);
}

int finish_run(RunJournal& journal, bool complete, int stop, const std::string& resume,
               const RunSummary& whole) {
  const bool resumes = !complete && !resume.empty();
  const std::string reason = complete ? ""
                                      : fmt::format("{} after {} steps, {} a checkpoint", signal_name(stop),
                                                    whole.steps, resumes ? "with" : "without");
  const std::exception_ptr lost = journal.end(complete ? "done" : "stopped", reason, whole);
  const Fault fault = made_fault().fault;
  Console& console = journal.console();
  console.line((complete ? "done" : "stopped: " + reason) +
               (fault == Fault::none ? "" : std::string("  with the fault ") + name_of(fault)));
  console.lines(summary_lines(whole));
  console.line("  run          " + journal.folder().path.string());
  if (lost) {
    journal.status().end(RankPhase::failed);
    std::rethrow_exception(lost);
  }
  if (resumes) console.line("  continue     " + resume);
  console.finish();
  journal.status().end(RankPhase::done);
  if (complete) return static_cast<int>(Exit::done);
  return resumes ? static_cast<int>(Exit::checkpointed) : 128 + stop;
}

void fail_run(RunJournal& journal, bool followed, const std::string& reason,
              const std::function<RunSummary()>& summary) noexcept {
  journal.status().end(followed ? RankPhase::followed : RankPhase::failed);
  try {
    const RunSummary whole = summary();
    try {
      journal.console().note(reason);
    } catch (...) {  // the streams may be well
    }
    journal.end("failed", reason, whole);
  } catch (...) {  // such as a full disk: the first error is the one that is reported
  }
}

}  // namespace isobar
