#!/usr/bin/env python3
"""hub.py FOLDER - a hub of Hugging Face on loopback, for tests/cli/pull.sh.

Serves FOLDER/OWNER/NAME/: files, which are its revision main and v1. A file of
4096 bytes or more is stored apart, as by Git LFS: its address redirects to a
second server, at another port, and its hash is a SHA-256; of the others it is
that of a git blob. Writes the two ports to FOLDER/ports, and each request to
FOLDER/log, one a line: method, server, path, and the headers that matter.

FOLDER/faults says what goes wrong: lines of a fault, a file's name, and a
number. Each line is read again for each request:
    cut FILE N      the connection ends after N bytes, once for each line
    busy FILE N     an answer of status N in place of the contents, once for each line
    late FILE N     each 64 KiB take N milliseconds
    wrong FILE 0    another byte than announced, at each request
    short FILE N    N bytes, as if they were all
    long FILE N     N bytes more than announced
    full FILE 0     no ranges: always the whole file
    status FILE N   an answer of status N
    etag FILE TEXT  this instead of the hash
    commit FILE TEXT
    away FILE URL   redirects there
    shift FILE N    a range begins N bytes later than asked for
    list FILE TEXT  the list of files is TEXT (FILE is -)
    many FILE N     the list has N more files (FILE is -)
    drip FILE N     an endless list, N bytes a second (FILE is -)
    flood FILE 0    the body of a status or redirection does not end
"""
import hashlib
import http.server
import json
import os
import sys
import threading
import time
import urllib.parse

ROOT = sys.argv[1]
COMMIT = "0123456789abcdef0123456789abcdef01234567"
LOCK = threading.Lock()
PORTS = []


def faults(name):
    """{fault: text} for this file; a line that begins with cut is used up."""
    found = {}
    with LOCK:
        try:
            with open(f"{ROOT}/faults") as f:
                lines = f.read().splitlines()
        except FileNotFoundError:
            return found
        for i, line in enumerate(lines):
            fault, file, text = line.split(" ", 2)
            if file == name and fault not in found:
                found[fault] = text
    return found


def use_up(name, fault):
    with LOCK:
        with open(f"{ROOT}/faults") as f:
            lines = f.read().splitlines()
        for i, line in enumerate(lines):
            if line.split(" ")[:2] == [fault, name]:
                del lines[i]
                break
        with open(f"{ROOT}/faults", "w") as f:
            f.writelines(line + "\n" for line in lines)


