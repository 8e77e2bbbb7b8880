#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <new>

#include "core/error.h"
#include "core/standard_output.h"

namespace isobar {
namespace {

/// Who reads a pipe may leave; a disk that is full, or an output that is closed, loses what was asked for.
bool output_is_lost() {
  const bool failed = std::fflush(stdout) != 0 || std::ferror(stdout) != 0;
  return failed && !reader_left(STDOUT_FILENO);
}

}  // namespace

int guarded_main(const std::string& program, const std::function<int()>& body) {
  const auto tell = [&](const Error& error) {
    std::fprintf(stderr, "%s: %s\n", program.c_str(), error.text().c_str());
    return static_cast<int>(error.code());
  };
  try {
    const int code = body();
    if (code != 0 || !output_is_lost()) return code;
    return tell(lost_output());
  } catch (const Error& error) {
    return tell(error);
  } catch (const std::filesystem::filesystem_error& error) {
    if (error.path1().empty())  // asked for the working folder
      return tell(
          {error.what(), "", "is the working folder still there? change to another one", Exit::failed});
    return tell(
        system_error("the file or folder cannot be used", error.path1().string(), error.code().value()));
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "%s: error: out of memory\n  hint:  a smaller model, grid or batch needs less\n",
                 program.c_str());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: error: %s\n", program.c_str(), error.what());
  }
  return static_cast<int>(Exit::failed);
}

}  // namespace isobar
