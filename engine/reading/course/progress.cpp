#include "course/progress.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "core/clock.h"
#include "core/error.h"
#include "core/files.h"
#include "core/find.h"
#include "core/json.h"
#include "core/text.h"
#include "core/waiting.h"
#include "course/units.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kMostProgressBytes = std::uint64_t{64} << 20;
constexpr std::size_t kMostLineBytes = std::size_t{1} << 20;
constexpr std::size_t kMostProblems = 20;
constexpr const char* kElsewhere = "ISOBAR_PROGRESS=FILE keeps it in another file";

std::string text_in_line(const Json& line, std::string_view key) {
  return line.contains(key) ? line.at(key).as_text() : "";
}

std::optional<double> number_in_line(const Json& line, std::string_view key) {
  return line.contains(key) ? std::optional(line.at(key).as_number()) : std::nullopt;
}

std::optional<std::size_t> newest_answer(const CourseProgress& progress, const std::string& id) {
  for (std::size_t i = progress.answers.size(); i-- > 0;) {
    if (progress.answers[i].id == id) return i;
  }
  return std::nullopt;
}

[[noreturn]] void damaged(const std::string& what) { throw Error(what, "", ""); }

std::vector<std::string> texts_in_line(const Json& line, std::string_view key) {
  std::vector<std::string> out;
  if (!line.contains(key)) return out;
  for (const Json& one : line.at(key).values()) out.push_back(one.as_text());
  return out;
}

void take_answer(const Json& line, std::size_t number, CourseProgress& out) {
  out.answers.push_back({.id = line.at("id").as_text(),
                         .text = line.at("answer").as_text(),
                         .number = number_in_line(line, "number"),
                         .unit = text_in_line(line, "unit"),
                         .time = text_in_line(line, "time"),
                         .lesson = text_in_line(line, "lesson"),
                         .kind = text_in_line(line, "asked"),
                         .runs = texts_in_line(line, "runs"),
                         .line = number,
                         .drawn = text_in_line(line, "drawn"),
                         .thought = text_in_line(line, "thought")});
}

/// Index of the answer that a reveal graded; lines of before had no `of` and were of the newest.
std::optional<std::size_t> answer_revealed(const Json& line, const std::string& id,
                                           const CourseProgress& progress) {
  if (!line.contains("of")) return newest_answer(progress, id);
  const std::int64_t wanted = line.at("of").as_integer();
  for (std::size_t i = progress.answers.size(); i-- > 0;) {
    const StoredAnswer& answer = progress.answers[i];
    if (answer.id == id && static_cast<std::int64_t>(answer.line) == wanted) return i;
  }
  return std::nullopt;
}

void take_reveal(const Json& line, std::size_t, CourseProgress& out) {
  StoredReveal reveal{.id = line.at("id").as_text(),
                      .outcome = line.at("outcome").as_text(),
                      .truth = text_in_line(line, "truth"),
                      .number = number_in_line(line, "number"),
                      .source = text_in_line(line, "source"),
                      .runs = texts_in_line(line, "runs"),
                      .time = text_in_line(line, "time"),
                      .formula_ms = number_in_line(line, "formula_ms"),
                      .step_ms = number_in_line(line, "step_ms"),
                      .about = text_in_line(line, "about")};
  const std::optional<std::size_t> of = answer_revealed(line, reveal.id, out);
  if (!of) damaged("a reveal of " + printable(reveal.id, 80) + " whose answer is not there");
  reveal.of = *of;
  out.reveals.push_back(std::move(reveal));
}

void take_done(const Json& line, std::size_t, CourseProgress& out) {
  std::vector<std::string>& done = out.done[line.at("lesson").as_text()];
  const std::string& what = line.at("beat").as_text();
  if (!holds(done, what)) done.push_back(what);
}

struct LineKind {
  const char* name;
  void (*take)(const Json& line, std::size_t number, CourseProgress& out);
};
constexpr LineKind kLineKinds[] = {{"answer", take_answer}, {"reveal", take_reveal}, {"beat", take_done}};

struct NewerSchema {
  std::int64_t schema;
};

/// NewerSchema is for who reads the file; an Error means that the line is damaged.
void take_line(const std::string& text, std::size_t number, CourseProgress& out) {
  if (text.size() > kMostLineBytes) damaged(fmt::format("a line of {} bytes", text.size()));
  const Json line = Json::parse(text);
  const std::int64_t schema = line.at("schema").as_integer();
  if (schema > kProgressSchema) throw NewerSchema{schema};
  const std::string& kind = line.at("kind").as_text();
  for (const LineKind& one : kLineKinds) {
    if (kind == one.name) return one.take(line, number, out);
  }
  damaged("unknown kind of line: \"" + printable(kind, 60) + "\"");
}

