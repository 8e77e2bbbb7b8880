// A lesson as a job of Slurm: submitted, watched as a person watches it (why it waits, what it trains, how it
// ended), cancelled.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <map>

#include "cli/commands.h"
#include "cli/run_lines.h"
#include "cli/shared_options.h"
#include "config/command_line.h"
#include "config/resume.h"
#include "core/clock.h"
#include "jobs/job_script.h"
#include "launch/spawn.h"
#include "record/console.h"
#include "record/run_folder.h"
#include "record/run_tree.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

constexpr std::int64_t kAsk_us = 5'000'000;    // between two questions to Slurm, which serves many
constexpr std::int64_t kFirst_us = 1'000'000;  // between looks while a job may start at once
constexpr int kFirstTimes = 10;

/// Slurm's word for why a job waits, and what it means.
std::string reason_text(const std::string& reason) {
  static const std::map<std::string, std::string> kWords = {
      {"Resources", "for free nodes"},
      {"Priority", "others come first"},
      {"BeginTime", "a moment, before it may start again"},
      {"Dependency", "for another job"},
      {"JobHeldUser", "somebody holds it: scontrol release lets it go"},
      {"JobHeldAdmin", "an administrator holds it"},
      {"PartitionTimeLimit", "for ever: its --time is longer than the partition allows"},
      {"PartitionNodeLimit", "for ever: the partition has not so many nodes for one job"},
      {"ReqNodeNotAvail", "nodes that it needs are down or set aside"}};
  const std::string word = reason.substr(0, reason.find(','));
  return kWords.contains(word) ? kWords.at(word) + " (" + word + ")" : printable(reason, 80);
}

std::string state_text(const JobState& state) {
  if (state.waits()) {
    const std::string start =
        state.start.empty() ? "" : "; expected to start at " + printable(state.start, 40);
    return "waits" + (state.reason.empty() ? "" : ": " + reason_text(state.reason)) + start;
  }
  if (state.state == "RUNNING") return "runs on " + printable(state.nodes, 80);
  if (state.state == "COMPLETING") return "is being cleared away";
  return state.is_over() ? fate_text(state) : "is " + printable(state.state, 40);
}

/// The run of a job, and its log where it went wrong.
void print_end(const SubmittedJob& job, bool good, Console& console) {
  try {
    const std::vector<std::string> log = good ? std::vector<std::string>() : job.end_of_log();
    if (!log.empty()) console.line("  the end of " + job.log().string() + ":");
    for (const std::string& line : log) console.line("    " + line);
    if (is_run_folder(job.run)) run_report(job.run).print(console);
  } catch (const Error& error) {
    console.line("  " + printable(error.what(), 200));
  }
}

