// Values that go to Slurm, as they are taken, printed back or refused.
#include <filesystem>

#include "jobs/job_settings.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/hostile_text.h"
#include "support/temp_folder.h"

using namespace isobar;

namespace {

const ValuePlace kPlace = {"--x", "command line"};

std::string refusal(const CheckValue& check, const std::string& text) {
  return error_of([&] { check(text, kPlace); });
}

}  // namespace

TEST_CASE("times are printed back in one form") {
  CHECK(checked_time("30", kPlace) == "00:30:00");
  CHECK(checked_time("5:30", kPlace) == "00:05:30");
  CHECK(checked_time("1:30:00", kPlace) == "01:30:00");
  CHECK(checked_time("90", kPlace) == "01:30:00");
  CHECK(checked_time("2-12", kPlace) == "2-12:00:00");
  CHECK(checked_time("2-12:30", kPlace) == "2-12:30:00");
  CHECK(checked_time("2-12:30:15", kPlace) == "2-12:30:15");
  CHECK(checked_time(checked_time("1500", kPlace), kPlace) == "1-01:00:00");
  CHECK(time_seconds("1-00:00:01", kPlace) == 86'401);
  for (const char* const bad : {"", "0", "-5", "1h", "30:60", "1:60:00", "1-", "-1", "1-2-3", "1:2:3:4", " 5",
                                "5 ", "99999999999999999999", "400-0", "UNLIMITED", "5:", ":5", "0x10"}) {
    INFO(bad);
    CHECK_THAT(refusal(checked_time, bad), says("--x cannot be"));
  }
}

TEST_CASE("memory, switches, bindings and hints") {
  CHECK(checked_memory("64G", kPlace) == "64G");
  CHECK(checked_memory("2000", kPlace) == "2000M");
  CHECK(checked_memory("0", kPlace) == "0");
  CHECK(checked_memory("0G", kPlace) == "0");
  for (const char* const bad : {"", "G", "-1G", "1.5G", "64GB", "64 G", "1e3"}) {
    INFO(bad);
    refusal(checked_memory, bad);
  }
  CHECK(checked_switches("1", kPlace) == "1");
  CHECK(checked_switches("2@30", kPlace) == "2@00:30:00");
  for (const char* const bad : {"", "0", "-1", "1@", "@5", "1@x", "1@2@3"}) {
    INFO(bad);
    refusal(checked_switches, bad);
  }
  CHECK(checked_gpu_bind("none", kPlace) == "none");
  CHECK(checked_gpu_bind("single:2", kPlace) == "single:2");
  CHECK(checked_gpu_bind("map_gpu:3,2,1,0", kPlace) == "map_gpu:3,2,1,0");
  for (const char* const bad :
       {"", "none:1", "single", "single:1,2", "map_gpu:", "map_gpu:a", "map_gpu:1,", "verbose"}) {
    INFO(bad);
    refusal(checked_gpu_bind, bad);
  }
  CHECK(job_field("hint").check("nomultithread", kPlace) == "nomultithread");
  CHECK_THAT(refusal(job_field("hint").check, "multi"), says("nomultithread, multithread"));
}

TEST_CASE("names, features, paths and variables") {
  CHECK(kNameRule("m1234_g.x-y", kPlace) == "m1234_g.x-y");
  CHECK(kNameRule(std::string(64, 'a'), kPlace).size() == 64);
  for (const std::string& bad : {std::string(), std::string(65, 'a'), std::string("-x"), std::string(".x"),
                                 std::string("a b"), std::string("a\0b", 3), std::string("a,b")}) {
    refusal(kNameRule, bad);
  }
  CHECK_THAT(refusal(checked_job_name, "my-HetJob-1"), says("without \"hetjob\""));
  CHECK(checked_names("a,b", kPlace) == "a,b");
  refusal(checked_names, "a,,b");
  CHECK(kConstraintRule("gpu&hbm80g", kPlace) == "gpu&hbm80g");
  CHECK(kConstraintRule("[rack1*2|rack2*4]", kPlace) == "[rack1*2|rack2*4]");
  for (const char* const bad : {"", "a b", "&|", "a;b", "a\"", "-x", "a>b", "a#b"}) {
    INFO(bad);
    refusal(kConstraintRule, bad);
  }
  CHECK(checked_volume("/scratch/a:/data", kPlace) == "/scratch/a:/data");
  for (const char* const bad : {"/a", "/a:b", "a:/b", "/a/../b:/c", "/a:/b:/c", "/a b:/c", "/:/"}) {
    INFO(bad);
    refusal(checked_volume, bad);
  }
  CHECK(checked_variable("NCCL_DEBUG", kPlace) == "NCCL_DEBUG");
  for (const char* const bad : {"", "1A", "a", "A-B", "RANK", "SLURM_NTASKS", "SBATCH_ACCOUNT", "PATH",
                                "LD_PRELOAD", "BASH_ENV", "A=B"}) {
    INFO(bad);
    refusal(checked_variable, bad);
  }
}

TEST_CASE("a line of text may say anything that a person sees") {
  for (const char* const good : {"", "plain", "it's \"quoted\" $HOME `x` %j #", "Grüße, 天気"})
    CHECK(checked_text(good, kPlace) == good);
  for (const std::string& bad :
       {std::string("a\nb"), std::string("a\rb"), std::string("a\tb"), std::string("a\0b", 3),
        std::string("\x1b[2J"), std::string("\xff"), std::string("\xc0\xaf"), std::string("\xed\xa0\x80"),
        std::string("\xe2\x80\xae") + "x", std::string("\xc2\x85"), std::string("\xe2\x80\xa8"),
        std::string("\xf4\x90\x80\x80"), std::string(5000, 'x')}) {
    refusal(checked_text, bad);
  }
}

TEST_CASE("fields that only make sense together") {
  const auto with = [](std::vector<std::pair<std::string, std::string>> values) {
    JobSettings settings;
    for (const auto& [key, value] : values) settings.set(key, value, kPlace);
    complete(settings);
    return settings;
  };
  const JobSettings plain = with({});
  CHECK(plain.value("time") == "00:30:00");
  CHECK(plain.ranks() == 1);
  CHECK_FALSE(plain.has_gpus());
  CHECK(with({{"nodes", "3"}, {"ranks_per_node", "4"}}).ranks() == 12);
  CHECK_THAT(error_of([&] { with({{"time", "3"}}); }), says("leaves nothing to train in"));
  CHECK(with({{"time", "3"}, {"warn", "60"}}).value("warn") == "60");
  CHECK_THAT(error_of([&] { with({{"container", "podman"}}); }), says("without an image"));
  CHECK_THAT(error_of([&] { with({{"nodes", "65536"}, {"ranks_per_node", "2"}}); }), says("131072 ranks"));
  CHECK(with({{"container", "none"}}).has_container() == false);
  JobSettings volume;
  volume.add_volume("/a:/b", kPlace);
  CHECK_THAT(error_of([&] { complete(volume); }), says("belongs to a container"));
}

TEST_CASE("every field of one value refuses or prints back sixty hostile texts") {
  const TempFolder folder;
  const std::vector<std::string> texts = hostile_texts((folder / "canary").string());
  REQUIRE(texts.size() == 60);
  int taken = 0;
  for (const JobField& field : job_fields()) {
    for (const std::string& text : texts) {
      JobSettings settings;
      try {
        settings.set(field.key, text, kPlace);
      } catch (const Error& error) {
        CHECK(error.code() == Exit::bad_input);
        CHECK(error.text().find('\x1b') == std::string::npos);
        CHECK(error.text().size() < 600);
        continue;
      }
      ++taken;
      INFO(field.key << " took " << text);
      CHECK(settings.value(field.key).find_first_of("\n\r;`$'\"\\<> #%~!{}") == std::string::npos);
    }
  }
  CHECK(taken < 10);
}
