#pragma once
// Questions as a lesson has them, one of each kind.
#include <string>
#include <vector>

#include "course/question.h"
#include "support/catch.h"

namespace isobar {

inline constexpr const char* kNumberQuestion = R"(
[[question]]
id = "02.best_workers"
from = "ERA5 tutorial, 2023"
kind = "number"
beat = "predict"
goal = 2
unit = "workers"
ask = "Which number of workers is best here?"
why = "Each one more takes a processor."
giveaway = ["four workers"]
set = ["data.throttle_mb_per_s=40"]
rule = "best"
with = { runs = ["w1", "w4"], of = "samples_per_s" }
hints = ["How many processors are there?", "Who computes?"]
wrong = [
  { answer = "16", says = "More threads than {best} share the same processors." },
  { answer = "below", says = "{you} cannot keep up." },
]
reveal = "You said {you}, it is {truth}: {best_value} samples/s."

# Its runs.
[[question.run]]
name = "w1"
set = ["data.workers=1"]

[[question.run]]
name = "w4"
set = ["data.workers=4"]
steps = 60
)";

inline constexpr const char* kChoiceQuestion = R"(
[[question]]
id = "02.no_throttle"
from = "Isobar"
kind = "choice"
beat = "break"
ask = "What does the loss do?"
why = "A wrong curve looks like a bad day."
rule = "curve"
with = { healthy = "good", fault = "bad" }
hints = ["Nothing is random in it."]
wrong = [{ answer = "rises", says = "It ends at {fault_end}." }]
reveal = "{truth}."

[[question.choice]]
key = "same"
text = "falls as before"

[[question.choice]]
key = "rises"
text = "ends higher than it began"

[[question.run]]
name = "good"

[[question.run]]
name = "bad"
set = ["fault=same_seed_workers"]
)";

inline constexpr const char* kFindQuestion = R"(
[[question]]
id = "02.line_of_backward"
from = "ERA5 tutorial, 2023"
kind = "find"
beat = "predict"
goal = 1
ask = "Which line is the backward pass?"
why = "It is where gradients come from."
giveaway = ["main.cpp:1"]
rule = "line"
with = { anchors = ["loss.backward"] }
hints = ["It stands behind the loss."]
wrong = [{ answer = "below", says = "Line {line} comes later." }]
reveal = "Line {line}."
)";

inline constexpr const char* kMakeQuestion = R"(
[[question]]
id = "02.no_gain"
from = "distributed SGD labs"
kind = "make"
beat = "predict"
ask = "Make two runs of which the one with twice the ranks is no faster."
why = "Ranks share a machine."
rule = "made_no_gain"
hints = ["What do ranks share?"]
reveal = "{truth}"
)";

inline std::string all_kinds() {
  return std::string("preset = \"cpu_micro\"\nsteps = 120\nrepeats = 3\n") + kNumberQuestion +
         kChoiceQuestion + kFindQuestion + kMakeQuestion;
}

inline std::vector<Question> asked_questions() {
  return parse_questions(all_kinds(), "q.toml", "02_workers");
}

/// `text` with its first `from` replaced.
inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

}  // namespace isobar
