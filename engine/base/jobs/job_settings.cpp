#include "jobs/job_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "config/toml_text.h"
#include "core/error.h"
#include "core/files.h"
#include "core/find.h"
#include "core/text.h"
#include "foreign/toml_limits.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

constexpr std::int64_t kMostNodes = 65'536;
constexpr std::int64_t kMostRanks = 65'536;
constexpr std::size_t kMostOfEach = 64;

void check_room(std::size_t entries, const ValuePlace& place) {
  if (entries >= kMostOfEach)
    throw Error(fmt::format("more than {} of {}", kMostOfEach, place.name), place.where, "fewer of them");
}

}  // namespace

std::string JobField::option() const {
  std::string out = "--" + key;
  std::ranges::replace(out, '_', '-');
  return out;
}

const std::vector<JobField>& job_fields() {
  static const std::vector<JobField> fields = {
      {"nodes", "job", "so many machines; default 1", "--nodes=", number_from(1, kMostNodes)},
      {"ranks_per_node", "job", "processes on each: one a GPU; default 1",
       "--ntasks-per-node=", number_from(1, 256)},
      {"cpus_per_task", "job", "processor cores of each", "--cpus-per-task=", number_from(1, 4096)},
      {"gpus_per_node", "job", "GPUs of each node; 0 = none", "--gpus-per-node=", number_from(0, 256)},
      {"time", "job", "longest time, then it is stopped and goes on: 30 (minutes), 1:30:00; default 30",
       "--time=", checked_time},
      {"account", "job", "who pays", "--account=", kNameRule},
      {"partition", "job", "the group of nodes", "--partition=", checked_names},
      {"qos", "job", "the quality of service, such as regular", "--qos=", kNameRule},
      {"reservation", "job", "nodes that are set aside", "--reservation=", kNameRule},
      {"constraint", "job", "features of the nodes, such as gpu", "--constraint=", kConstraintRule},
      {"switches", "job",
       "at most so many network switches between the nodes: 1, or 1@10:00 to wait 10 minutes",
       "--switches=", checked_switches},
      {"hint", "job", "nomultithread, multithread, compute_bound or memory_bound",
       "--hint=", one_of({"nomultithread", "multithread", "compute_bound", "memory_bound"})},
      {"ranks_per_core", "job", "most processes on a core", "--ntasks-per-core=", number_from(1, 16)},
      {"gpu_bind", "job", "which GPU a process sees: none = all of its node's",
       "--gpu-bind=", checked_gpu_bind},
      {"memory", "job", "of each node, such as 64G; 0 = all", "--mem=", checked_memory},
      {"exclusive", "job", "true: nobody else on the nodes", "--exclusive", one_of({"true", "false"})},
      {"job_name", "job", "in Slurm's lists; default the lesson", "--job-name=", checked_job_name},
      {"warn", "job", "seconds before the end at which a checkpoint is saved; default 120", "",
       number_from(10, 3600)},
      {"restarts", "job", "so often it restarts by itself; default 20", "", number_from(0, 1000)},
      {"container", "container", "shifter, apptainer, podman or none", "",
       one_of({"none", "shifter", "apptainer", "podman"})},
      {"image", "container", "of the container", "--image=", kImageRule},
      {"container_modules", "container", "of shifter: gpu,nccl-plugin", "", checked_names},
      {"programs", "container", "where they are in the image; default /opt/isobar/build/bin", "",
       checked_path},
  };
  return fields;
}

const JobField& job_field(const std::string& key) {
  if (const JobField* const found = find_by(job_fields(), &JobField::key, key)) return *found;
  throw Error("no field of a job is called " + printable(key, 40), "job", "");
}

std::string JobSettings::value(const std::string& key) const {
  return values.contains(key) ? values.at(key) : "";
}

std::int64_t JobSettings::number(const std::string& key, std::int64_t otherwise) const {
  return values.contains(key) ? std::stoll(values.at(key)) : otherwise;
}

