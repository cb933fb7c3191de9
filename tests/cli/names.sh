# names.sh - models by name: what the local cache of Hugging Face holds is found
# there, and each way in which it can be broken has its own line.
#
# tests/data has no cache: this one has the layout that huggingface_hub
# documents, with links into blobs/.
unset VITCL_MODEL HF_HUB_CACHE XDG_CACHE_HOME
export HOME=$PWD/home HF_HOME=$PWD/hf
mkdir home none
export OCL_ICD_VENDORS=$PWD/none/ # needs no device, and no network
hub=$HF_HOME/hub
commit=0123456789abcdef0123456789abcdef01234567

repository() { # FOLDER MODEL [COMMIT]: downloaded as huggingface_hub does
    local at=$1 rev=${3-$commit} file
    mkdir -p "$at"/{refs,blobs,"snapshots/$rev"}
    printf %s "$rev" >"$at/refs/main"
    for file in "$VT_DATA/models/$2"/{config.json,model.*}; do
        [ -e "$file" ] || continue
        cp "$file" "$at/blobs/$2-${file##*/}"
        ln -s "../../blobs/$2-${file##*/}" "$at/snapshots/$rev/${file##*/}"
    done
}
fresh() { # a repository for a test that breaks it
    rm -rf "$hub/models--me--mine"
    repository "$hub/models--me--mine" timm_vit
    mine=$hub/models--me--mine snapshot=$hub/models--me--mine/snapshots/$commit
}
long=timm/vit_base_patch16_clip_quickgelu_448.openai_ft_in12k_in1k

# ---- a cache without models
run 0 models
out_lines 2
err_lines 0
out_has '^builtin:cifar10 '

for word in vit-b/16 r50+vit-b/16; do
    run 1 info -m "$word"
    says "no such path; .* is a preset, .* \`vitcl pull vit_base_[a-z0-9_]+\`"
done
run 1 info -m builtin:imagenet
says 'no such model; the built-in one is builtin:cifar10'

# ---- found
repository "$hub/models--timm--vit_base_patch16_224.augreg2_in21k_ft_in1k" timm_vit
repository "$hub/models--google--siglip" hf_siglip
repository "$hub/models--${long/\//--}" timm_clip
repository "$hub/models--old--vit_b-16" npz_vit
run 0 info --json -m "$VT_DATA/models/timm_vit"
sed 's/"model":"[^"]*"//' out >wanted
for word in "" hf-hub: hf_hub: https://huggingface.co/ https://hf.co/; do
    run 0 info --json -m "${word}timm/vit_base_patch16_224.augreg2_in21k_ft_in1k"
    sed 's/"model":"[^"]*"//' out | cmp - wanted || fail "another model"
done
# A bare name is one of timm's, as there; a path of that name precedes it.
bare=vit_base_patch16_224.augreg2_in21k_ft_in1k
run 0 info --json -m $bare
sed 's/"model":"[^"]*"//' out | cmp - wanted || fail "another model"
cp -r "$VT_DATA/models/hf_deit" $bare
run 0 info -m $bare
out_has '^family +deit'
rm -r $bare
run 1 info -m vit_none.lost
says 'vit_none.lost: no such path, and no models--timm--vit_none.lost in .*; download it with .vitcl pull timm/vit_none.lost'
run 0 info -m vit_base_patch16_224 # timm's default tag
out_has "^model +$bare\$"
err_lines 1
err_has "vit_base_patch16_224 is timm/$bare\$"
run 0 info --json -m vit_base_patch16_224
sed 's/"model":"[^"]*"//' out | cmp - wanted || fail "another model"
run 1 info -m timm/vit_base_patch16_224 # a full name
says "no models--timm--vit_base_patch16_224 in .*; the cache has timm/$bare\$"
repository "$hub/models--timm--vit_small_patch16_224.other" timm_vit
run 1 info -m vit_small_patch16_224
says 'no models--timm--vit_small_patch16_224.augreg_in21k_ft_in1k in .*; the cache has timm/vit_small_patch16_224.other$'
rm -r "$hub/models--timm--vit_small_patch16_224.other"
cp -r "$VT_DATA/models/hf_deit" vit_base_patch16_224 # a path precedes
run 0 info -m vit_base_patch16_224
out_has '^family +deit'
err_lines 0
rm -r vit_base_patch16_224
for word in ViT-B-32:laion--CLIP-ViT-B-32-laion2B-s34B-b79K ViT-B/32:openai--clip-vit-base-patch32 \
    ViT-L/14@336px:openai--clip-vit-large-patch14-336; do
    run 1 info -m ${word%:*}
    says "^vitcl info: ${word%:*}: no such path, and no models--${word#*:} in "
