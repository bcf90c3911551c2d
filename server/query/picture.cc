#include "server/query/picture.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"

namespace normlab::server {
namespace {

Bucket BucketOf(const std::vector<int64_t>& step, const std::vector<double>& value, size_t begin,
                size_t end) {
  Bucket bucket;
  bucket.from = step[begin];
  bucket.to = step[end - 1];
  bucket.first = value[begin];
  bucket.last = value[end - 1];
  for (size_t i = begin; i < end; ++i) {
    ++bucket.n;
    if (!std::isfinite(value[i])) {
      ++bucket.nonfinite;
      continue;
    }
    bucket.min = bucket.min ? std::min(*bucket.min, value[i]) : value[i];
    bucket.max = bucket.max ? std::max(*bucket.max, value[i]) : value[i];
  }
  return bucket;
}

}  // namespace

std::vector<Bucket> MakePicture(const std::vector<int64_t>& step, const std::vector<double>& value,
                                int64_t points) {
  CHECK_EQ(step.size(), value.size());
  CHECK_GE(points, 1);
  const size_t n = step.size();
  const size_t buckets = std::min(n, static_cast<size_t>(points));
  std::vector<Bucket> picture;
  picture.reserve(buckets);
  for (size_t i = 0; i < buckets; ++i) {
    picture.push_back(BucketOf(step, value, i * n / buckets, (i + 1) * n / buckets));
  }
  return picture;
}

}  // namespace normlab::server
