#pragma once
// Questions of lesson 01, one of each kind, that made-up runs can answer.

namespace isobar {

inline constexpr const char* kMadeQuestions = R"(
preset = "cpu_micro"
steps = 40
repeats = 3

[[question]]
id = "01.forward_ms"
from = "a test"
kind = "number"
beat = "predict"
goal = 1
unit = "ms"
ask = "How long is forward?"
why = "It is half of the arithmetic."
rule = "value"
with = { run = ["plain"], of = "forward_us" }
hints = ["Shorter than backward.", "A quarter of a step."]
wrong = [{ answer = "above", says = "Only {value} ms are forward." }]
reveal = "Forward takes {value} ms."
[[question.run]]
name = "plain"

[[question]]
id = "01.larger"
from = "a test"
kind = "direction"
beat = "predict"
goal = 2
ask = "With another learning rate, what do the samples a second do?"
why = "Only the numbers change."
rule = "direction"
with = { base = "one", other = "two" }
hints = ["Look at the second."]
reveal = "{base_value} became {other_value} samples/s."
[[question.run]]
name = "one"
set = ["optim.lr=0.0011"]
[[question.run]]
name = "two"
set = ["optim.lr=0.0012"]

[[question]]
id = "01.where"
from = "a test"
kind = "find"
beat = "predict"
goal = 1
ask = "Which line is the way into the program?"
why = "It begins somewhere."
giveaway = ["int main"]
rule = "line"
with = { anchors = ["int main("] }
hints = ["Its name is main."]
reveal = "It is line {line}."

[[question]]
id = "01.fastest"
from = "a test"
kind = "choice"
beat = "predict"
goal = 3
ask = "Which of the two is faster?"
why = "One of them is."
rule = "best"
with = { runs = ["slow", "quick"] }
hints = ["The name says it."]
reveal = "{best} is."
[[question.choice]]
key = "quick"
text = "the first of them, with a text that is so long that it needs more than one line on a narrow card"
[[question.choice]]
key = "slow"
text = "the second"
[[question.run]]
name = "quick"
set = ["optim.lr=0.0013"]
[[question.run]]
name = "slow"
set = ["optim.lr=0.0014"]

[[question]]
id = "01.mistake"
from = "a test"
kind = "choice"
beat = "break"
goal = 2
ask = "What does the loss do without zeroed gradients?"
why = "It is a common mistake."
rule = "curve"
with = { healthy = ["healthy"], fault = ["fault"] }
hints = ["Gradients add up."]
reveal = "It ends at {fault_end}, without the mistake at {healthy_end}."
[[question.choice]]
key = "same"
text = "falls just as without the mistake"
[[question.choice]]
key = "slower"
text = "falls, but ends higher"
[[question.choice]]
key = "flat"
text = "hardly moves"
[[question.choice]]
key = "rises"
text = "ends higher than it began"
[[question.run]]
name = "healthy"
[[question.run]]
name = "fault"
set = ["run.fault=no_zero_grad"]
)";

}  // namespace isobar
