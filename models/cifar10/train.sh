#!/bin/sh
# train.sh CIFAR OUT - the training that made this folder's model, from CIFAR-10's
# own binary files (data_batch_1.bin ... test_batch.bin) in the folder CIFAR.
# First with crops and flips alone, then on from there with more variety.
# The test pictures are read by the last line alone.
set -eu
here=$(dirname "$0")
vitcl=${VITCL:-vitcl}
learn() {
    "$vitcl" "$@" --split train --hold-out 5000 --batch 64 --augment light \
        --random-state 1
}
learn train --config "$here/config.json" --data "$1" --epochs 36 --lr 1.5e-3 \
    --settings "$here/settings.json" -o "$2/plain"
learn finetune -m "$2/plain" --data "$1" --epochs 22 --lr 1e-3 \
    --settings "$here/varied.json" -o "$2/varied"
learn finetune -m "$2/varied" --data "$1" --epochs 8 --lr 4e-4 \
    --settings "$here/last.json" -o "$2/f32"
"$vitcl" convert -m "$2/f32" -o "$2/f16" --dtype f16
"$vitcl" eval -m "$2/f16" --data "$1" --split test
