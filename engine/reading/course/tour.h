#pragma once
// A guided tour of a lesson's code: lessons/NN_name/tour.toml names places by what stands there, so that they
// are found again when lines move. Questions that ask to find a line name the same places.
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace isobar {

/// Lines of a file, from 1, both included.
struct LineRange {
  std::int64_t first = 0;
  std::int64_t last = 0;
};

struct TourStop {
  std::string name;  ///< "partition"
  std::string asks;  ///< "Where are the samples divided over the ranks?"
  std::string says;
  std::string question;              ///< question that asks for this place, such as "06.partition"; "" = none
  std::string file;                  ///< in the project: "lessons/NN_name/main.cpp"
  std::vector<std::string> anchors;  ///< each a piece of a line
  std::vector<std::string>
      ends;             ///< a piece of the line that ends the place of an anchor; "" = the same line
  std::int64_t at = 0;  ///< the line when `says` was last read over
  std::string origin;   ///< "file:line:column"
};

/// In the order in which they are walked; empty where the lesson has no tour. Error (exit code 2) for a file
/// that is wrong.
std::vector<TourStop> read_tour(const std::filesystem::path& home, const std::string& lesson);

/// Error (exit code 2) where no stop of the lesson has this name.
TourStop find_stop(const std::filesystem::path& home, const std::string& lesson, const std::string& name);

/// Every place that an anchor names, in the order of anchors. Error (exit code 1) for an anchor or an end
/// that no line holds; `file` is named in it.
std::vector<LineRange> find_lines(const std::string& text, const std::vector<std::string>& anchors,
                                  const std::vector<std::string>& ends, const std::string& file);

/// The text of the stop's file, and where it is in it. Error as above, or where it cannot be read.
struct TourPlace {
  std::vector<LineRange> ranges;
  std::vector<std::string> lines;  ///< lines of the first range
};
TourPlace place_of(const TourStop& stop, const std::filesystem::path& home);

}  // namespace isobar
