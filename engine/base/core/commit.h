#pragma once
// Which state of the project a program belongs to, without git.
#include <filesystem>
#include <string>

namespace isobar {

/// The first 12 digits of the commit that is checked out in this folder, a work tree of another checkout too,
/// or that a bundle was packed from; "" where none is.
std::string checked_out_commit(const std::filesystem::path& folder);

/// `checked_out_commit` of the project that the program belongs to.
std::string project_commit();

}  // namespace isobar
