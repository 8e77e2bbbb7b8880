#include "cli/submit_arguments.h"

#include "cli/job_options.h"
#include "config/option_parser.h"
#include "config/resume.h"
#include "core/error.h"
#include "core/text.h"

namespace isobar {
namespace {

/// What was typed, before any of it is believed.
struct Typed {
  std::vector<std::string> what, config_files;
  std::string run_dir;
  JobOptions job;
};

void add_options(OptionParser& app, SubmitArguments& out, Typed& typed, const std::filesystem::path& home) {
  app.add("LESSON", typed.what, "which; with --status, --cancel or --follow also a job or its run");
  app.group("What to do");
  app.flag("--dry-run", out.dry_run, "only show the script");
  app.flag("--yes", out.yes, "submit without a question, however many GPU-hours it may take");
  app.flag("--follow", out.follow, "and watch it until it ends; Ctrl-C stops watching only");
  app.flag("--interactive", out.interactive, "wait for the nodes here and run in this terminal (salloc)");
  app.flag("--status", out.status, "how a job stands");
  app.flag("--cancel", out.cancel, "end a job for good; what it saved stays");
  typed.job.add(app, home);
  app.group("The run");
  app.add("--preset", out.settings.preset, "sizes of model and data: " + join(preset_names(home), ", "));
  app.add("--config", typed.config_files, "a TOML file with keys; again for more");
  app.add("--set", out.settings.sets, "key=value, such as optim.lr=1e-3; again for more");
  app.add("--resume", out.settings.resume, "go on with this run (a folder, a name, or last), in its folder");
  app.add("--run-dir", typed.run_dir, "the run folder; default runs/LESSON-<date>-<time>-<xxxx>");
  app.footer("submit/README.md walks through it.");
}

void check_together(const SubmitArguments& out) {
  const int asks = int{out.status} + int{out.cancel} + int{out.dry_run} + int{out.interactive};
  if (asks > 1 || (out.follow && asks > 0 && !out.status)) {
    throw Error("--dry-run, --interactive, --status and --cancel are different things to do", kCommandLine,
                "one of them; --follow goes with none but --status");
  }
}

}  // namespace

SubmitArguments parse_submit_arguments(const std::vector<std::string>& arguments,
                                       const std::filesystem::path& home) {
  SubmitArguments out;
  Typed typed;
  OptionParser app("Train a lesson as a batch job of Slurm, over several machines", "./isobar submit");
  add_options(app, out, typed, home);
  out.help = !app.parse(arguments, out.help_text);
  if (out.help) return out;
  take_resume_key(out.settings);
  check_together(out);
  if (typed.what.size() != 1) {
    throw Error(typed.what.empty() ? "which lesson?" : "one lesson at a time", "./isobar submit LESSON",
                out.status || out.cancel
                    ? "./isobar submit --cancel JOB, where JOB is its number or its run"
                    : "./isobar submit 06_ddp --nodes 2 --dry-run shows the script of one");
  }
  out.what = typed.what.front();
  out.job = typed.job.take(app, home);
  out.settings.config_files.assign(typed.config_files.begin(), typed.config_files.end());
  if (app.given("--run-dir")) out.run_dir = checked_text(typed.run_dir, {"--run-dir", kCommandLine});
  if (app.given("--run-dir") && typed.run_dir.empty())
    throw Error("--run-dir is empty", kCommandLine, "a folder that is to be made");
  for (const std::string& set : out.settings.sets) checked_text(set, {"--set", kCommandLine});
  for (const std::string& file : typed.config_files) checked_text(file, {"--config", kCommandLine});
  std::string command = "./isobar submit";
  for (const std::string& word : arguments) {
    if (word != "--dry-run" && word != "--follow" && word != "--yes") command += " " + shell_quoted(word);
  }
  out.command = command;
  return out;
}

}  // namespace isobar
