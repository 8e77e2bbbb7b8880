#pragma once
// What a reader did not take of what it read: how many, of what, and why.
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace isobar {

class LeftOut {
 public:
  struct Entry {
    std::string what;  ///< in the singular: "value"
    std::string why;   ///< "tensors of more than one number are no curve"
    std::int64_t count = 0;
  };

  /// Nothing where `count` is below 1.
  void add(const std::string& what, const std::string& why, std::int64_t count = 1);
  void add(const LeftOut& other);

  bool empty() const { return counts_.empty(); }
  /// How many of what is called `what` were left out; "" counts everything.
  std::int64_t count(const std::string& what = "") const;
  std::vector<Entry> entries() const;
  /// "30 values left out: tensors of more than one number are no curve"
  std::vector<std::string> sentences() const;

 private:
  std::map<std::pair<std::string, std::string>, std::int64_t> counts_;
};

}  // namespace isobar
