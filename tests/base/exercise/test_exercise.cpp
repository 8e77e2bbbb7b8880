#include <sys/stat.h>

#include "config/lesson.h"
#include "core/files.h"
#include "exercise/exercise.h"
#include "exercise/verdict.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/says.h"
#include "support/temp_folder.h"

using namespace isobar;

namespace fs = std::filesystem;

namespace {

constexpr const char* kSolution =
    "int twice(int x) {\n"
    "  // BEGIN Double it.\n"
    "  //> return 0;\n"
    "  return 2 * x;\n"
    "  // END\n"
    "}\n";

constexpr const char* kSheet =
    "file = \"twice\"\ntitle = \"Doubling\"\nminutes = 15\ntext = \"Double.\"\nafter = \"2 x.\"\n"
    "[[check]]\nname = \"one\"\nsays = \"one is two\"\nhints = [\"add\", \"multiply\"]\n"
    "[[check]]\nname = \"none\"\nsays = \"none is none\"\nhints = [\"nothing\"]\n";

/// A project with one lesson and its exercise, and a folder for a learner.
struct Project {
  TempFolder folder;
  fs::path home = folder / "home";
  fs::path my = folder / "my";

  explicit Project(const std::string& sheet = kSheet) {
    write("exercise.toml", sheet);
    write("exercise.h", "int twice(int x);\n");
    write("twice.cpp", kSolution);
    fs::copy_file(project_home() / "lessons/01_baseline/lesson.toml",
                  home / "lessons/01_baseline/lesson.toml");
  }
  void write(const std::string& name, const std::string& text) const {
    fs::create_directories(home / "lessons/01_baseline/exercise");
    write_file_whole(home / "lessons/01_baseline/exercise" / name, std::string_view(text));
  }
  Exercise exercise() const { return read_exercise(home, "01_baseline"); }
  std::string text_of_mine() const { return read_text_file(my / "01_twice.cpp", 1'000'000); }
};

/// A build whose compiler makes empty files, and whose check program reports what it is given.
struct MadeBuild {
  Project project;
  fs::path build = project.folder / "build";

  /// `compiler`, `checker`: lines of a shell that are run before each ends.
  MadeBuild(const std::string& compiler, const std::string& checker) {
    fs::create_directories(build / "bin");
    script("bin/check_01_baseline", checker);
    script("c++",
           "rule=/dev/null\nwhile [ $# -gt 0 ]; do case $1 in -MF) rule=$2 ;; -o) : >\"$2\" ;; esac; shift; "
           "done\n"
           ": >\"$rule\"\n" +
               compiler);
    write_file_whole(build / "compile_commands.json",
                     std::string_view("[{\"directory\": \"/\", \"command\": \"" + (build / "c++").string() +
                                      " -O1 -o x/part_of_01_baseline.dir/part.o -c part.cpp\"}]"));
    place_my_file(project.exercise(), project.my);
  }
  ExerciseVerdict verdict() const {
    const Exercise exercise = project.exercise();
    return check_exercise(exercise, read_my_file(exercise, project.my), build);
  }

 private:
  void script(const std::string& name, const std::string& lines) const {
    write_file_whole(build / name, std::string_view("#!/bin/sh\n" + lines + "\n"));
    fs::permissions(build / name, fs::perms::owner_all);
  }
};

/// A line of a shell that reports a check as held.
std::string holds(const std::string& name) {
  return "echo '{\"kind\":\"check\",\"name\":\"" + name + "\",\"holds\":true}'\n";
}

}  // namespace

TEST_CASE("A skeleton is the solution without what is to be written") {
  CHECK(cut_skeleton(kSolution, "x.cpp") == "int twice(int x) {\n  // YOU: Double it.\n  return 0;\n}\n");
  CHECK(plain_solution(kSolution, "x.cpp") == "int twice(int x) {\n  return 2 * x;\n}\n");
  CHECK_THAT(failure_of([] { cut_skeleton("// BEGIN a.\nx\n", "x.cpp"); }),
             says("BEGIN without END") && says("x.cpp:2"));
  CHECK_THAT(failure_of([] { cut_skeleton("// BEGIN one half\n// the other.\n// END\n", "x.cpp"); }),
             says("on one line"));
  CHECK_THAT(failure_of([] { cut_skeleton("// END\n", "x.cpp"); }), says("END without BEGIN"));
  CHECK_THAT(failure_of([] { cut_skeleton("// BEGIN a.\n// BEGIN b.\n", "x.cpp"); }), says("x.cpp:2"));
  CHECK_THAT(failure_of([] { cut_skeleton("//> x\n", "x.cpp"); }), says("outside"));
}

