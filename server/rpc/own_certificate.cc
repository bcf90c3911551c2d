#include "server/rpc/own_certificate.h"

#include <arpa/inet.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>

#include "core/file.h"
#include "core/status.h"
#include "core/strings.h"

namespace normlab::server {
namespace {

constexpr long kTenYearsS = 10L * 365 * 24 * 3600;
constexpr long kClockSkewS = 24L * 3600;  // other machines' clocks may be behind

template <auto Free>
struct Deleter {
  template <typename T>
  void operator()(T* object) const {
    Free(object);
  }
};
using Key = std::unique_ptr<EVP_PKEY, Deleter<EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Deleter<X509_free>>;
using Bio = std::unique_ptr<BIO, Deleter<BIO_free_all>>;
using Extension = std::unique_ptr<X509_EXTENSION, Deleter<X509_EXTENSION_free>>;

absl::Status OpenSslError(std::string_view what) {
  char text[256] = "no reason given";
  if (const unsigned long code = ERR_get_error(); code != 0) {
    ERR_error_string_n(code, text, sizeof(text));
  }
  ERR_clear_error();
  return absl::InternalError(Cat(what, ": ", std::string_view(text)));
}

std::string TextOf(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return std::string(data, static_cast<size_t>(size));
}

absl::StatusOr<std::string> PemOf(X509* certificate) {
  const Bio bio(BIO_new(BIO_s_mem()));
  if (PEM_write_bio_X509(bio.get(), certificate) != 1) return OpenSslError("cannot write PEM");
  return TextOf(bio.get());
}

absl::StatusOr<std::string> PemOf(EVP_PKEY* key) {
  const Bio bio(BIO_new(BIO_s_mem()));
  if (PEM_write_bio_PrivateKey(bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr) != 1) {
    return OpenSslError("cannot write PEM");
  }
  return TextOf(bio.get());
}

// "DNS:host,IP:10.0.0.5"
std::string AlternativeNames(const std::vector<std::string>& names) {
  std::vector<std::string> parts;
  for (const std::string& name : names) {
    unsigned char binary[sizeof(in6_addr)];
    const bool address = inet_pton(AF_INET, name.c_str(), binary) == 1 ||
                         inet_pton(AF_INET6, name.c_str(), binary) == 1;
    parts.push_back(Cat(address ? "IP:" : "DNS:", name));
  }
  return Join(parts, ",");
}

absl::Status AddExtension(X509* certificate, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const Extension extension(X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str()));
  if (extension == nullptr || X509_add_ext(certificate, extension.get(), -1) != 1) {
    return OpenSslError(Cat("cannot put '", value, "' into a certificate"));
  }
  return absl::OkStatus();
}

// A certificate without extensions and signature; its issuer is to be set when it is another's.
absl::StatusOr<Certificate> Blank(EVP_PKEY* key, const char* common_name) {
  Certificate certificate(X509_new());
  X509* const x509 = certificate.get();
  unsigned char serial[8];
  if (x509 == nullptr || RAND_bytes(serial, sizeof(serial)) != 1) {
    return OpenSslError("cannot begin a certificate");
  }
  serial[0] &= 0x7f;  // positive
  const std::unique_ptr<BIGNUM, Deleter<BN_free>> number(
      BN_bin2bn(serial, sizeof(serial), nullptr));
  X509_NAME* const subject = X509_get_subject_name(x509);
  const bool made = X509_set_version(x509, 2) == 1 &&
                    BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(x509)) != nullptr &&
                    X509_gmtime_adj(X509_getm_notBefore(x509), -kClockSkewS) != nullptr &&
                    X509_gmtime_adj(X509_getm_notAfter(x509), kTenYearsS) != nullptr &&
                    X509_set_pubkey(x509, key) == 1 &&
                    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8,
                                               reinterpret_cast<const unsigned char*>(common_name),
                                               -1, -1, 0) == 1 &&
                    X509_set_issuer_name(x509, subject) == 1;
  if (!made) return OpenSslError("cannot fill a certificate in");
  return certificate;
}

absl::StatusOr<Key> MakeKey() {
  Key key(EVP_EC_gen("P-256"));
  if (key == nullptr) return OpenSslError("cannot make a key");
  return key;
}

absl::Status Sign(X509* certificate, EVP_PKEY* key) {
  if (X509_sign(certificate, key, EVP_sha256()) == 0) return OpenSslError("cannot sign");
  return absl::OkStatus();
}

struct Authority {
  Certificate certificate;
  Key key;
};

