# convert: whose names, which type, and what it says when it cannot

run 2 convert
says '^vitcl convert: no model'
run 2 convert -m x
says 'no folder to write'
run 2 convert -m x -o y --to onnx
says 'onnx is none of timm, hf'
run 2 convert -m x -o y --dtype f8
says 'f8 is none of f32, f16, bf16'
run 1 convert -m nowhere -o y
says 'nowhere'
[ ! -e y ] || fail 'a folder is left behind'