TEST_CASE("Every exercise can be read, has a gap, and its solution is none of its skeleton") {
  int count = 0;
  for (const std::string& lesson : lesson_names(project_home())) {
    if (!has_exercise(project_home(), lesson)) continue;
    ++count;
    INFO(lesson);
    const Exercise exercise = read_exercise(project_home(), lesson);
    const std::string skeleton = read_skeleton(exercise);
    CHECK_THAT(skeleton, says("// YOU: ") && !says("// BEGIN") && !says("//>"));
    CHECK(skeleton.size() + 200 < read_text_file(exercise.solution_file(), 1'000'000).size());
    CHECK(exercise.minutes >= 15);
    CHECK(exercise.minutes <= 45);
    CHECK((exercise.find(kRaceCheck) == nullptr || exercise.is_sanitized));
    for (const ExerciseCheck& check : exercise.checks) {
      CHECK(exercise.find(check.name) == &check);  // no two of one name
      CHECK_THAT(hints_of(exercise, check.name, "").texts.back(), says(exercise.file + ".cpp"));
    }
  }
  CHECK(count > 0);
}

TEST_CASE("A file of the learner is put in place once, and never written again") {
  const Project project;
  const Exercise exercise = project.exercise();
  CHECK_FALSE(read_my_file(exercise, project.my).is_there);
  CHECK(place_my_file(exercise, project.my));
  const MyFile fresh = read_my_file(exercise, project.my);
  CHECK(fresh.is_there);
  CHECK(fresh.text == fresh.given);
  CHECK(fresh.text == fresh.skeleton);
  CHECK_FALSE(fresh.is_of_older_edition);
  write_file_whole(project.my / "01_twice.cpp", std::string_view("mine\n"));
  CHECK_FALSE(place_my_file(exercise, project.my));
  CHECK(project.text_of_mine() == "mine\n");
}

TEST_CASE("An exercise that changed since is told, with what is different") {
  const Project project;
  place_my_file(project.exercise(), project.my);
  const std::string before = project.text_of_mine();
  project.write("exercise.h", "long twice(long x);\n");
  const MyFile mine = read_my_file(project.exercise(), project.my);
  CHECK(mine.is_of_older_edition);
  CHECK(mine.given == before);
  CHECK(mine.skeleton != before);
  // The learner took the first line out: what was given is kept beside the file.
  write_file_whole(project.my / "01_twice.cpp", std::string_view("int twice(int x) { return x; }\n"));
  CHECK(read_my_file(project.exercise(), project.my).is_of_older_edition);
  project.write("exercise.h", "int twice(int x);\n");
  CHECK_FALSE(read_my_file(project.exercise(), project.my).is_of_older_edition);
}

TEST_CASE("A place where nothing can be written is told") {
  const Project project;
  write_file_whole(project.my, std::string_view("a file\n"));
  CHECK_THAT(failure_of([&] { place_my_file(project.exercise(), project.my); }),
             says("my") && says("ISOBAR_MY"));
  CHECK(read_text_file(project.my, 100) == "a file\n");
}

TEST_CASE("Hints come one at a time, for the check that does not hold") {
  const Project project;
  const Exercise exercise = project.exercise();
  fs::create_directories(project.my / ".given");
  const auto shown = [&](const char* check, bool more) {
    return shown_hints(exercise, project.my, hints_of(exercise, check, ""), more);
  };
  CHECK(shown("one", false) == 1);
  CHECK(shown("one", false) == 1);
  CHECK(shown("one", true) == 2);
  CHECK(shown("one", false) == 2);
  CHECK(shown("one", true) == 3);  // which names the solution
  CHECK(shown("one", true) == 3);
  CHECK(shown("none", true) == 1);
  CHECK(shown("one", true) == 1);
  CHECK(shown("load", true) == 0);  // no check of the exercise
  write_file_whole(project.my / ".given/01_baseline.hints", std::string_view("one 99999999999999\n"));
  CHECK(shown("one", false) <= 3);
  fs::remove_all(project.my);
  CHECK(shown("one", true) == 1);
}