absl::StatusOr<Authority> MakeAuthority() {
  Authority authority;
  ASSIGN_OR_RETURN(authority.key, MakeKey());
  ASSIGN_OR_RETURN(authority.certificate, Blank(authority.key.get(), "normlab data folder"));
  X509* const x509 = authority.certificate.get();
  RETURN_IF_ERROR(AddExtension(x509, x509, NID_basic_constraints, "critical,CA:TRUE,pathlen:0"));
  RETURN_IF_ERROR(AddExtension(x509, x509, NID_key_usage, "critical,keyCertSign,cRLSign"));
  RETURN_IF_ERROR(AddExtension(x509, x509, NID_subject_key_identifier, "hash"));
  RETURN_IF_ERROR(Sign(x509, authority.key.get()));
  return authority;
}

absl::StatusOr<Authority> ReadAuthority(const std::string& certificate_file,
                                        const std::string& key_file) {
  ASSIGN_OR_RETURN(const std::string certificate, ReadFile(certificate_file));
  ASSIGN_OR_RETURN(const std::string key, ReadFile(key_file));
  const Bio certificate_bio(
      BIO_new_mem_buf(certificate.data(), static_cast<int>(certificate.size())));
  const Bio key_bio(BIO_new_mem_buf(key.data(), static_cast<int>(key.size())));
  Authority authority;
  authority.certificate.reset(PEM_read_bio_X509(certificate_bio.get(), nullptr, nullptr, nullptr));
  authority.key.reset(PEM_read_bio_PrivateKey(key_bio.get(), nullptr, nullptr, nullptr));
  if (authority.certificate == nullptr || authority.key == nullptr ||
      X509_check_private_key(authority.certificate.get(), authority.key.get()) != 1) {
    ERR_clear_error();
    return DataLoss(certificate_file, " and ", key_file,
                    " are no CA and its key; remove both to have new ones made (whoever connects "
                    "then needs the new connect.json)");
  }
  return authority;
}

absl::StatusOr<Authority> FindOrMakeAuthority(const std::string& dir, const std::string& ca_file) {
  const std::string key_file = JoinPath(dir, "ca.key");
  if (FileExists(ca_file)) return ReadAuthority(ca_file, key_file);
  ASSIGN_OR_RETURN(Authority authority, MakeAuthority());
  ASSIGN_OR_RETURN(const std::string key, PemOf(authority.key.get()));
  ASSIGN_OR_RETURN(const std::string certificate, PemOf(authority.certificate.get()));
  RETURN_IF_ERROR(WriteFileDurably(key_file, key, 0600));
  RETURN_IF_ERROR(WriteFileDurably(ca_file, certificate));
  return authority;
}

}  // namespace

absl::StatusOr<CertificateFiles> MakeOwnCertificate(const std::string& dir,
                                                    const std::vector<std::string>& names) {
  const CertificateFiles files = {JoinPath(dir, kOwnCaFile), JoinPath(dir, "server.pem"),
                                  JoinPath(dir, "server.key")};
  RETURN_IF_ERROR(MakeDirs(dir, 0700));
  ASSIGN_OR_RETURN(const Authority authority, FindOrMakeAuthority(dir, files.ca));
  X509* const ca = authority.certificate.get();
  ASSIGN_OR_RETURN(const Key key, MakeKey());
  ASSIGN_OR_RETURN(const Certificate certificate, Blank(key.get(), "normlab serve"));
  X509* const x509 = certificate.get();
  if (X509_set_issuer_name(x509, X509_get_subject_name(ca)) != 1) {
    return OpenSslError("cannot name the issuer");
  }
  RETURN_IF_ERROR(AddExtension(x509, ca, NID_basic_constraints, "critical,CA:FALSE"));
  RETURN_IF_ERROR(AddExtension(x509, ca, NID_key_usage, "critical,digitalSignature"));
  RETURN_IF_ERROR(AddExtension(x509, ca, NID_ext_key_usage, "serverAuth"));
  RETURN_IF_ERROR(AddExtension(x509, ca, NID_authority_key_identifier, "keyid"));
  RETURN_IF_ERROR(AddExtension(x509, ca, NID_subject_alt_name, AlternativeNames(names)));
  RETURN_IF_ERROR(Sign(x509, authority.key.get()));
  ASSIGN_OR_RETURN(const std::string key_pem, PemOf(key.get()));
  ASSIGN_OR_RETURN(const std::string certificate_pem, PemOf(x509));
  RETURN_IF_ERROR(WriteFileDurably(files.key, key_pem, 0600));
  RETURN_IF_ERROR(WriteFileDurably(files.certificate, certificate_pem));
  return files;
}

}  // namespace normlab::server
