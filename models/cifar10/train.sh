#!/bin/sh
# train.sh CIFAR OUT - the training that made this folder's model, from CIFAR-10's
# own binary files (data_batch_1.bin ... test_batch.bin) in the folder CIFAR.
# First with crops and flips alone, then on from there with more variety, then a
# long part with averaged weights, and at last with larger pictures.
# The test pictures are read by the last line alone.
set -eu
here=$(dirname "$0")
vitcl=${VITCL:-vitcl}
learn() { # PART OPTION...
    part=$1
    shift
    "$vitcl" "$@" --data "$cifar" --split train --hold-out 5000 --batch 64 --augment light \
        --random-state 1 --settings "$here/part$part.json" -o "$out/part$part"
}
cifar=$1 out=$2
learn 1 train --config "$here/config.json" --size 64 --epochs 36 --lr 1.5e-3
learn 2 finetune -m "$out/part1" --epochs 22 --lr 1e-3
learn 3 finetune -m "$out/part2" --epochs 8 --lr 4e-4
learn 4 finetune -m "$out/part3" --epochs 39 --lr 1e-3 --precision bf16
learn 5 finetune -m "$out/part4" --size 96 --epochs 16 --lr 1e-3 --precision bf16
"$vitcl" convert -m "$out/part5" -o "$out/f16" --dtype f16
"$vitcl" eval -m "$out/f16" --data "$cifar" --split test
