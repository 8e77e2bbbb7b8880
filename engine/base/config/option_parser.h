#pragma once
// A command line: options that fill variables, and the page that --help prints. CLI11 behind a small header,
// since its own costs every file 4 s to compile.
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace isobar {

/// Where an Error is that a word of the command line makes.
inline constexpr const char* kCommandLine = "command line";

/// The texts of Errors about wrong words.
struct ParseWords {
  std::string where = kCommandLine;
  std::string hint = "--help lists what there is";
  std::string example = {};  ///< behind "for example", for a word that is no number; "" = `hint` is printed
  /// The hint for a word that nothing takes; null or "" = the nearest option and `hint`.
  std::function<std::string(const std::string& word)> hint_extra = nullptr;
};

/// "isobar 1.2.3", from CMake's project().
std::string version_text();

class OptionParser {
 public:
  /// An option that was added.
  class Option {
   public:
    Option& in_range(double least, double most);
    Option& at_least(double least);
    Option& one_of(const std::vector<std::string>& words);
    bool given() const;

   private:
    friend class OptionParser;
    struct Facts;
    explicit Option(Facts* facts) : facts_(facts) {}
    Facts* facts_;
  };

  /// `about` and `usage` ("./isobar run NN_name") begin the page.
  OptionParser(const std::string& about, const std::string& usage);
  ~OptionParser();
  OptionParser(const OptionParser&) = delete;
  OptionParser& operator=(const OptionParser&) = delete;

  /// Options from here on stand under this title; "" = not on the page.
  void group(const std::string& title);
  /// "!--no-this" sets `out` to false.
  Option flag(const std::string& names, bool& out, const std::string& help);
  // `names` is "--this", "--this,--that", or "THIS" for words without an option. `out` keeps its value where
  // nothing is given, and outlives the parser. A list takes one word each time that its option is given.
  Option add(const std::string& names, std::string& out, const std::string& help);
  Option add(const std::string& names, std::filesystem::path& out, const std::string& help);
  Option add(const std::string& names, std::int64_t& out, const std::string& help);
  Option add(const std::string& names, int& out, const std::string& help);
  Option add(const std::string& names, double& out, const std::string& help);
  Option add(const std::string& names, std::vector<std::string>& out, const std::string& help);
  Option add(const std::string& names, std::vector<std::filesystem::path>& out, const std::string& help);
  Option add(const std::string& names, std::vector<std::int64_t>& out, const std::string& help);
  Option add(const std::string& names, std::vector<int>& out, const std::string& help);
  /// Ends the page.
  void footer(const std::string& text);

  /// False for --help, whose page is then `help_text`, and for --version alone. A wrong word is an Error
  /// (exit code 2).
  bool parse(const std::vector<std::string>& words, std::string& help_text, const ParseWords& say = {});
  /// Prints the page or the version itself.
  bool parse(const std::vector<std::string>& words, const ParseWords& say = {});
  bool parse(int argc, char** argv, const ParseWords& say = {});
  /// Parses the options that were added, and returns all other words, --help among them. Error (exit code 2)
  /// for an option without its value.
  std::vector<std::string> parse_known(const std::vector<std::string>& words, const ParseWords& say = {});
  bool given(const std::string& name) const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace isobar
