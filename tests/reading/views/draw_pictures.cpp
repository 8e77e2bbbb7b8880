// Writes the pictures of all lessons: draw_pictures LESSONS [--check]. With --check nothing is written: exit
// code 1 when a file is not what is drawn, or is none of a lesson's pictures.
#include <fmt/format.h>

#include <cstdio>
#include <set>

#include "core/error.h"
#include "core/files.h"
#include "plot/lesson_view.h"

namespace {

namespace fs = std::filesystem;
using namespace isobar;

constexpr std::uint64_t kMostPictureBytes = 1 << 20;

fs::path file_of(const fs::path& lessons, const LessonPicture& picture) {
  return lessons / picture.lesson / "pictures" / (picture.name + ".svg");
}

/// Files that no picture has, and pictures whose file is not what is drawn.
std::set<fs::path> wrong_files(const fs::path& lessons) {
  std::set<fs::path> out, known;
  for (const LessonPicture& picture : all_lesson_pictures()) {
    const fs::path file = file_of(lessons, picture);
    known.insert(file);
    if (!fs::exists(file) || read_text_file(file, kMostPictureBytes) != drawing_svg(picture.drawing))
      out.insert(file);
  }
  for (const fs::path& file : known) {
    if (!fs::exists(file.parent_path())) continue;
    for (const fs::directory_entry& entry : fs::directory_iterator(file.parent_path())) {
      if (!known.contains(entry.path())) out.insert(entry.path());
    }
  }
  return out;
}

int draw_or_check(const fs::path& lessons, bool check) {
  if (!fs::is_directory(lessons))
    throw Error("there is no such folder", lessons.string(), "draw_pictures LESSONS [--check]");
  if (!check) {
    for (const LessonPicture& picture : all_lesson_pictures()) {
      const fs::path file = file_of(lessons, picture);
      fs::create_directories(file.parent_path());
      write_file_whole(file, drawing_svg(picture.drawing));
      fmt::print("{}\n", file.string());
    }
    return 0;
  }
  const std::set<fs::path> wrong = wrong_files(lessons);
  for (const fs::path& file : wrong)
    fmt::print("{} is not what is drawn: lessons/make_pictures.sh draws it\n", file.string());
  return wrong.empty() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  return guarded_main("draw_pictures", [&] {
    const bool check = argc == 3 && std::string_view(argv[2]) == "--check";
    if (argc != 2 && !check) throw Error("which folder?", "draw_pictures", "draw_pictures LESSONS [--check]");
    return draw_or_check(argv[1], check);
  });
}
