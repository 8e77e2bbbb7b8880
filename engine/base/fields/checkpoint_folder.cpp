#include "fields/checkpoint_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>

#include "core/error.h"
#include "core/json.h"
#include "core/text.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

constexpr const char* kManifest = "manifest.json";
constexpr const char* kAsidePrefix = ".aside-";  // being written, or on its way out
constexpr std::uint64_t kMostManifestBytes = 1U << 20;
constexpr int kSchema = 1;

std::string folder_name(std::int64_t step) { return fmt::format("step-{:06}", step); }

/// The step of "step-000020", nothing for another name.
std::optional<std::int64_t> step_of(const std::string& name) {
  std::int64_t step = 0;
  if (name.rfind("step-", 0) != 0) return {};
  const auto parsed = std::from_chars(name.data() + 5, name.data() + name.size(), step);
  if (parsed.ec != std::errc() || step < 0 || folder_name(step) != name) return {};
  return step;
}

bool is_plain_name(const std::string& name) {
  return !name.empty() && name.size() <= 200 && name.front() != '.' && name != kManifest &&
         std::all_of(name.begin(), name.end(), is_name_letter);
}

std::string manifest_text(std::int64_t step, const std::map<std::string, FileDigest>& files) {
  Json manifest = {{"schema", kSchema}, {"step", step}};
  for (const auto& [name, digest] : files) {
    manifest["files"][name] = Json{{"bytes", digest.bytes}, {"crc32c", fmt::format("{:08x}", digest.crc32c)}};
  }
  return manifest.indented() + "\n";
}

[[noreturn]] void refuse_checkpoint(const fs::path& file, const std::string& what) {
  throw Error(what, file.string(), "the checkpoint was damaged after it was written, or copied in part");
}

/// The manifest as `manifest_text` writes it; anything else, to the last byte, is refused.
Checkpoint read_manifest(const fs::path& folder) {
  const fs::path file = folder / kManifest;
  std::error_code code;
  if (!fs::exists(file, code)) refuse_checkpoint(file, "the checkpoint has no manifest: it is not complete");
  const std::string text = read_text_file(file, kMostManifestBytes);
  Checkpoint out{folder, 0, {}};
  try {
    const Json manifest = Json::parse(text);
    out.step = manifest.at("step").as_integer();
    const Json& files = manifest.at("files");
    for (std::size_t i = 0; i < files.keys().size(); ++i) {
      const std::string& name = files.keys()[i];
      const Json& entry = files.values()[i];
      FileDigest digest;
      digest.bytes = static_cast<std::uint64_t>(entry.at("bytes").as_integer());
      const std::string& crc = entry.at("crc32c").as_text();
      std::from_chars(crc.data(), crc.data() + crc.size(), digest.crc32c, 16);
      out.files[name] = digest;
    }
  } catch (const Error&) {
    refuse_checkpoint(file, "the manifest of the checkpoint cannot be read");
  }
  for (const auto& [name, digest] : out.files) {
    if (!is_plain_name(name)) refuse_checkpoint(file, "the manifest names a file outside of the checkpoint");
  }
  if (manifest_text(out.step, out.files) != text)
    refuse_checkpoint(file, "the manifest of the checkpoint was altered");
  if (step_of(folder.filename().string()) != out.step)
    refuse_checkpoint(file, fmt::format("the manifest is of step {}, the folder of another", out.step));
  return out;
}

/// Only files, only in `folder` itself, only with plain names: a folder of ours holds nothing else.
void remove_aside(const fs::path& folder) {
  std::error_code code;
  if (fs::is_symlink(folder, code)) return;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, code)) {
    if (entry.symlink_status(code).type() == fs::file_type::regular) ::unlink(entry.path().c_str());
  }
  ::rmdir(folder.c_str());
}

fs::path free_aside(const fs::path& parent, std::int64_t step, const char* purpose) {
  return parent / fmt::format("{}{}-{}-{}", kAsidePrefix, folder_name(step), purpose, getpid());
}

/// What somebody else put into the folder is not ours to remove.
bool holds_only_ours(const fs::path& folder) {
  try {
    const Checkpoint checkpoint = read_manifest(folder);
    for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
      const std::string name = entry.path().filename().string();
      if (name != kManifest && checkpoint.files.count(name) == 0) return false;
    }
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

void rename_folder(const fs::path& from, const fs::path& to) {
  if (::rename(from.c_str(), to.c_str()) != 0)
    throw system_error("cannot put the checkpoint in place", to.string(), errno);
}

/// `to` is there all the time, the old one or the new one; file systems that cannot do that get two renames.
void exchange(const fs::path& aside, const fs::path& to) {
  if (::renameat2(AT_FDCWD, aside.c_str(), AT_FDCWD, to.c_str(), RENAME_EXCHANGE) == 0) return;
  const fs::path between = aside.string() + "-old";
  rename_folder(to, between);
  rename_folder(aside, to);
  rename_folder(between, aside);
}

}  // namespace

