# pull.sh - models are downloaded whole and verified, or there is one line that
# says why not; a break leaves a part with which the next pull goes on.
#
# The hub is tests/support/hub.py, on loopback: small files come from it, large
# ones from a second server to which it redirects.
unset VITCL_MODEL
commit=0123456789abcdef0123456789abcdef01234567
good=$VT_DATA/models/timm_vit
mkdir -p home hub/{me,gated,private}
export HOME=$PWD/home
mkdir hub/me/vit
cp "$good"/{config.json,model.safetensors} hub/me/vit/
for other in tf_model.h5 README.md pytorch_model.bin weights.npz; do
    head -c 9000 /dev/urandom >hub/me/vit/$other
done
cp -r hub/me/vit hub/gated/vit
cp -r hub/me/vit hub/private/vit
hub
blob=$(sha256sum <hub/me/vit/model.safetensors | cut -d' ' -f1)
mine=$HF_HOME/hub/models--me--vit snapshot=$HF_HOME/hub/models--me--vit/snapshots/$commit
wrong() { printf '%s\n' "$@" >hub/faults; }
fresh() {
    rm -rf hf hub/faults
    : >hub/log
}
asked() { grep -qE -- "$1" hub/log || fail "the hub was not asked: $1"; }
not_asked() { ! grep -qE -- "$1" hub/log || fail "the hub was asked: $1"; }
whole() { # the snapshot has the model and nothing else
    [ "$(ls "$snapshot")" = $'config.json\nmodel.safetensors' ] || fail "files"
    cmp "$snapshot/config.json" "$good/config.json" || fail "another config"
    cmp "$snapshot/model.safetensors" "$good/model.safetensors" ||
        fail "other weights"
    [ "$(cat "$mine/refs/main")" = $commit ] || fail "no ref"
}
absent() { # nothing of the model can be seen
    [ ! -e "$mine/snapshots" ] || fail "a snapshot"
    [ ! -e "$mine/refs" ] || fail "a ref"
}

# ---- a list that hardly moves is given up after half a minute; meanwhile the rest
fresh
wrong 'drip - 2'
HF_HOME=$PWD/drip "$VITCL" pull me/vit >drip.out 2>drip.err &
drip=$!
for ((i = 0; i < 300; i++)); do
    ! grep -q revision hub/log || break
    sleep 0.1
done

# ---- the first pull, and what it is for
fresh
run 0 pull me/vit
[ "$(cat out)" = "$snapshot" ] || fail "another folder"
err_lines 2
err_has '^vitcl pull: config.json: 545 bytes, hash verified$'
err_has '^vitcl pull: model.safetensors: 22.5 kB, hash verified$'
whole
[ "$(readlink "$snapshot/model.safetensors")" = "../../blobs/$blob" ] || fail "link"
[ "$(readlink "$snapshot/config.json")" = \
    "../../blobs/$( (printf 'blob 545\0'; cat "$good/config.json") |
        sha1sum | cut -d' ' -f1)" ] || fail "link"
if [ -e hub/escaped ] || [ -e "$HF_HOME/escaped" ]; then fail "escaped"; fi
not_asked 'tf_model|README|pytorch|npz|Authorization'
run 0 models
out_has '^me/vit +0123456 +23.0 kB +vit$'
run 0 classify -m me/vit --json "$VT_DATA/sample.jpg"
json out
: >hub/log
run 0 pull hf-hub:me/vit@main -v
err_has 'model.safetensors: 22.5 kB, was there already, hash verified'
err_has 'without a token$'
not_asked 'GET .*(resolve|store)'
printf x | dd of="$mine/blobs/$blob" bs=1 seek=99 conv=notrunc 2>/dev/null
run 0 pull me/vit
err_has 'model.safetensors: the copy in the cache is damaged and is replaced'
whole
for rev in v1 refs/pr/1 $commit; do
    run 0 pull me/vit@$rev
    run 0 info -m me/vit@$rev
