#include "log/event_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/number_text.h"
#include "core/text.h"
#include "record/run_tree.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

/// The second that the writer put into the name: events.out.tfevents.1700000000.host.1.0; 0 = none.
std::uint64_t made_at(const std::string& name) {
  constexpr std::string_view kMark = "tfevents.";
  const std::size_t at = name.find(kMark);
  if (at == std::string::npos) return 0;
  const std::string_view rest = std::string_view(name).substr(at + kMark.size());
  return number_of<std::uint64_t>(rest.substr(0, rest.find('.'))).value_or(0);
}

}  // namespace

EventFileList event_files(const fs::path& folder) {
  EventFileList out;
  std::vector<std::pair<std::uint64_t, fs::path>> found;
  const std::vector<fs::path> entries = entries_in(folder);
  for (const fs::path& path : entries) {
    const std::string name = path.filename().string();
    std::error_code code;
    if (name.find("tfevents") != std::string::npos && !fs::is_directory(path, code))
      found.emplace_back(made_at(name), path);
  }
  std::ranges::sort(found);
  const std::size_t over = found.size() - std::min(found.size(), kMostEventFiles);
  for (std::size_t i = over; i < found.size(); ++i) out.paths.push_back(std::move(found[i].second));
  out.left_out.add("event file", fmt::format("the {} that were made last are read", kMostEventFiles),
                   static_cast<std::int64_t>(over));
  if (entries.size() == kMostEntries)
    out.left_out.add("folder",
                     fmt::format("of its names {} were looked at, and there may be more", kMostEntries));
  return out;
}

bool EventFiles::read(const fs::path& path, TfEvents& out) {
  const auto [at, is_new] = files_.try_emplace(path);
  File& file = at->second;
  if (is_new) file.first_session = ++sessions_ << 32;
  try {
    if (!file.reader) file.reader.emplace(path);
    const std::uint64_t before = file.reader->offset();
    out = file.reader->read_new();
    for (TfScalar& scalar : out.scalars) scalar.session += file.first_session;
    left_out_.add(out.left_out);
    left_out_.add("image", "pictures of event files are not shown",
                  static_cast<std::int64_t>(out.images.size()));
    file.error.clear();
    return file.reader->offset() != before;
  } catch (const Error& error) {
    file.error = error.what();
    return false;
  }
}

std::vector<std::string> EventFiles::problems() const {
  std::vector<std::string> out;
  if (next_ != 0) return out;
  for (const auto& [path, file] : files_) {
    const std::string problem = file.error.empty() && file.reader ? file.reader->problem() : file.error;
    if (!problem.empty()) out.push_back(printable(path.filename().string(), 120) + ": " + problem);
  }
  return out;
}

LeftOut EventFiles::left_out() const {
  LeftOut out = left_out_;
  out.add(list_.left_out);
  if (next_ != 0) return out;  // there is more to read: only then is a file looked at as a whole
  for (const auto& [path, file] : files_) {
    if (!file.reader) continue;
    out.add("record", "damaged, or no event", file.reader->skipped_records());
    std::error_code code;
    const std::uintmax_t size = fs::file_size(path, code);
    if (!code && size > file.reader->offset() && file.reader->problem().empty())
      out.add("record", "it is the last of its file and not whole, as of one that is still being written");
  }
  return out;
}

}  // namespace isobar