TEST_CASE("A recognised mistake has hints of its own, counted from the first") {
  const Project project(kSheet + std::string("[[mistake]]\nfinds = \"came 3\"\nhints = [\"not plus\"]\n"
                                             "[[mistake]]\nfinds = \"came 33\"\nhints = [\"never\"]\n"));
  const Exercise exercise = project.exercise();
  fs::create_directories(project.my / ".given");
  const CheckFinding plus{"2", "3", "twice"}, other{"2", "4", "twice"};
  const Hints of_check = hints_of(exercise, "one", other.sentence());
  CHECK(of_check.of == "one");
  CHECK(of_check.texts.size() == 3);
  const Hints own = hints_of(exercise, "one", plus.sentence());
  CHECK(own.of == "one:1");
  CHECK(own.texts.front() == "not plus");
  CHECK_THAT(own.texts.back(), says("twice.cpp") && says("--solution"));
  CHECK(hints_of(exercise, "load", plus.sentence()).of.empty());
  CHECK(shown_hints(exercise, project.my, of_check, true) == 1);
  CHECK(shown_hints(exercise, project.my, of_check, true) == 2);
  CHECK(shown_hints(exercise, project.my, own, false) == 1);
  CHECK(shown_hints(exercise, project.my, own, true) == 2);
  CHECK(kept_hints(exercise, project.my, own) == 2);
  CHECK(kept_hints(exercise, project.my, of_check) == 1);
}

TEST_CASE("The solution is kept back until three checks were made, or all holds") {
  const Project project;
  const Exercise exercise = project.exercise();
  place_my_file(exercise, project.my);
  const auto refusal = [&] { return error_of([&] { refuse_early_solution(exercise, project.my); }); };
  CHECK_THAT(refusal(), says("3 checks to go") && says("--hint") && says("--yes"));
  ExerciseVerdict verdict;
  verdict.failed = "one";
  for (const char* const left : {"2 checks to go", "1 check to go"}) {
    keep_verdict(exercise, project.my, verdict);
    CHECK_THAT(refusal(), says(left));
  }
  keep_verdict(exercise, project.my, verdict);
  CHECK(kept_verdict(exercise, project.my)->checks == 3);
  CHECK_NOTHROW(refuse_early_solution(exercise, project.my));
  fs::remove(project.my / ".given/01_baseline.json");
  CHECK_THAT(refusal(), says("3 checks to go"));
  verdict = {};
  verdict.held = {"one", "none"};
  keep_verdict(exercise, project.my, verdict);
  CHECK_NOTHROW(refuse_early_solution(exercise, project.my));
}

TEST_CASE("A first step that holds, with the rest as it was given, is no mistake") {
  const std::string first = "first = \"one\"\nfirst_minutes = 3\nfirst_text = \"Double one.\"\n";
  const Project project(first + kSheet);
  project.write("twice.cpp",
                kSolution + std::string("void none() {\n  // BEGIN Nothing.\n  return;\n  // END\n}\n"));
  const Exercise exercise = project.exercise();
  CHECK(exercise.first_step() == "first, about 3 minutes: Double one.");
  place_my_file(exercise, project.my);
  MyFile mine = read_my_file(exercise, project.my);
  ExerciseVerdict verdict;
  verdict.failed = "one";
  CHECK_FALSE(has_first_step_alone(exercise, mine, verdict));
  verdict.held = {"one"};
  verdict.failed = "none";
  verdict.picture = "a\nb\n";
  mine.text.replace(mine.text.find("  // YOU: Double it.\n  return 0;"), 31, "  return x + x;");
  CHECK(has_first_step_alone(exercise, mine, verdict));
  keep_verdict(exercise, project.my, verdict);
  CHECK(kept_verdict(exercise, project.my)->picture == "a\nb\n");
  mine.text += "// more\n";
  CHECK_FALSE(has_first_step_alone(exercise, mine, verdict));
  CHECK_FALSE(MyFile().rest_is_untouched());
  CHECK_THAT(error_of([&] { Project("first = \"two\"\n" + std::string(kSheet)).exercise(); }),
             says("a first step wants the name of a check"));
  CHECK_THAT(error_of([&] { Project(kSheet + std::string("[[mistake]]\nfinds = \"x\"\n")).exercise(); }),
             says("a mistake wants finds and hints"));
}