void JobSettings::set(const std::string& key, const std::string& text, const ValuePlace& place) {
  values[key] = job_field(key).check(text, place);
}

void JobSettings::add_module(const std::string& text, const ValuePlace& place) {
  check_room(modules.size(), place);
  modules.push_back(kModuleRule(text, place));
}

void JobSettings::add_volume(const std::string& text, const ValuePlace& place) {
  check_room(volumes.size(), place);
  volumes.push_back(checked_volume(text, place));
}

void JobSettings::add_variable(const std::string& name, const std::string& text, const ValuePlace& place) {
  check_room(environment.size(), place);
  checked_variable(name, place);
  environment[name] = checked_text(text, {name, place.where});
}

bool JobSettings::has_container() const {
  const std::string kind = value("container");
  return !kind.empty() && kind != "none";
}

double JobSettings::gpu_hours() const {
  const auto gpus = static_cast<double>(nodes()) * static_cast<double>(number("gpus_per_node", 0));
  return gpus * static_cast<double>(time_seconds(value("time"), {"time", "command line"})) / 3600;
}

void complete(JobSettings& settings) {
  settings.values.emplace("nodes", "1");
  settings.values.emplace("ranks_per_node", "1");
  settings.values.emplace("time", "00:30:00");
  settings.values.emplace("warn", std::to_string(kWarn_s));
  settings.values.emplace("restarts", "20");
  if (settings.ranks() > kMostRanks)
    throw Error(fmt::format("{} ranks are wanted, and {} is the most", settings.ranks(), kMostRanks),
                "--nodes times --ranks-per-node", "fewer of either");
  const std::int64_t limit_s = time_seconds(settings.value("time"), {"time", "command line"});
  const std::int64_t warn_s = settings.number("warn", kWarn_s);
  if (limit_s < 2 * warn_s) {
    throw Error(fmt::format("a time of {} leaves nothing to train in: the job is warned {} s before its end",
                            settings.value("time"), warn_s),
                "--time", fmt::format("at least {} s, or a smaller --warn", 2 * warn_s));
  }
  if (settings.has_container() && settings.value("image").empty())
    throw Error("a container without an image", "--container " + settings.value("container"),
                "--image NAME; submit/README.md describes how one is made");
  if (!settings.has_container() && !settings.volumes.empty())
    throw Error("a volume belongs to a container, and there is none", "--volume " + settings.volumes.front(),
                "--container apptainer --image NAME");
  if (!settings.value("hint").empty() && !settings.value("ranks_per_core").empty())
    settings.notes.emplace_back("newer Slurm takes no hint beside ranks_per_core, and leaves the hint out");
  if (!settings.has_container()) return;
  settings.values.emplace("programs", "/opt/isobar/build/bin");
}

