// What every test would make again: templates that are instantiated once for all test programs
// (made_once.cpp).
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#ifndef ISOBAR_MADE_HERE
#define ISOBAR_MADE_HERE extern
#endif

ISOBAR_MADE_HERE template class std::basic_string<char>;
ISOBAR_MADE_HERE template class std::vector<std::string>;
ISOBAR_MADE_HERE template class std::vector<int>;
ISOBAR_MADE_HERE template class std::vector<double>;
ISOBAR_MADE_HERE template class std::vector<float>;
ISOBAR_MADE_HERE template class std::vector<std::int64_t>;
ISOBAR_MADE_HERE template class std::vector<std::size_t>;
ISOBAR_MADE_HERE template class std::vector<std::filesystem::path>;

namespace isobar {

#define ISOBAR_CLAIMED(type)                                           \
  ISOBAR_MADE_HERE template std::string claim_text<type>(const void*); \
  ISOBAR_MADE_HERE template ClaimPart claim_part(type const&);         \
  ISOBAR_MADE_HERE template Claim<type> Claims::operator<=(type const&) const;
ISOBAR_CLAIMED(bool)
ISOBAR_CLAIMED(int)
ISOBAR_CLAIMED(std::int64_t)
ISOBAR_CLAIMED(std::size_t)
ISOBAR_CLAIMED(float)
ISOBAR_CLAIMED(double)
ISOBAR_CLAIMED(std::string)
ISOBAR_CLAIMED(std::filesystem::path)
ISOBAR_CLAIMED(Approx)
ISOBAR_CLAIMED(std::vector<std::string>)
ISOBAR_CLAIMED(std::vector<int>)
ISOBAR_CLAIMED(std::vector<double>)
ISOBAR_CLAIMED(std::vector<float>)
ISOBAR_CLAIMED(std::vector<std::int64_t>)
ISOBAR_CLAIMED(std::vector<std::size_t>)
#undef ISOBAR_CLAIMED

#define ISOBAR_COMPARED(left, sign, right) \
  ISOBAR_MADE_HERE template Claimed Claim<left>::operator sign(right const&) const;
ISOBAR_COMPARED(bool, ==, bool)
ISOBAR_COMPARED(int, ==, int)
ISOBAR_COMPARED(std::int64_t, ==, int)
ISOBAR_COMPARED(std::int64_t, ==, std::int64_t)
ISOBAR_COMPARED(std::size_t, ==, int)
ISOBAR_COMPARED(std::size_t, ==, std::size_t)
ISOBAR_COMPARED(std::size_t, !=, std::size_t)
ISOBAR_COMPARED(std::size_t, >, int)
ISOBAR_COMPARED(float, ==, float)
ISOBAR_COMPARED(double, ==, double)
ISOBAR_COMPARED(double, ==, int)
ISOBAR_COMPARED(double, <, double)
ISOBAR_COMPARED(double, <=, double)
ISOBAR_COMPARED(double, >, double)
ISOBAR_COMPARED(double, >, int)
ISOBAR_COMPARED(double, ==, Approx)
ISOBAR_COMPARED(std::string, ==, std::string)
ISOBAR_COMPARED(std::string, !=, std::string)
ISOBAR_COMPARED(std::vector<std::string>, ==, std::vector<std::string>)
#undef ISOBAR_COMPARED
ISOBAR_MADE_HERE template Claimed Claim<std::string>::operator==(const char*) const;

}  // namespace isobar
