#ifndef NORMLAB_SERVER_RPC_OWN_CERTIFICATE_H_
#define NORMLAB_SERVER_RPC_OWN_CERTIFICATE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace normlab::server {

// PEM files of a server that vouches for itself.
struct CertificateFiles {
  std::string ca;           // what clients trust; goes into connect.json
  std::string certificate;  // of this server, signed by the CA
  std::string key;          // mode 0600
};

inline constexpr char kOwnCaFile[] = "ca.pem";

// Makes a certificate for `names` (host names and IP addresses) in the folder `dir`, signed by the
// folder's own CA, which is made the first time and then stays: whoever got connect.json once
// trusts every later certificate. Keys are P-256; CA and certificate hold for ten years.
// Errors of the disk; Internal: what OpenSSL says.
absl::StatusOr<CertificateFiles> MakeOwnCertificate(const std::string& dir,
                                                    const std::vector<std::string>& names);

}  // namespace normlab::server

#endif  // NORMLAB_SERVER_RPC_OWN_CERTIFICATE_H_