done
asked '/revision/refs%2Fpr%2F1'
[ ! -e "$mine/refs/$commit" ] || fail "a ref for a commit"
run 0 pull me/vit me/vit@v1
out_lines 2

# Another cache; a repository that was renamed.
HF_HUB_CACHE=$PWD/other run 0 pull https://huggingface.co/old/vit
[ -e other/models--old--vit/refs/main ] || fail "not in the other cache"

# ---- tokens go to the hub, and nowhere else
token() { # TOKEN: what the hub is sent, and the other server is not
    not_asked ' store .*Authorization'
    asked " hub .*Authorization=Bearer $1\$"
    [ "$(grep -c ' hub ' hub/log)" = "$(grep -c 'Authorization' hub/log)" ] ||
        fail "a request without the token"
}
fresh
HF_TOKEN=hf_one run 0 pull me/vit
asked ' store '
token hf_one
fresh
mkdir hf
echo hf_two >hf/token
run 0 pull me/vit
token hf_two
: >hub/log
echo ' hf_three ' >three
HF_TOKEN_PATH=$PWD/three run 0 pull me/vit
token hf_three
printf 'hf_x\r\nX-Other: 1' >three
HF_TOKEN_PATH=$PWD/three run 1 pull me/vit
says 'three: is not a token'
fresh
wrong "away model.safetensors http://localhost:$port/me/vit/resolve/$commit/tf_model.h5"
HF_TOKEN=hf_one run 1 pull me/vit
[ "$(grep -c 'tf_model' hub/log)" -gt 0 ] || fail "the redirect was not followed"
not_asked 'tf_model.*Authorization' # the same port, another name
wrong "away model.safetensors http://127.0.0.1:$port/me/vit/resolve/$commit/model.safetensors"
run 1 pull me/vit
err_has 'redirects in circles$'

# ---- refusals
fresh
refused() { # RE ARGS…: one line, and nothing to be seen
    local re=$1
    shift
    run 1 pull "$@"
    says "$re"
}
refused 'me/none: no such model, or a private or gated one: .*HF_TOKEN.*\(401\)$' me/none
HF_TOKEN=hf_x refused 'has no model me/none: check its name \(404\)$' me/none
refused 'private/vit: no such model, or a private .*\(401\)$' private/vit
HF_TOKEN=hf_x refused 'private/vit: the token is refused.*\(401\)$' private/vit
HF_TOKEN=hf_secret run 0 pull private/vit
HF_TOKEN=hf_x refused "gated/vit is gated .*accept its terms at $HF_ENDPOINT/gated/vit.*\(403\)\$" gated/vit
HF_TOKEN=hf_member run 0 pull gated/vit
refused 'me/vit has no revision v9: .*\(404\)$' me/vit@v9
wrong 'status - 503'
refused 'answers with status 503$' me/vit
[ "$(grep -c 'api/models/me/vit/revision/main' hub/log)" = 3 ] || fail "not three times"
wrong 'status - 429'
refused 'too many requests.*\(429\)$' me/vit
wrong 'status model.safetensors 404'
refused 'has no file model.safetensors' me/vit
rm hub/faults
absent
for value in 1 ON true; do
    HF_HUB_OFFLINE=$value refused '^vitcl pull: HF_HUB_OFFLINE is set' me/vit
done
HF_HUB_OFFLINE=0 run 0 pull me/vit
fresh
HF_ENDPOINT=http://127.0.0.1:1 refused '^vitcl pull: http://127.0.0.1:1 cannot be reached: .*check the network' me/vit
HF_ENDPOINT=https://nothing.invalid refused 'nothing.invalid cannot be reached' me/vit
HF_ENDPOINT=ftp://127.0.0.1 refused 'HF_ENDPOINT=ftp.*must be the address' me/vit
http_proxy=http://127.0.0.1:1 refused 'cannot be reached.*the proxy$' me/vit
HF_HUB_CACHE=$good/config.json refused 'config.json' me/vit
VITCL_PULL=$PWD/none.so refused 'VITCL_PULL=.*none.so: no such module' me/vit
for word in me/../vit ../vit me/vit@../x me/vit@ /me/vit; do
    run 2 pull $word
    says 'a name is OWNER/NAME, OWNER/NAME@REVISION, or a short one such as vit_base_patch16_224 or ViT-B-32$'
