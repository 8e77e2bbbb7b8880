// Cluster profiles: the shipped ones, and files that must be refused.
#include <sstream>

#include "core/files.h"
#include "jobs/job_settings.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/hostile_text.h"
#include "support/temp_folder.h"

using namespace isobar;

namespace {

std::string refusal(const std::string& text) {
  return error_of([&] { parse_profile(text, "my.toml", true); });
}

}  // namespace

TEST_CASE("the shipped profiles load, and preset nobody's account") {
  const std::vector<std::string> names = profile_names(project_home());
  CHECK(names == std::vector<std::string>{"leonardo", "marenostrum5", "perlmutter", "piz_daint"});
  for (const std::string& name : names) {
    INFO(name);
    JobSettings settings = read_profile(project_home(), name);
    CHECK_FALSE(settings.title.empty());
    CHECK(settings.value("account").empty());
    CHECK(settings.value("reservation").empty());
    CHECK(settings.has_gpus());
    CHECK(settings.ranks_per_node() == settings.number("gpus_per_node", 0));
    complete(settings);
  }
  const JobSettings perlmutter = read_profile(project_home(), "perlmutter");
  CHECK(perlmutter.value("constraint") == "gpu");
  CHECK(perlmutter.value("cpus_per_task") == "32");
  CHECK(perlmutter.environment.at("FI_MR_CACHE_MONITOR") == "userfaultfd");
  CHECK(read_profile(project_home(), "piz_daint").value("time") == "00:15:00");
}

TEST_CASE("every commented line of the template is a key that works") {
  const TempFolder folder;
  std::istringstream lines(read_text_file(project_home() / "submit/profiles/template.toml", 100'000));
  std::string text;
  for (std::string line; std::getline(lines, line);) {
    const bool is_key = line.rfind("# ", 0) == 0 && (line.find(" = ") != std::string::npos || line[2] == '[');
    if (is_key) text += line.substr(2) + "\n";
  }
  write_file_whole(folder / "all.toml", text);
  const JobSettings all = read_profile(project_home(), (folder / "all.toml").string());
  for (const JobField& field : job_fields()) {
    INFO(field.key);
    const bool shown = !all.value(field.key).empty() || field.key == "job_name";
    CHECK(shown);
  }
  CHECK(all.modules == std::vector<std::string>{"cuda/13.0"});
  CHECK(all.volumes == std::vector<std::string>{"/scratch/era5:/data"});
  CHECK(all.code == std::vector<std::string>{"ulimit -n 65536"});
  CHECK(all.environment.size() == 2);
}

TEST_CASE("a profile is strict, and says where") {
  CHECK_THAT(refusal("[job]\nacount = \"x\"\n"),
             says("no key job.acount") && says("my.toml:2:1") && says("did you mean job.account?"));
  CHECK_THAT(refusal("[job]\nnodes = 0\n"), says("job.nodes cannot be \"0\"") && says("my.toml:2:1"));
  CHECK_THAT(refusal("[job]\nnodes = 1.5\n"), says("job.nodes is"));
  CHECK_THAT(refusal("[job]\nnodes = [1, 2]\n"), says("job.nodes is"));
  CHECK_THAT(refusal("[job]\nmodules = \"x\"\n"), says("job.modules is"));
  CHECK_THAT(refusal("[job]\nmodules = [\"a;b\"]\n"), says("job.modules cannot be"));
  CHECK_THAT(refusal("[job]\nmodules = [1]\n"), says("job.modules is"));
  CHECK_THAT(refusal("[environment]\nRANK = \"0\"\n"), says("another variable"));
  CHECK_THAT(refusal("[environment]\nX = \"a\\nb\"\n"), says("X cannot be"));
  CHECK_THAT(refusal("[environment.X]\nY = 1\n"), says("X.Y"));
  CHECK_THAT(refusal("[code]\nlines = [\"a\\nb\"]\n"), says("code.lines cannot be"));
  CHECK_THAT(refusal("[code]\nlines = [\"#SBATCH --account=x\"]\n"), says("options of Slurm are no code"));
  CHECK_THAT(refusal("title = \"a\\u0000b\"\n"), says("title cannot be"));
  CHECK_THAT(refusal("[job]\naccount = \"a\"\naccount = \"b\"\n"), says("my.toml:3"));
  CHECK_THAT(refusal("[job\n"), says("my.toml:1"));
  CHECK_THAT(refusal(std::string(2 << 20, '#')), says("my.toml"));
  CHECK_THAT(error_of([] { read_profile(project_home(), "perlmuter"); }), says("did you mean perlmutter?"));
  CHECK_THAT(error_of([] { read_profile(project_home(), "template"); }), says("there are leonardo"));
  error_of([] { read_profile(project_home(), "../profiles/perlmutter"); });
  error_of([] { read_profile(project_home(), "/no/such/file.toml"); });
  error_of([] { read_profile(project_home(), ""); });
}

TEST_CASE("code comes only from a file that is named by its path") {
  const std::string text = "[code]\nlines = [\"ulimit -n 65536\"]\n";
  CHECK(parse_profile(text, "./my.toml", true).code.size() == 1);
  CHECK_THAT(error_of([&] { parse_profile(text, "perlmutter", false); }), says("brings no code"));
}

TEST_CASE("hostile texts in every key of a profile are refused, or stay one value") {
  const TempFolder folder;
  std::vector<std::string> keys = {"job.modules", "container.volumes", "environment.X", "title", "notes"};
  for (const JobField& field : job_fields()) keys.push_back(field.table + "." + field.key);
  std::vector<std::string> texts = hostile_texts((folder / "canary").string());
  texts.push_back(std::string(1'000'000, 'A'));
  texts.emplace_back("a\0b", 3);
  int tried = 0;
  for (const std::string& key : keys) {
    for (const std::string& text : texts) {
      std::string escaped;
      for (const char c : text) {
        char code[8];
        const auto byte = static_cast<unsigned char>(c);
        std::snprintf(code, sizeof(code), "\\u%04x", byte);
        escaped += byte < 0x20 || c == '"' || c == '\\' ? std::string(code) : std::string(1, c);
      }
      const bool is_list = key == "job.modules" || key == "container.volumes" || key == "notes";
      const std::string value = is_list ? "[\"" + escaped + "\"]" : "\"" + escaped + "\"";
      ++tried;
      try {
        const JobSettings settings = parse_profile(key + " = " + value + "\n", "my.toml", true);
        for (const auto& [name, taken] : settings.values)
          CHECK(taken.find_first_of("\n\r;`$'\"\\<> #%~!{}") == std::string::npos);
        for (const std::string& taken :
             {settings.title, settings.notes.empty() ? "" : settings.notes.front()})
          CHECK(taken.find_first_of("\n\r") == std::string::npos);
      } catch (const Error& error) {
        CHECK(error.code() == Exit::bad_input);
        CHECK(error.text().size() < 800);
      }
    }
  }
  CHECK(tried == static_cast<int>(keys.size() * 62));
}
