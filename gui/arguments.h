#pragma once
// The command line that the window has wherever it is shown: which runs, which view, which look.
#include <optional>
#include <string>
#include <vector>

#include "app.h"
#include "config/option_parser.h"

namespace isobar {

class Arguments {
 public:
  /// Adds the options; this lives as long as `parser` does.
  explicit Arguments(OptionParser& parser);
  ~Arguments();
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;

  /// After the parser took the words: what an App is made of. What they ask for is checked here: Error (exit
  /// code 2).
  AppOptions app_options();
  /// Before the first frame; a replay begins.
  void begin(AppState& state);

 private:
  void choose(AppState& state) const;
  void prepare_replay(AppOptions& app);

  std::vector<std::string> places_;
  std::string panel_ = "watch", theme_, run_, lesson_, replay_, speed_ = "20x";
  double zoom_ = 0;
  std::optional<OptionParser::Option> speed_option_;
  struct Replaying;
  std::unique_ptr<Replaying> replaying_;
};

/// Where each widget is, in a file, so that tests find what they click: one object with the name of each
/// widget, its box in pixels of the frame, and its words; and by the name "", how many inputs the window got
/// whose frames are all drawn.
void write_items(const Ui& ui, std::int64_t shown, const std::filesystem::path& file);

}  // namespace isobar
