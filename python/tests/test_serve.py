#!/usr/bin/env python3
"""test_serve.py - the server answers what the package answers, to the bytes that
clients of OpenAI and Immich send, and nobody holds it up.

Needs VITCL_LIBRARY and VT_DATA; ctest sets them. With OpenAI's client installed,
that is asked, too.
"""
import base64
import contextlib
import http.client
import http.server
import importlib.util
import json
import logging
import os
import pathlib
import shutil
import socket
import sys
import tempfile
import threading
import time
import unittest
import unittest.mock

SYSTEM = "/usr/bin/python3"

try:
    import numpy as np
    import starlette  # noqa: F401
    import uvicorn
    if not any(map(importlib.util.find_spec, ("python_multipart", "multipart"))):
        raise ImportError("No module named 'python_multipart'")
except ImportError as e:
    if sys.executable != SYSTEM and os.path.exists(SYSTEM):  # with Debian's packages, perhaps
        os.execv(SYSTEM, [SYSTEM, *sys.argv])
    print(f"skipped: {e}")
    sys.exit(77)

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import vitcl  # noqa: E402
from vitcl._pictures import _png  # noqa: E402
from vitcl.serve import Limits, create  # noqa: E402
from vitcl.serve.__main__ import Protocol  # noqa: E402
from vitcl.serve._thumbnails import decoded, thumbnail  # noqa: E402

for parser in ("multipart", "python_multipart"):
    logging.getLogger(parser).setLevel(logging.CRITICAL)
DATA = pathlib.Path(os.environ["VT_DATA"])
WORDS = str(DATA / "text/hf_words")
PICTURES = [DATA / "sample.jpg", DATA / "small.png", DATA / "preprocess/in/exif6.jpg",
            DATA / "preprocess/in/rgba.png", DATA / "preprocess/in/gray.jpg"]
BYTES = [p.read_bytes() for p in PICTURES]


class Server:
    """An app at a port of the loopback."""

    def __init__(self, *words, **options):
        self.app = create(*words, **options)
        self.server = uvicorn.Server(uvicorn.Config(
            self.app, host="127.0.0.1", port=0, http=Protocol, ws="none", log_level="critical"))
        self.thread = threading.Thread(target=self.server.run)
        self.thread.start()
        while not self.server.started:
            time.sleep(0.01)
        self.port = self.server.servers[0].sockets[0].getsockname()[1]

    def close(self):
        self.server.should_exit = True
        self.thread.join()

    def ask(self, method, path, body=None, headers=()):
        """(status, body, headers)"""
        there = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        with contextlib.closing(there):
            there.request(method, path, body, dict(headers))
            answer = there.getresponse()
            return answer.status, answer.read(), answer.headers

    def json(self, path, value, status=200):
        got = self.ask("POST", path, json.dumps(value), {"content-type": "application/json"})
        assert got[0] == status, got
        return json.loads(got[1])

    def form(self, path, *parts, status=200):
        """As Node's undici sends it: a part is (name, text) or (name, bytes)."""
        line = "----formdata-undici-052386519837"
        body = b""
        for name, value in parts:
            file = isinstance(value, bytes)
            body += (f'--{line}\r\nContent-Disposition: form-data; name="{name}"'
                     + ('; filename="blob"\r\nContent-Type: application/octet-stream' if file
                        else "") + "\r\n\r\n").encode()
            body += (value if file else value.encode()) + b"\r\n"
        body += f"--{line}--\r\n".encode()
        got = self.ask("POST", path, body, {"content-type": f"multipart/form-data; boundary={line}"})
        assert got[0] == status, got
        return json.loads(got[1])


def b64(data):
    return base64.b64encode(data).decode()


def url(data, type_="jpeg"):
    return f"data:image/{type_};base64,{b64(data)}"