/// Watches until the job is over, then shows its run. Ctrl-C stops watching, not the job (exit code 130). 0
/// when the job finished, else 1.
int follow_job(const Slurm& slurm, const SubmittedJob& job, Console& console) {
  const HeldSignals signals;
  int times = 0;
  std::string told;
  std::optional<RunReader> reader;  // reads the run, once it has begun
  std::optional<RunTeller> teller;
  const auto look = [&] {
    if (!reader && fs::exists(job.run / "rank-0000.jsonl"))
      teller.emplace(reader.emplace(job.run), console, console.is_terminal() ? 100'000 : 10'000'000, "  ");
    if (teller) teller->look();
  };
  const auto seen = [&](const JobState& state, const std::string& trouble) {
    const std::string text = trouble.empty() ? state_text(state) : "cannot be asked for: " + trouble;
    if (text != told) console.line(fmt::format("job {} {}", job.number, text));
    told = text;
    return ++times <= kFirstTimes ? kFirst_us : kAsk_us;
  };
  const auto [last, asked] = wait_for_end(slurm, job.number, signals, {.seen = seen, .tick = look});
  if (asked != 0) {
    console.line(fmt::format("job {} continues unwatched; ./isobar submit --cancel {} ends it", job.number,
                             job.number));
    return 128 + asked;
  }
  const bool good = last.state == "COMPLETED";
  print_end(job, good, console);
  return good ? 0 : 1;
}

int show_job(const Slurm& slurm, const SubmittedJob& job, Console& console) {
  const JobState state = slurm.state(job.number);
  console.line(fmt::format("job {} {}", job.number, state_text(state)));
  print_end(job, !state.is_over() || state.state == "COMPLETED", console);
  return 0;
}

struct SubmitArguments {
  std::string what;   ///< a lesson; or, for `status`, `cancel` and `follow`, the number of a job or a run
  Settings settings;  ///< settings of the lesson's configuration
  JobSettings job;    ///< the profile under what the command line says; not completed
  std::filesystem::path run_dir;            ///< "" = a new folder below runs/
  std::string command = "./isobar submit";  ///< the typed command
  bool dry_run = false;
  bool yes = false;  ///< whatever it costs
  bool interactive = false;
  bool follow = false;
  bool watch = false;  ///< print the command that shows its run elsewhere
  std::string login;   ///< how the machine is called from outside, "" = by its own name
  bool status = false;
  bool cancel = false;
};

void check_together(const SubmitArguments& out) {
  const int asks = int{out.status} + int{out.cancel} + int{out.dry_run} + int{out.interactive};
  if (asks > 1 || (out.follow && asks > 0 && !out.status)) {
    throw Error("--dry-run, --interactive, --status and --cancel are different things to do", kCommandLine,
                "one of them; --follow goes with none but --status");
  }
}

/// Error (exit code 2) for anything that makes no sense, with the nearest known option. Nothing where --help
/// printed the page.
std::optional<SubmitArguments> parse_submit(const Words& words, const fs::path& home) {
  SubmitArguments out;
  std::vector<std::string> what;
  JobOptions job;
  OptionParser app("Train a lesson as a batch job of Slurm, over several machines", "./isobar submit");
  app.add("LESSON", what, "which; with --status, --cancel, --follow or --watch also a job or its run");
  app.group("What to do");
  app.flag("--dry-run", out.dry_run, "only show the script");
  app.flag("--yes", out.yes, "submit without a question, however many GPU-hours it may take");
  app.flag("--follow", out.follow, "and watch it until it ends; Ctrl-C stops watching only");
  app.flag("--watch", out.watch, "print the command that shows its run on your own machine");
  app.add("--login", out.login, "of --watch: how this machine is called from outside");
  app.flag("--interactive", out.interactive, "wait for the nodes here and run in this terminal (salloc)");
  app.flag("--status", out.status, "how a job stands");
  app.flag("--cancel", out.cancel, "end a job for good; what it saved stays");
  job.add(app, home);
  app.group("The run");
  add_settings(app, out.settings, home);
  app.add("--resume", out.settings.resume, "continue this run (a folder, a name, or last), in its folder");
  app.add("--run-dir", out.run_dir, "the run folder; default runs/LESSON-<date>-<time>-<xxxx>");
  app.footer("submit/README.md walks through it.");
  if (!app.parse(words)) return std::nullopt;
  take_resume_key(out.settings);
  check_together(out);
  if (what.size() != 1) {
    throw Error(what.empty() ? "which lesson?" : "one lesson at a time", "./isobar submit LESSON",
                out.status || out.cancel ? "./isobar submit --cancel JOB, where JOB is its number or its run"
                                         : "./isobar submit 06 --nodes 2 --dry-run shows the script of one");
  }
  out.what = what.front();
  out.job = job.take(app, home);
  if (!out.login.empty() && !out.watch)
    throw Error("--login names the host for --watch", kCommandLine,
                "--watch --login " + shell_quoted(out.login));
  if (out.login.starts_with('-') || !std::ranges::all_of(out.login, is_name_letter))
    throw Error("that is no name of a machine: " + printable(out.login, 60), "--login", "login.example.org");
  checked_text(out.run_dir.string(), {"--run-dir", kCommandLine});
  for (const std::string& set : out.settings.sets) checked_text(set, {"--set", kCommandLine});
  for (const auto& file : out.settings.config_files) checked_text(file.string(), {"--config", kCommandLine});
  for (const std::string& word : words) {
    if (!is_one_of(word, {"--dry-run", "--follow", "--watch", "--yes"}))
      out.command += " " + shell_quoted(word);
  }
  return out;
}

struct Prepared {
  JobPlan plan;
  LoadedConfig loaded;
  bool resumes = false;  ///< the run is there already
};

/// What the lesson's program gets from any folder, with the preset that was chosen for the nodes.
std::vector<std::string> program_words(Settings settings, const std::string& preset) {
  settings.preset = preset;
  for (fs::path& file : settings.config_files) file = fs::absolute(file);
  return words_of(settings);
}

fs::path run_to_resume(const std::string& name) {
  const fs::path run = fs::absolute(find_run(name, "runs")).lexically_normal();
  for (const fs::path& path : entries_in(run / "checkpoints")) {
    if (path.filename().string().rfind("step-", 0) == 0) return run;
  }
  throw Error("the run has no checkpoint to resume from", run.string(), "submit the lesson anew");
}

std::vector<fs::path> inputs_of(const Config& config, const Settings& settings) {
  std::vector<fs::path> out;
  for (const fs::path& file : settings.config_files) out.push_back(fs::absolute(file).lexically_normal());
  if (!config.data.root.empty()) out.push_back(fs::absolute(config.data.root).lexically_normal());
  return out;
}

Prepared prepare(const SubmitArguments& arguments) {
  const fs::path home = project_home();
  const LessonInfo lesson = find_lesson(home, arguments.what);
  Prepared out;
  JobPlan& plan = out.plan;
  plan.settings = arguments.job;
  complete(plan.settings);
  check_job_device(lesson, plan.settings);
  out.resumes = !arguments.settings.resume.empty();
  if (out.resumes) plan.run = run_to_resume(arguments.settings.resume);
  Settings settings = out.resumes ? resumed_settings(arguments.settings, plan.run) : arguments.settings;
  settings.sets.push_back("run.ranks=" + std::to_string(plan.settings.ranks()));
  const std::string kind = plan.settings.has_gpus() ? "cuda" : "cpu";
  out.loaded = load_config(home, lesson, settings, preset_device_kind(settings, [&] { return kind; }));
  plan.lesson = lesson.name;
  plan.command = arguments.command;
  plan.words = program_words(arguments.settings, out.resumes ? "" : out.loaded.preset);
  if (out.resumes) plan.resume_words = plan.words;
  plan.programs = program_folder();
  plan.inputs = inputs_of(out.loaded.config, settings);
  if (out.loaded.config.run.measure == MeasureKind::none) return out;
  plan.settings.values["restarts"] = "0";
  plan.settings.notes.emplace_back(
      "a run that only measures saves no checkpoint: when its time is up it is over");
  return out;
}

/// The folder of a run that is to be: made now, so that no other run takes its name.
fs::path new_run(const SubmitArguments& arguments, const std::string& lesson) {
  if (arguments.run_dir.empty()) return fs::absolute(reserve_run_folder("runs", lesson));
  const fs::path run = fs::absolute(arguments.run_dir).lexically_normal();
  std::error_code code;
  if (fs::exists(run, code) && (!fs::is_directory(run, code) || !fs::is_empty(run, code)))
    throw Error("the run folder is there already", run.string(), "name a new one with --run-dir");
  fs::create_directories(run, code);
  if (code) throw system_error("cannot make the folder", run.string(), code.value());
  return run;
}

int show_script(const SubmitArguments& arguments, Prepared prepared) {
  JobPlan& plan = prepared.plan;
  if (plan.run.empty()) {
    plan.run = arguments.run_dir.empty()
                   ? fs::absolute(fs::path("runs") / (plan.lesson + "-" + wall_stamp() + "-xxxx"))
                   : fs::absolute(arguments.run_dir).lexically_normal();
  }
  std::fputs(job_script(plan).c_str(), stdout);
  std::fflush(stdout);
  if (isatty(STDOUT_FILENO) == 1)
    std::fputs("\n(shown only: nothing was written or submitted; without --dry-run it is)\n", stderr);
  return 0;
}

/// Variables of the environment that Slurm puts before the options of a script.
void tell_overrides(Console& console) {
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (text.starts_with("SBATCH_"))
      console.line("  note     " + printable(text.substr(0, text.find('=')), 60) +
                   " is set in this shell, and Slurm puts it before the script");
  }
}