done
run 1 info -m https://huggingface.co/timm
says 'a name is https://huggingface.co/OWNER/NAME'
run 1 info -m absent.safetensors
says 'absent.safetensors'
err_not 'pull'
VITCL_MODEL=google/siglip run 0 info
out_has '^family +siglip'
run 0 info -m old/vit_b-16 # a .npz has no config.json
run 0 info -m google/siglip@main
run 0 info -m google/siglip@$commit
run 0 info -m "$hub/models--google--siglip"
run 0 info -m "$hub/models--google--siglip/"
run 0 convert -m timm/vit_base_patch16_224.augreg2_in21k_ft_in1k -o made
cmp made/model.safetensors "$VT_DATA/models/timm_vit/model.safetensors" ||
    fail "convert read another model"
run 1 step -m me/none -i x -o x.safetensors --settings x
says 'me/none'
run 1 finetune -m me/none --data home --epochs 1 --batch 1 -o tuned
says 'me/none'

# Another revision: a tag, and a branch with a slash.
fresh
mkdir -p "$mine/refs/refs/pr"
repository "$mine" hf_deit 89abcdef89abcdef89abcdef89abcdef89abcdef
mv "$mine/refs/main" "$mine/refs/v1"
cp "$mine/refs/v1" "$mine/refs/refs/pr/1"
printf %s $commit >"$mine/refs/main"
for word in me/mine@v1 me/mine@refs/pr/1 me/mine@89abcdef89abcdef89abcdef89abcdef89abcdef; do
    run 0 info -m $word
    out_has '^family +deit'
done
run 0 info -m me/mine
out_has '^family +vit'

# A ref may end with a newline, as an editor or echo writes it.
for end in '\n' '\r\n' ' \n'; do
    printf "%s$end" $commit >"$mine/refs/main"
    run 0 info -m me/mine
    out_has '^family +vit'
done

# A folder of that name is itself, and so is an empty one.
mkdir -p google
cp -r "$VT_DATA/models/hf_deit" google/siglip
run 0 info -m google/siglip
out_has '^family +deit'
run 0 info -m hf-hub:google/siglip
out_has '^family +siglip'
rm -r google

# ---- where the cache is
found_in() { # FOLDER VARIABLE=VALUE…
    local folder=$1
    shift
    printf '%q ' env "$@" vitcl info -m me/none >cmd
    env -u HF_HOME "$@" "$VITCL" info -m me/none >out 2>err && fail "found"
    says "me/none: no such path, and no models--me--none in $folder; download"
}
found_in "$HOME/.cache/huggingface/hub" HF_HOME=
found_in /x/huggingface/hub XDG_CACHE_HOME=/x
found_in /y/hub XDG_CACHE_HOME=/x HF_HOME=/y
found_in /z XDG_CACHE_HOME=/x HF_HOME=/y HF_HUB_CACHE=/z
found_in "$HOME/y/hub" HF_HOME='~/y'
code=0
env -u HF_HOME -u HOME "$VITCL" info -m me/none >out 2>err || code=$?
[ $code = 1 ] || fail "exit status $code"
says 'neither HF_HOME nor HOME'
HF_HUB_CACHE=/$(printf 'x%.0s' {1..5000}) run 1 info -m me/none
says 'me/none'

# ---- not there, or not whole
broken() { # RE: what -m says, and `models` counts
    run 1 info -m me/mine
    says "$1"
    run 0 models
    out_not me/mine
    err_has '^vitcl models: 1 more in .*OWNER/NAME` says why'
}
run 1 info -m me/none
says "no models--me--none in $hub; download it with .vitcl pull me/none. or .git clone https://huggingface.co/me/none"
run 1 info -m me/mine@v2
says 'models--me--mine has no revision v2; .vitcl pull me/mine@v2. downloads it'
for text in '' "\n" "$commit\nx" "$commit $commit" ../../../other "$commit/.." "$commit\0" \
    "$commit$commit" HEAD; do
    fresh
    # shellcheck disable=SC2059 # with its escapes
    printf "$text" >"$mine/refs/main"
    broken 'refs/main is not a file with a commit'
