# keys.sh - each key of a config.json that the library's class reads is
# understood, or the model is refused by its name; others change nothing.
drivers=${OCL_ICD_VENDORS-}
export OCL_ICD_VENDORS=$PWD/ # needs no device
python3 - "$VT_DATA/models" <<'P'
import json, os, sys
def make(name, model, change):
    os.mkdir(name)
    for file in os.listdir(f"{sys.argv[1]}/{model}"):
        if file != "config.json":
            os.symlink(f"{sys.argv[1]}/{model}/{file}", f"{name}/{file}")
    c = json.load(open(f"{sys.argv[1]}/{model}/config.json"))
    a, p = c.get("model_args", {}), c.get("pretrained_cfg", {})
    exec(change)
    json.dump(c, open(f"{name}/config.json", "w"))
n = 0
with open("refused", "w") as refused, open("same", "w") as same:
    def no(model, change, says):
        global n
        n += 1
        make(f"r{n}", model, change)
        print(f"r{n}\t{says}", file=refused)
    def yes(model, change, key="-"):
        global n
        n += 1
        make(f"s{n}", model, change)
        print(f"s{n}\t{model}\t{key}", file=same)
    vit, beit, clip, dino = "hf_vit_resized", "hf_beit_resized", "hf_clip", "hf_dinov2_reg"
    no(vit, "c['head_dim'] = 4", "head_dim is supported only if")
    yes(vit, "c['head_dim'] = c['hidden_size'] // c['num_attention_heads']")
    no(vit, "c['qkv_bias'] = False", "qkv_bias does not belong to these weights")
    no(vit, "c['quantization_config'] = {'bits': 8}", "quantization_config is not supported")
    yes(vit, "c['quantization_config'] = None")
    no(vit, "c['per_layer_config'] = {'0': {'hidden_act': 'relu'}}", "per_layer_config is not supported")
    no(vit, "del c['num_attention_heads']", "does not divide into 12 heads")
    yes(vit, "c['rope_theta'] = 100", "rope_theta")
    yes(vit, "c['num_heads'] = 7; c['depth'] = None", "num_heads")
    no(vit, "c['rope_theta'] = 100; c['transformers_version'] = '5.25.0'", "rope_theta is unknown, .* transformers 5.25.0; 5.24 is the newest")
    no(vit, "c['rope_theta'] = 100; c['transformers_version'] = '6.0.0.dev0'", "rope_theta is unknown")
    yes(vit, "c['rope_theta'] = 100; c['transformers_version'] = '5.24.9'", "rope_theta")
    yes(vit, "c['transformers_version'] = '6.0.0'")
    no(vit, "c['problem_type'] = 'ranking'", "problem_type .*ranking")
    no(dino, "c['use_swiglu_ffn'] = True", "use_swiglu_ffn does not belong")
    no(dino, "c['image_size'] = [8, 72]", "takes the positions of this model for those of a square")
    no(beit, "c['layer_scale_init_value'] = 0", "layer_scale_init_value does not belong")
    no(beit, "c['use_relative_position_bias'] = False", "have no place")
    no(clip, "c['attention_bias'] = 1; c['transformers_version'] = '7.0'", "attention_bias is unknown")
    yes(clip, "c['vision_use_head'] = False; c['vision_config_dict'] = {'hidden_size': 1}", "vision_config_dict")
    both, scaled = "hf_siglip_classes", "hf_config_20"
    # another class's keys
    yes(vit, "c['vision_config'] = {'hidden_act': 'relu', 'num_attention_heads': 1}", "vision_config")
    yes(vit, "c['num_register_tokens'] = 4; c['use_swiglu_ffn'] = True", "num_register_tokens")
    yes(beit, "c['qkv_bias'] = False", "qkv_bias")
    yes(clip, "c['head_dim'] = 3", "head_dim")
    yes(dino, "c['intermediate_size'] = 7", "intermediate_size")
    yes(both, "c['hidden_act'] = 'relu'; c['num_attention_heads'] = 1", "hidden_act")
    # defaults
    no(vit, "del c['num_hidden_layers']", "blocks.2.* missing")
    no(both, "del c['vision_config']", "does not divide into 12 heads")
    no("hf_dinov2_reg", "c['model_type'] = 'dinov2'", "reg_token has no place")
    no("hf_dinov2_reg", "del c['num_register_tokens']", "reg_token is .*2,16.*, but .*needs .*4,16")
    yes("hf_aimv2", "del c['qkv_bias']")
    no(scaled, "del c['layer_scale_init_value']", "layer_scale_init_value does not belong")
    t, eva, rel = "timm_vit", "timm_eva02_clip", "timm_relpos_swin"
    no(t, "a['head_dim'] = 8", "model_args has head_dim, which is not an argument")
    yes(t, "a['head_dim'] = None")
    no(t, "a['rope_type'] = 'cat'", "model_args has rope_type")
    no(t, "a['dynamic_img_pad'] = True", "dynamic_img_pad is true; only false is supported")
    yes(t, "a['dynamic_img_pad'] = False; a['drop_path_rate'] = 0.1; a['patch_drop_rate'] = 0.5; a['in_chans'] = 3")
    no(t, "a['in_chans'] = 1", "in_chans is 1, but the weights read 3")
    no(t, "a['global_pool'] = ''", 'global_pool "", which gives logits for each token')
    yes(t, "c['global_pool'] = 'avg'")
    yes(t, "c['global_pool'] = 7; c['note'] = [1]")
    no(t, "a['attn_layer'] = 'diff'", "attn_layer")
    no(t, "a['norm_layer'] = 'groupnorm1'", "norm_layer .groupnorm1. is not supported")
    yes(t, "a['norm_layer'] = 'layernorm'")
    no(t, "a['norm_layer'] = 'rmsnorm'; a['qk_norm'] = True", "norm.*.bias|q_norm")
    no(t, "del a['num_heads']", "model_args has embed_dim without num_heads")
    no(t, "del a['patch_size']", "patches of 8 pixels, but vit_base_patch16_224 has 16")
    no(t, "p['global_pool'] = 'avg'", "pretrained_cfg has global_pool, which timm does not know")
    no(t, "a['img_size'] = [3, 24, 24]", "img_size is not a usable number")
    no(t, "p['antialias'] = None", "pretrained_cfg has antialias, which timm does not know")
    no(eva, "a['rope_type'] = 'mixed'", "rope.freqs is missing")
    no(eva, "a['rope_type'] = 'mrope'", 'rope_type "mrope" is not supported')
    no(eva, "a['rope_temperature'] = 0", "rope_temperature is not a usable number")
    no(eva, "a['rope_grid_offset'] = 1e9", "rope_grid_offset is not a usable number")
    no("hf_dinov3", "c['rope_theta'] = -1", "rope_theta is not a usable number")
    no("hf_dinov3_gated", "c['use_gated_mlp'] = False", "use_gated_mlp does not belong")
    yes(eva, "a['rope_temperature'] = 10000.0; a['rope_grid_offset'] = 0.0; a['rope_jitter_coords'] = 2.0")
    no(eva, "a['rope_grid_indexing'] = 'yx'", "rope_grid_indexing")
    no(eva, "a['num_kv_heads'] = 1", "num_kv_heads")
    no(eva, "a['act_layer'] = 'relu'", "act_layer")
    no(eva, "a['global_pool'] = 'map'", "attn_pool")
    no("timm_dinov2_swiglu_reg", "a['act_layer'] = 'gelu'", "act_layer \"gelu\" in place of SwiGLU")
    yes("timm_dinov2_swiglu_reg", "a['act_layer'] = 'silu'")
    no("timm_deit_distilled", "a['reg_tokens'] = 2", "reg_tokens with a distillation token")
    no(rel, "a['global_pool'] = 'max'", 'global_pool "max" is not supported here')
    no("timm_resnet", "a['output_stride'] = 16", "output_stride")
    flex = "timm_naflex"
    no(flex, "a['pos_embed_use_grid_sample'] = True", "pos_embed_use_grid_sample is true; only false")
    no(flex, "a['rope_type'] = 'axial'", "rope_type is .axial")
    no(flex, "a['pos_embed_interp_mode'] = 'nearest'", 'positions resized "nearest", antialiased are not supported')
    no(flex, "a['pos_embed_align_corners'] = True", "with aligned corners are not supported")
    no(flex, "a['patchify_channels_last'] = False", "patchify_channels_last is false")
    yes(flex, "a['pos_embed_interp_mode'] = 'bilinear'; a['enable_patch_interpolator'] = True; a['rope_type'] = 'none'")
    no("hf_naflex", "c['num_patches'] = 24", "num_patches is not a usable number")
    no(vit, "del c['model_type']", "neither timm's architecture nor Hugging Face's model_type")
    # families by name, before their fields are checked
    for kind in "segformer", "pvt", "swin":
        no(vit, f"c['model_type'] = '{kind}'; c['num_attention_heads'] = [1, 2]; c['image_size'] = 'x'", f'architecture "{kind}" is not supported')
    no(t, "c['architecture'] = 'pvt_v2_b0'; a['num_heads'] = [1, 2]", 'architecture "pvt_v2_b0" is not supported')
