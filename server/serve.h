#ifndef NORMLAB_SERVER_SERVE_H_
#define NORMLAB_SERVER_SERVE_H_

#include <string>
#include <vector>

namespace normlab::server {

struct ServeOptions {
  std::string data_dir;  // made when it is not there
  // Addresses to listen on. A port that is taken: the next free one, which the data folder then
  // remembers for the following starts. Port 0: any free one. Empty: the remembered address, else
  // 127.0.0.1:7420 and 127.0.0.1:7421.
  std::string listen;
  std::string http;
  // Host names that HTTP requests may name besides the loopback ones (behind a proxy, say).
  std::vector<std::string> http_hosts;
  // TLS for gRPC, without which only loopback addresses are allowed: PEM files, or a certificate of
  // the data folder's own making. HTTP is loopback always.
  std::string certificate_file;
  std::string key_file;
  bool own_certificate = false;
  // The host that connect.json names, where that is not the one listened on. Empty: this machine.
  std::string advertise;
  // Workers started as child processes; -1: one with a slot per GPU, or one with one slot.
  int local_workers = -1;
  std::string program;       // path of `normlab`, which the local workers are started from
  std::string trainer_path;  // path of `normlab-trainer`
};

// Runs the server until SIGTERM or SIGINT: scheduler, ingest, gRPC, HTTP with the dashboard, local
// workers. Prints where it listens on standard output, everything else on standard error. At the
// end the local workers checkpoint what they train and hand their logs over first.
// Returns the exit code: 0 fine; 2 bad options; 4 refused (another server has the data folder, an
// address that is not loopback without TLS, a newer database, a network file system); 1 anything
// else.
int Serve(const ServeOptions& options);

}  // namespace normlab::server

#endif  // NORMLAB_SERVER_SERVE_H_
