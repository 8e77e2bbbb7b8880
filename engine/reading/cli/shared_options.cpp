#include "cli/shared_options.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <string_view>

#include "cli/commands.h"
#include "config/command_line.h"
#include "config/keys.h"
#include "core/find.h"
#include "core/nvidia.h"

namespace isobar {

void add_lesson(OptionParser& app, std::string& lesson, Settings& settings) {
  app.add("LESSON", lesson, "its number or name, such as 01; ./isobar ladder --list names them");
  add_settings(app, settings, project_home());
  app.footer("Every key, its default and what it means: lessons/base.toml");
}

LessonInfo named_lesson(const std::string& name, const std::string& usage) {
  if (!name.empty()) return find_lesson(project_home(), name);
  throw Error("which lesson?", usage, "lessons: " + joined(lesson_names(project_home())));
}

LoadedConfig load_here(const LessonInfo& lesson, const Settings& settings) {
  return load_config(project_home(), lesson, settings, preset_device_kind(settings, likely_device_kind));
}

std::vector<std::string> words_of(const Settings& settings) {
  std::vector<std::string> out;
  if (!settings.preset.empty()) out = {"--preset", settings.preset};
  for (const auto& file : settings.config_files) out.insert(out.end(), {"--config", file.string()});
  for (const std::string& set : settings.sets) out.insert(out.end(), {"--set", set});
  return out;
}

std::string hint_for_setting(const std::string& word) {
  const bool is_setting = word.find('=') != std::string::npos && word.rfind('-', 0) != 0;
  return is_setting ? "a setting is: --set " + printable(word, 80) : "";
}

bool can_ask() { return isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1; }

bool agrees(const std::string& question) {
  std::printf("%s [y/N] ", question.c_str());
  std::fflush(stdout);
  std::string answer;
  std::getline(std::cin, answer);
  return answer == "y" || answer == "Y" || answer == "yes";
}

void JobOptions::add(OptionParser& app, const std::filesystem::path& home,
                     const std::vector<std::string>& leave_out) {
  app.group("The cluster");
  app.add("--cluster", cluster_,
          "what is known of the machine: " + joined(profile_names(home)) +
              ", or a file like submit/profiles/template.toml");
  options_ = {"--cluster", "--module", "--volume", "--env"};
  for (const JobField& field : job_fields()) {
    if (holds(leave_out, field.key)) continue;
    app.add(field.option(), fields_[field.key], field.help);
    options_.push_back(field.option());
  }
  app.add("--module", modules_, "an environment module to load; again for more");
  app.add("--volume", volumes_, "FOLDER:FOLDER that the container sees; again for more");
  app.add("--env", variables_, "NAME=VALUE of the environment; again for more");
}

JobSettings JobOptions::take(const OptionParser& app, const std::filesystem::path& home) const {
  JobSettings out;
  if (app.given("--cluster")) out = read_profile(home, cluster_);
  for (const auto& [key, value] : fields_) {
    const std::string option = job_field(key).option();
    if (app.given(option)) out.set(key, value, {option, kCommandLine});
  }
  for (const std::string& module : modules_) out.add_module(module, {"--module", kCommandLine});
  for (const std::string& volume : volumes_) out.add_volume(volume, {"--volume", kCommandLine});
  for (const std::string& variable : variables_) {
    const std::size_t equals = variable.find('=');
    if (equals == std::string::npos)
      throw Error("--env cannot be \"" + printable(variable, 40) + "\"", kCommandLine, "NAME=VALUE");
    out.add_variable(variable.substr(0, equals), variable.substr(equals + 1), {"--env", kCommandLine});
  }
  return out;
}

bool JobOptions::given(const OptionParser& app) const {
  return std::ranges::any_of(options_, [&](const std::string& option) { return app.given(option); });
}

void check_job_device(const LessonInfo& lesson, const JobSettings& job) {
  if (lesson.needs != "cuda" || job.has_gpus()) return;
  throw Error("lesson " + lesson.name + " needs a GPU, and this job asks for none", lesson.file.string(),
              "--gpus-per-node N, or a --cluster that has some");
}

void check_job_program(const LessonInfo& lesson, const JobSettings& job,
                       const std::filesystem::path& programs) {
  const std::filesystem::path program = programs / lesson.name;
  if (!job.has_container() && !std::filesystem::exists(program)) throw not_built(lesson.name, program);
}

namespace {

/// Pieces between commas that stand in no bracket and no quotes.
std::vector<std::string> split_values(const std::string& text, const std::string& origin) {
  std::vector<std::string> out(1);
  int depth = 0;
  char quote = '\0';
  for (const char c : text) {
    if (quote != '\0') {
      quote = c == quote ? '\0' : quote;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '[') {
      ++depth;
    } else if (c == ']') {
      if (--depth < 0) break;
    } else if (c == ',' && depth == 0) {
      out.emplace_back();
      continue;
    }
    out.back() += c;
  }
  if (depth != 0 || quote != '\0') {
    throw Error("a bracket or a quote has no partner", origin,
                "values with commas stand in brackets: data.grid=[48,96],[72,144]");
  }
  return out;
}

bool takes(const std::string& lesson, const std::string& preset, const std::string& set) {
  try {
    load_here(read_lesson(project_home(), lesson), {.preset = preset, .sets = {set}});
  } catch (const Error&) {
    return false;
  }
  return true;
}

}  // namespace

std::string key_of(const std::string& setting) {
  return std::string(trimmed(std::string_view(setting).substr(0, setting.find('='))));
}

void check_free(const std::string& setting, const std::string& command, bool whole) {
  const std::string key = key_of(setting);
  const auto refuse = [&](const std::string& hint) {
    throw Error(command + " sets " + key + " itself", printable(setting, 100), hint);
  };
  if (key == "run.group" || key == "run.point" || key == "run.repeat") refuse("leave it out");
  if (key == "train.resume" || key == "train.save_init") refuse("leave it out: each run begins anew");
  if (key == "train.steps" && !whole) {
    refuse(command == "sweep" ? "--steps N sets how many are measured; --whole trains whole runs"
                              : "--steps N sets how many are measured");
  }
  if (key != "run.measure") return;
  if (command != "sweep" || whole) refuse("leave it out");
  if (setting.find("none") != std::string::npos) refuse("--whole trains whole runs");
}

std::string MeasureArguments::settings_text(const std::string& other, const std::string& varied) const {
  Settings fitting = settings;
  std::erase_if(fitting.sets, [&](const std::string& set) {
    return key_of(set) == varied || (other != lesson.name && !takes(other, settings.preset, set));
  });
  std::vector<std::string> words = words_of(fitting);
  for (std::string& word : words) word = shell_quoted(word);
  return joined(words, " ");
}

std::vector<std::string> checked_values(const std::vector<std::string>& pieces, const std::string& origin,
                                        const std::string& example) {
  std::vector<std::string> out;
  for (const std::string& piece : pieces) {
    const std::string value(trimmed(piece));
    if (value.empty()) throw Error("a value is missing", origin, example);
    if (holds(out, value))
      throw Error("the value " + printable(value, 40) + " is there twice", origin,
                  "each is measured several times anyway");
    out.push_back(value);
  }
  return out;
}

namespace {

/// `ranks` (0 = not given) as a setting, before all others.
void set_ranks(MeasureArguments& arguments) {
  if (arguments.ranks == 0) return;
  std::vector<std::string>& sets = arguments.settings.sets;
  for (const std::string& set : sets) {
    if (key_of(set) == "run.ranks")
      throw Error("--ranks and run.ranks are the same", "--set " + printable(set, 100), "leave one out");
  }
  sets.insert(sets.begin(), fmt::format("run.ranks={}", arguments.ranks));
}

/// A section of switches, such as "fusion": every key of it that is true or false and that the lesson
/// honours, on first, then off.
std::vector<SweepAxis> section_axes(const LessonInfo& lesson, const std::string& section) {
  Config config;
  std::vector<SweepAxis> out;
  std::vector<std::string> sections;  // sections that have switches in this lesson
  for (const Key& key : keys_of(config)) {
    if (!honours(lesson, key.name) || !std::holds_alternative<bool*>(key.place)) continue;
    const std::string of = key.name.substr(0, key.name.find('.'));
    if (sections.empty() || sections.back() != of) sections.push_back(of);
    if (of == section) out.push_back({key.name, {"true", "false"}});
  }
  if (!out.empty()) return out;
  throw Error(
      "lesson " + lesson.name + " has no section of switches \"" + printable(section, 40) + "\"",
      printable(section, 100),
      did_you_mean(section, sections, "sections with switches: " + joined(sections) + "; or key=a,b"));
}

/// "key=a,b,[1,2]"
SweepAxis parse_axis(const std::string& text) {
  const std::string origin = printable(text, 100);
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    throw Error("a key with its values is wanted", origin, "for example  data.workers=0,1,2,4");
  SweepAxis axis{std::string(trimmed(std::string_view(text).substr(0, equals))), {}};
  axis.values = checked_values(split_values(text.substr(equals + 1), origin), origin,
                               "for example  " + axis.key + "=1,2");
  return axis;
}

void check_axes(const MeasureArguments& arguments) {
  const std::vector<SweepAxis>& axes = arguments.axes;
  if (axes.empty()) {
    throw Error("what shall be varied?", "./isobar sweep " + arguments.lesson.name + " key=a,b,c",
                "for example  train.global_batch=2,4,8");
  }
  for (const SweepAxis& axis : axes) {
    const std::string key = "the key " + printable(axis.key, 80);
    if (arguments.one_off && axis.values.size() < 2)
      throw Error(key + " has one value", "--one-off",
                  "the base's value and at least one other: " + axis.key + "=a,b");
    for (const std::string& set : arguments.settings.sets) {
      if (key_of(set) == axis.key)
        throw Error(key + " is varied and set", "--set " + printable(set, 100), "leave one out");
    }
    if (std::ranges::count(axes, axis.key, &SweepAxis::key) > 1)
      throw Error(key + " is there twice", "command line",
                  "all its values stand behind one =, with commas between them");
  }
}

}  // namespace

std::optional<MeasureArguments> parse_measure_arguments(const std::vector<std::string>& words,
                                                        bool is_sweep) {
  const std::string command = is_sweep ? "sweep" : "quartet";
  const std::string often = is_sweep ? "--repeats" : "--trials";
  MeasureArguments out;
  std::string lesson;
  std::vector<std::string> axes;
  OptionParser app(is_sweep ? "Every combination of some settings, in turn, and which is fastest"
                            : "What limits a lesson: data, copying, communication, the host or computing",
                   "./isobar " + command);
  add_lesson(app, lesson, out.settings);
  const OptionParser::Option steps =
      app.add("--steps", out.steps, "steps that are measured, after 3 of warm-up; default 50")
          .in_range(1, kMostSteps);
  app.add(often, out.repeats, "how often each is measured, in turn; default 3").in_range(1, kMostRepeats);
  app.add("--ranks", out.ranks, "so many processes of this machine train together; default 1")
      .in_range(1, kMostLocalRanks);
  app.flag("--json", out.json, "one JSON object instead of the table");
  if (is_sweep) {
    app.add("axes", axes, "key=a,b,c: a key and its values; several keys make a grid");
    app.flag("--one-off", out.one_off,
             "no grid: the first values together, each other value alone, all second values together; a "
             "section such as fusion stands for its switches, on and off");
    app.flag("--whole", out.whole, "whole training with validation, instead of some steps");
  }
  const auto hint = [&](const std::string& word) {  // each has the other's word for how often
    return word == (is_sweep ? "--trials" : "--repeats") ? "here it is " + often : hint_for_setting(word);
  };
  if (!app.parse(words, {.example = "--steps 50", .hint_extra = hint})) return std::nullopt;
  out.lesson = named_lesson(lesson, "./isobar " + command + " LESSON" + (is_sweep ? " key=a,b,c" : ""));
  if (out.whole && steps.given())
    throw Error("--whole trains train.steps steps, and --steps is for measuring", "command line",
                "leave one out");
  for (const std::string& set : out.settings.sets) check_free(set, command, out.whole);
  set_ranks(out);
  for (const std::string& text : axes) {
    if (out.one_off && !text.empty() && text.find('=') == std::string::npos) {
      for (SweepAxis& axis : section_axes(out.lesson, text)) out.axes.push_back(std::move(axis));
      continue;
    }
    out.axes.push_back(parse_axis(text));
    check_free(text, command, out.whole);
  }
  if (is_sweep) check_axes(out);
  return out;
}

}  // namespace isobar
