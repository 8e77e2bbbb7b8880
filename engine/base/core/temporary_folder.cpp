#include "core/temporary_folder.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include "core/error.h"

namespace isobar {

namespace fs = std::filesystem;

fs::path temporary_folder() {
  std::string named;
  fs::path folder = "/tmp";
  for (const char* const name : {"TMPDIR", "TMP", "TEMP", "TEMPDIR"}) {  // the order of temp_directory_path()
    const char* const value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    named = name;
    folder = value;
    break;
  }
  std::error_code code;
  std::string reason;
  if (!fs::is_directory(folder, code)) {
    reason = code ? code.message() : std::strerror(ENOTDIR);
  } else if (access(folder.c_str(), W_OK | X_OK) != 0) {
    reason = std::strerror(errno);
  } else {
    return folder;
  }
  throw Error("the folder for temporary files" + (named.empty() ? "" : " that " + named + " names") +
                  " cannot be used: " + reason,
              folder.string(),
              named.empty() ? "export TMPDIR=/a/folder/of/yours"
                            : "unset " + named + ", or name another folder by it",
              Exit::failed);
}

}  // namespace isobar