/// "at most 8 GPU-hours a start (2 nodes of 4 GPUs for 01:00:00), and up to 21 starts"
std::string cost_text(const JobSettings& settings) {
  return fmt::format("at most {:.3g} GPU-hours a start ({} of {} for {}), and up to {}", settings.gpu_hours(),
                     counted(settings.nodes(), "node"), counted(settings.number("gpus_per_node", 0), "GPU"),
                     settings.value("time"), counted(settings.starts(), "start"));
}

void tell(Console& console, const JobPlan& plan, const SubmittedJob& job) {
  const JobSettings& settings = plan.settings;
  const std::string cluster = settings.title.empty() ? "" : ", " + settings.title;
  console.line(fmt::format("job {}  {} on {} with {} each, at most {} at a time{}", job.number, plan.lesson,
                           counted(settings.nodes(), "node"), counted(settings.ranks_per_node(), "rank"),
                           settings.value("time"), cluster));
  const fs::path run = job.run.lexically_proximate(plan.folder);
  const bool near = run.string().rfind("..", 0) != 0;
  const std::string shown = (near ? run : job.run).string();
  console.line("  run      " + shown);
  console.line("  script   " + shown + "/" + kJobScript);
  console.line("  log      " + shown + "/" + job.log().filename().string() + " (once it runs)");
  if (settings.has_gpus()) console.line("  cost     " + cost_text(settings));
  for (const std::string& note : settings.notes) console.line("  note     " + note);
  tell_overrides(console);
  console.line(fmt::format("  watch    ./isobar submit --follow {}", job.number));
  console.line(fmt::format("  cancel   ./isobar submit --cancel {}", job.number));
}

