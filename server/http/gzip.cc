#include "server/http/gzip.h"

#include <utility>

#include <boost/beast/zlib/deflate_stream.hpp>
#include <boost/crc.hpp>

#include "core/check.h"

namespace normlab::server {
namespace {

namespace zlib = boost::beast::zlib;

constexpr int kBestCompression = 9;
constexpr int kWindowBits = 15;
constexpr int kMemoryLevel = 9;

void AppendLittleEndian(std::string& out, uint32_t value) {
  for (int shift = 0; shift < 32; shift += 8) out += static_cast<char>(value >> shift);
}

std::string Deflate(std::string_view bytes) {
  zlib::deflate_stream stream;
  stream.reset(kBestCompression, kWindowBits, kMemoryLevel, zlib::Strategy::normal);
  std::string out(stream.upper_bound(bytes.size()), '\0');
  zlib::z_params step;
  step.next_in = bytes.data();
  step.avail_in = bytes.size();
  step.next_out = out.data();
  step.avail_out = out.size();
  boost::beast::error_code error;
  stream.write(step, zlib::Flush::finish, error);
  CHECK(!error || error == zlib::error::end_of_stream) << error.message();
  out.resize(out.size() - step.avail_out);
  return out;
}

}  // namespace

std::string Gzip(std::string_view bytes) {
  boost::crc_32_type crc;
  crc.process_bytes(bytes.data(), bytes.size());
  // Magic, deflate, no flags, no time, best compression, Unix.
  std::string out("\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03", 10);
  out += Deflate(bytes);
  AppendLittleEndian(out, crc.checksum());
  AppendLittleEndian(out, static_cast<uint32_t>(bytes.size()));
  return out;
}

}  // namespace normlab::server
