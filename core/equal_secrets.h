#ifndef NORMLAB_CORE_EQUAL_SECRETS_H_
#define NORMLAB_CORE_EQUAL_SECRETS_H_

#include <string_view>

namespace normlab {

// Whether two secrets are equal. Takes the same time wherever the first difference is, so that a
// token cannot be guessed piece by piece; their lengths are no secret.
bool EqualSecrets(std::string_view a, std::string_view b);

}  // namespace normlab

#endif  // NORMLAB_CORE_EQUAL_SECRETS_H_
