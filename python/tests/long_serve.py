#!/usr/bin/env python3
"""long_serve.py MODEL PICTURES [REQUESTS] [URL] - what test_serve.py is too short for.

Eight clients send REQUESTS (2,000), half of them malformed, to a server of MODEL, with
photographs of the folder PICTURES: the answers are the package's, the rest is refused
with one line, memory does not grow, and 50 clients that send a byte a second hold up
nobody. Then times of answers, and those of another server, of which URL is told the
picture in the same form. Last, the memory that an idle server keeps. Needs what
test_serve.py needs.
"""
import http.client
import json
import pathlib
import random
import socket
import subprocess
import sys
import threading
import time
from urllib.parse import urlsplit

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import vitcl  # noqa: E402

model, folder = sys.argv[1:3]
requests = int(sys.argv[3]) if sys.argv[3:] else 2000
other = sys.argv[4] if sys.argv[4:] else None
pictures = [p.read_bytes() for p in sorted(pathlib.Path(folder).iterdir()) if p.is_file()]
IDLE = 8


def say(*words):
    print(*words, flush=True)


def resident(pid):
    """MiB, without the decoders."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


class Client:
    def __init__(self, port):
        self.there = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

    def post(self, path, body, **headers):
        try:
            self.there.request("POST", path, body, {k.replace("_", "-"): v for k, v in headers.items()})
            answer = self.there.getresponse()
            return answer.status, answer.read()
        except (OSError, http.client.HTTPException):  # closed after a refusal
            self.there.close()
            self.there.request("POST", path, body, headers)
            answer = self.there.getresponse()
            return answer.status, answer.read()


def malformed(chance, n):
    """A request that no server should answer: (path, body, headers)"""
    good = pictures[n]
    return chance.choice([
        ("/embed", good[:chance.randrange(1, 200)], {}),
        ("/embed", chance.randbytes(chance.randrange(1, 5000)), {}),
        ("/embed", b"", {}), ("/embed?model=nobody", good, {}), ("/embed?x=1", good, {}),
        ("/embed", good, {"content_type": "application/json"}),
        ("/embed", good, {"content_type": "multipart/form-data; boundary=a"}),
        ("/v1/embeddings", b'{"input": "a"}', {"content_type": "application/json"}),
        ("/predict", b"--a\r\n\r\n", {"content_type": "multipart/form-data; boundary=a"}),
        ("/classify?top=" + "9" * chance.randrange(5, 99), good, {}),
    ])


def clients(port, count, answers):
    """The seconds of each good answer."""
    seconds, wrong, left = [], [], iter(range(count))
    turn = threading.Lock()

    def work(seed):
        client, chance = Client(port), random.Random(seed)
        while True:
            with turn:
                if next(left, None) is None:
                    return
            n = chance.randrange(len(pictures))
            if chance.random() < 0.5:
                path, body, headers = malformed(chance, n)
                status, body = client.post(path, body, **headers)
                good = 400 <= status < 500 and b"\n" not in body
            else:
                began = time.monotonic()
                status, body = client.post("/embed", pictures[n])
                seconds.append(time.monotonic() - began)
                good = status == 200 and np.array_equal(
                    np.array(json.loads(body)["images"][0], np.float32), answers[n])
            if not good:
                wrong.append((status, body[:200]))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not wrong, (len(wrong), wrong[:3])
    return seconds


def slow(port):
    """Clients that send a byte a second, until the result is called."""
    ended = threading.Event()
    there = [socket.create_connection(("127.0.0.1", port)) for _ in range(50)]
    for i, one in enumerate(there):
        one.sendall(b"POST /embed HTTP/1.1\r\nHost: localhost\r\n"
                    + (b"Content-Length: 9999\r\n\r\n" if i % 2 else b"X: "))

    def work():
        while not ended.wait(1):
            for one in there:
                try:
                    one.send(b"x")
                except OSError:
                    pass

    thread = threading.Thread(target=work)
    thread.start()
    return lambda: (ended.set(), thread.join(), [one.close() for one in there])


def told(name, seconds):
    low, high = np.percentile(np.array(seconds) * 1e3, [50, 99])
    say(f"{name}: p50 {low:.0f} ms, p99 {high:.0f} ms")


def times(port, path, count):
    """8 clients, good requests only."""
    seconds, left, turn = [], iter(range(count)), threading.Lock()

    def work():
        client = Client(port)
        while True:
            with turn:
                n = next(left, None)
            if n is None:
                return
            began = time.monotonic()
            status, _ = client.post(path, pictures[n % len(pictures)])
            seconds.append(time.monotonic() - began)
            assert status == 200

    began = time.monotonic()
    threads = [threading.Thread(target=work) for _ in range(8)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    return seconds, count / (time.monotonic() - began)


with vitcl.Model(model) as m:
    answers = m.embed(pictures)
with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]
server = subprocess.Popen([sys.executable, "-m", "vitcl.serve", "-m", model, "--port", str(port),
                           "--idle", str(IDLE)], stderr=subprocess.DEVNULL)
try:
    for _ in range(600):
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            break
        except OSError:
            time.sleep(0.1)
    told("first 200", clients(port, 200, answers))
    before = resident(server.pid)
    told(f"{requests} requests, half malformed", clients(port, requests, answers))
    say(f"memory: {before:.0f} MiB, then {resident(server.pid):.0f} MiB")
    assert resident(server.pid) < before * 1.1 + 20
    end = slow(port)
    told("beside 50 slow clients", clients(port, 200, answers))
    end()
    seconds, rate = times(port, "/embed", 400)
    told(f"good ones only, {rate:.1f} a second", seconds)
    if other:
        at = urlsplit(other)
        seconds, rate = times(at.port, at.path, 400)
        told(f"{other}, {rate:.1f} a second", seconds)
    time.sleep(IDLE + 3)
    say(f"idle: {resident(server.pid):.0f} MiB")
finally:
    server.terminate()
    server.wait()
