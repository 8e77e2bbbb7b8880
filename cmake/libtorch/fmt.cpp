// The code of the fmt whose headers come with libtorch: compiled once here instead of into every file that
// formats.
#include <fmt/format-inl.h>

FMT_BEGIN_NAMESPACE
namespace detail {

template dragonbox::decimal_fp<float> dragonbox::to_decimal(float) noexcept;
template dragonbox::decimal_fp<double> dragonbox::to_decimal(double) noexcept;
template thousands_sep_result<char> thousands_sep_impl(locale_ref);
template thousands_sep_result<wchar_t> thousands_sep_impl(locale_ref);
template char decimal_point_impl(locale_ref);
template wchar_t decimal_point_impl(locale_ref);
template void buffer<char>::append(const char*, const char*);

}  // namespace detail

template locale_ref::locale_ref(const std::locale&);
template std::locale locale_ref::get<std::locale>() const;
FMT_END_NAMESPACE
