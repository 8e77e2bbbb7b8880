#pragma once
// What of a run folder is the run's, so that removing a run takes nothing of its user's.
#include <filesystem>
#include <vector>

namespace isobar {

/// Whether a run, its job, or a program that takes notes of it writes a file of this path, relative to the
/// run folder: "rank-0000.jsonl", "checkpoints/step-000020/manifest.json".
bool is_file_of_run(const std::filesystem::path& relative);

/// Everything else below `run`, relative to it, in order: files of other names, links, whatever is no file.
std::vector<std::filesystem::path> foreign_in_run(const std::filesystem::path& run);

/// Removes files of the run that a process which was killed left half written ("step-000024.npy.part-4711").
/// For who owns the folder, before anything is written there.
void remove_parts(const std::filesystem::path& run);

/// Removes the files of the run, then the folders that are empty; what is foreign stays, with the folders
/// that lead to it. Of a link to a folder only the link goes; where nothing is, nothing happens. Error (exit
/// code 1) when a file cannot be removed.
void remove_run(const std::filesystem::path& run);

}  // namespace isobar
