"""Other machines come in through TLS only; connect.json is all they need."""

import json
import subprocess

import lab as labs

BODY = labs.TINY + "factors: {norm.placement: [pre]}\n"


def info(lab):
    return json.loads((lab.data / "connect.json").read_text())


def test_without_tls_only_this_machine_gets_in(bare_lab):
    refused = bare_lab.run("serve", "--listen", "0.0.0.0:0", "--local-workers", "0")
    assert refused.returncode == 4
    for word in ("needs TLS", "--tls", "--cert"):
        assert word in refused.stderr
    assert not (bare_lab.data / "connect.json").exists()


def test_its_own_certificate_lets_worker_and_command_line_in(bare_lab):
    bare_lab.start("--listen", "0.0.0.0:0", "--http", "127.0.0.1:0", "--tls", local_workers=0)
    bare_lab.prepare_data()
    first = info(bare_lab)
    assert first["ca"].startswith("-----BEGIN CERTIFICATE-----")
    assert not first["grpc"].startswith("0.0.0.0"), "nobody can connect to that"
    with bare_lab.worker():
        bare_lab.submit("far", BODY, "--wait")
    [run] = bare_lab.runs("far")
    assert run["state"] == "done"
    # Started again without a word about it, it keeps port, token and CA.
    assert bare_lab.stop() == 0
    bare_lab.start(local_workers=0)
    again = info(bare_lab)
    assert [again[key] for key in ("grpc", "ca", "token")] == [
        first[key] for key in ("grpc", "ca", "token")]
    assert bare_lab.submit("linked", BODY, "--wait")["linked"] == 1
    # Who does not trust it does not talk to it.
    other = bare_lab.folder / "other.json"
    other.write_text(json.dumps({**again, "ca": ""}))
    sweep = bare_lab.folder / "linked.yaml"
    assert bare_lab.run("submit", sweep, "--connect", other).returncode == 5


def test_a_certificate_of_ones_own(bare_lab):
    key, certificate = bare_lab.folder / "key.pem", bare_lab.folder / "cert.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=lab",
                    "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", key,
                    "-out", certificate], check=True, capture_output=True)
    bare_lab.start("--listen", "0.0.0.0:0", "--http", "127.0.0.1:0", "--cert", certificate,
                   "--key", key, "--advertise", "localhost", local_workers=1)
    bare_lab.prepare_data()
    assert info(bare_lab)["grpc"].startswith("localhost:")
    bare_lab.submit("own", BODY, "--wait")
    assert [run["state"] for run in bare_lab.runs("own")] == ["done"]
