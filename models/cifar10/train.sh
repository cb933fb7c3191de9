#!/bin/sh
# train.sh CIFAR OUT - the training that made this folder's model, from CIFAR-10's
# own binary files (data_batch_1.bin ... test_batch.bin) in the folder CIFAR.
# The test pictures are read by the last line alone.
set -eu
here=$(dirname "$0")
vitcl=${VITCL:-vitcl}
"$vitcl" train --config "$here/config.json" --data "$1" --split train \
    --hold-out 5000 --epochs 36 --batch 64 --lr 1.5e-3 --augment light \
    --settings "$here/settings.json" --random-state 1 -o "$2/f32"
"$vitcl" convert -m "$2/f32" -o "$2/f16" --dtype f16
"$vitcl" eval -m "$2/f16" --data "$1" --split test