P
while IFS=$'\t' read -r name says; do
    run 1 info -m "$name"
    says "$says"
    err_has "$name"
done <refused
while IFS=$'\t' read -r name model key; do
    run 0 info --json -m "$VT_DATA/models/$model"
    sed 's/"model":"[^"]*"//' out >wanted
    run 0 info --json -m "$name"
    sed 's/"model":"[^"]*"//' out | cmp - wanted || fail "$name is another model"
    [ "$key" = - ] || printf '%s\t%s\n' "$name" "$key" >>unread
done <same
# -v names a key that transformers does not read
export OCL_ICD_VENDORS=$drivers
IFS=$'\t' read -r name key <unread
run 0 embed -v -m "$name" "$VT_DATA/sample.jpg"
err_has "$name: transformers does not read $key"
[ "$(wc -l <refused)" -gt 30 ] || fail "few cases"

# What timm can and vitcl cannot is called by its name.
python3 - "$VT_DATA/models" <<'P'
import json, os, sys
from tensors import parts, save
def make(name, model, architecture, change):
    os.mkdir(name)
    c = json.load(open(f"{sys.argv[1]}/{model}/config.json"))
    c["architecture"] = architecture
    json.dump(c, open(name + "/config.json", "w"))
    save(name + "/model.safetensors", change(parts(f"{sys.argv[1]}/{model}/model.safetensors")))