done
run 2 pull
says 'no model given'

# ---- short names, and what they stand for
mkdir -p hub/{timm,openai,laion}
for full in timm/vit_base_patch16_224.augreg2_in21k_ft_in1k timm/vit_mine openai/clip-vit-base-patch32 \
    laion/CLIP-ViT-B-32-laion2B-s34B-b79K; do
    cp -r hub/me/vit hub/$full
    short=$(basename $full)
    case $full in
    timm/*) short=${short%%.*} ;;
    openai/*) short=ViT-B/32 ;;
    laion/*) short=ViT-B-32 ;;
    esac
    run 0 pull $short
    [ "$(cat out)" = "$HF_HOME/hub/models--${full/\//--}/snapshots/$commit" ] || fail "another model"
    [ $short = vit_mine ] || err_has "^vitcl pull: $short is $full\$"
    run 0 classify -k 1 -m $short "$VT_DATA/small.png"
    out_lines 1
    [ $short = vit_mine ] || [ "$(cat err)" = "vitcl classify: $short is $full" ] || fail "not its full name"
done
run 1 pull vit_none
err_has 'timm/vit_none'

# ---- connections that end early
fresh
wrong 'cut model.safetensors 8000' 'cut model.safetensors 5000'
run 0 pull me/vit
err_has 'me/vit: model.safetensors: the connection was lost: .*; trying again$'
err_not 'the same command'
asked ' store .*Range=bytes=8000-'
asked ' store .*Range=bytes=13000-'
whole
fresh
wrong 'busy model.safetensors 503'
run 0 pull me/vit
err_has 'me/vit: model.safetensors: .* answers with status 503; trying again$'
err_not 'lost'
whole
fresh
wrong 'cut model.safetensors 8000' 'cut model.safetensors 0' \
    'cut model.safetensors 0' 'cut model.safetensors 0'
run 1 pull me/vit
err_has 'me/vit: model.safetensors: the connection was lost: .*the same command continues'
out_lines 0
absent
[ "$(stat -c %s "$mine/blobs/$blob.incomplete")" = 8000 ] || fail "no part"
run 1 info -m me/vit
says 'has no revision main; .vitcl pull me/vit. downloads it'
: >hub/log
run 0 pull me/vit
asked ' store .*Range=bytes=8000-'
not_asked 'GET .*config.json'
whole
[ ! -e "$mine/blobs/$blob.incomplete" ] || fail "a part is left"

# A part that was damaged, is too long, or that the server does not continue.
part() { # FAULT BYTES: pull with such a part
    fresh
    mkdir -p "$mine/blobs"
    head -c "$2" "$3" >"$mine/blobs/$blob.incomplete"
    [ -z "$1" ] || wrong "$1"
    run 0 pull me/vit
    whole
}
part '' 8000 /dev/urandom
part '' 30000 /dev/zero
part '' 22498 /dev/zero
part '' 22498 "$good/model.safetensors"
not_asked ' store '
part 'full model.safetensors 0' 8000 "$good/model.safetensors"
fresh
mkdir -p "$mine/blobs"
head -c 8000 "$good/model.safetensors" >"$mine/blobs/$blob.incomplete"
wrong 'shift model.safetensors 7'
run 0 pull me/vit # which asks for all of it at last
err_has '^vitcl pull: model.safetensors: the hub announced .* sends others; trying again$'
whole

# Ctrl-C, and going on.
head -c 3000000 /dev/urandom >big
mkdir hub/me/big
cp "$good/config.json" hub/me/big/
cp big hub/me/big/model.safetensors
fresh
wrong 'late model.safetensors 100'
"$VITCL" pull me/big >out 2>err &
pid=$!
for ((i = 0; i < 300; i++)); do
    at=$(stat -c %s "$HF_HOME"/hub/models--me--big/blobs/*.incomplete 2>/dev/null || true)
    [ "${at:-0}" -lt 200000 ] || break
    sleep 0.1
done
# A second one waits for the first.
"$VITCL" pull me/big >out2 2>err2 &
second=$!
for ((i = 0; i < 300; i++)); do
    ! grep -q 'waiting' err2 || break
    sleep 0.1
done
kill -TERM $second # a shell's child ignores SIGINT
code=0
wait $second || code=$?
[ $code = 143 ] || fail "exit status $code of the second"
grep -q 'model.safetensors: another program is downloading it; waiting' err2 ||
    fail "the second did not wait: $(cat err2)"
kill -TERM $pid
code=0
wait $pid || code=$?
[ $code = 143 ] || fail "exit status $code"
err_has 'stopped; the same command continues from here$'
[ "$(stat -c %s "$HF_HOME"/hub/models--me--big/blobs/*.incomplete)" -ge 200000 ] ||
    fail "the part is gone"
rm hub/faults
: >hub/log

# ---- two at once: one downloads, both succeed
wrong 'late model.safetensors 20'
"$VITCL" pull me/big >out1 2>err1 &
pid=$!
"$VITCL" pull me/big >out2 2>err2 &
second=$!
wait $pid || fail "the first of two: $(cat err1)"
wait $second || fail "the second of two: $(cat err2)"
cmp out1 out2 || fail "two folders"
cmp "$(cat out1)/model.safetensors" big || fail "other bytes"
[ "$(grep -c 'GET store' hub/log)" = 1 ] || fail "more than one download"
asked 'GET store .*Range'

# ---- what the hub sends is not what it announced
lie() { # FAULT RE
    fresh
    wrong "$1"
    run 1 pull me/vit
    out_lines 0
    tail -n 1 err >last && mv last err
    err_has "$2"
    absent
}
lie 'wrong model.safetensors 0' 'model.safetensors: the SHA-256 is [0-9a-f]*.., not .*not kept'
[ ! -e "$mine/blobs/$blob.incomplete" ] || fail "the part is kept"
[ ! -e "$mine/blobs/$blob" ] || fail "kept"
lie 'wrong config.json 0' 'config.json: the SHA-1 is [0-9a-f]*.., not '
lie 'short model.safetensors 9000' 'model.safetensors: the hub announced 22498 bytes and sends others'
lie 'long model.safetensors 9000' 'model.safetensors: the hub announced 22498 bytes and sends others'
lie 'etag config.json ../../../../x' 'config.json: the hub gives neither a SHA-256 nor a git hash'
lie 'etag model.safetensors ABC' 'model.safetensors: the hub gives neither a SHA-256'
lie 'commit config.json x' 'config.json: the hub answers with commit x'
for list in '{}' 'x' '[]' '{"sha":"../x","siblings":[]}' \
    "{\"sha\":\"$commit\"}" '{"sha":1,"siblings":[]}'; do
    lie "list - $list" 'the list of files|names no commit or no files'
done
lie "list - {\"sha\":\"$commit\",\"siblings\":[{\"rfilename\":\"config.json\"},7,{\"rfilename\":null}]}" \
    'me/vit has no model.safetensors and no pytorch_model.bin'
lie "list - {\"sha\":\"$commit\",\"siblings\":[{\"rfilename\":\"model.safetensors\"}]}" 'me/vit has no config.json'

# A file that may not become larger: the part stays.
fresh
(
    trap '' XFSZ
    ulimit -f 8
    run 1 pull me/vit
)
tail -n 1 err | grep -q 'incomplete: cannot be written: File too large' ||
    fail "another error"
[ "$(stat -c %s "$mine/blobs/$blob.incomplete")" = 8192 ] || fail "no part"
run 0 pull me/vit
whole

# ---- shards, and PyTorch's form
mkdir hub/me/{shards,bin}
python3 - "$good" hub/me/shards <<'P'
import json, sys
from tensors import parts, save
weights, where = parts(f"{sys.argv[1]}/model.safetensors"), {}
for i in range(2):
    shard = {name: weights[name] for name in sorted(weights)[i::2]}
    file = f"model-0000{i + 1}-of-00002.safetensors"
    save(f"{sys.argv[2]}/{file}", shard)
    where.update(dict.fromkeys(shard, file))
json.dump({"metadata": {}, "weight_map": where},
          open(f"{sys.argv[2]}/model.safetensors.index.json", "w"))
P
cp "$good/config.json" hub/me/shards/
cp -r hub/me/shards hub/me/slow-shards
cp "$VT_DATA/models/hf_clip/config.json" hub/me/bin/
echo '{}' >hub/me/bin/preprocessor_config.json
echo '{}' >hub/me/bin/processor_config.json
head -c 5000 /dev/zero >hub/me/bin/pytorch_model.bin
fresh
run 0 pull me/shards me/bin
[ "$(grep -c 'model.safetensors.index.json: ' err)" = 1 ] || fail "the index is named twice"
run 0 info --json -m me/shards
sed 's/"model":"[^"]*"//' out >one
run 0 info --json -m "$good"
sed 's/"model":"[^"]*"//' out | cmp - one || fail "another model"
[ "$(cd "$HF_HOME/hub/models--me--bin/snapshots/$commit" && echo *)" = \
    'config.json preprocessor_config.json processor_config.json pytorch_model.bin' ] ||
    fail "other files"
# ---- a model of pictures and texts: its tokenizer, too; and OpenCLIP's form
mkdir hub/me/{clip,open,both}
for file in README.md flax_model.msgpack merges.txt preprocessor_config.json \
    special_tokens_map.json spiece.model tokenizer.json tokenizer.model \
    tokenizer_config.json vocab.json; do
    echo "$file" >hub/me/clip/$file
done
cp hub/me/bin/{config.json,pytorch_model.bin} hub/me/clip/
echo '{}' >hub/me/open/open_clip_config.json
echo '{}' >hub/me/open/tokenizer.json
head -c 5000 /dev/zero >hub/me/open/open_clip_pytorch_model.bin
cp hub/me/bin/{config.json,pytorch_model.bin} hub/me/both/
cp hub/me/open/* hub/me/both/
rm -rf hf
run 0 pull me/clip me/open me/both
files() { (cd "$HF_HOME/hub/models--me--$1/snapshots/$commit" && echo *); }
wanted="config.json merges.txt preprocessor_config.json pytorch_model.bin"
wanted+=" special_tokens_map.json spiece.model tokenizer.json tokenizer.model"
wanted+=" tokenizer_config.json vocab.json"
[ "$(files clip)" = "$wanted" ] || fail "other files"
[ "$(files open)" = \
    'open_clip_config.json open_clip_pytorch_model.bin tokenizer.json' ] ||
    fail "other files"
[ "$(files both)" = 'config.json pytorch_model.bin tokenizer.json' ] ||
    fail "other files"

for name in ../../x /etc/passwd .hidden none.safetensors 'a b' ''; do
    rm -rf hf
    printf '{"weight_map":{"a":"%s"}}' "$name" >hub/me/shards/model.safetensors.index.json
    run 1 pull me/shards
    err_has 'me/shards: the index of the weights names a file that the repository does not have'
    [ ! -e hf/hub/models--me--shards/snapshots ] || fail "a snapshot"
done

# ---- answers that are made to take time
limited() { # SECONDS RE ARGS…
    local seconds=$1 re=$2 from=$SECONDS
    shift 2
    run 1 pull "$@"
    err_has "$re"
    [ $((SECONDS - from)) -le "$seconds" ] || fail "it took $((SECONDS - from)) s"
}
fresh
wrong 'status - 404' 'flood - 0'
limited 5 'has no model|no such model' me/vit
wrong 'flood model.safetensors 0'
run 0 pull me/vit
whole
fresh
wrong 'many - 1000000'
limited 20 'me/vit: the list of files is too long$' me/vit
wrong 'many - 100000'
run 0 pull me/vit
whole
fresh
wrong 'drip - 2'
"$VITCL" pull me/vit >out 2>err & # Ctrl-C while a slow list comes
pid=$!
sleep 1.5
from=$(date +%s%N)
kill -TERM $pid
code=0
wait $pid || code=$?
took=$((($(date +%s%N) - from) / 1000000))
[ $code = 143 ] || fail "exit status $code"
[ $took -lt 1500 ] || fail "$took ms after the signal"

# ---- an index with many names, of few files
mkdir hub/me/wide
cp "$good/config.json" hub/me/wide/
python3 - <<'P'
import json
with open("hub/me/wide/model.safetensors.index.json", "w") as f:
    json.dump({"weight_map": {f"layer.{i}.weight": f"more-{i % 500}"
                              for i in range(200000)}}, f)
P
fresh
wrong 'many - 100000'
limited 10 'wide has no file more-0' me/wide # which the list names

# ---- what others have put into the cache
fresh
mkdir -p "$mine/blobs"
echo precious >theirs
ln theirs "$mine/blobs/$blob.incomplete"
run 0 pull me/vit
[ "$(cat theirs)" = precious ] || fail "another file is written through a link"
whole
for at in snapshots "snapshots/$commit"; do
    fresh
    mkdir -p "$mine" elsewhere
    [ $at = snapshots ] || mkdir "$mine/snapshots"
    ln -s "$PWD/elsewhere" "$mine/$at"
    run 1 pull me/vit
    out_lines 0
    err_has "$at: is a link to another folder, .*; remove it and pull again\$"
    [ -z "$(ls elsewhere)" ] || fail "files in another folder"
done
fresh
mkdir -p "$mine/refs"
ln -s "$PWD/theirs" "$mine/refs/main"
run 0 pull me/vit
[ "$(cat theirs)" = precious ] || fail "a ref is written through a link"
whole

# ---- on a terminal: a bar while it lasts, nothing left of it
fresh
cp -r hub/me/big hub/me/slow
cp big hub/me/slow-shards/model-00002-of-00002.safetensors
for case in slow:model.safetensors slow-shards:model-00002-of-00002.safetensors; do
    wrong "late ${case#*:} 40"
    python3 - "$VITCL" ${case/:/ } <<'P' || fail "not for a terminal"
import os, pty, sys
pid, fd = pty.fork()
if pid == 0:
    os.environ["TERM"] = "xterm"
    os.execv(sys.argv[1], ["vitcl", "pull", "me/" + sys.argv[2]])
text = b""
try:
    while part := os.read(fd, 4096):
        text += part
except OSError:  # the end of a terminal
    pass
assert os.waitpid(pid, 0)[1] == 0, text
assert b"/3  " in text and b"MB/s" in text and sys.argv[3].encode() in text, text
for line in text.decode().replace("\r\n", "\n").split("\n"):
    last = line.split("\r\x1b[K")[-1]
    assert not last or last.startswith(("vitcl pull: ", "/")), line
P
done

code=0
wait $drip || code=$?
[ $code = 1 ] || fail "exit status $code after a slow list"
grep -q 'cannot be reached: less than 1024 bytes a second came' drip.err ||
    fail "another error: $(cat drip.err)"