class Hub(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def note(self):
        keep = ("Authorization", "Range", "If-Range")
        with LOCK, open(f"{ROOT}/log", "a") as f:
            f.write(" ".join([self.command, self.server.name, self.path] + [
                f"{k}={self.headers[k]}" for k in keep if k in self.headers]) + "\n")

    def answer(self, status, headers=(), body=b""):
        self.send_response(status)
        for k, v in headers:
            self.send_header(k, v)
        if not any(k == "Content-Length" for k, _ in headers):
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def endless(self, status, headers, size, pause):
        """Sends so many bytes again and again, as long as they are read."""
        self.send_response(status)
        for k, v in headers:
            self.send_header(k, v)
        self.end_headers()
        self.close_connection = True
        while True:
            self.wfile.write(b" " * size)
            self.wfile.flush()
            time.sleep(pause)

    def error(self, status, code):
        self.answer(status, [("X-Error-Code", code)] if code else [], b"{}")

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        self.note()
        parts = urllib.parse.urlparse(self.path).path.strip("/").split("/")
        parts = [urllib.parse.unquote(p) for p in parts]
        if self.server.name == "store":
            return self.store(parts)
        if parts[:2] == ["api", "models"] and len(parts) == 6:
            return self.model(parts[2], parts[3], parts[5])
        if len(parts) == 5 and parts[2] == "resolve":
            return self.resolve(*parts[:2], *parts[3:])
        return self.error(404, "")

    def allowed(self, owner, name):
        """Sends the refusal itself."""
        token = self.headers.get("Authorization", "")
        if owner == "old":
            self.answer(307, [("Location", self.path.replace("/old/", "/me/"))])
        elif not os.path.isdir(f"{ROOT}/{owner}/{name}"):
            self.error(404 if token else 401, "RepoNotFound")
        elif owner == "private" and token != "Bearer hf_secret":
            self.error(401, "")
        elif owner == "gated" and token != "Bearer hf_member":
            self.error(403, "GatedRepo")
        else:
            return True
        return False

    def model(self, owner, name, revision):
        wrong = faults("-")
        if "status" in wrong and "flood" in wrong:
            return self.endless(int(wrong["status"]), [], 65536, 0)
        if "status" in wrong:
            return self.error(int(wrong["status"]), "")
        if "drip" in wrong:
            return self.endless(200, [], int(wrong["drip"]), 1)
        if not self.allowed(owner, name):
            return None
        if revision not in ("main", "v1", "refs/pr/1", COMMIT):
            return self.error(404, "RevisionNotFound")
        files = sorted(os.listdir(f"{ROOT}/{owner}/{name}"))
        body = json.dumps({"id": f"{owner}/{name}", "sha": COMMIT, "siblings": [
            {"rfilename": f} for f in ["../../escaped", ".gitattributes", *files] + [
                f"more-{i}" for i in range(int(wrong.get("many", 0)))]]})
        return self.answer(200, [("Content-Type", "application/json")],
                           wrong.get("list", body).encode())

    def resolve(self, owner, name, revision, file):
        path = f"{ROOT}/{owner}/{name}/{file}"
        wrong = faults(file)
        if not self.allowed(owner, name):
            return None
        if "status" in wrong:
            return self.error(int(wrong["status"]), "")
        if revision != COMMIT or not os.path.isfile(path):
            return self.error(404, "EntryNotFound")
        with open(path, "rb") as f:
            data = f.read()
        head = [("X-Repo-Commit", wrong.get("commit", COMMIT))]
        if len(data) >= 4096:
            etag = wrong.get("etag", hashlib.sha256(data).hexdigest())
            where = wrong.get("away", f"http://127.0.0.1:{PORTS[1]}/{owner}/{name}/{file}")
            head += [("X-Linked-Size", str(len(data))),
                     ("X-Linked-Etag", f'"{etag}"'), ("Location", where)]
            if "flood" in wrong and self.command == "GET":
                return self.endless(302, head, 65536, 0)
            return self.answer(302, head)
        etag = wrong.get("etag", hashlib.sha1(
            b"blob %d\0" % len(data) + data).hexdigest())
        return self.send(data, wrong, file, head + [("ETag", f'"{etag}"')])

    def store(self, parts):
        path = "/".join([ROOT, *parts])
        if not os.path.isfile(path):
            return self.error(404, "")
        with open(path, "rb") as f:
            data = f.read()
        return self.send(data, faults(parts[-1]), parts[-1], [("ETag", '"other"')])

    def send(self, data, wrong, file, head):
        status, begin = 200, 0
        if "busy" in wrong and self.command == "GET":
            use_up(file, "busy")
            return self.error(int(wrong["busy"]), "")
        if "wrong" in wrong and self.command == "GET":
            data = data[:50] + bytes([data[50] ^ 1]) + data[51:]
        if self.command == "GET":
            if "short" in wrong:
                data = data[:int(wrong["short"])]
            if "long" in wrong:
                data += b"x" * int(wrong["long"])
        asked = self.headers.get("Range")
        if asked and "full" not in wrong:
            begin = int(asked.removeprefix("bytes=").removesuffix("-"))
            if begin >= len(data):
                return self.answer(416, [("Content-Range", f"bytes */{len(data)}")])
            begin += int(wrong.get("shift", 0))
            status = 206
            head = head + [("Content-Range",
                            f"bytes {begin}-{len(data) - 1}/{len(data)}")]
        data = data[begin:]
        head = head + [("Content-Length", str(len(data)))]
        if self.command == "HEAD":
            return self.answer(status, head)
        if "cut" in wrong:
            data = data[:int(wrong["cut"])]
            use_up(file, "cut")
            self.close_connection = True
        self.send_response(status)
        for k, v in head:
            self.send_header(k, v)
        self.end_headers()
        for at in range(0, len(data), 65536):
            self.wfile.write(data[at:at + 65536])
            self.wfile.flush()
            if "late" in wrong:
                time.sleep(int(wrong["late"]) / 1000)
        return None


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):  # a client that has gone
        pass


def main():
    servers = []
    for name in "hub", "store":
        server = Server(("127.0.0.1", 0), Hub)
        server.name = name
        servers.append(server)
        PORTS.append(server.server_address[1])
    threading.Thread(target=servers[1].serve_forever, daemon=True).start()
    with open(f"{ROOT}/ports.new", "w") as f:
        print(*PORTS, file=f)
    os.rename(f"{ROOT}/ports.new", f"{ROOT}/ports")
    servers[0].serve_forever()


main()