CheckpointWriter::CheckpointWriter(fs::path parent, std::int64_t step)
    : parent_(std::move(parent)), step_(step), aside_(free_aside(parent_, step, "new")) {
  if (::mkdir(parent_.c_str(), 0777) != 0 && errno != EEXIST)
    throw system_error("cannot make the folder of checkpoints", parent_.string(), errno);
  std::error_code code;
  for (const fs::directory_entry& entry : fs::directory_iterator(parent_, code)) {
    if (entry.path().filename().string().rfind(kAsidePrefix, 0) == 0) remove_aside(entry.path());
  }
  if (::mkdir(aside_.c_str(), 0777) != 0)
    throw system_error("cannot begin a checkpoint", aside_.string(), errno);
}

CheckpointWriter::~CheckpointWriter() {
  if (!finished_) remove_aside(aside_);
}

void CheckpointWriter::write_tensors(const std::string& name, std::span<const TensorToWrite> tensors) {
  add(name, write_checkpoint_tensors(aside_ / name, tensors));
}

void CheckpointWriter::write_text(const std::string& name, std::string_view text) {
  WholeFileWriter writer(aside_ / name);
  writer.write(std::as_bytes(std::span(text)));
  writer.finish();
  files_[name] = writer.digest();
}

FileDigest write_checkpoint_tensors(const fs::path& file, std::span<const TensorToWrite> tensors) {
  return write_safetensors(file, tensors, {{"format", "pt"}, {"made_by", "isobar"}});
}

fs::path CheckpointWriter::finish() {
  const fs::path place = parent_ / folder_name(step_);
  write_file_whole(aside_ / kManifest, manifest_text(step_, files_));
  std::error_code code;
  const bool replaces = fs::exists(fs::symlink_status(place, code));
  if (replaces) {
    exchange(aside_, place);
  } else {
    rename_folder(aside_, place);
  }
  finished_ = true;
  sync_folder(parent_);
  if (replaces) remove_aside(aside_);
  return place;
}

Checkpoint verify_checkpoint(const fs::path& folder) {
  Checkpoint checkpoint = read_manifest(folder);
  for (const auto& [name, wanted] : checkpoint.files) {
    const fs::path file = folder / name;
    std::error_code code;
    if (!fs::exists(file, code)) refuse_checkpoint(file, "a file of the checkpoint is missing");
    const FileDigest found = digest_of(file);
    if (found.bytes != wanted.bytes)
      refuse_checkpoint(file,
                        fmt::format("the file has {} bytes, {} were written", found.bytes, wanted.bytes));
    if (found != wanted)
      refuse_checkpoint(file, fmt::format("the file's checksum is {:08x}, {:08x} was written", found.crc32c,
                                          wanted.crc32c));
  }
  return checkpoint;
}

std::vector<fs::path> list_checkpoints(const fs::path& parent) {
  std::vector<std::pair<std::int64_t, fs::path>> found;
  std::error_code code;
  for (const fs::directory_entry& entry : fs::directory_iterator(parent, code)) {
    const auto step = step_of(entry.path().filename().string());
    if (step && entry.is_directory(code)) found.emplace_back(*step, entry.path());
  }
  std::sort(found.begin(), found.end());
  std::vector<fs::path> out;
  for (auto& [step, path] : found) out.push_back(std::move(path));
  return out;
}

CheckpointSearch find_checkpoint(const fs::path& parent) {
  CheckpointSearch out;
  std::error_code code;
  for (const fs::directory_entry& entry : fs::directory_iterator(parent, code)) {
    const std::string name = entry.path().filename().string();
    if (name.rfind(kAsidePrefix, 0) == 0)
      out.passed_over.push_back(name + ": left half written by a process that died");
  }
  const std::vector<fs::path> all = list_checkpoints(parent);
  for (auto candidate = all.rbegin(); candidate != all.rend() && !out.newest; ++candidate) {
    try {
      out.newest = verify_checkpoint(*candidate);
    } catch (const Error& error) {
      out.passed_over.push_back(candidate->filename().string() + ": " + error.what() + " (" +
                                fs::path(error.where()).filename().string() + ")");
    }
  }
  return out;
}

void remove_old_checkpoints(const fs::path& parent, std::int64_t keep, std::int64_t saved) {
  std::vector<fs::path> all = list_checkpoints(parent);
  std::erase_if(all, [&](const fs::path& folder) { return *step_of(folder.filename().string()) > saved; });
  const auto old = static_cast<std::int64_t>(all.size()) - keep;
  for (std::int64_t i = 0; i < old; ++i) {
    const fs::path& folder = all[static_cast<std::size_t>(i)];
    if (!holds_only_ours(folder)) continue;
    const fs::path aside = free_aside(parent, *step_of(folder.filename().string()), "old");
    if (::rename(folder.c_str(), aside.c_str()) == 0) remove_aside(aside);
  }
}

}  // namespace isobar
