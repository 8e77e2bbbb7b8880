#pragma once
// Tables of files that must be refused. The files are seeds of the fuzzer (tests/fuzz/make_file_seeds.py).
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "support/catch.h"
#include "support/errors.h"
#include "support/pack.h"
#include "support/temp_folder.h"

namespace isobar {

struct HostileFile {
  const char* name;   ///< hostile-NAME in tests/fuzz/corpus/FORMAT.tar
  const char* what;   ///< said of it
  const char* where;  ///< how the place ends that is said: the tensor, line and column; "" = the file itself
};

/// Each file of the table is refused by `read` with exit code 2 in at most three lines, and no file of the
/// pack is left out.
inline void check_hostile_files(const std::string& format, const std::vector<HostileFile>& table,
                                const std::function<void(const std::filesystem::path&)>& read) {
  const TempFolder folder;
  std::set<std::string> unseen;
  for (const PackedFile& file : read_pack("tests/fuzz/corpus/" + format + ".tar")) {
    if (file.name.rfind("hostile-", 0) != 0) continue;
    unseen.insert(file.name);
    std::ofstream(folder / file.name, std::ios::binary) << file.bytes;
  }
  for (const HostileFile& file : table) {
    const std::string name = std::string("hostile-") + file.name;
    INFO(name);
    CHECK(unseen.erase(name) == 1);
    const std::string text = error_of([&] { read(folder / name); });
    CHECK_THAT(text, says(file.what));
    CHECK_THAT(text, says((folder / name).string() + file.where + "\n  hint:"));
    CHECK(std::count(text.begin(), text.end(), '\n') <= 2);
  }
  for (const std::string& name : unseen) FAIL_CHECK(name << " stands in no table");
}

}  // namespace isobar