rename = lambda old, new: lambda weights: {k.replace(old, new): v for k, v in weights.items()}
make("parallel", "timm_vit", "vit_small_patch16_18x2_224", rename(".attn.qkv", ".attns.0.attn.qkv"))
make("scaling", "timm_vit", "vit_base_patch16_xp_224", rename(".attn.qkv", ".in_proj"))
make("diff", "timm_vit", "vit_base_patch16_224", rename(".attn.proj.bias", ".lambda_q1"))
make("mobile", "timm_vit", "vit_base_mci_224", lambda weights: weights)
def grey(weights):
    dtype, (n, _, *size), data = weights["patch_embed.proj.weight"]
    return {**weights, "patch_embed.proj.weight": (dtype, [3 * n, 1, *size], data)}
make("grey", "timm_vit", "vit_base_patch16_224", grey)
for model in "timm_vit", "timm_eva02_clip":
    make("lost_" + model, model, {"timm_vit": "vit_base_patch16_224"}.get(model, "eva02_base_patch14_224"),
         rename("pos_embed", "nothing"))
P
refuses() {
    run 1 info -m "$1"
    says "$2"
}
refuses parallel 'vit_small_patch16_18x2_224 has parallel blocks, which are not supported'
refuses scaling 'vit_base_patch16_xp_224 has parallel blocks, which are not supported'
refuses diff 'has differential attention, which is not supported'
refuses mobile 'patch_embed.backbone.0.conv.weight is missing'
refuses grey 'does config.json belong to these weights'