class Base(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.words = vitcl.Model(WORDS)
        cls.cifar = vitcl.Model("builtin:cifar10")
        cls.server = Server({"ViT-B-32__openai": WORDS, "cifar": "builtin:cifar10",
                             "pictures": str(DATA / "models/hf_vit_bare")},
                            hosts=frozenset(("127.0.0.1",)), limits=Limits(largest=4 << 20))
        cls.ask, cls.json, cls.form = cls.server.ask, cls.server.json, cls.server.form

    @classmethod
    def tearDownClass(cls):
        cls.server.close()
        cls.words.close()
        cls.cifar.close()

    def same(self, said, expected):
        self.assertTrue(np.array_equal(np.array(said, np.float32), expected))


class Own(Base):
    def test_classify(self):
        expected = [{"sure": a.sure, "detail": a.detail,
                     "classes": [{"label": c.label, "name": c.name, "index": c.index,
                                  "probability": c.probability} for c in a]}
                    for a in self.cifar.classify(BYTES, top=3)]
        said = self.form("/classify", *[("image", b) for b in BYTES], ("top", "3"),
                         ("model", "cifar"))
        self.assertEqual(said, {"model": "cifar", "answers": expected})
        said = self.json("/classify", {"images": [b64(BYTES[0]), url(BYTES[1])], "top": 3,
                                       "model": "cifar"})
        self.assertEqual(said["answers"], expected[:2])
        for headers in ({}, {"content-type": "image/jpeg"},
                        {"content-type": "application/x-www-form-urlencoded"}):  # curl's
            got = self.ask("POST", "/classify?top=3&model=cifar", BYTES[0], headers)
            self.assertEqual(json.loads(got[1])["answers"], expected[:1])

    def test_labels(self):
        expected = self.words.classify(BYTES[0], labels=["a cat", "a dog"], prompts=["a {}"])
        said = self.json("/classify", {"image": b64(BYTES[0]), "labels": ["a cat", "a dog"],
                                       "prompts": ["a {}"]})["answers"][0]["classes"]
        self.assertEqual([(c["name"], c["probability"]) for c in said],
                         [(c.name, c.probability) for c in expected])

    def test_embed(self):
        for normalize in (False, True):
            said = self.json("/embed", {"images": [b64(b) for b in BYTES], "normalize": normalize,
                                        "texts": ["a dog", "", "the cat"]})
            self.same(said["images"], self.words.embed(BYTES, normalize=normalize))
            self.same(said["texts"], self.words.embed_text(["a dog", "", "the cat"],
                                                           normalize=normalize))
        said = self.form("/embed", ("text", "a dog"), ("image", BYTES[0]))
        self.same(said["images"][0], self.words.embed(BYTES[0]))
        self.same(said["texts"][0], self.words.embed_text("a dog"))

    def test_many_at_once_make_batches(self):
        worker = next(w for w in _workers(self.server) if w.name == "cifar")
        expected = [json.loads(self.ask("POST", "/embed?model=cifar", b)[1]) for b in BYTES]
        batches, answered, said = worker.batches, worker.answered, {}

        def client(i):
            said[i] = json.loads(self.ask("POST", "/embed?model=cifar", BYTES[i % 5])[1])

        with _held_up(worker) as (free, taken):
            threads = [threading.Thread(target=client, args=(i,)) for i in range(17)]
            threads[0].start()
            taken.wait()
            for thread in threads[1:]:
                thread.start()
            _until(lambda: len(worker._waiting) == 16)
            free.set()
            for thread in threads:
                thread.join()
        self.assertEqual(said, {i: expected[i % 5] for i in range(17)})
        self.assertEqual((worker.answered - answered, worker.batches - batches), (17, 3))

    def test_a_batch_that_fails_is_asked_one_by_one(self):
        worker, said = next(w for w in _workers(self.server) if w.name == "cifar"), {}
        answer = worker._answer

        def picky(batch):
            if any(question.item == BYTES[1] for question in batch):
                raise vitcl.VitclError("no", vitcl.Status.EDEVICE)
            return answer(batch)

        def client(i):
            said[i] = self.ask("POST", "/embed?model=cifar", BYTES[i])[0]

        worker._answer = picky
        threads = [threading.Thread(target=client, args=(i,)) for i in range(3)]
        try:
            with _held_up(worker) as (free, taken):
                threads[0].start()
                taken.wait()
                for thread in threads[1:]:
                    thread.start()
                _until(lambda: len(worker._waiting) == 2)
                free.set()
                for thread in threads:
                    thread.join()
        finally:
            worker._answer = answer
        self.assertEqual(said, {0: 200, 1: 500, 2: 200})

    def test_refusals(self):
        deep = b"[" * 100_000
        long = {"content-type": "application/json"}
        for path, body, headers, status in [
                ("/classify", b"", {}, 400), ("/classify?model=cifar", b"no picture", {}, 422),
                ("/classify?model=cifar", BYTES[0][:200], {}, 422),
                ("/classify?model=nobody", BYTES[0], {}, 404), ("/classify", BYTES[0], {}, 400),
                ("/classify?model=cifar&top=0", BYTES[0], {}, 400),
                ("/classify?model=cifar&top=-3", BYTES[0], {}, 400),
                ("/classify?model=cifar&colour=3", BYTES[0], {}, 400),
                ("/classify?model=cifar&label=a", BYTES[0], {}, 400),
                ("/embed?model=cifar&text=a", b"", {}, 400), ("/embed", b"{", long, 400),
                ("/embed", deep, long, 400), ("/embed", b"\xff\xfe", long, 400),
                ("/embed", b"[]", long, 400), ("/embed", b'{"texts": [1]}', long, 400),
                ("/embed", b'{"texts": ["\\ud800"]}', long, 400),
                ("/embed", b'{"texts": ["a\\u0000b"]}', long, 400),
                ("/embed", b'{"images": [["a"]]}', long, 400),
                ("/embed", b'{"images": ["' + b"A" * (5 << 20), long, 413),
                ("/embed", b"x", {"content-type": "multipart/form-data"}, 400),
                ("/embed", b"x", {"content-type": "multipart/form-data; boundary=y"}, 400),
                ("/embed", b"x", {"host": "evil.example"}, 403),
                ("/embed", b"x", {"origin": "http://evil.example"}, 403),
                ("/nothing", b"", {}, 404), ("/ping", b"", {}, 405)]:
            with self.subTest(path=path, body=body[:30]):
                got = self.ask("POST", path, body, headers)
                self.assertEqual(got[0], status, got)
                line = json.loads(got[1])["error"] if status != 405 else "a"
                self.assertTrue(line and "\n" not in line)
        said = self.json("/embed", {"model": "pictures", "texts": ["a"]}, status=400)
        self.assertEqual(said["error"].split(": ")[:2], ["pictures", "no text tower"])
        said = self.form("/classify", ("image", BYTES[0]), ("image", b"bad"), ("model", "cifar"),
                         status=422)
        self.assertIn("picture 2 of 2", said["error"])

    def test_names_of_files_open_none(self):
        secret = str(DATA / "sample.jpg")
        for value in (secret, "file://" + secret, "../" * 20 + secret, "/etc/passwd",
                      "http://127.0.0.1/x.jpg"):
            self.json("/embed", {"images": [value]}, status=400)
            self.json("/v1/embeddings", {"model": "cifar", "input": [value],
                                         "modality": "image"}, status=400)
        said = self.json("/embed", {"images": ["http://127.0.0.1/x.jpg"]}, status=400)
        self.assertIn("opens no URLs", said["error"])
        self.assertEqual(self.ask("POST", "/embed?image=" + secret)[0], 400)
        for path in ("/../../etc/passwd", "/page.css/../../_door.py", "/%2e%2e/_door.py"):
            self.assertEqual(self.ask("GET", path)[0], 404)


class Others(Base):
    def test_openai(self):
        texts = ["a dog", "the cat"]
        expected = self.words.embed_text(texts, normalize=True)
        said = self.json("/v1/embeddings", {"model": "ViT-B-32__openai", "input": texts})
        self.same([d["embedding"] for d in said["data"]], expected)
        said = self.json("/v1/embeddings", {"model": "ViT-B-32__openai", "input": "a dog",
                                            "encoding_format": "base64"})
        self.same(np.frombuffer(base64.b64decode(said["data"][0]["embedding"]), "<f4"),
                  expected[0])
        picture = self.words.embed(BYTES[0], normalize=True)
        part = {"type": "image_url", "image_url": {"url": url(BYTES[0])}}
        for form in ({"input": url(BYTES[0])}, {"input": [{"image": b64(BYTES[0])}]},
                     {"input": [b64(BYTES[0])], "modality": "image"},
                     {"input": [{"content": [part]}]},
                     {"messages": [{"role": "user", "content": [part]}]}):
            said = self.json("/v1/embeddings", {"model": "ViT-B-32__openai", **form})
            self.same(said["data"][0]["embedding"], picture)
        mixed = self.json("/v1/embeddings", {"model": "ViT-B-32__openai",
                                             "input": ["a dog", url(BYTES[0]), "the cat"]})
        self.same([d["embedding"] for d in mixed["data"]], [expected[0], picture, expected[1]])
        for wrong, status in [({"input": "a"}, 400), ({"model": "x", "input": "a"}, 404),
                              ({"model": "cifar", "input": [[1, 2]]}, 400),
                              ({"model": "cifar", "input": []}, 400),
                              ({"model": "cifar", "input": "a"}, 400),
                              ({"model": "ViT-B-32__openai", "input": "a", "dimensions": 3}, 400),
                              ({"model": "cifar", "input": "a", "encoding_format": "x"}, 400)]:
            said = self.json("/v1/embeddings", wrong, status=status)
            self.assertTrue(said["error"]["message"])

    def test_openais_client(self):
        try:
            import openai
        except ImportError:
            self.skipTest("OpenAI's client is missing")
        with openai.OpenAI(api_key="none", max_retries=0,
                           base_url=f"http://127.0.0.1:{self.server.port}/v1") as client:
            said = client.embeddings.create(model="ViT-B-32__openai", input=["a dog", "the cat"])
            self.same([d.embedding for d in said.data],
                      self.words.embed_text(["a dog", "the cat"], normalize=True))
            with self.assertRaises(openai.NotFoundError):
                client.embeddings.create(model="nobody", input="a")
            self.assertIn("cifar", [m.id for m in client.models.list()])

    def test_immich(self):
        self.assertEqual(self.ask("GET", "/ping")[:2], (200, b"pong"))
        name = "ViT-B-32__openai"
        visual = json.dumps({"clip": {"visual": {"modelName": name}}})
        for data, size in ((BYTES[0], _size(BYTES[0])), (BYTES[1], _size(BYTES[1]))):
            said = self.form("/predict", ("entries", visual), ("image", data))
            self.assertIsInstance(said["clip"], str)
            self.same(json.loads(said["clip"]), self.words.embed(data, normalize=True))
            self.assertEqual((said["imageWidth"], said["imageHeight"]), size)
        for options in ({"options": {"language": "en"}}, {"options": {}}, {}):
            textual = json.dumps({"clip": {"textual": {"modelName": name, **options}}})
            said = self.form("/predict", ("entries", textual), ("text", " a \n dog"))
            self.assertEqual(list(said), ["clip"])
            self.same(json.loads(said["clip"]), self.words.embed_text("a dog", normalize=True))
        self.form("/predict", ("entries", textual), ("text", ""))
        for parts, status in [([("image", BYTES[0])], 422),
                              ([("entries", "{"), ("image", BYTES[0])], 422),
                              ([("entries", '{"clip": {"visual": {}}}'), ("image", BYTES[0])], 422),
                              ([("entries", visual)], 400), ([("entries", textual)], 400),
                              ([("entries", visual), ("image", b"none")], 422),
                              ([("entries", visual.replace("32", "33")), ("image", BYTES[0])], 404),
                              ([("entries", '{"ocr": {}}'), ("image", BYTES[0])], 501)]:
            self.assertTrue(self.form("/predict", *parts, status=status)["detail"])

    def test_upstream(self):
        seen = []

        class There(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                seen.append((self.path, self.headers["content-type"],
                             self.rfile.read(int(self.headers["content-length"]))))
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.end_headers()
                self.wfile.write(b'{"facial-recognition": [], "imageHeight": 1}')

            def log_message(self, *_):
                pass

        there = http.server.ThreadingHTTPServer(("127.0.0.1", 0), There)
        threading.Thread(target=there.serve_forever).start()
        server = Server({"cifar": "builtin:cifar10"},
                        upstream=f"http://127.0.0.1:{there.server_port}")
        entries = json.dumps({"facial-recognition": {"detection": {"modelName": "buffalo_l"}}})
        try:
            said = server.form("/predict", ("entries", entries), ("image", BYTES[0]))
            self.assertEqual(said, {"facial-recognition": [], "imageHeight": 1})
            self.assertEqual(seen[0][0], "/predict")
            self.assertIn(BYTES[0], seen[0][2])
            there.shutdown()
            there.server_close()
            server.form("/predict", ("entries", entries), ("image", BYTES[0]), status=502)
        finally:
            server.close()


class Album(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        (cls.folder / "own").mkdir()
        for picture in PICTURES:
            shutil.copy2(picture, cls.folder / "own")
        cls.index = str(cls.folder / "own.safetensors")
        cls.model = vitcl.Model(WORDS)
        vitcl.Index.update(cls.index, cls.model, cls.folder / "own")
        cls.server = Server({"words": WORDS}, index=cls.index)
        cls.ask, cls.json, cls.form = cls.server.ask, cls.server.json, cls.server.form

    @classmethod
    def tearDownClass(cls):
        cls.server.close()
        cls.model.close()
        shutil.rmtree(cls.folder)

    def test_search(self):
        with vitcl.Index(self.index) as index:
            expected = index.search(text="a dog", model=self.model)
            said = self.json("/search", {"text": "a dog"})
            self.assertEqual([(h["row"], h["name"], h["cosine"]) for h in said["hits"]],
                             [(h.row, h.path.name, round(h.cosine, 4)) for h in expected])
            said = self.form("/search", ("image", BYTES[0]))
            self.assertEqual(said["hits"][0]["name"], "sample.jpg")
            row = said["hits"][0]["row"]
            like = self.json("/search", {"row": row, "version": said["version"], "top": 3})
            self.assertEqual([h["row"] for h in like["hits"]],
                             [h["row"] for h in said["hits"]][1:4])
        self.json("/search", {"row": row, "version": "old"}, status=404)
        for wrong in ({}, {"text": "a", "row": 1}, {"row": "1", "version": said["version"]}):
            self.assertIn(self.json("/search", wrong, 404 if "version" in wrong else 400),
                          ({"error": "no such picture"},
                           {"error": "/search takes a text, a picture or a row"}))

    def test_an_index_that_was_replaced(self):
        before = json.loads(self.ask("GET", "/album")[1])
        kept = pathlib.Path(self.index).read_bytes(), os.stat(self.index)
        new = self.folder / "own/new.jpg"
        shutil.copy2(DATA / "preprocess/in/progressive_420.jpg", new)
        try:
            vitcl.Index.update(self.index, self.model, self.folder / "own")
            after = json.loads(self.ask("GET", "/album")[1])
            self.assertEqual(after["pictures"], before["pictures"] + 1)
            self.assertEqual(self.ask("GET", f"/thumbnails/{before['version']}/0")[0], 404)
            for bad in (b"", b"no index"):
                other = self.folder / "other"
                other.write_bytes(bad)
                os.replace(other, self.index)
                self.assertEqual(json.loads(self.ask("GET", "/album")[1]), after)
        finally:
            new.unlink()
            other.write_bytes(kept[0])
            os.utime(other, ns=(kept[1].st_atime_ns, kept[1].st_mtime_ns))
            os.replace(other, self.index)
        self.assertEqual(json.loads(self.ask("GET", "/album")[1]), before)

    def test_page_has_no_outside_resource(self):
        for path, type_ in (("/", "text/html"), ("/page.css", "text/css"),
                            ("/page.js", "text/javascript")):
            status, body, headers = self.ask("GET", path)
            self.assertEqual((status, headers["content-type"].split(";")[0]), (200, type_))
            self.assertIn("default-src 'none'", headers["content-security-policy"])
            self.assertNotIn(b"//", body.replace(b"// ", b""))

    def test_pictures(self):
        version = json.loads(self.ask("GET", "/album")[1])["version"]
        with vitcl.Index(self.index) as index:
            rows = {p.name: row for row, p in enumerate(index.pictures)}
        status, body, headers = self.ask("GET", f"/pictures/{version}/{rows['sample.jpg']}")
        self.assertEqual((status, body, headers["content-type"]), (200, BYTES[0], "image/jpeg"))
        status, body, headers = self.ask("GET", f"/thumbnails/{version}/{rows['exif6.jpg']}")
        self.assertEqual((status, headers["content-type"]), (200, "image/jpeg"))
        width, height = _size(body)
        full = _size(BYTES[2])
        self.assertLessEqual(max(width, height), 320)
        self.assertEqual(width < height, full[0] > full[1])  # upright
        for at in (f"{version}/99", "old/0", f"{version}/-1", f"{version}/../0",
                   f"{version}//etc/passwd", f"{version}/%2e%2e%2f%2e%2e%2fetc%2fpasswd"):
            for kind in ("pictures", "thumbnails"):
                self.assertEqual(self.ask("GET", f"/{kind}/{at}")[0], 404, at)

    def test_only_the_pictures_that_were_embedded(self):
        version = json.loads(self.ask("GET", "/album")[1])["version"]
        with vitcl.Index(self.index) as index:
            row = next(r for r, p in enumerate(index.pictures) if p.name == "gray.jpg")
        picture, kept = self.folder / "own/gray.jpg", self.folder / "kept"
        path = f"/pictures/{version}/{row}"
        self.assertEqual(self.ask("GET", path)[0], 200)
        shutil.move(picture, kept)
        try:
            self.assertEqual(self.ask("GET", path)[0], 404)
            picture.symlink_to("/etc/passwd")
            self.assertEqual(self.ask("GET", path)[0], 404)
            picture.unlink()
            os.mkfifo(picture)
            self.assertEqual(self.ask("GET", path)[0], 404)
        finally:
            picture.unlink()
            shutil.move(kept, picture)
        self.assertEqual(self.ask("GET", path)[0], 200)


class Thumbnails(unittest.TestCase):
    def test_pixels_are_means(self):
        array = np.random.default_rng(0).integers(0, 256, (640, 480, 3), np.uint8)
        with unittest.mock.patch.dict(sys.modules, {"PIL": None}):
            small, type_ = thumbnail(_png(array))
        means = array.reshape(320, 2, 240, 2, 3).astype(np.uint32)
        means = (means.sum(1) // 2).sum(2) // 2
        self.assertEqual(type_, "image/png")
        self.assertTrue(np.array_equal(decoded(small), means))
        for shape in ((1, 1, 3), (1, 1000, 3), (333, 2, 3), (321, 319, 3)):
            made = decoded(thumbnail(_png(np.full(shape, 7, np.uint8)))[0])
            self.assertLessEqual(max(made.shape[:2]), 320)
            self.assertLessEqual(abs(made.astype(int) - 7).max(), 1)


class Load(unittest.TestCase):
    def test_a_slow_client_holds_up_nobody(self):
        server = Server({"cifar": "builtin:cifar10"}, limits=Limits(patience=2))
        try:
            slow = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(20)]
            for i, there in enumerate(slow):
                there.sendall(b"POST /embed HTTP/1.1\r\nHost: x\r\n"
                              + (b"Content-Length: 99\r\n\r\nx" if i % 2 else b"X: "))
            began = time.monotonic()
            for _ in range(3):
                self.assertEqual(server.ask("POST", "/embed", BYTES[0])[0], 200)
            self.assertLess(time.monotonic() - began, 20)
            for there in slow[1::2]:
                there.settimeout(30)
                self.assertIn(b" 408 ", there.recv(4096))
            for there in slow:
                there.close()
        finally:
            server.close()

    def test_held_then_refused(self):
        server = Server({"cifar": "builtin:cifar10"}, limits=Limits(hold=0.5))
        try:
            with _held_up(_workers(server)[0]):
                got = server.ask("POST", "/embed", BYTES[0])
                self.assertEqual((got[0], got[2]["retry-after"]), (503, "5"))
                self.assertEqual(server.ask("GET", "/ping")[:2], (200, b"pong"))
            _service(server).door.limits = Limits()
            self.assertEqual(server.ask("POST", "/embed", BYTES[0])[0], 200)
        finally:
            server.close()

    def test_bytes_are_bounded(self):
        server = Server({"cifar": "builtin:cifar10"}, limits=Limits(held=len(BYTES[0]) - 1))
        try:
            self.assertEqual(server.ask("POST", "/embed", BYTES[0])[0], 503)
            for _ in range(len(BYTES[0]) // len(BYTES[1]) + 2):
                self.assertEqual(server.ask("POST", "/embed", BYTES[1])[0], 200)
        finally:
            server.close()

    def test_idle_models_are_dropped(self):
        server = Server({"cifar": "builtin:cifar10"}, idle=0.3)
        worker = _workers(server)[0]
        try:
            first = server.ask("POST", "/embed", BYTES[0])[1]
            _until(lambda: worker.model is None)
            self.assertEqual(server.ask("POST", "/embed", BYTES[0])[1], first)
        finally:
            server.close()


def _service(server):
    """That of an app, found by an endpoint's own object."""
    return next(r.endpoint.__self__ for r in server.app.app.routes if r.path == "/embed")


def _workers(server):
    return _service(server).workers


@contextlib.contextmanager
def _held_up(worker):
    """The model answers nothing before the event, or the end of the block."""
    free, taken, settle = threading.Event(), threading.Event(), worker._settle
    worker._settle = lambda batch: (taken.set(), free.wait(), settle(batch))
    try:
        yield free, taken
    finally:
        free.set()
        worker._settle = settle


def _until(true):
    for _ in range(600):
        if true():
            return
        time.sleep(0.05)
    raise AssertionError("it did not come to that")


def _size(data):
    """(width, height) of a JPEG or PNG, as Pillow has it."""
    import io

    from PIL import Image
    return Image.open(io.BytesIO(data)).size


if __name__ == "__main__":
    unittest.main()