CourseProgress progress_in(const std::string& text, const fs::path& file) {
  CourseProgress out;
  std::size_t damaged_lines = 0;
  std::size_t number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    at = end + 1;
    ++number;
    if (line.empty()) continue;
    const std::string where = fmt::format("{}:{}", file.string(), number);
    try {
      take_line(line, number, out);
    } catch (const NewerSchema& newer) {
      throw Error(
          fmt::format("the progress file was written by a newer Isobar (schema {}; this one reads schema {})",
                      newer.schema, kProgressSchema),
          where, std::string("use that Isobar; ") + kElsewhere);
    } catch (const Error& error) {
      if (++damaged_lines <= kMostProblems) out.problems.push_back(where + ": " + error.what());
    }
  }
  if (damaged_lines > kMostProblems)
    out.problems.push_back(fmt::format("{} more of {}", damaged_lines - kMostProblems, file.string()));
  return out;
}

[[noreturn]] void cannot_store(const std::string& what, const fs::path& file, int error_number) {
  throw Error(fmt::format("{}: {}", what, std::strerror(error_number)), file.string(), kElsewhere,
              Exit::failed);
}

/// 0 when it is locked, else errno: the holder of the lock writes one line, so that it is waited for, but
/// not for ever.
int lock(const FileDescriptor& file, int how) {
  constexpr std::int64_t kMost_us = 5'000'000, kPause_us = 10'000;
  const std::int64_t until_us = steady_us() + kMost_us;
  while (flock(file.number(), how | LOCK_NB) != 0) {
    if (errno != EINTR && errno != EWOULDBLOCK) return errno;
    if (steady_us() >= until_us) return EWOULDBLOCK;
    sleep_us(kPause_us);
  }
  return 0;
}

bool has_no_locks(int error_number) {
  return error_number == ENOSYS || error_number == ENOLCK || error_number == EOPNOTSUPP;
}

/// Whether `path` still names this file: another program may have put another one in its place.
bool is_still_there(const FileDescriptor& file, const fs::path& path) {
  struct stat open {
  }, named{};
  return fstat(file.number(), &open) == 0 && stat(path.c_str(), &named) == 0 && open.st_dev == named.st_dev &&
         open.st_ino == named.st_ino;
}

/// The file, locked until it is closed. It is made, with the folders above it, where it is not there.
FileDescriptor locked_for_append(const fs::path& path) {
  std::error_code code;
  if (path.has_parent_path()) fs::create_directories(path.parent_path(), code);
  if (code) cannot_store("cannot make the folder of the progress file", path, code.value());
  while (true) {
    const bool is_new = !fs::exists(path, code);
    FileDescriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0600));
    if (!file.is_open()) cannot_store("cannot write the progress file", path, errno);
    struct stat status {};
    if (fstat(file.number(), &status) != 0) cannot_store("cannot inspect the progress file", path, errno);
    if (!S_ISREG(status.st_mode))
      throw Error("the progress file is not a regular file", path.string(), kElsewhere, Exit::failed);
    const int failed = lock(file, LOCK_EX);
    if (failed == EWOULDBLOCK)
      throw Error("another program holds the progress file", path.string(), kElsewhere, Exit::failed);
    if (failed != 0 && !has_no_locks(failed)) cannot_store("cannot lock the progress file", path, failed);
    if (!is_still_there(file, path)) continue;
    if (is_new) sync_folder(path.has_parent_path() ? path.parent_path() : fs::path("."));
    return file;
  }
}

/// One write, so that other programs that append see it whole or not at all.
void append_locked(const FileDescriptor& file, const std::string& before, const std::string& line,
                   const fs::path& path) {
  const bool has_half_line = !before.empty() && before.back() != '\n';
  const std::string text = (has_half_line ? "\n" : "") + line + "\n";
  ssize_t put = 0;
  do {
    put = ::write(file.number(), text.data(), text.size());
  } while (put < 0 && errno == EINTR);
  if (put < 0) cannot_store("cannot write the progress file", path, errno);
  if (static_cast<std::size_t>(put) != text.size())
    cannot_store("only part of the line could be written", path, ENOSPC);
  if (fsync(file.number()) != 0) cannot_store("cannot make the progress file durable", path, errno);
}

Json begun(std::string_view kind) {
  return Json{{"schema", kProgressSchema}, {"kind", kind}, {"time", wall_iso()}};
}

}  // namespace

const StoredAnswer* CourseProgress::answer(const std::string& id) const {
  const std::optional<std::size_t> newest = newest_answer(*this, id);
  return newest ? &answers[*newest] : nullptr;
}

std::size_t CourseProgress::answer_line(const std::string& id) const {
  const StoredAnswer* const newest = answer(id);
  return newest == nullptr ? 0 : newest->line;
}

const StoredReveal* CourseProgress::reveal(const std::string& id) const {
  const std::optional<std::size_t> newest = newest_answer(*this, id);
  return newest ? reveal_of(*newest) : nullptr;
}

