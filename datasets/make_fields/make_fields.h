#pragma once
// The embedded data set: files, statistics and the sheet that describes them.
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace isobar {

struct FieldsRequest {
  std::filesystem::path folder;
  std::int64_t rows = 72;
  std::int64_t columns = 144;
  std::int64_t samples =
      512;  ///< training records, in two files; valid and test get 3/16 of it each, at least 8
  std::uint64_t seed = 1;
  std::string command;  ///< kept in dataset.toml
};

struct ChannelSummary {
  std::string name;
  std::string unit;
  double mean = 0;
  double std = 0;
  double persistence_rmse =
      0;  ///< from one record to the next, in standard deviations, over the validation file
};

/// Records of (train file 1, train file 2, valid, test).
std::vector<std::int64_t> record_counts(std::int64_t samples);

/// All files of a data set, relative to its folder; ./isobar clean lists them too (cmake/setup/clean.sh).
std::vector<std::string> files_of_set();

/// Bytes that the data set will take.
std::uint64_t bytes_needed(const FieldsRequest& request);

/// Error (exit code 2) when the request makes no sense: a grid that is not 16..4096 multiples of 8, fewer
/// than 16 samples.
void check_request(const FieldsRequest& request);

/// Makes the data set in `request.folder`, which must exist and be empty; dataset.toml is written last. Calls
/// `on_record(done, all)` after each record; when it returns false, stops by throwing Stopped.
struct Stopped {};
std::vector<ChannelSummary> make_fields(const FieldsRequest& request,
                                        const std::function<bool(std::int64_t, std::int64_t)>& on_record);

}  // namespace isobar
