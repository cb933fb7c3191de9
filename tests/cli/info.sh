# info.sh - sizes and costs, exact where the paper and timm have exact counts.
# No device is needed.
mkdir none
export OCL_ICD_VENDORS=$PWD/none/
parameters() { # preset size parameters
    run 0 info --preset "$1" --size "$2" --json
    json out
    out_lines 1
    out_has "\"parameters\":$3,"
}
parameters vit-ti/16 224 5717416
parameters vit-s/16 224 22050664
parameters vit-b/32 224 88224232
parameters vit-b/16 224 86567656
parameters vit-b/16 384 86859496
parameters vit-l/16 224 304326632
parameters vit-h/14 224 632045800
parameters vit_base_r50_s16_224 224 98659112
parameters resnet50x1 224 25549352
run 0 info --preset vit-b/16 --json
for pair in '"layers":12' '"width":768' '"heads":12' '"mlp":3072' \
    '"classes":1000' '"tokens":197' '"patch":16' '"batch":1'; do
    out_has "$pair"
done
out_has '"gmac":17.56' # with all tokens in the last block
run 0 info --preset vit-b/16 --size 384 --json
out_has '"tokens":577'
run 0 info --preset vit-b/16 --batch 4
out_has '^parameters +86567656$'
out_has '^picture +224x224, '
out_has 'activations for a batch of 4'
cp out wide
on_terminal 60 0 info --preset vit-b/16 --batch 4
fits 60
cmp <(tr -s ' \n' ' ' <out) <(tr -s ' \n' ' ' <wide) || fail 'other words in a terminal'
run 0 info -m "$VT_DATA/models/timm_vit"
out_has '^family '
for model in hf_clip hf_siglip; do # with the limit that transformers' tower was made with
    run 0 info -m "$VT_DATA/text/$model"
    out_has '^texts +at most 11 tokens$'
    run 0 info -m "$VT_DATA/text/$model" --json
    out_has '"text_tokens":11,'
done
run 0 info -m "$VT_DATA/models/timm_vit" --json
out_not text_tokens
run 1 info -m /no/such/folder
says '/no/such/folder'
# A .npz file says by its positions how large its pictures are.
python3 - "$VT_DATA/models/npz_vit/model.npz" <<'P'
import struct, sys, zipfile

def array(*shape):
    head = "{'descr': '|u1', 'fortran_order': False, 'shape': %s, }\n" % (shape,)
    size = 1
    for n in shape:
        size *= n
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head.encode() + bytes(size)

with zipfile.ZipFile(sys.argv[1]) as old, zipfile.ZipFile(
        "large.npz", "w", zipfile.ZIP_DEFLATED) as new:
    for name in old.namelist():
        data = old.read(name)
        if name.endswith("embedding/kernel.npy"):
            data = array(256, 256, 3, 16)
        elif name.endswith("pos_embedding.npy"):
            data = array(1, 65 * 65 + 1, 16)
        new.writestr(name, data)
P
run 1 info -m large.npz
says 'pictures of 16640x16640 pixels; at most 16384x16384 are supported$'
mkdir empty
run 1 info -m empty
says 'empty'
