#include "server/http/gzip.h"

#include <zlib.h>

#include <string>

#include "core/check.h"
#include "gtest/gtest.h"

namespace normlab::server {
namespace {

// What another program makes of it.
std::string Unzip(const std::string& bytes) {
  z_stream stream = {};
  constexpr int kGzipOnly = 16;
  CHECK(inflateInit2(&stream, 15 + kGzipOnly) == Z_OK);
  std::string out(1 << 20, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  CHECK(inflate(&stream, Z_FINISH) == Z_STREAM_END);
  out.resize(stream.total_out);
  inflateEnd(&stream);
  return out;
}

TEST(GzipTest, ZlibReadsItBack) {
  std::string noise;
  for (uint32_t i = 0, x = 1; i < 100000; ++i) {
    x = x * 1664525 + 1013904223;
    noise += static_cast<char>(x >> 24);
  }
  for (const std::string& text :
       {std::string(), std::string("a"), std::string(100000, 'a'), noise}) {
    EXPECT_EQ(Unzip(Gzip(text)), text);
  }
}

}  // namespace
}  // namespace normlab::server
