#include "foreign/h5_program/one_file_driver.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <limits>
#include <utility>

namespace isobar {
namespace {

[[maybe_unused]] constexpr int kDriverNumber = 347;  // 256 to 511 are for drivers that nobody registered
constexpr haddr_t kMostBytes = static_cast<haddr_t>(std::numeric_limits<off_t>::max());

int descriptor_to_open = -1;
bool spying = false;
std::optional<SeenRead> seen;

struct OneFile {
  H5FD_t shared;  // the library's own part; it comes first
  int descriptor;
  haddr_t end_of_space;
  haddr_t end_of_file;
};

const OneFile* ours(const H5FD_t* file) { return reinterpret_cast<const OneFile*>(file); }

H5FD_t* open_file(const char*, unsigned flags, hid_t, haddr_t) {
  const int descriptor = std::exchange(descriptor_to_open, -1);
  struct stat status {};
  if (descriptor < 0 || (flags & (H5F_ACC_RDWR | H5F_ACC_TRUNC | H5F_ACC_CREAT)) != 0) return nullptr;
  if (fstat(descriptor, &status) != 0) return nullptr;
  auto* const file = new OneFile{};
  file->descriptor = descriptor;
  file->end_of_file = static_cast<haddr_t>(status.st_size);
  return &file->shared;
}

herr_t close_file(H5FD_t* file) {
  delete reinterpret_cast<OneFile*>(file);
  return 0;
}

herr_t query(const H5FD_t*, unsigned long* flags) {
  *flags = H5FD_FEAT_ACCUMULATE_METADATA_READ;
  return 0;
}

haddr_t get_end_of_space(const H5FD_t* file, H5FD_mem_t) { return ours(file)->end_of_space; }

herr_t set_end_of_space(H5FD_t* file, H5FD_mem_t, haddr_t address) {
  reinterpret_cast<OneFile*>(file)->end_of_space = address;
  return 0;
}

haddr_t get_end_of_file(const H5FD_t* file, H5FD_mem_t) { return ours(file)->end_of_file; }

herr_t read_file(H5FD_t* file, H5FD_mem_t kind, hid_t, haddr_t address, std::size_t size, void* buffer) {
  if (address > kMostBytes || size > kMostBytes - address) return -1;
  if (spying && kind == H5FD_MEM_DRAW) {
    seen = SeenRead{address, size};
    return 0;
  }
  auto* to = static_cast<char*>(buffer);
  while (size > 0) {
    const ssize_t got = pread(ours(file)->descriptor, to, size, static_cast<off_t>(address));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return -1;
    to += got;
    address += static_cast<haddr_t>(got);
    size -= static_cast<std::size_t>(got);
  }
  return 0;
}

herr_t write_nothing(H5FD_t*, H5FD_mem_t, hid_t, haddr_t, std::size_t, const void*) { return -1; }

hid_t driver() {
  static const hid_t id = [] {
    static H5FD_class_t methods{};
#ifdef H5FD_CLASS_VERSION  // HDF5 1.14 asks for both
    methods.version = H5FD_CLASS_VERSION;
    methods.value = kDriverNumber;
#endif
    methods.name = "isobar_one_file";
    methods.maxaddr = kMostBytes;
    methods.fc_degree = H5F_CLOSE_STRONG;
    methods.open = open_file;
    methods.close = close_file;
    methods.query = query;
    methods.get_eoa = get_end_of_space;
    methods.set_eoa = set_end_of_space;
    methods.get_eof = get_end_of_file;
    methods.read = read_file;
    methods.write = write_nothing;
    constexpr H5FD_mem_t kMap[] = H5FD_FLMAP_DICHOTOMY;
    for (int kind = 0; kind < H5FD_MEM_NTYPES; ++kind) methods.fl_map[kind] = kMap[kind];
    return H5FDregister(&methods);
  }();
  return id;
}

}  // namespace

void use_one_file(hid_t access, int descriptor) {
  descriptor_to_open = descriptor;
  H5Pset_driver(access, driver(), nullptr);
}

ReadSpy::ReadSpy() {
  spying = true;
  seen.reset();
}
ReadSpy::~ReadSpy() { spying = false; }
std::optional<SeenRead> ReadSpy::take() { return std::exchange(seen, std::nullopt); }

}  // namespace isobar
