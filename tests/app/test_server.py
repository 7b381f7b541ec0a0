"""The dashboard's server as `tprprobe app` starts it: alone on this machine, deaf to other pages, its files shut."""

import http.client
import socket
import subprocess
import sys
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from pathlib import Path
from urllib.parse import urlencode

import pytest
from planted import soaked

from tprprobe.cli.server import find_port

HANDSHAKE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
}
STREAM = "/_stcore/stream"
PAGES = ("", "roles", "attention", "layers", "interventions", "compare")
LOADS = 500
SECRET = "not for visitors"
WAIT = 120  # seconds, at most, for an answer


@pytest.fixture(scope="module")
def port(server, served) -> int:
    """The port of a dashboard, beside whose folder a secret lies."""
    (served.parent / "secret.txt").write_text(SECRET)
    return int(server.rpartition(":")[2])


def _ask(port: int, path: str, method: str = "GET", **headers: str) -> tuple[int, bytes]:
    """The status and the content of an answer; status 0 if it is cut off."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=WAIT)
    header_values = {name.replace("_", "-"): value for name, value in headers.items()}
    try:
        connection.putrequest(method, path, skip_host="Host" in header_values)
        for name, value in header_values.items():
            connection.putheader(name, value)
        connection.endheaders()
        answer = connection.getresponse()
        return answer.status, b"" if answer.status == 101 else answer.read()
    except ConnectionError:
        return 0, b""
    finally:
        connection.close()


def test_it_answers_this_machine_under_its_own_name_alone(port):
    assert _ask(port, "/_stcore/health")[0] == 200
    assert _ask(port, "/", Host=f"127.0.0.1:{port}")[0] == 200
    assert _ask(port, STREAM, **HANDSHAKE, Origin=f"http://127.0.0.1:{port}")[0] == 101
    addresses = {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None)}
    for address in addresses - {"127.0.0.1", "::1"}:
        with socket.socket() as probe:
            probe.settimeout(2)
            assert probe.connect_ex((address, port)) != 0


ELSEWHERE = ("http://evil.example", "http://127.0.0.1:{0}", "http://127.0.0.1", "http://localhost:{1}", "null",
             "https://127.0.0.1:{1}", "http://127.0.0.1:{1}.evil.example")  # fmt: skip


@pytest.mark.parametrize("origin", [*ELSEWHERE, None])
def test_a_page_of_another_origin_gets_no_session(port, origin):
    origin_header = {} if origin is None else {"Origin": origin.format(port + 1, port)}
    assert _ask(port, STREAM, **HANDSHAKE, **origin_header)[0] in (400, 403)
    if origin_header:
        assert _ask(port, "/", **origin_header)[0] == 403


@pytest.mark.parametrize("host", ["evil.example", "localhost:1", "127.0.0.1", "evil.example:{}"])
def test_another_name_of_this_machine_is_not_answered(port, host):
    host = host.format(port)
    assert _ask(port, "/", Host=host)[0] == 403
    assert _ask(port, STREAM, **HANDSHAKE, Host=host, Origin=f"http://{host}")[0] in (400, 403)


def test_localhost_is_sent_to_the_address(port):
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=WAIT)) as connection:
        connection.request("GET", "/roles?head=1", headers={"Host": f"localhost:{port}"})
        answer = connection.getresponse()
        assert answer.headers["Location"] == f"http://127.0.0.1:{port}/roles?head=1"
        answer.read()
    host = f"localhost:{port}"
    assert _ask(port, STREAM, **HANDSHAKE, Host=host, Origin=f"http://{host}")[0] in (400, 403)


def test_no_page_may_frame_it_and_its_metrics_are_closed(port):
    for path in ("/", "/_stcore/health", "/nowhere"):
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}") as answer:
            assert answer.headers["X-Frame-Options"] == "DENY"
            assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]
    for path in ("/_stcore/metrics", "/_stcore/metrics/", "/_stcore/script-health-check"):
        assert _ask(port, path)[0] in (403, 404)


BUTTONS = {"start-names": "true", "start-probes": "true", "link": "1", "Write a report of this run": "true"}  # fmt: skip
ENDPOINTS = [
    *(STREAM, "/_stcore/host-config", "/_stcore/upload_file/a/b", "/component/tprprobe_page/index.html"),
    *("/media/a.png", "/", *(f"/{page}" for page in PAGES)),
]  # fmt: skip


def test_an_upload_without_the_token_is_refused(port):
    for method in ("PUT", "POST", "DELETE"):
        status, _ = _ask(port, "/_stcore/upload_file/a/b", method, Origin="http://evil.example")
        assert status in (400, 403, 404, 405)


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE", "OPTIONS", "HEAD", "PATCH"])
def test_no_request_of_another_origin_presses_a_button(port, served, method):
    """Nothing is answered but a page that an address opens, and nothing is made in the folder."""
    before = sorted(served.rglob("*"))
    protocol = {"Sec-WebSocket-Protocol": "streamlit, token, session"}
    for number, path in enumerate(ENDPOINTS):
        headers = HANDSHAKE | protocol if number % 2 else {"Sec-Fetch-Site": "cross-site"}
        headers |= {"Origin": ELSEWHERE[number % len(ELSEWHERE)].format(port + 1, port)}
        asked = _ask(port, f"{path}?{urlencode(BUTTONS)}", method, **headers)
        assert asked[0] in (0, 400, 403, 404, 405), (path, headers)
        assert SECRET.encode() not in asked[1]
    assert sorted(served.rglob("*")) == before


@pytest.mark.parametrize("page", PAGES)
def test_an_address_presses_no_button(port, served, page):
    before = sorted(served.rglob("*"))
    _visit(port, page, urlencode(BUTTONS))
    assert sorted(served.rglob("*")) == before


@pytest.mark.parametrize(
    "path",
    [
        "/../secret.txt",
        "/..%2fsecret.txt",
        "/static/../../secret.txt",
        "/app/static/..%2f..%2fsecret.txt",
        "/media/..%2f..%2f..%2fetc%2fpasswd",
        "/component/x/..%2f..%2f..%2fetc%2fpasswd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "//etc/passwd",
    ],
)
def test_no_address_leads_out_of_the_dashboard(port, path):
    _, content = _ask(port, path)
    assert SECRET.encode() not in content
    assert b"root:" not in content


# ---------------------------------------------------------------- many visits


def _visit(port: int, page: str, query: str = "") -> int:
    """The bytes that a session was sent for a page, until its script had ended; ``query`` is of its address.

    Raises:
        AssertionError: the page shows an error.
    """
    from streamlit.proto.BackMsg_pb2 import BackMsg
    from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
    from websockets.sync.client import connect

    address, size = f"127.0.0.1:{port}", 0
    with connect(
        f"ws://{address}{STREAM}",
        subprotocols=["streamlit"],
        origin=f"http://{address}",
        max_size=None,
    ) as session:
        rerun = BackMsg()
        rerun.rerun_script.page_name, rerun.rerun_script.query_string = page, query
        session.send(rerun.SerializeToString())
        while True:
            content = session.recv(timeout=WAIT)
            size += len(content)
            message = ForwardMsg.FromString(content)
            assert message.delta.new_element.WhichOneof("type") != "exception", page
            if message.WhichOneof("type") == "script_finished":
                return size


def _memory(pid: int) -> float:
    """What a process holds, in MB."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


