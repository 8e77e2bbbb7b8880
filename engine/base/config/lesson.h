#pragma once
// The contents of lessons/NN_name/lesson.toml.
#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "config/choices.h"
#include "config/fault.h"

namespace isobar {

/// What the ERA5 tutorial published for this rung: recorded elsewhere, never mixed with what is measured
/// here.
struct Published {
  std::string device;                 ///< "A100-40GB"; "" = nothing was published
  std::vector<std::int64_t> years;    ///< editions, oldest first
  std::vector<double> samples_per_s;  ///< one for each year; the middle of the published range
  std::vector<std::string> stacks;    ///< software of each year
};

/// What bounds a run, as lessons name it that do something about it. Products are of matrices, and cheaper in
/// 16 bits where the machine multiplies these.
inline constexpr std::array kHelps = {"data", "contention", "communication", "launch", "compute", "products"};

struct LessonInfo {
  std::string name;  ///< "NN_name"
  std::string title;
  std::string previous;  ///< "" for the first
  std::vector<std::string> goals;
  std::vector<std::string> introduces;  ///< keys that this lesson brings
  std::vector<std::string> drops;       ///< keys of `previous` that mean nothing here
  std::vector<std::string> honours;     ///< keys that mean something here: its own, and those of `previous`
  std::vector<LoaderKind> loaders;      ///< loaders that its page takes; empty = any
  std::vector<AmpMode> precisions;      ///< modes beside automatic; empty = any
  std::vector<Fault> faults;            ///< faults that it can make; empty = any
  std::vector<Fault> drops_faults;      ///< faults of `previous` that it cannot make
  std::string needs;                    ///< "" = any machine; "cuda"
  std::vector<std::string> helps;       ///< what bounds a run that it makes faster, of kHelps
  bool stands_alone = false;            ///< no rung of the ladder: it takes neither libtorch nor a data set
  Published published;
  std::map<std::string, std::string> presets;  ///< device kind ("cpu", "cuda") -> preset
  int diff_budget = 0;                         ///< most changed code lines against `previous`
  std::filesystem::path file;
};

/// Whether a value of this key means something in that lesson.
bool honours(const LessonInfo& lesson, std::string_view key);

/// The lessons of `names` that `typed` may mean: the one of this name, else those of this number ("1", "01"),
/// else those whose name, with its number or without, begins so ("NN_na", "name").
std::vector<std::string> lessons_like(const std::vector<std::string>& names, std::string_view typed);

/// With what it takes over from `previous`: keys and faults that it does not drop, loaders and precisions
/// where it names none. Error (exit code 2) when there is no such lesson (with the nearest name) or its file
/// is wrong.
LessonInfo read_lesson(const std::filesystem::path& home, const std::string& name);

/// Reads the lesson that `typed` means (lessons_like). Error (exit code 2) too where it means several.
LessonInfo find_lesson(const std::filesystem::path& home, const std::string& typed);

/// From the text of a lesson.toml alone; `file` is named in errors and kept.
LessonInfo parse_lesson(const std::string& text, const std::string& name, const std::filesystem::path& file);

/// Folders of lessons/ that hold a lesson.toml, sorted: the ladder.
std::vector<std::string> lesson_names(const std::filesystem::path& home);

}  // namespace isobar
