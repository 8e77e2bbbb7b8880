#include "record/tf_tensor.h"

#include <cstdint>
#include <cstring>
#include <protozero/pbf_reader.hpp>

#include "vector/stored_types.h"

namespace isobar {
namespace {

using protozero::pbf_wire_type;

/// Where the numbers of a type stand, and how one is kept in tensor_content.
struct NumberType {
  std::uint32_t type;  ///< tensorflow::DataType
  std::uint32_t list;  ///< field of its list
  std::size_t bytes;
  double (*of_bytes)(const char*);
};

template <typename Number>
double as_double(const char* bytes) {
  Number out{};
  std::memcpy(&out, bytes, sizeof(out));
  return static_cast<double>(out);
}

template <typename Half>
double half_as_double(const char* bytes) {
  std::uint16_t bits = 0;
  std::memcpy(&bits, bytes, sizeof(bits));
  return static_cast<double>(Half::load(bits));
}

constexpr std::uint32_t kContent = 4, kFloats = 5, kDoubles = 6, kInts = 7, kLongs = 10, kBools = 11,
                        kHalves = 13, kUnsigned = 16, kLongUnsigned = 17;

constexpr NumberType kTypes[] = {{1, kFloats, 4, as_double<float>},
                                 {2, kDoubles, 8, as_double<double>},
                                 {3, kInts, 4, as_double<std::int32_t>},
                                 {4, kInts, 1, as_double<std::uint8_t>},
                                 {5, kInts, 2, as_double<std::int16_t>},
                                 {6, kInts, 1, as_double<std::int8_t>},
                                 {9, kLongs, 8, as_double<std::int64_t>},
                                 {10, kBools, 1, as_double<std::uint8_t>},
                                 {14, kHalves, 2, half_as_double<Bfloat16>},
                                 {17, kInts, 2, as_double<std::uint16_t>},
                                 {19, kHalves, 2, half_as_double<Float16>},
                                 {22, kUnsigned, 4, as_double<std::uint32_t>},
                                 {23, kLongUnsigned, 8, as_double<std::uint64_t>}};

const NumberType* type_of(std::uint32_t type) {
  for (const NumberType& one : kTypes) {
    if (one.type == type) return &one;
  }
  return nullptr;
}

/// The last number of a list, and how many there are.
struct List {
  double last = 0;
  std::size_t size = 0;
};

/// A varint as the list of this field keeps it: halves are bits, in the low bytes.
double of_varint(std::uint32_t list, std::uint32_t type, std::uint64_t number) {
  if (list == kHalves) {
    const auto bits = static_cast<std::uint16_t>(number);
    char bytes[sizeof(bits)];
    std::memcpy(bytes, &bits, sizeof(bits));
    return type_of(type)->of_bytes(bytes);
  }
  if (list == kInts || list == kLongs) return static_cast<double>(static_cast<std::int64_t>(number));
  return static_cast<double>(number);
}

pbf_wire_type wire_of(std::uint32_t list) {
  return list == kFloats    ? pbf_wire_type::fixed32
         : list == kDoubles ? pbf_wire_type::fixed64
                            : pbf_wire_type::varint;
}

void take_numbers(std::string_view packed, const NumberType& type, List& out) {
  const char* at = packed.data();
  const char* const end = at + packed.size();
  const pbf_wire_type wire = wire_of(type.list);
  while (at != end) {
    if (wire == pbf_wire_type::varint) {
      out.last = of_varint(type.list, type.type, protozero::decode_varint(&at, end));
    } else {
      if (end - at < static_cast<std::ptrdiff_t>(type.bytes)) throw protozero::end_of_buffer_exception();
      out.last = type.of_bytes(at);
      at += type.bytes;
    }
    ++out.size;
  }
}

/// The list of a type: a packed field, a field a number, or some of each.
List list_of(std::string_view bytes, const NumberType& type) {
  List out;
  protozero::pbf_reader tensor(bytes.data(), bytes.size());
  while (tensor.next()) {
    if (tensor.tag() == type.list && tensor.wire_type() == pbf_wire_type::length_delimited) {
      const protozero::data_view packed = tensor.get_view();
      take_numbers({packed.data(), packed.size()}, type, out);
    } else if (tensor.tag() == type.list && tensor.wire_type() == wire_of(type.list)) {
      if (type.list == kFloats) {
        out.last = static_cast<double>(tensor.get_float());
      } else if (type.list == kDoubles) {
        out.last = tensor.get_double();
      } else {
        out.last = of_varint(type.list, type.type, tensor.get_uint64());
      }
      ++out.size;
    } else {
      tensor.skip();
    }
  }
  return out;
}

/// Whether each dimension is 1.
bool is_of_one(protozero::pbf_reader shape) {
  bool out = true;
  while (shape.next()) {
    if (shape.tag_and_type() == protozero::tag_and_type(2, pbf_wire_type::length_delimited)) {
      protozero::pbf_reader dimension = shape.get_message();
      std::int64_t size = 0;  // which is the default, and is not written
      while (dimension.next()) {
        if (dimension.tag_and_type() == protozero::tag_and_type(1, pbf_wire_type::varint)) {
          size = dimension.get_int64();
        } else {
          dimension.skip();
        }
      }
      out = out && size == 1;
    } else {
      shape.skip();
    }
  }
  return out;
}

}  // namespace

TfTensor read_tf_tensor(std::string_view bytes) {
  std::uint32_t type_number = 0;
  bool of_one = true;
  std::string_view content;
  protozero::pbf_reader tensor(bytes.data(), bytes.size());
  while (tensor.next()) {
    switch (tensor.tag_and_type()) {
      case protozero::tag_and_type(1, pbf_wire_type::varint):
        type_number = static_cast<std::uint32_t>(tensor.get_enum());
        break;
      case protozero::tag_and_type(2, pbf_wire_type::length_delimited):
        of_one = is_of_one(tensor.get_message());
        break;
      case protozero::tag_and_type(kContent, pbf_wire_type::length_delimited): {
        const protozero::data_view view = tensor.get_view();
        content = {view.data(), view.size()};
        break;
      }
      default:
        tensor.skip();
    }
  }
  const NumberType* const type = type_of(type_number);
  if (type == nullptr) return {TensorKind::no_number, 0};
  if (!of_one) return {TensorKind::several, 0};
  if (!content.empty())
    return content.size() == type->bytes ? TfTensor{TensorKind::scalar, type->of_bytes(content.data())}
                                         : TfTensor{TensorKind::several, 0};
  const List list = list_of(bytes, *type);
  return list.size == 1 ? TfTensor{TensorKind::scalar, list.last} : TfTensor{TensorKind::several, 0};
}

}  // namespace isobar
