#ifndef NORMLAB_SERVER_HTTP_GZIP_H_
#define NORMLAB_SERVER_HTTP_GZIP_H_

#include <string>
#include <string_view>

namespace normlab::server {

// `bytes` as a gzip file (RFC 1952), at the best compression.
std::string Gzip(std::string_view bytes);

}  // namespace normlab::server

#endif  // NORMLAB_SERVER_HTTP_GZIP_H_