TEST_CASE("What an exercise may include") {
  Exercise exercise;
  exercise.lesson = "02_workers";
  const auto refusal = [&](const std::string& line) {
    return forbidden_include("#include <vector>\n" + line + "\n", exercise, "my/02_x.cpp");
  };
  for (const char* const good : {"#include <mutex>", "#include \"02_workers/exercise/exercise.h\"",
                                 "#include <ATen/ops/add.h>", "// #include \"data/read_ahead.h\"", "int x;"})
    CHECK_FALSE(refusal(good));
  for (const char* const bad :
       {"#include \"data/read_ahead.h\"", "# include \"02_workers/exercise/read_ahead.cpp\"",
        "#include <sys/wait.h>", "#include \"/etc/passwd\"", "  #include <../x>"}) {
    const auto problem = refusal(bad);
    REQUIRE(problem);
    CHECK(problem->where == "my/02_x.cpp:2");
    CHECK_THAT(problem->what, says("no part of the exercise"));
  }
}

TEST_CASE("Of what a compiler says, the first error in the learner's file is told") {
  const CompileProblem plain = first_error(
      "In file included from x.h:1:\n"
      "/home/a/my/02_x.cpp: In function 'int f()':\n"
      "/home/a/my/02_x.cpp:3:7: warning: unused variable 'y'\n"
      "/home/a/my/02_x.cpp:41:12: error: expected ';' before 'return'\n"
      "   41 |   int x = 4\n"
      "      |            ^\n"
      "/home/a/my/02_x.cpp:42:1: error: another\n",
      "my/02_x.cpp");
  CHECK_THAT(plain.what, says("expected ';' before 'return'"));
  CHECK(plain.where == "my/02_x.cpp:41:12");
  CHECK(plain.lines.size() == 2);
  const CompileProblem deep = first_error(
      "/usr/include/c++/12/bits/x.h: In instantiation of 'void g()':\n"
      "/home/a/my/02_x.cpp:7:3:   required from here\n"
      "/usr/include/c++/12/bits/x.h:99:1: error: static assertion failed\n",
      "my/02_x.cpp");
  CHECK_THAT(deep.what, says("static assertion failed"));
  CHECK(deep.where == "my/02_x.cpp:7:3");
  CHECK(first_error("", "my/02_x.cpp").where.empty());
  CHECK_THAT(first_error("g++: fatal error: Killed signal\n", "my/02_x.cpp").what, says("Killed"));
}

TEST_CASE("The place of an error is found whatever the learner's folder is called") {
  for (const std::string name :
       {"my(1/02_x.cpp", "my[1/02_x.cpp", "my (copy)/02_x.cpp", "c++/02_x.cpp", "$/02_x.cpp"}) {
    const CompileProblem problem = first_error("/home/a/" + name + ":4:17: error: expected ';'\n", name);
    CHECK(problem.where == name + ":4:17");
  }
  CHECK(first_error("my/02_x.cpp:x my/02_x.cpp:4: error: no\n", "my/02_x.cpp").where == "my/02_x.cpp:4");
}

TEST_CASE("An exercise has passed where each of its checks was reported as held, and silence is none") {
  CHECK(MadeBuild("", holds("one") + holds("none")).verdict().passed());
  for (const std::string& silent :
       {std::string(), "exit 0\n" + holds("one"), holds("one"), holds("one") + holds("one")})
    CHECK_THAT(failure_of([&] { MadeBuild("", silent).verdict(); }), says("reported nothing of the check"));
  CHECK_FALSE(
      MadeBuild("echo 'my/01_twice.cpp:1:1: error: no' >&2; exit 1", holds("one")).verdict().passed());
  CHECK_FALSE(ExerciseVerdict().passed());
}

