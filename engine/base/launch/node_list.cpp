#include "launch/node_list.h"

#include <charconv>
#include <cstdint>

#include "core/error.h"
#include "core/text.h"

namespace isobar {
namespace {

constexpr std::size_t kMostHosts = 100'000;
constexpr std::size_t kLongestHost = 253;
constexpr std::size_t kLongestText = 1'000'000;

class NodeList {
 public:
  NodeList(std::string_view text, const std::string& where) : text_(text), where_(where) {}

  std::vector<std::string> expand() {
    if (text_.size() > kLongestText) refuse("it is longer than a million letters");
    for (;;) {
      host();
      if (at_ == text_.size()) return std::move(hosts_);
      ++at_;  // the comma
    }
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    throw Error(where_ + " is \"" + printable(text_, 60) + "\", which is no list of hosts: " + why,
                "environment", "such as n[001-003,007],login1; Slurm sets it");
  }
  char now() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool at_digit() const { return now() >= '0' && now() <= '9'; }

  void host() {
    std::vector<std::string> names(1);
    while (at_ < text_.size() && now() != ',') {
      if (now() == '[') {
        names = combined(names, bracket());
      } else if (is_name_letter(now())) {
        for (std::string& name : names) name += now();
        ++at_;
      } else {
        refuse("a host has letters, digits, '.', '_' and '-'");
      }
      if (names.front().size() > kLongestHost) refuse("a host is longer than 253 letters");
    }
    if (names.front().empty()) refuse("a host is missing");
    if (names.front().front() == '-') refuse("a host begins with '-'");
    if (hosts_.size() + names.size() > kMostHosts) refuse("it has more than 100,000 hosts");
    std::move(names.begin(), names.end(), std::back_inserter(hosts_));
  }

  std::vector<std::string> combined(const std::vector<std::string>& names,
                                    const std::vector<std::string>& ends) const {
    if (names.size() * ends.size() > kMostHosts) refuse("it has more than 100,000 hosts");
    std::vector<std::string> out;
    for (const std::string& name : names) {
      for (const std::string& end : ends) out.push_back(name + end);
    }
    return out;
  }

  /// Numbers as text, zeros kept.
  std::vector<std::string> bracket() {
    std::vector<std::string> out;
    do {
      ++at_;  // '[' or ','
      const std::string_view first = digits();
      std::string_view last = first;
      if (now() == '-') {
        ++at_;
        last = digits();
      }
      add_range(first, last, out);
    } while (now() == ',');
    if (now() != ']') refuse("a bracket is not closed after its numbers");
    ++at_;
    return out;
  }

  std::string_view digits() {
    const std::size_t begin = at_;
    while (at_digit()) ++at_;
    constexpr std::size_t kMostDigits = 18;
    if (at_ == begin) refuse("a bracket holds something that is no number");
    if (at_ - begin > kMostDigits) refuse("a number is too long");
    return text_.substr(begin, at_ - begin);
  }

  void add_range(std::string_view first, std::string_view last, std::vector<std::string>& out) const {
    std::uint64_t from = 0;
    std::uint64_t to = 0;
    std::from_chars(first.data(), first.data() + first.size(), from);
    std::from_chars(last.data(), last.data() + last.size(), to);
    if (to < from) refuse("a range goes backwards");
    if (to - from >= kMostHosts || out.size() + (to - from) >= kMostHosts)
      refuse("it has more than 100,000 hosts");
    for (std::uint64_t number = from; number <= to; ++number) {
      std::string digits = std::to_string(number);
      if (digits.size() < first.size()) digits.insert(0, first.size() - digits.size(), '0');
      out.push_back(std::move(digits));
    }
  }

  std::string_view text_;
  const std::string& where_;
  std::size_t at_ = 0;
  std::vector<std::string> hosts_;
};

}  // namespace

std::vector<std::string> expand_node_list(std::string_view text, const std::string& where) {
  return NodeList(text, where).expand();
}

}  // namespace isobar