void tell_watch(Console& console, const SubmittedJob& job, const std::string& login) {
  console.line("  at home  " +
               watch_line(watch_place(login), fs::absolute(job.run).lexically_normal(), job.number));
}

/// A job that restarts by itself spends its hours unwatched: many are asked about first.
bool may_cost(const SubmitArguments& arguments, const JobSettings& settings) {
  constexpr double kFew_h = 1;
  if (arguments.yes || arguments.interactive || settings.starts() < 2 || settings.gpu_hours() <= kFew_h)
    return true;
  const std::string cost = cost_text(settings);
  if (can_ask()) return agrees("this job takes " + cost + "; submit it?");
  throw Error("this job may take many GPU-hours: " + cost, "./isobar submit",
              "--yes submits it; a shorter --time, or --restarts 0, bounds it");
}

int submit(const SubmitArguments& arguments) {
  Prepared prepared = prepare(arguments);
  if (arguments.dry_run) return show_script(arguments, std::move(prepared));
  if (!may_cost(arguments, prepared.plan.settings)) {
    std::puts("nothing was submitted");
    return 0;
  }
  const Slurm slurm;  // before anything is made
  JobPlan& plan = prepared.plan;
  const LessonInfo lesson = read_lesson(project_home(), plan.lesson);
  check_job_program(lesson, plan.settings, plan.programs);
  if (const int code = ensure_data(lesson, prepared.loaded); code != 0) return code;
  if (!prepared.resumes) plan.run = new_run(arguments, plan.lesson);
  if (arguments.interactive) {
    write_file_whole(plan.run / kJobScript, job_script(plan));
    return slurm.run_here(slurm_options(plan, /*batch=*/false), plan.run, kJobScript);
  }
  SubmittedJob job;
  try {
    job = submit_job(slurm, plan);
  } catch (const Error&) {
    std::error_code code;
    if (!prepared.resumes) fs::remove(plan.run, code);  // only when it is empty
    throw;
  }
  Console console;
  tell(console, plan, job);
  if (arguments.watch) tell_watch(console, job, arguments.login);
  return arguments.follow ? follow_job(slurm, job, console) : 0;
}

/// "1234"; "06" is a lesson.
bool is_job_number(const std::string& what) {
  return !what.empty() && what.size() <= 10 && what.front() != '0' &&
         what.find_first_not_of("0123456789") == std::string::npos;
}

/// A lesson and no job: one of its name, or a part of that which names no job.
bool is_lesson(const std::string& what) {
  const std::vector<std::string> like = lessons_like(lesson_names(project_home()), what);
  if (like.size() == 1 && like.front() == what) return true;
  return !like.empty() && !is_job_number(what) && find_job_folder(what, "runs").empty();
}

/// "1234", or a run that was submitted.
SubmittedJob find_job(const Slurm& slurm, const std::string& what) {
  if (!is_job_number(what)) {
    const fs::path folder = find_job_folder(what, "runs");
    if (!folder.empty()) return job_of_run(folder);
    throw Error("this run is no job of Slurm", find_run(what, "runs").string(),
                "./isobar show prints how far it is");
  }
  SubmittedJob out{std::stoll(what), {}};
  const JobState state = slurm.state(out.number);
  if (state.state.empty())
    throw Error("Slurm has no job " + what, "squeue",
                "one that ended long ago is forgotten; name its run folder instead (./isobar runs)");
  out.run = state.folder;
  return out;
}

}  // namespace

int submit_command(const Words& words) {
  const std::optional<SubmitArguments> parsed = parse_submit(words, project_home());
  if (!parsed) return 0;
  if (!parsed->status && !parsed->cancel && ((!parsed->follow && !parsed->watch) || is_lesson(parsed->what)))
    return submit(*parsed);
  const Slurm slurm;
  const SubmittedJob job = find_job(slurm, parsed->what);
  Console console;
  if (parsed->cancel) {
    slurm.cancel(job.number);
    console.line(fmt::format("job {} is cancelled; what it saved stays in {}", job.number, job.run.string()));
    return 0;
  }
  if (parsed->watch) tell_watch(console, job, parsed->login);
  if (parsed->follow) return follow_job(slurm, job, console);
  if (parsed->watch && !parsed->status) return 0;
  return show_job(slurm, job, console);
}

}  // namespace isobar
