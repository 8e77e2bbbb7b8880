#include "jobs/cluster_profile.h"

#include <algorithm>
#include <system_error>

#include "config/toml_text.h"
#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "foreign/toml_limits.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

constexpr const char* kTemplate = "template";

fs::path profile_folder(const fs::path& home) { return home / "submit" / "profiles"; }

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
  std::sort(out.begin(), out.end());
  return out;
}

JobSettings parse_profile(const std::string& text, const std::string& name, bool may_have_code) {
  JobSettings out;
  for (const TomlEntry& entry : parse_toml(text, name)) take(out, entry, name, may_have_code);
  return out;
}

JobSettings read_profile(const fs::path& home, const std::string& name) {
  const bool is_path = name.find('/') != std::string::npos ||
                       (name.size() > 5 && name.compare(name.size() - 5, 5, ".toml") == 0);
  if (is_path) return parse_profile(read_text_file(name, kMostTomlBytes), name, /*may_have_code=*/true);
  const std::vector<std::string> names = profile_names(home);
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    throw Error("no cluster profile is called \"" + printable(name, 40) + "\"", "--cluster",
                did_you_mean(name, names, "there are " + joined(names) + "; or the path of a file of yours"));
  }
  const fs::path file = profile_folder(home) / (name + ".toml");
  return parse_profile(read_text_file(file, kMostTomlBytes), file.lexically_relative(home).string(), false);
}

}  // namespace isobar
