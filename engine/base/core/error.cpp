#include "core/error.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "core/text.h"

namespace isobar {

Error::Error(std::string what, std::string where, std::string hint, Exit code)
    : std::runtime_error(std::move(what)), where_(std::move(where)), hint_(std::move(hint)), code_(code) {}

namespace {
constexpr std::size_t kMostWhere = 8192;
}  // namespace

std::string Error::text() const {
  std::string out = "error: " + printable_lines(what());
  if (!where_.empty()) out += "\n  where: " + printable(where_, kMostWhere);  // one place, one line
  if (!hint_.empty()) out += "\n  hint:  " + printable_lines(hint_);
  return out;
}

namespace {

/// "12.3 MB are free there", for the file system of a path that may not be there.
std::string free_space(const std::string& where) {
  std::error_code code;
  std::filesystem::path folder(where);
  while (!folder.empty() && folder != folder.parent_path() && !std::filesystem::exists(folder, code))
    folder = folder.parent_path();
  const std::filesystem::space_info space = std::filesystem::space(folder.empty() ? "." : folder, code);
  return code ? "how much is free is not known" : human_bytes(space.available) + " are free there";
}

}  // namespace

Error system_error(const std::string& what, const std::string& where, int error_number) {
  std::string hint;
  Exit code = Exit::failed;
  switch (error_number) {
    case ENOENT:
      hint = "check the path";
      code = Exit::bad_input;
      break;
    case EACCES:
    case EPERM:
      hint = "check the permissions of the file and its folder";
      code = Exit::bad_input;
      break;
    case ENOSPC:
    case EDQUOT:
      hint = "free some space (" + free_space(where) + "), or choose another place";
      break;
    case EFBIG:
      hint = "a file size limit is set (ulimit -f)";
      break;
    case ENAMETOOLONG:
      hint = "a shorter name";
      code = Exit::bad_input;
      break;
    case ELOOP:
      hint = "links there lead in a circle";
      code = Exit::bad_input;
      break;
    case EROFS:
      hint = "the file system is read-only; choose another place";
      break;
    default:
      break;
  }
  return {what + ": " + std::strerror(error_number), where, hint, code};
}

}  // namespace isobar
