// Sentences of the questions that state a relation, held against the formula or the recorded runs: each has a
// claim in relations/NN_name.toml.
#include <algorithm>
#include <cctype>
#include <cmath>
#include <regex>

#include "config/lesson.h"
#include "config/toml_keys.h"
#include "core/files.h"
#include "core/find.h"
#include "course/needed_runs.h"
#include "course/recorded_truth.h"
#include "course/rules/parts.h"
#include "course/variant.h"
#include "support/catch.h"
#include "support/errors.h"

using namespace isobar;
namespace fs = std::filesystem;

namespace {

struct Relation {
  std::string id, text, holds, by;
};

struct RelationFile {
  std::vector<Relation> claims;
};

std::vector<Relation> claims_of(const std::string& lesson) {
  static const TomlKeys<Relation> kKeys(
      "a claim",
      {{"id", &Relation::id}, {"text", &Relation::text}, {"holds", &Relation::holds}, {"by", &Relation::by}});
  static const TomlKeys<RelationFile> kFile("a file of claims", {{"claim", &RelationFile::claims, kKeys}});
  const fs::path file = project_home() / "tests/reading/course/relations" / (lesson + ".toml");
  RelationFile out;
  kFile.take(parse_toml(read_text_file(file, 1 << 20), file.string()), out);
  return out.claims;
}

/// Rules whose choices are statements; those of others are outcomes, which the rule itself distinguishes.
constexpr std::string_view kStatements[] = {"fixed", "gradient_spread", "step_overhead", "all_reduce_sums"};

/// The texts that state what is true or false, as they are written.
std::vector<std::string> texts_of(const Question& question) {
  const Question& form = question.form ? *question.form : question;
  std::vector<std::string> out = {form.why, form.reveal};
  for (const Misconception& one : form.wrong) out.push_back(one.says);
  for (const QuestionChoice& one : form.choices) {
    if (holds(kStatements, form.rule)) out.push_back(one.text);
  }
  return out;
}

/// A piece of a text between its signs.
struct Clause {
  std::size_t begin = 0, end = 0;
};

std::vector<Clause> clauses_of(const std::string& text) {
  std::vector<Clause> out = {{0, 0}};
  for (std::size_t i = 0; i < text.size(); ++i) {
    out.back().end = i + 1;
    const bool is_end = std::string_view(".!?:,;").find(text[i]) != std::string_view::npos;
    if (is_end && i + 1 < text.size() && text[i + 1] == ' ') out.push_back({i + 1, i + 1});
  }
  return out;
}

/// Whether the text of a relation lies in the clause, at least in part.
bool is_claimed(const std::string& text, const Clause& clause, const std::string& piece) {
  for (std::size_t at = text.find(piece); at != std::string::npos; at = text.find(piece, at + 1)) {
    if (at < clause.end && at + piece.size() > clause.begin) return true;
  }
  return false;
}

bool states_relation(const std::string& sentence) {
  static const std::regex kRelation(
      "\\b(longer|shorter|faster|slower|quicker|larger|smaller|higher|lower|more|less|fewer|fewest|most|"
      "least|"
      "fastest|slowest|longest|rises?|falls?|grows?|shrinks?|twice|half|times as|above|below|"
      "as (long|large|fast|much|many) as|the same)\\b");
  return std::regex_search(sentence, kRelation);
}

using Figures = std::map<std::string, std::string>;

/// Figures in place of their names. A name that is none stays, and cannot be worked out.
std::string with_figures(const std::string& text, const Figures& figures) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    if (std::isalpha(static_cast<unsigned char>(text[at])) == 0) {
      out += text[at++];
      continue;
    }
    const std::size_t end = std::min(
        text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_", at),
        text.size());
    const std::string name = text.substr(at, end - at);
    std::string value = figures.contains(name) ? "(" + figures.at(name) + ")" : name;
    std::erase(value, ',');
    out += value;
    at = end;
  }
  return out;
}

