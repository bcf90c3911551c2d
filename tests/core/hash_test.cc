#include <gtest/gtest.h>

#include "core/crc32c.h"
#include "core/file.h"
#include "core/random.h"
#include "core/sha256.h"
#include "tests/builders/status_matchers.h"
#include "tests/builders/temp_dir.h"

namespace normlab {
namespace {

// FIPS 180-4's examples.
TEST(Sha256, KnownAnswers) {
  EXPECT_EQ(Sha256Hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(Sha256Hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Sha256Hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(Sha256Hex(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, PiecesMakeNoDifference) {
  std::string bytes;
  for (int i = 0; i < 300; ++i) bytes += static_cast<char>(i);
  for (size_t cut = 0; cut <= bytes.size(); ++cut) {
    Sha256 sha;
    sha.Update(bytes.substr(0, cut));
    sha.Update(bytes.substr(cut));
    ASSERT_EQ(sha.HexDigest(), Sha256Hex(bytes)) << cut;
  }
}

TEST(Sha256, OfAFile) {
  const TempDir dir;
  const std::string bytes(3000000, 'x');
  ASSERT_THAT(WriteFileDurably(dir.File("f"), bytes), IsOk());
  EXPECT_EQ(*Sha256File(dir.File("f")), Sha256Hex(bytes));
  EXPECT_THAT(Sha256File(dir.File("none")),
              IsStatusWith(absl::StatusCode::kNotFound, "No such file"));
}

// RFC 3720, appendix B.4.
TEST(Crc32c, KnownAnswers) {
  EXPECT_EQ(Crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(Crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(Crc32c(std::string(32, '\xff')), 0x62a8ab43u);
  std::string ascending;
  for (int i = 0; i < 32; ++i) ascending += static_cast<char>(i);
  EXPECT_EQ(Crc32c(ascending), 0x46dd794eu);
}

TEST(Crc32c, GoesOnOverPieces) {
  const std::string text = "The quick brown fox jumps over the lazy dog";
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    EXPECT_EQ(Crc32c(text.substr(cut), Crc32c(text.substr(0, cut))), Crc32c(text));
  }
}

TEST(Random, SeededRepeatsAndTokensAreHex) {
  const auto a = SeededRandom(7);
  const auto b = SeededRandom(7);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(a->Next(), b->Next());
  EXPECT_NE(SeededRandom(8)->Next(), SeededRandom(7)->Next());
  const std::string token = OsRandom().HexToken(20);
  EXPECT_EQ(token.size(), 40u);
  EXPECT_EQ(token.find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_NE(token, OsRandom().HexToken(20));
}

}  // namespace
}  // namespace normlab
