#pragma once
#include <filesystem>

namespace isobar {

/// The folder for temporary files: $TMPDIR (or TMP, TEMP, TEMPDIR), else /tmp. Error (exit code 1) that names
/// the variable where it is no folder that this user may write.
std::filesystem::path temporary_folder();

}  // namespace isobar
