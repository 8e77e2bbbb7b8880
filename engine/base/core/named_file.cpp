#include "core/named_file.h"

#include <unistd.h>

#include <fstream>
#include <string>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMostPath = 4096;

bool is_ours(const fs::path& path, std::string_view mark) {
  std::string head(512, '\0');
  std::ifstream(path, std::ios::binary).read(head.data(), static_cast<std::streamsize>(head.size()));
  return !mark.empty() && head.find(mark) != std::string::npos;
}

}  // namespace

fs::path place_of(const NamedFile& file) {
  std::error_code code;
  const bool is_link = fs::symlink_status(file.path, code).type() == fs::file_type::symlink;
  const fs::file_status found = fs::status(file.path, code);
  const std::string where = printable(file.path.string(), kMostPath);
  const bool is_option = file.option[0] == '-';  // not a key of a configuration
  const std::string another = std::string("name another with ") + file.option;
  if (is_link && !fs::exists(found)) throw Error("it is a link that leads nowhere", where, another);
  if (!fs::exists(found)) return file.path;
  if (!fs::is_regular_file(found)) throw Error("it exists and is not a file", where, another);
  if (!file.replace && !is_ours(file.path, file.mark))
    throw Error(
        file.mark.empty() ? "the file is there already"
                          : std::string("the file is there, and is no ") + file.kind + " of ours",
        where,
        another + (is_option ? std::string("; ") + kReplace + " writes over it" : ", or move it away"));
  return is_link ? fs::canonical(file.path) : file.path;
}

void check_writable(const NamedFile& file) {
  const fs::path folder = file.path.has_parent_path() ? file.path.parent_path() : fs::path(".");
  const std::string where = file.option + (" " + printable(file.path.string(), kMostPath));
  std::error_code code;
  if (fs::is_directory(file.path, code))
    throw Error(std::string("the ") + file.kind + " is a folder", where, "name a file");
  if (!fs::is_directory(folder, code))
    throw Error("there is no folder " + printable(folder.string(), kMostPath), where, "make it first");
  if (access(folder.c_str(), W_OK) != 0)
    throw Error("the folder " + printable(folder.string(), kMostPath) + " cannot be written", where,
                "name a file in another one");
  place_of(file);
}

void write_named_file(const NamedFile& file, std::string_view text) {
  write_file_whole(place_of(file), text);
}

}  // namespace isobar
