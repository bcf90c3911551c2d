#include "core/json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>

#include "tests/builders/status_matchers.h"

namespace normlab {
namespace {

TEST(Json, IsStrict) {
  EXPECT_THAT(ParseJson("{\"a\": [1, 2.5, \"x\", null, true]}"), IsOk());
  for (const char* text : {"", "{", "{\"a\": NaN}", "[1,]", "{} {}", "// c\n1", "{'a': 1}"}) {
    EXPECT_THAT(ParseJson(text), IsStatusWith(kInvalid, "not strict JSON")) << text;
  }
  EXPECT_THAT(ParseJson("{\"a\": {\"b\": 1}, \"c\": {\"b\": 2}}"), IsOk());
  EXPECT_THAT(ParseJson("{\"a\": {\"b\": 1, \"b\": 2}}"),
              IsStatus(kInvalid, "not strict JSON: key 'b' occurs twice"));
}

TEST(Json, NumbersThatAreNoneAreMarkers) {
  for (double value : {1.5, -0.0, 1e300}) {
    EXPECT_EQ(*FromNumberOrMarker(NumberOrMarker(value)), value);
  }
  EXPECT_EQ(NumberOrMarker(INFINITY), "inf");
  EXPECT_EQ(NumberOrMarker(-INFINITY), "-inf");
  EXPECT_EQ(NumberOrMarker(NAN), "nan");
  EXPECT_TRUE(std::isnan(*FromNumberOrMarker("nan")));
  EXPECT_EQ(*FromNumberOrMarker("-inf"), -INFINITY);
  EXPECT_THAT(FromNumberOrMarker("infinity"), IsStatusWith(kInvalid, "expected a number"));
  EXPECT_THAT(FromNumberOrMarker(nullptr), IsStatusWith(kInvalid, "null"));
}

TEST(Json, ShortestDoubleReadsBack) {
  EXPECT_EQ(ShortestDouble(0.1), "0.1");
  EXPECT_EQ(ShortestDouble(1), "1");
  EXPECT_EQ(ShortestDouble(1e-5), "1e-05");
  EXPECT_EQ(ShortestDouble(-INFINITY), "-inf");
  for (double value : {1.0 / 3, 5e-324, 1.7976931348623157e308, 0.1 + 0.2, -2.5e-7}) {
    EXPECT_EQ(std::strtod(ShortestDouble(value).c_str(), nullptr), value);
  }
}

TEST(Json, InvalidUtf8DoesNotThrow) {
  EXPECT_EQ(DumpStrict(nlohmann::json("a\xff")), "\"a\xef\xbf\xbd\"");
}

TEST(Json, ManyMembersAtOnce) {
  const nlohmann::json object = {{"n", 3}, {"x", 2.5}, {"t", "word"}, {"b", true}};
  int64_t n = 0;
  double x = 0;
  std::string t;
  bool b = false;
  EXPECT_THAT(ReadMembers(object, {{"n", &n}, {"x", &x}, {"t", &t}, {"b", &b}}), IsOk());
  EXPECT_EQ(n, 3);
  EXPECT_EQ(x, 2.5);
  EXPECT_EQ(t, "word");
  EXPECT_TRUE(b);
  EXPECT_THAT(ReadMembers(object, {{"q", &n}}), IsStatus(kInvalid, "'q' is missing"));
  EXPECT_THAT(ReadMembers(object, {{"n", &n}, {"t", &n}}),
              IsStatusWith(kInvalid, "'t' should be a whole number"));
}

TEST(Json, MembersSayWhatIsWrong) {
  const nlohmann::json object = {{"n", 3}, {"x", 2.5}, {"t", "word"}, {"b", true}};
  EXPECT_EQ(*JsonInt(object, "n"), 3);
  EXPECT_EQ(*JsonReal(object, "n"), 3.0);
  EXPECT_EQ(*JsonText(object, "t"), "word");
  EXPECT_TRUE(*JsonBool(object, "b"));
  EXPECT_THAT(JsonInt(object, "x"), IsStatus(kInvalid, "'x' should be a whole number, not 2.5"));
  EXPECT_THAT(JsonText(object, "q"), IsStatus(kInvalid, "'q' is missing"));
  EXPECT_THAT(JsonBool(nlohmann::json(1), "q"), IsStatus(kInvalid, "expected a JSON object"));
  EXPECT_THAT(JsonInt({{"n", std::numeric_limits<uint64_t>::max()}}, "n"),
              IsStatusWith(kInvalid, "should be a whole number"));
}

}  // namespace
}  // namespace normlab