@pytest.mark.soak
def test_twenty_sessions_at_once_and_hundreds_of_pages_leave_no_memory_behind(runs, capsys):
    port = find_port(None)
    command = [sys.executable, "-m", "tprprobe", "app", str(runs), "--port", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        end = time.monotonic() + WAIT
        while _ask(port, "/_stcore/health")[0] != 200 and time.monotonic() < end:
            time.sleep(0.2)
        with ThreadPoolExecutor(20) as pool:
            sent = list(pool.map(partial(_visit, port), [PAGES[i % len(PAGES)] for i in range(20)]))
        assert min(sent) > 1000
        soaked.add("dashboard", "sessions at once", soaked.Tried(20))
        megabytes = [_memory(process.pid)]
        for loads in soaked.ahead("dashboard", "page loads", LOADS, LOADS // 5):
            for number in loads:
                _visit(port, PAGES[number % len(PAGES)])
            megabytes.append(_memory(process.pid))
            soaked.add("dashboard", "page loads", soaked.Tried(len(loads)))
    finally:
        process.kill()
        process.wait()
    with capsys.disabled():
        text = ", ".join(f"{value:.0f}" for value in megabytes)
        print(f"20 sessions at once, then MB after every {LOADS // 5} page loads: {text}")
    assert megabytes[-1] < 1.2 * megabytes[1]