bool is_true(const Question& question, const std::string& holds, const Figures& figures) {
  const std::size_t at = holds.find_first_of("<>~");
  REQUIRE(at != std::string::npos);
  const double left = calculated(question, with_figures(holds.substr(0, at), figures));
  const double right = calculated(question, with_figures(holds.substr(at + 1), figures));
  UNSCOPED_INFO(left << holds[at] << right);
  if (holds[at] == '~') return std::abs(left - right) <= 0.03 * std::max(std::abs(left), std::abs(right));
  return holds[at] == '<' ? left < right : left > right;
}

/// By its rule where it needs no run of this machine, else as it was recorded; nullopt: neither.
std::optional<Truth> truth_known(const Question& question) {
  const bool has_own =
      std::ranges::any_of(question.runs, [](const NeededRun& run) { return run.recorded.empty(); });
  if (has_own) return recorded_truth(project_home(), question);
  const auto found = find_runs(question, project_home(), std::vector<KnownRun>{}, nullptr);
  const Truth truth = rule_named(question.rule)->find(rule_input(question, project_home(), found));
  return truth.cannot.empty() ? std::optional(truth) : std::nullopt;
}

/// In all variants whose truth is known; at least one is.
void check_holds(const Question& question, const std::string& holds) {
  std::size_t known = 0;
  for (std::size_t n = 0; n < std::max<std::size_t>(1, question.variants.size()); ++n) {
    const Question one = variant(question, n);
    const std::optional<Truth> truth = truth_known(one);
    if (!truth) continue;
    Figures figures = truth->figures;
    figures.insert(one.drawn.begin(), one.drawn.end());
    INFO(one.ask);
    CHECK(is_true(one, holds, figures));
    ++known;
  }
  CHECK(known > 0);
}

}  // namespace

TEST_CASE("every clause of a question that states a relation has a claim, and every claim holds") {
  for (const std::string& lesson : lesson_names(project_home())) {
    const std::vector<Question> questions = read_questions(project_home(), lesson);
    const std::vector<Relation> claims = claims_of(lesson);
    for (const Question& question : questions) {
      for (const std::string& text : texts_of(question)) {
        for (const Clause& clause : clauses_of(text)) {
          const std::string words = text.substr(clause.begin, clause.end - clause.begin);
          if (!states_relation(words)) continue;
          INFO(question.id << ": " << words);
          CHECK(std::ranges::any_of(claims, [&](const Relation& one) {
            return one.id == question.id && is_claimed(text, clause, one.text);
          }));
        }
      }
    }
    for (const Relation& claim : claims) {
      INFO(claim.id << ": " << claim.text << " | " << claim.holds << claim.by);
      const Question* const question = find_by(questions, &Question::id, claim.id);
      REQUIRE(question != nullptr);
      CHECK(std::ranges::any_of(texts_of(*question), [&](const std::string& text) {
        return text.find(claim.text) != std::string::npos;
      }));
      CHECK(claim.holds.empty() != claim.by.empty());
      if (!claim.holds.empty()) check_holds(*question, claim.holds);
    }
  }
}

TEST_CASE("a relation that is planted the wrong way round is found") {
  const Question question = find_question(project_home(), "00.two_curvatures");
  const Figures figures = {{"steep", "4"}, {"flat", "0.5"}, {"value", "1,200"}};
  CHECK(is_true(question, "steep > flat", figures));
  CHECK_FALSE(is_true(question, "steep < flat", figures));
  CHECK(is_true(question, "value ~ 300 * steep", figures));
  CHECK_FALSE(is_true(question, "value ~ 320 * steep", figures));
  CHECK_THROWS_AS(is_true(question, "steeper > flat", figures), Error);
  CHECK(states_relation("The smaller one is twice as long."));
  // Both sentences stood in lesson 00 once.
  CHECK(states_relation("Just below it training is fastest."));
  CHECK(states_relation("a small batch makes longer steps, at any rate"));
  CHECK_FALSE(states_relation("It subtracts the gradient."));
}