namespace {

constexpr const char* kTemplate = "template";

fs::path profile_folder(const fs::path& home) { return home / "submit" / "profiles"; }

bool is_path(const std::string& name) {
  return name.find('/') != std::string::npos || (name.size() > 5 && name.ends_with(".toml"));
}

ValuePlace place_of(const TomlEntry& entry) { return {printable(entry.key, 60), entry.origin}; }

/// A string, a whole number, true or false as text; anything else is refused.
std::string text_of(const TomlEntry& entry) {
  if (const auto* const text = std::get_if<std::string>(&entry.value)) return *text;
  if (const auto* const number = std::get_if<std::int64_t>(&entry.value)) return std::to_string(*number);
  if (const auto* const truth = std::get_if<bool>(&entry.value)) return *truth ? "true" : "false";
  throw Error(printable(entry.key, 60) + " is " + describe(entry.value), entry.origin,
              "text in quotes, a whole number, true or false");
}

std::vector<std::string> list_of(const TomlEntry& entry) {
  if (const auto* const list = std::get_if<std::vector<std::string>>(&entry.value)) return *list;
  // An empty list has no type of its own.
  if (const auto* const list = std::get_if<std::vector<std::int64_t>>(&entry.value);
      list != nullptr && list->empty())
    return {};
  throw Error(printable(entry.key, 60) + " is " + describe(entry.value), entry.origin,
              "a list of texts, such as [\"a\", \"b\"]");
}

std::vector<std::string> known_keys() {
  std::vector<std::string> out = {"title", "notes", "job.modules", "container.volumes", "code.lines"};
  for (const JobField& field : job_fields()) out.push_back(field.table + "." + field.key);
  return out;
}

void add_code(JobSettings& out, const TomlEntry& entry, const std::string& name, bool may_have_code) {
  const std::vector<std::string> lines = list_of(entry);
  if (!may_have_code) {
    throw Error("a profile that is named without its path brings no code", entry.origin,
                "name the file by its path: --cluster ./my.toml");
  }
  for (const std::string& line : lines) {
    checked_text(line, place_of(entry));
    if (line.find("#SBATCH") != std::string::npos)
      throw Error("options of Slurm are no code", entry.origin, "the keys of [job] set them");
    out.code.push_back(line);
  }
  out.code_from = checked_text(name, {"the profile's name", "--cluster"});
}

void take(JobSettings& out, const TomlEntry& entry, const std::string& name, bool may_have_code) {
  constexpr std::string_view kEnvironment = "environment.";
  if (entry.key.starts_with("machine.")) return;  // read by engine/base/cluster
  for (const JobField& field : job_fields()) {
    if (entry.key == field.table + "." + field.key)
      return out.set(field.key, text_of(entry), place_of(entry));
  }
  if (entry.key == "title") {
    out.title = checked_text(text_of(entry), place_of(entry));
  } else if (entry.key == "notes") {
    for (const std::string& note : list_of(entry)) out.notes.push_back(checked_text(note, place_of(entry)));
  } else if (entry.key == "job.modules") {
    for (const std::string& module : list_of(entry)) out.add_module(module, place_of(entry));
  } else if (entry.key == "container.volumes") {
    for (const std::string& volume : list_of(entry)) out.add_volume(volume, place_of(entry));
  } else if (entry.key.rfind(kEnvironment, 0) == 0) {
    out.add_variable(entry.key.substr(kEnvironment.size()), text_of(entry), place_of(entry));
  } else if (entry.key == "code.lines") {
    add_code(out, entry, name, may_have_code);
  } else {
    throw Error("a profile has no key " + printable(entry.key, 60), entry.origin,
                did_you_mean(entry.key, known_keys(), "submit/profiles/template.toml shows all of them"));
  }
}

}  // namespace

std::vector<std::string> profile_names(const fs::path& home) {
  std::vector<std::string> out;
  std::error_code code;
  for (const fs::directory_entry& entry : fs::directory_iterator(profile_folder(home), code)) {
    const std::string name = entry.path().stem().string();
    if (entry.path().extension() == ".toml" && name != kTemplate) out.push_back(name);
  }
  std::ranges::sort(out);
  return out;
}

JobSettings parse_profile(const std::string& text, const std::string& name, bool may_have_code) {
  JobSettings out;
  for (const TomlEntry& entry : parse_toml(text, name)) take(out, entry, name, may_have_code);
  return out;
}

fs::path profile_file(const fs::path& home, const std::string& name) {
  if (is_path(name)) return name;
  const std::vector<std::string> names = profile_names(home);
  if (!holds(names, name)) {
    throw Error("no cluster profile is called \"" + printable(name, 40) + "\"", "--cluster",
                did_you_mean(name, names, "there are " + joined(names) + "; or the path of a file of yours"));
  }
  return profile_folder(home) / (name + ".toml");
}

JobSettings read_profile(const fs::path& home, const std::string& name) {
  const fs::path file = profile_file(home, name);
  if (is_path(name)) return parse_profile(read_text_file(file, kMostTomlBytes), name, /*may_have_code=*/true);
  return parse_profile(read_text_file(file, kMostTomlBytes), file.lexically_relative(home).string(), false);
}

}  // namespace isobar
