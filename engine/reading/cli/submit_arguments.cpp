#include "cli/submit_arguments.h"

#include "cli/job_options.h"
#include "config/command_line.h"
#include "config/option_parser.h"
#include "config/resume.h"
#include "core/error.h"
#include "core/text.h"

namespace isobar {
namespace {

constexpr const char* kHostLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";

void check_together(const SubmitArguments& out) {
  const int asks = int{out.status} + int{out.cancel} + int{out.dry_run} + int{out.interactive};
  if (asks > 1 || (out.follow && asks > 0 && !out.status)) {
    throw Error("--dry-run, --interactive, --status and --cancel are different things to do", kCommandLine,
                "one of them; --follow goes with none but --status");
  }
}

}  // namespace

std::optional<SubmitArguments> parse_submit_arguments(const std::vector<std::string>& words,
                                                      const std::filesystem::path& home) {
  SubmitArguments out;
  std::vector<std::string> what;
  JobOptions job;
  OptionParser app("Train a lesson as a batch job of Slurm, over several machines", "./isobar submit");
  app.add("LESSON", what, "which; with --status, --cancel, --follow or --watch also a job or its run");
  app.group("What to do");
  app.flag("--dry-run", out.dry_run, "only show the script");
  app.flag("--yes", out.yes, "submit without a question, however many GPU-hours it may take");
  app.flag("--follow", out.follow, "and watch it until it ends; Ctrl-C stops watching only");
  app.flag("--watch", out.watch, "say the one line that shows its run where you sit");
  app.add("--login", out.login, "of --watch: how this machine is called from outside");
  app.flag("--interactive", out.interactive, "wait for the nodes here and run in this terminal (salloc)");
  app.flag("--status", out.status, "how a job stands");
  app.flag("--cancel", out.cancel, "end a job for good; what it saved stays");
  job.add(app, home);
  app.group("The run");
  add_settings(app, out.settings, home);
  app.add("--resume", out.settings.resume, "go on with this run (a folder, a name, or last), in its folder");
  app.add("--run-dir", out.run_dir, "the run folder; default runs/LESSON-<date>-<time>-<xxxx>");
  app.footer("submit/README.md walks through it.");
  if (!app.parse(words)) return std::nullopt;
  take_resume_key(out.settings);
  check_together(out);
  if (what.size() != 1) {
    throw Error(what.empty() ? "which lesson?" : "one lesson at a time", "./isobar submit LESSON",
                out.status || out.cancel
                    ? "./isobar submit --cancel JOB, where JOB is its number or its run"
                    : "./isobar submit 06_ddp --nodes 2 --dry-run shows the script of one");
  }
  out.what = what.front();
  out.job = job.take(app, home);
  if (!out.login.empty() && !out.watch)
    throw Error("--login says where --watch leads", kCommandLine,
                "--watch --login " + shell_quoted(out.login));
  if (out.login.starts_with('-') || out.login.find_first_not_of(kHostLetters) != std::string::npos)
    throw Error("that is no name of a machine: " + printable(out.login, 60), "--login", "login.example.org");
  checked_text(out.run_dir.string(), {"--run-dir", kCommandLine});
  for (const std::string& set : out.settings.sets) checked_text(set, {"--set", kCommandLine});
  for (const auto& file : out.settings.config_files) checked_text(file.string(), {"--config", kCommandLine});
  std::string command = "./isobar submit";
  for (const std::string& word : words) {
    if (word != "--dry-run" && word != "--follow" && word != "--watch" && word != "--yes")
      command += " " + shell_quoted(word);
  }
  out.command = command;
  return out;
}

}  // namespace isobar
