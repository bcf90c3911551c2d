#ifndef NORMLAB_WEB_ASSETS_H_
#define NORMLAB_WEB_ASSETS_H_

#include <span>
#include <string_view>

namespace normlab::web {

// One file of the built dashboard, held by the binary itself. Lives for ever.
struct EmbeddedFile {
  std::string_view path;  // as asked for: "/index.html", "/assets/index-1a2b3c.js"
  std::string_view bytes;
};

// All of them, sorted by path.
std::span<const EmbeddedFile> EmbeddedFiles();

}  // namespace normlab::web

#endif  // NORMLAB_WEB_ASSETS_H_