TEST_CASE("What the machine lacks is no mistake of the learner") {
  for (const char* const lacks :
       {"/home/a/my/01_twice.cpp:64:1: fatal error: error writing to /tmp/cc1.s: No space left on device",
        "/tmp/cc1.s: Fatal error: cannot write /tmp/cc1.o: Disk quota exceeded",
        "c++: fatal error: cannot execute as: No such file or directory",
        "c++: fatal error: Killed signal terminated program cc1plus",
        "cc1plus: out of memory allocating 9 bytes"}) {
    const MadeBuild made("echo '" + std::string(lacks) + "' >&2; exit 1", "");
    CHECK_THAT(failure_of([&] { made.verdict(); }),
               says("cannot be compiled on this machine") && says("TMPDIR"));
  }
  CHECK(machine_problem("my/01_twice.cpp:2:1: error: no\n    2 | \"No space left on device\"\n").empty());
  const auto reports = [](const std::string& line) { return MadeBuild("", "echo '" + line + "'; exit 2"); };
  CHECK_THAT(failure_of([&] {
               reports(R"({"kind":"load","problem":"/tmp/x.so: failed to map segment"})").verdict();
             }),
             says("cannot be loaded: /tmp/x.so: failed to map") && says("TMPDIR"));
  CHECK_THAT(failure_of([&] { reports(R"({"kind":"machine","problem":"no more files"})").verdict(); }),
             says("no more files") && says("TMPDIR"));
  const auto missing = reports(R"({"kind":"load","problem":"isobar::mine::twice"})").verdict();
  REQUIRE(missing.problem);
  CHECK_THAT(missing.problem->what, says("a function of exercise.h is missing: isobar::mine::twice"));
}

TEST_CASE("A file that includes the solution by a detour is found by what was compiled") {
  const std::string all = holds("one") + holds("none");
  const auto with_rule = [&](const std::string& names) {
    return MadeBuild("home=$(dirname \"$0\")/../home\necho \"x.o: " + names + "\" >\"$rule\"", all).verdict();
  };
  CHECK(with_rule("$home/lessons/01_baseline/exercise/exercise.h /usr/include/stdio.h").passed());
  const ExerciseVerdict cheat =
      with_rule("/usr/include/stdio.h $home/lessons/01_baseline/exercise/twice.cpp");
  REQUIRE(cheat.problem);
  CHECK_THAT(cheat.problem->what, says("includes the solution"));
}

TEST_CASE("A link of the learner whose target is away is no place for a skeleton") {
  const Project project;
  fs::create_directories(project.my);
  fs::create_symlink(project.folder / "stick/twice.cpp", project.my / "01_twice.cpp");
  for (const auto& does : {std::function<void()>([&] { place_my_file(project.exercise(), project.my); }),
                           std::function<void()>([&] { read_my_file(project.exercise(), project.my); })})
    CHECK_THAT(failure_of(does), says("stick/twice.cpp") && says("01_twice.cpp") && says("bring it back"));
  CHECK(fs::is_symlink(project.my / "01_twice.cpp"));
  fs::create_directories(project.folder / "stick");
  write_file_whole(project.folder / "stick/twice.cpp", std::string_view("mine\n"));
  CHECK_FALSE(place_my_file(project.exercise(), project.my));
  CHECK(project.text_of_mine() == "mine\n");
}

TEST_CASE("A sheet of an exercise that is wrong is named with its place") {
  const auto refusal = [](const std::string& sheet) {
    const Project project(sheet);
    return error_of([&] { project.exercise(); });
  };
  const std::string good = kSheet;
  CHECK_THAT(refusal(good + "wrong = 1\n"), says("no key") && says("exercise.toml:"));
  CHECK_THAT(refusal("fil = \"x\"\n"), says("did you mean file?"));
  CHECK_THAT(refusal("minutes = \"many\"\n"), says("minutes wants an integer"));
  CHECK_THAT(refusal("title = \"x\"\n"), says("wants file, title"));
  CHECK_THAT(refusal("[[check]]\nname = \"x\"\n"), says("wants name, says and hints"));
  const Project project;
  CHECK_THAT(error_of([&] { read_exercise(project.home, "09_none"); }),
             says("has no exercise") && says("01_baseline"));
}