refuses lost_timm_vit 'lost_timm_vit: pos_embed is missing'
refuses lost_timm_eva02_clip 'lost_timm_eva02_clip: pos_embed is missing'

# A key of a processor is of its file; a wrapper without a pretrained_cfg.
cp -r "$VT_DATA/models/hf_vit_bare" processor
echo '{"image_processor_type": "ViTImageProcessor", "do_sharpen": true}' >processor/preprocessor_config.json
run 1 embed -m processor "$VT_DATA/sample.jpg"
err_has 'processor/preprocessor_config.json: .*do_sharpen'
cp -r "$VT_DATA/models/timm_vit" wrapper
python3 -c 'import json
c = json.load(open("wrapper/config.json"))
del c["pretrained_cfg"]
c["model_type"] = "timm_wrapper"
json.dump(c, open("wrapper/config.json", "w"))'
run 1 embed -m wrapper "$VT_DATA/sample.jpg"
err_has 'wrapper/config.json: this timm wrapper of transformers has no pretrained_cfg'

# No gradient leads through the MLP of relative positions.
python3 - "$VT_DATA/models/timm_relpos_cls/input.safetensors" <<'P'
import sys
from tensors import parts, save
pixels = parts(sys.argv[1])["pixel_values"]
n = pixels[1][0]
save("batch.safetensors", {"pixel_values": pixels, "labels": ("I64", [n], [0] * n)})
P
echo '{"optimizer": "sgd", "lr": 0.1}' >settings.json
run 1 step -m "$VT_DATA/models/timm_relpos_cls" -i batch.safetensors --settings settings.json -o step.safetensors
says 'rel_pos@.* is made from tensors of the file, to which no gradient leads'

# A bare number as `size` is the shortest edge, or both, as the processor says.
picture=$VT_DATA/sample.jpg
square() { # MODEL PROCESSOR SAME: two spellings of one processor
    rm -rf bare
    cp -r "$VT_DATA/models/$1" bare
    for text in "$2" "$3"; do
        echo "$text" >bare/preprocessor_config.json
        run 0 embed -m bare -o bare.npy "$picture"
        sha256sum <bare.npy >>sums
    done
    [ "$(tail -n 2 sums | sort -u | wc -l)" = 1 ] || fail "$2 is not $3"
}
crop='"do_center_crop": true, "crop_size": 24'
edge='"size": {"shortest_edge": 30}' both='"size": {"height": 30, "width": 30}'
vit='{"image_processor_type": "ViTImageProcessor"' siglip='{"image_processor_type": "SiglipImageProcessor"'
clip='{"image_processor_type": "CLIPImageProcessor"'
square hf_vit_bare "$vit, $crop, \"size\": 30}" "$vit, $crop, $both}"
square hf_vit_bare "$vit, $crop, \"size\": 30, \"default_to_square\": false}" "$vit, $crop, $edge}"
square hf_siglip "$siglip, $crop, \"size\": 30}" "$siglip, $crop, $edge}"
square hf_siglip "$siglip, $crop, \"size\": 30, \"default_to_square\": true}" "$siglip, $crop, $both}"
square hf_clip "$clip, $crop, \"size\": 30, \"default_to_square\": true}" "$clip, $crop, $both}"
[ "$(sort -u sums | wc -l)" = 5 ] || fail "two of these are equal"
