#include "cli/submit_arguments.h"

#include <CLI/CLI.hpp>

#include "cli/job_options.h"
#include "config/parse_arguments.h"
#include "core/error.h"
#include "core/text.h"

namespace isobar {
namespace {

constexpr const char* kWhere = "command line";

/// What was typed, before any of it is believed.
struct Typed {
  std::vector<std::string> what, config_files;
  std::string run_dir;
  JobOptions job;
};

void add_options(CLI::App& app, SubmitArguments& out, Typed& typed, const std::filesystem::path& home) {
  app.add_option("LESSON", typed.what, "which; with --status, --cancel or --follow also a job or its run");
  app.add_flag("--dry-run", out.dry_run, "only show the script")->group("What to do");
  app.add_flag("--follow", out.follow, "and watch it until it ends; Ctrl-C stops watching only")
      ->group("What to do");
  app.add_flag("--interactive", out.interactive, "wait for the nodes here and run in this terminal (salloc)")
      ->group("What to do");
  app.add_flag("--status", out.status, "how a job stands")->group("What to do");
  app.add_flag("--cancel", out.cancel, "end a job for good; what it saved stays")->group("What to do");
  typed.job.add(app, home);
  app.add_option("--preset", out.settings.preset,
                 "sizes of model and data: " + join(preset_names(home), ", "))
      ->group("The run");
  app.add_option("--config", typed.config_files, "a TOML file with keys; again for more")
      ->allow_extra_args(false)
      ->group("The run");
  app.add_option("--set", out.settings.sets, "key=value, such as optim.lr=1e-3; again for more")
      ->allow_extra_args(false)
      ->group("The run");
  app.add_option("--run-dir", typed.run_dir, "the run folder; default runs/LESSON-<date>-<time>-<xxxx>")
      ->group("The run");
  app.footer("submit/README.md walks through it.");
}

void check_together(const SubmitArguments& out) {
  const int asks = int{out.status} + int{out.cancel} + int{out.dry_run} + int{out.interactive};
  if (asks > 1 || (out.follow && asks > 0 && !out.status)) {
    throw Error("--dry-run, --interactive, --status and --cancel are different things to do", kWhere,
                "one of them; --follow goes with none but --status");
  }
}

}  // namespace

SubmitArguments parse_submit_arguments(const std::vector<std::string>& arguments,
                                       const std::filesystem::path& home) {
  SubmitArguments out;
  Typed typed;
  CLI::App app("Train a lesson as a batch job of Slurm, over several machines", "./isobar submit");
  app.set_help_flag("-h,--help", "this page");
  add_options(app, out, typed, home);
  out.help = !parse_arguments(app, arguments, out.help_text);
  if (out.help) return out;
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
  if (app.count("--run-dir") > 0) out.run_dir = checked_text(typed.run_dir, {"--run-dir", kWhere});
  if (app.count("--run-dir") > 0 && typed.run_dir.empty())
    throw Error("--run-dir is empty", kWhere, "a folder that is to be made");
  for (const std::string& set : out.settings.sets) checked_text(set, {"--set", kWhere});
  for (const std::string& file : typed.config_files) checked_text(file, {"--config", kWhere});
  std::string command = "./isobar submit";
  for (const std::string& word : arguments) {
    if (word != "--dry-run" && word != "--follow") command += " " + shell_quoted(word);
  }
  out.command = command;
  return out;
}

}  // namespace isobar
