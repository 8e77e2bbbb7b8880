#include "exercise/my_file.h"

#include <fmt/format.h>

#include <cstdlib>
#include <span>

#include "core/crc32c.h"
#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "exercise/skeleton.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kMostSource_bytes = 1 << 20;

std::string text_of(const fs::path& file) { return read_text_file(file, kMostSource_bytes); }

/// What is given and promised, in eight letters.
std::string edition_of(const Exercise& exercise, const std::string& skeleton) {
  return digest_of_text(text_of(exercise.folder / "exercise.h") + skeleton);
}

std::string first_line_of(const Exercise& exercise, const std::string& skeleton) {
  return fmt::format("// Yours: ./isobar check {} looks at it. (edition {})\n", exercise.lesson,
                     edition_of(exercise, skeleton));
}

/// "(edition 1a2b3c4d)", or "" where the learner took the line out.
std::string edition_in(const std::string& text) {
  const std::size_t at = text.find("(edition ");
  return at == std::string::npos || at + 18 > text.size() ? "" : text.substr(at, 18);
}

fs::path given_file(const Exercise& exercise, const fs::path& my) {
  return my / ".given" / exercise.own_name();
}

/// Whether something of this name is there. Error (exit code 1) for a link whose target is away, as that to a
/// stick is: what it leads to is the learner's file all the same.
bool is_taken(const fs::path& path) {
  std::error_code code;
  const bool taken = fs::exists(fs::symlink_status(path, code));
  if (taken && !fs::exists(path, code) && fs::is_symlink(path, code))
    throw Error(
        "what your file is a link to is not there: " + printable(fs::read_symlink(path, code).string(), 400),
        as_typed(path).string(), "bring it back, or remove the link", Exit::failed);
  return taken;
}

}  // namespace

fs::path my_folder(const fs::path& home) {
  const char* const named = std::getenv("ISOBAR_MY");
  return named != nullptr && *named != '\0' ? fs::path(named) : home / "my";
}

std::string digest_of_text(const std::string& text) {
  return fmt::format("{:08x}", crc32c(std::as_bytes(std::span(text))));
}

std::string read_skeleton(const Exercise& exercise) {
  const std::string skeleton =
      cut_skeleton(text_of(exercise.solution_file()), exercise.solution_file().string());
  return first_line_of(exercise, skeleton) + skeleton;
}

MyFile read_my_file(const Exercise& exercise, const fs::path& my) {
  MyFile out;
  out.path = my / exercise.own_name();
  out.skeleton = read_skeleton(exercise);
  out.given = out.skeleton;
  out.is_there = is_taken(out.path);
  if (!out.is_there) return out;
  out.text = text_of(out.path);
  const fs::path given = given_file(exercise, my);
  if (fs::exists(given)) out.given = text_of(given);
  const std::string own = edition_in(out.text).empty() ? edition_in(out.given) : edition_in(out.text);
  out.is_of_older_edition = own != edition_in(out.skeleton);
  return out;
}

MyFile find_my_file(const Exercise& exercise, const fs::path& my, const std::string& command) {
  MyFile mine = read_my_file(exercise, my);
  if (!mine.is_there)
    throw Error("there is no " + as_typed(mine.path).string(), command,
                "./isobar exercise " + exercise.lesson + " puts the skeleton there");
  return mine;
}

bool place_my_file(const Exercise& exercise, const fs::path& my) {
  const fs::path path = my / exercise.own_name();
  if (is_taken(path)) return false;
  const std::string skeleton = read_skeleton(exercise);
  std::error_code code;
  fs::create_directories(my / ".given", code);
  if (code)
    throw Error("no folder for your files can be made: " + code.message(), my.string(),
                "ISOBAR_MY names another one", Exit::failed);
  write_file_whole(given_file(exercise, my), std::string_view(skeleton));
  write_file_whole(path, std::string_view(skeleton));
  return true;
}

}  // namespace isobar
