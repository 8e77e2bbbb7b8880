// Rates of a machine: kept, read again, and refused where they are none.
#include <string>

#include "core/files.h"
#include "formula/machine_rates.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/made_rates.h"
#include "support/temp_folder.h"

using namespace isobar;

namespace {

/// What reading a file of this text says.
std::string refused(const std::string& text) {
  const TempFolder folder;
  write_file_whole(folder.path() / "rates.toml", std::string_view(text));
  return error_of([&] { read_machine_rates(folder.path() / "rates.toml"); });
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  const std::size_t at = text.find(what);
  REQUIRE(at != std::string::npos);
  return text.replace(at, what.size(), by);
}

}  // namespace

TEST_CASE("rates are read as they were written") {
  const TempFolder folder;
  MachineRates rates = made_rates("a machine \"of\" two");
  rates.processor_wait = 0.25;
  rates.threads[1].bf16 = rates.threads[1].fp32;
  const std::string text = to_toml(rates);
  write_file_whole(folder.path() / "rates.toml", std::string_view(text));
  const MachineRates again = read_machine_rates(folder.path() / "rates.toml");
  CHECK(to_toml(again) == text);
  CHECK(again.machine == rates.machine);
  CHECK(again.processor_wait == 0.25);
  CHECK(again.threads.size() == 2);
  CHECK(again.threads[1].of(AmpMode::bf16).known());
  CHECK_FALSE(again.threads[0].of(AmpMode::fp16).known());
  CHECK(rate_at(again.threads[1].fp32.gemm, 30e3) == Approx(20e9));
}

TEST_CASE("a rate between two sizes lies between theirs, beyond them it is the nearest") {
  const std::vector<RateAt> rates = {{100, 10}, {400, 20}};
  CHECK(rate_at(rates, 200) == Approx(15));
  CHECK(rate_at(rates, 100) == Approx(10));
  CHECK(rate_at(rates, 1) == Approx(10));
  CHECK(rate_at(rates, 4000) == Approx(20));
  CHECK(rate_at({}, 1) == 0);
}

TEST_CASE("rates of another machine are none of this one, those of this one are found") {
  const TempFolder folder;
  const auto file = folder / "rates.toml";
  CHECK_FALSE(kept_machine_rates(file).has_value());
  write_file_whole(file, std::string_view(to_toml(made_rates("another one, 96 processors"))));
  CHECK_FALSE(kept_machine_rates(file).has_value());
  write_file_whole(file, std::string_view(to_toml(made_rates())));
  REQUIRE(kept_machine_rates(file).has_value());
  CHECK(kept_machine_rates(file)->threads.size() == 2);
}

TEST_CASE("what is no file of rates is refused, with its place and what to do") {
  const std::string good = to_toml(made_rates());
  const auto again = says("predict --measure");
  CHECK_THAT(refused(""), says("without the machine") && says("rates.toml") && again);
  CHECK_THAT(refused("schema = 99\n"), says("a form that this version does not know") && again);
  CHECK_THAT(refused("not toml"), says("rates.toml:1"));
  CHECK_THAT(refused(good + "surprise = 1\n"), says("surprise = 1 is no rate") && again);
  CHECK_THAT(refused(replaced(good, "read_bytes_per_s = 1e+09", "read_bytes_per_s = 0")),
             says("read_bytes_per_s = 0 is no rate") && says("rates.toml:6"));
  CHECK_THAT(refused(replaced(good, "read_bytes_per_s = 1e+09", "read_bytes_per_s = inf")),
             says("is no rate"));
  CHECK_THAT(refused(replaced(good, "read_bytes_per_s = 1e+09", "read_bytes_per_s = \"fast\"")),
             says("is no rate"));
  CHECK_THAT(refused(replaced(good, "processor_wait = 0.00", "processor_wait = 1.5")), says("is no rate"));
  CHECK_THAT(refused(replaced(good, "[threads.1]", "[threads.none]")), says("is no rate"));
  CHECK_THAT(refused(replaced(good, "fp32.element.1000 = 1e+09\n", "")),
             says("rates without threads.1.fp32.element") && again);
  CHECK_THAT(refused(replaced(good, "adam.1000000 = 1e+09\n", "")), says("rates without threads.1"));
}

TEST_CASE("a type that was not measured is refused by name") {
  CHECK_THAT(error_of([] { device_rates_of(made_rates(), {}, 1, AmpMode::fp16, 2); }),
             says("no instructions for fp16") && says("amp.mode"));
}

TEST_CASE("threads that were not measured have the rates of the nearest number") {
  const auto gemm = [](int threads) {
    return device_rates_of(made_rates(), {.height = 48, .width = 96, .embed = 96}, 1, AmpMode::none, threads)
        .gemm_fp32;
  };
  CHECK(gemm(1) == Approx(0.01));
  CHECK(gemm(2) == Approx(0.02));
  CHECK(gemm(64) == Approx(0.02));
}