done
fresh && rm "$mine/refs/main"
broken 'has no revision main; .vitcl pull me/mine. downloads it'
mkdir "$mine/refs/main"
broken 'refs/main is not a file with a commit'
rmdir "$mine/refs/main" && mkfifo "$mine/refs/main"
broken 'refs/main is not a file with a commit'
rm "$mine/refs/main" && head -c 3000000 /dev/zero | tr '\0' a >"$mine/refs/main"
broken 'refs/main is not a file with a commit'
fresh && rm -r "$snapshot"
broken "has no snapshots/$commit, which refs/main names; .vitcl pull me/mine. downloads it"
fresh && rm "$mine/blobs/timm_vit-model.safetensors"
broken "$commit/model.safetensors is a link to a file that is missing: the download is not complete"
run 1 info -m "$mine"
says 'not complete; download it again'
fresh && rm "$mine/blobs/timm_vit-config.json"
broken "$commit/config.json is a link to a file that is missing"
fresh && rm "$snapshot/model.safetensors"
broken "$commit has no weights .safetensors, .npz or PyTorch.\$"
: >"$mine/blobs/0123.incomplete"
broken "$commit has no weights .*: the download is not complete; .vitcl pull me/mine. downloads it"
fresh && rm "$snapshot/config.json"
broken "$commit has no config.json\$"
fresh && truncate -s 500 "$mine/blobs/timm_vit-model.safetensors"
broken "$commit/model.safetensors"
rm -r "$mine"

# ---- no names
for word in ../mine me/.. me/../mine /me/mine me/mine/x me/a--b me/-a .me/a me/a. \
    me/ me/mine@ me/mine@.. me/mine@../x me/mine@/x 'me/mine@a b' 'me/mi ne' me/mine@a//b \
    "me/$(printf 'x%.0s' {1..100})" "me/mine@$(printf 'x%.0s' {1..200})"; do
    run 1 info -m "$word"
    err_lines 1
    err_not 'huggingface'
    run 1 info -m "hf-hub:$word"
    says 'a name is hf-hub:OWNER/NAME'
done
run 1 info -m hf-hub:vit
says 'a name is hf-hub:OWNER/NAME'

# ---- the list
mkdir -p "$hub"/{datasets--me--data,models--me,models--..--x,models--me--empty,.locks}
: >"$hub/models--me--file"
run 0 models
out_lines 6
err_lines 1
err_has "^vitcl models: 2 more in $hub are not among the models"
out_has "^google/siglip +0123456 +[0-9.]+ kB +siglip\$"
out_has "^old/vit_b-16 +0123456 +[0-9.]+ kB +vit\$"
out_has "^$long +0123456"
run 0 models --json
json out
python3 - "$hub" "$commit" <<'P' || fail "the list is not what is there"
import json, os, sys
hub, commit = sys.argv[1:]
rows = [json.loads(line) for line in open("out")]
assert [r["model"] for r in rows] == ["builtin:cifar10"] + sorted(
    r["model"] for r in rows[1:]), rows
assert rows[0]["path"] is None and rows[0]["bytes"] is None, rows[0]
for r in rows[1:]:
    path = f"{hub}/models--{r['model'].replace('/', '--')}/snapshots/{commit}"
    size = sum(os.path.getsize(f"{path}/{f}") for f in os.listdir(path))
    assert (r["path"], r["bytes"], r["revision"]) == (path, size, commit), r
P
HF_HUB_CACHE=$PWD/wanted run 1 models
says "wanted: Not a directory"
run 2 models x
says "unexpected argument 'x'"

# On a terminal no line has more than 80 columns, and no name is cut.
python3 - "$VITCL" "$long" <<'P' || fail "not for a terminal of 80 columns"
import os, pty, sys
pid, fd = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], ["vitcl", "models"])
text = b""
try:
    while part := os.read(fd, 4096):
        text += part
except OSError:  # the end of a terminal
    pass
assert os.waitpid(pid, 0)[1] == 0
lines = [line for line in text.decode().replace("\r", "").split("\n")
         if not line.startswith("vitcl models:")]
assert max(map(len, lines)) <= 80, lines
assert sys.argv[2] in lines, lines
P
on_terminal 72 0 models
fits 72