bool CourseProgress::has_done(const std::string& lesson, const std::string& what) const {
  const std::vector<std::string>* const parts = find_in(done, lesson);
  return parts != nullptr && holds(*parts, what);
}

const StoredReveal* CourseProgress::reveal_of(std::size_t index) const {
  for (std::size_t i = reveals.size(); i-- > 0;) {
    if (reveals[i].of == index) return &reveals[i];
  }
  return nullptr;
}

fs::path progress_file() {
  const auto variable = [](const char* name) -> std::string {
    const char* const value = std::getenv(name);
    return value == nullptr ? "" : value;
  };
  if (const std::string file = variable("ISOBAR_PROGRESS"); !file.empty()) return file;
  if (const fs::path data = variable("XDG_DATA_HOME"); data.is_absolute())
    return data / "isobar" / "progress.jsonl";
  if (const std::string home = variable("HOME"); !home.empty())
    return fs::path(home) / ".local" / "share" / "isobar" / "progress.jsonl";
  throw Error("no folder to keep progress in: neither ISOBAR_PROGRESS nor HOME is set", "environment",
              "export ISOBAR_PROGRESS=/some/file.jsonl");
}

CourseProgress read_progress(const fs::path& file) {
  std::error_code code;
  if (!fs::exists(file, code) && !code) return {};
  const FileDescriptor open = open_for_reading(file);
  lock(open, LOCK_SH);  // no half line of who is writing; where files cannot be locked it goes without
  return progress_in(read_text_file(file, kMostProgressBytes), file);
}

void refuse_reveal(const std::string& id, const fs::path& file) {
  throw Error("nothing is revealed before a prediction is stored, and " + printable(id, 80) + " has none",
              file.string(), "./isobar quiz " + shell_quoted(id) + " asks for it");
}

std::string answer_words(const Question& question, const StoredAnswer& answer) {
  if (question.kind == AnswerKind::number && answer.number && !answer.unit.empty())
    return with_unit(*answer.number, answer.unit);
  return answer_words(question,
                      Answer{.kind = question.kind, .text = answer.text, .number = 0, .line = 0, .runs = {}});
}

ProgressWriter::ProgressWriter(fs::path file) : file_(std::move(file)) {}

void ProgressWriter::append(const std::string& line,
                            const std::function<void(const CourseProgress&)>& check) {
  const FileDescriptor file = locked_for_append(file_);
  const std::string before = read_text_file(file_, kMostProgressBytes);
  const CourseProgress progress = progress_in(before, file_);
  if (check) check(progress);
  append_locked(file, before, line, file_);
}

void ProgressWriter::commit(const Question& question, const Answer& answer, std::optional<std::size_t> seen,
                            const std::string& thought) {
  Json line = begun("answer");
  line["id"] = question.id;
  line["lesson"] = question.lesson;
  line["asked"] = kind_name(question.kind);
  line["answer"] = answer.text;
  if (answer.kind == AnswerKind::number) add_members(line, ISOBAR_NAMED(answer.number, question.unit));
  if (answer.kind == AnswerKind::make) line["runs"] = Json(answer.runs);
  if (!question.drawn.empty()) line["drawn"] = drawn_text(question.drawn);
  if (!thought.empty()) line["thought"] = thought;
  append(line.text(), [&](const CourseProgress& now) {
    if (!seen || now.answer_line(question.id) == *seen) return;
    throw Error(question.id + " was answered elsewhere in the meantime", file_.string(),
                "./isobar quiz " + shell_quoted(question.id) + " shows that answer", Exit::failed);
  });
}

void ProgressWriter::reveal(const StoredAnswer& answer, const Graded& graded, const Truth& truth,
                            const std::vector<std::string>& runs, const FormulaStep& formula) {
  Json line = begun("reveal");
  line["id"] = answer.id;
  line["of"] = answer.line;
  line["outcome"] = outcome_name(graded.outcome);
  line["truth"] = graded.truth;
  if (std::isfinite(truth.number)) line["number"] = truth.number;
  line["source"] = graded.source;
  line["runs"] = Json(runs);
  if (!graded.about.empty()) line["about"] = graded.about;
  if (formula.predicted_ms > 0 && formula.measured_ms > 0) {
    line["formula_ms"] = formula.predicted_ms;
    line["step_ms"] = formula.measured_ms;
  }
  append(line.text(), [&](const CourseProgress& now) {
    const std::size_t newest = now.answer_line(answer.id);
    if (newest == 0) refuse_reveal(answer.id, file_);
    if (newest == answer.line) return;
    throw Error(answer.id + " was answered again while this answer was graded", file_.string(),
                "./isobar quiz " + shell_quoted(answer.id) + " reveals the newer answer", Exit::failed);
  });
}

void ProgressWriter::done(const std::string& lesson, const std::string& what) {
  Json line = begun("beat");
  line["lesson"] = lesson;
  line["beat"] = what;
  append(line.text(), nullptr);
}

}  // namespace isobar
