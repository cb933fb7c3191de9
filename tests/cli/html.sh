# html.sh - the page of classify --html, read by another program: it stands
# alone, names and labels are text in it, and it replaces an older one at the end.
picture=$VT_DATA/sample.jpg

mkdir -p in/sub page/deep
cp "$picture" in/a.jpg
cp "$picture" $'in/new\nline & "q" \'s <img src=x onerror=alert(1)>.jpg'
cp "$picture" $'in/\xff \xe2\x80\xae bytes.jpg'
cp "$picture" 'in/sub/javascript:alert(1)?#%41.jpg'
cp "$picture" in/-dash.jpg
echo text >in/broken.jpg
echo text >in/notes.txt
# A wide picture: its thumbnail is as wide as the page wants, and not higher.
python3 -c 'import sys
sys.stdout.buffer.write(b"P6\n1000 10\n255\n" + bytes(i * 7 % 256 for i in range(30000)))' >in/wide.ppm

run 1 classify -k 3 --html page/deep/p.html in
cp out answers
[ "$(find page -type f)" = page/deep/p.html ] || fail "files: $(find page)"
[ "$(stat -c %a page/deep/p.html)" = "$(printf %o $((0666 & ~$(umask))))" ] || fail "mode"
run 1 classify -k 3 in
cmp out answers || fail "--html changes the answers"

cat >read.py <<'P'
import base64, hashlib, html.parser, os, sys, urllib.parse
raw = open(sys.argv[1], encoding="utf-8").read()  # valid UTF-8


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.figures, self.now, self.csp, self.parts = [], [], None, None, {}

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.tags.append(tag)
        self.now = tag
        assert not any(k.startswith("on") or k == "style" for k in attrs), attrs
        if attrs.get("http-equiv") == "Content-Security-Policy":
            self.csp = attrs["content"]
        if tag == "figure":
            self.figures.append({"text": "", **attrs})
        if tag == "img":
            self.figures[-1]["src"] = attrs["src"]
            self.figures[-1]["size"] = int(attrs["width"]), int(attrs["height"])
        if tag == "a":
            self.figures[-1]["href"] = attrs["href"]
        if tag in ("script", "style"):
            assert not attrs, attrs

    def handle_data(self, data):
        if self.now in ("script", "style"):
            self.parts[self.now] = self.parts.get(self.now, "") + data
            self.now = None
        elif self.figures:
            self.figures[-1]["text"] += data + "|"


p = Page()
p.feed(raw)
assert set(p.tags) <= set("html head meta title style body header h1 form label select input output main "
                          "section figure a img div figcaption i b small bdi wbr footer p script".split()), p.tags
assert p.tags.count("script") == 1 and p.tags.count("style") == 1
for part in p.parts:
    digest = base64.b64encode(hashlib.sha256(p.parts[part].encode()).digest()).decode()
    assert f"{part}-src 'sha256-{digest}'" in p.csp, f"the hash of the {part} is {digest}, not in {p.csp}"
assert "default-src 'none'" in p.csp and "img-src data:;" in p.csp
here = os.path.dirname(os.path.abspath(sys.argv[1]))
for i, f in enumerate(p.figures):
    if f.get("class") == "e":
        assert "src" not in f and "href" not in f and "data-g" not in f
        continue
    kind, data = f["src"].split(",")
    assert kind == "data:image/jpeg;base64"
    data = base64.b64decode(data, validate=True)
    assert data[:2] == b"\xff\xd8" and data[-2:] == b"\xff\xd9"
    open(f"thumb{i}.jpg", "wb").write(data)
    assert max(f["size"]) <= 200, f["size"]
    url = urllib.parse.urlsplit(f["href"])
    assert not url.scheme and not url.netloc and not url.query and not url.fragment, f["href"]
    file = os.path.join(os.fsencode(here), urllib.parse.unquote_to_bytes(url.path))
    assert os.path.isfile(file), file
    f["file"] = os.path.relpath(file, b".")
print(len(p.figures))
P
cat >>read.py <<'P'
if sys.argv[1:2] == ["page/deep/p.html"]:
    got = {f["file"]: f for f in p.figures if "file" in f}
    assert set(got) == {b"in/a.jpg", b"in/-dash.jpg", b"in/wide.ppm", b"in/\xff \xe2\x80\xae bytes.jpg",
                        b"in/sub/javascript:alert(1)?#%41.jpg",
                        b"in/new\nline & \"q\" 's <img src=x onerror=alert(1)>.jpg"}, set(got)
    assert got[b"in/wide.ppm"]["size"] == (200, 2), got[b"in/wide.ppm"]["size"]
    assert got[b"in/a.jpg"]["data-g"] == "ship" and "ship 91\u00a0%|" in got[b"in/a.jpg"]["text"]
    bad = [f for f in p.figures if f.get("class") == "e"]
    assert len(bad) == 1 and "in/|broken.jpg|" in bad[0]["text"], bad
    assert "6 pictures named, 1 could not be read, 1 skipped;" in raw
P
python3 read.py page/deep/p.html || fail "the page"
# Thumbnails are pictures of the same thing.
for thumb in thumb*.jpg; do
    "$VITCL" classify -k 1 "$thumb" 2>/dev/null
done >again
[ "$(cut -f3 again | grep -c ship)" -ge 5 ] || fail "thumbnails: $(cat again)"

# Doubts, from a folder of links, and one picture in the current folder.
run 0 classify --threshold 0.9999 --html one.html in/a.jpg
python3 read.py one.html >said || fail "one.html"
grep -q 'class="u".*<i>not sure</i>' one.html || fail "no doubts"

# Labels are text.
mkdir model
python3 - "$VT_DATA/models/timm_vit" <<'P'
import json, shutil, sys
shutil.copy(sys.argv[1] + "/model.safetensors", "model")
c = json.load(open(sys.argv[1] + "/config.json"))
n = c.get("num_classes") or c["pretrained_cfg"]["num_classes"]
c["label_names"] = ['</figcaption><script>alert("%d")</script>' % i for i in range(n)]
c.pop("label_descriptions", None)
json.dump(c, open("model/config.json", "w"))
P
run 0 classify -m model --html hostile.html in/a.jpg
python3 read.py hostile.html >said || fail "a hostile label"

# A long one is cut between characters.
python3 - <<'P'
import json
c = json.load(open("model/config.json"))
c["label_names"] = ["a" + "\u00e9" * 150 + str(i) for i in range(len(c["label_names"]))]
json.dump(c, open("model/config.json", "w"))
P
run 0 classify -m model --html long.html in/a.jpg
python3 - <<'P' || fail "a long label"
import html, re
page = open("long.html", encoding="utf-8").read()
page = html.unescape(re.sub("<wbr>", "", page))
label = "a" + "\u00e9" * 99 + "\u2026 "
assert "\ufffd" not in page
assert f"<b>{label}" in page, page[-4000:]
P

# An older page stays until there is a new one; none is left half written.
echo old >old.html
run 1 classify --html old.html absent.jpg
grep -q 'could not be read' old.html || fail "no page of failures"
run 1 classify --html /no/such/folder/p.html in/a.jpg
says '/no/such/folder/p.html: cannot write: No such file or directory'
run 2 classify --html p.htm in/a.jpg
says 'FILE.html'
echo old >old.html
run 1 classify -m absent --html old.html in/a.jpg
[ "$(cat old.html)" = old ] || fail "replaced by nothing"
mkdir folder.html
run 1 classify --html folder.html in/a.jpg
says 'folder.html: is a folder, not a file'
! compgen -G '.*vitcl-part*' || fail "a temporary file was left"
