"""Loopback and a token from the first start."""

import http.client
import json
import stat
import urllib.parse


def request(lab, path, **headers):
    """Status, headers and body of one GET, with exactly these headers."""
    info = json.loads((lab.data / "connect.json").read_text())
    address = urllib.parse.urlsplit(info["http"])
    connection = http.client.HTTPConnection(address.hostname, address.port, timeout=30)
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    return answer.status, dict(answer.getheaders()), answer.read()


def token(lab):
    return json.loads((lab.data / "connect.json").read_text())["token"]


def test_the_connect_file_is_for_its_owner_only(done):
    assert stat.S_IMODE((done.data / "connect.json").stat().st_mode) == 0o600


def test_http_wants_the_token(done):
    assert request(done, "/api/v1/sweeps")[0] == 401
    assert request(done, "/api/v1/sweeps", Authorization="Bearer wrong")[0] == 401
    status, _, body = request(done, "/api/v1/sweeps", Authorization=f"Bearer {token(done)}")
    assert status == 200
    assert json.loads(body)["sweeps"][0]["name"] == "tiny"


def test_http_answers_to_loopback_names_only(done):
    bearer = f"Bearer {token(done)}"
    assert request(done, "/api/v1/sweeps", Authorization=bearer, Host="localhost:9")[0] == 200
    status = request(done, "/api/v1/sweeps", Authorization=bearer, Host="evil.example")[0]
    assert 400 <= status < 500


def test_an_opened_address_works_once(done):
    url = urllib.parse.urlsplit(done.normlab("open").strip())
    path = f"{url.path}?{url.query}"
    status, headers, _ = request(done, path)
    assert status == 302
    cookie = headers["Set-Cookie"]
    assert "HttpOnly" in cookie and "SameSite=Strict" in cookie
    assert request(done, "/api/v1/sweeps", Cookie=cookie.split(";")[0])[0] == 200
    assert request(done, path)[0] in (401, 403)


def test_grpc_wants_the_token(done):
    info = json.loads((done.data / "connect.json").read_text())
    other = done.folder / "stranger.json"
    other.write_text(json.dumps({**info, "token": "0" * len(info["token"])}))
    refused = done.run("submit", done.folder / "tiny.yaml", "--connect", other)
    assert refused.returncode == 4, refused.stderr
