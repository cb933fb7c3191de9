# report.sh - inspect's report.html, read by another program: it stands alone,
# shows every figure of the index, and can be read by keyboard and ear.
[ -n "${VITCL_PLOT-}" ] || skip "vitcl was built without Cairo"
name=$'a & "q" \'s <img src=x onerror=alert(1)>.jpg'
cp "$VT_DATA/sample.jpg" "$name"
mkdir model
python3 - "$VT_DATA/models/timm_vit" <<'P'
import json, shutil, sys
shutil.copy(sys.argv[1] + "/model.safetensors", "model")
c = json.load(open(sys.argv[1] + "/config.json"))
n = c.get("num_classes") or c["pretrained_cfg"]["num_classes"]
c["label_names"] = ['</td><script>alert("%d")</script>' % i for i in range(n)]
c.pop("label_descriptions", None)
json.dump(c, open("model/config.json", "w"))
P
run 0 inspect -m model -o out.d "$name" "$VT_DATA/sample.jpg"
out_has '^out\.d/report\.html$'
cat >read.py <<'P'
import base64, hashlib, html.parser, json, os, urllib.parse
raw = open("out.d/report.html", encoding="utf-8").read()
index = json.load(open("out.d/inspect.json", encoding="utf-8"))


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.ids, self.links, self.images = [], [], [], []
        self.csp = self.style = self.now = None
        self.text = ""

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.tags.append(tag)
        self.now = tag
        assert not any(k.startswith("on") or k == "style" for k in attrs), attrs
        if "id" in attrs:
            self.ids.append(attrs["id"])
        if attrs.get("http-equiv") == "Content-Security-Policy":
            self.csp = attrs["content"]
        if tag == "a":
            self.links.append(attrs["href"])
        if tag == "img":
            self.images.append(attrs)

    def handle_data(self, data):
        if self.now == "style":
            self.style, self.now = data, None
        else:
            self.text += data


p = Page()
p.feed(raw)
assert set(p.tags) <= set("html head meta title style body a header h1 main nav ul li section h2 h3 p div figure "
                          "img figcaption table caption thead tbody tr th td footer".split()), set(p.tags)
digest = base64.b64encode(hashlib.sha256(p.style.encode()).digest()).decode()
assert p.csp == (f"default-src 'none'; img-src data:; style-src 'sha256-{digest}'; base-uri 'none'; "
                 "form-action 'none'"), p.csp
assert "prefers-color-scheme: dark" in p.style and "url(" not in p.style and "@import" not in p.style
assert p.tags.count("h1") == 1 and p.tags.count("main") == 1 and "lang=\"en\"" in raw
assert p.links[0] == "#main" and len(p.ids) == len(set(p.ids))  # the skip link comes first
levels = [int(t[1]) for t in p.tags if t in ("h1", "h2", "h3")]
assert all(b - a <= 1 for a, b in zip(levels, levels[1:])), levels
figures = [f for picture in index["pictures"] for f in picture["figures"]] + index["figures"]
assert len(figures) == len(p.images) >= 8
for f, image in zip(figures, p.images):
    assert image["alt"] == f["alt"], image["alt"]
    kind, data = image["src"].split(";base64,")
    key = {"data:image/png": "png", "data:image/svg+xml": "svg"}[kind]
    path = "out.d/" + f[key]
    assert base64.b64decode(data, validate=True) == open(path, "rb").read(), path
    assert os.path.getsize(path) == min(os.path.getsize("out.d/" + f[k]) for k in ("png", "svg"))
    assert int(image["width"]) > 100 and int(image["height"]) > 50, image["width"]
    for text in f["title"], f["caption"]:
        assert text in p.text, text
for link in p.links:
    if link[0] == "#":
        assert link[1:] in p.ids, link
    else:
        url = urllib.parse.urlsplit(link)
        assert not url.scheme and not url.netloc and not url.query and not url.fragment, link
        assert os.path.isfile("out.d/" + urllib.parse.unquote(url.path)), link
assert len([l for l in p.links if l[0] != "#"]) == 4 * len(figures)
for x in index["left_out"]:
    assert x["why"] in p.text
for c in index["pictures"][0]["classes"]:
    assert (c["name"] or c["label"]) in p.text
P
python3 read.py || fail "the page"

# Nothing but the page is left.
[ "$(find out.d -name '*.html*')" = out.d/report.html ] || fail "a temporary file is left"
