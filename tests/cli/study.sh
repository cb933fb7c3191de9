# study.sh - study: the list, wrong use, a dry run, results, and a study that is
# killed and goes on.
numpy
run 0 study
cp out listed
run 0 study list
cmp out listed || fail 'study list is another list'
fits 80
out_has '^  few-shot '
out_has 'JFT'
out_has 'VTAB'
out_has 'ObjectNet'
on_terminal 60 0 study
fits 60

# ---- it is a Python package, which vitcl becomes
run 0 study --help
cp out shown
VITCL_STUDY=$PWD/absent run 0 help study
cmp out shown || fail 'help study is another help'
VITCL_STUDY=$PWD/absent run 1 study list
says '^vitcl study: VITCL_STUDY=.*/absent: no such program$'
code=0
"$VITCL_STUDY" list >out 2>err || code=$?
[ $code = 2 ] || fail "exit status $code without vitcl"
says '^vitcl: this is a part of vitcl; start it as: vitcl study$'
mkdir without
echo 'raise ImportError' >without/numpy.py
PYTHONPATH=$PWD/without run 1 study list
says '^vitcl study: studies need NumPy; on Debian: apt install python3-numpy'
code=0
PATH=$PWD/without "$VITCL" study list >out 2>err || code=$?
[ $code = 1 ] || fail "exit status $code without python3"
says '^vitcl study: studies need python3 with NumPy, and python3 is not installed; on Debian: '

# ---- wrong use
run 2 study heat --data data
says 'unknown study heat; did you mean vitcl study head\?'
run 2 study head
says '--data PATH is required'
run 1 study head --data -o -o none
says '[-]o: No such file'
run 2 study head few-shot --data data
says "unexpected argument 'few-shot'"
run 2 study --data data
says 'no study given for --data'
run 2 study list -o x
says 'no study given for -o'
run 1 study head --data nowhere
says 'nowhere: No such file'
[ ! -e study-head ] || fail 'a refused study left a folder'
mkdir few && mkdir few/a few/b
for c in a b; do cp "$VT_DATA/sample.jpg" few/$c/1.jpg; done
run 1 study head --data few -o none
says 'a study needs two classes or more, five training pictures of each'

# ---- links to folders, and what is left out
mkdir -p far linked/a linked/b
for i in 1 2 3 4 5 6; do cp "$VT_DATA/sample.jpg" far/$i.jpg && cp far/$i.jpg linked/b; done
ln -s ../../far linked/a/far
echo text >linked/b/readme.txt
run 1 study head --data linked -o none
err_has 'linked: 6 pictures in 2 classes, 1 skipped, 1 link to a folder not followed \(--follow\)$'
err_has 'here are 2 classes, 5 training and 1 test pictures$'
run 1 study head --data linked --follow --pictures 3 -o none
err_has 'linked: 12 pictures in 2 classes, 1 skipped$'
err_has '[-]-pictures must be at least 10, five per class$'
mkdir old
printf '{"study": "head", "data": "%s/linked"}' "$PWD" >old/study.json
run 1 study head --data linked --follow -o old
err_has 'old: has a study without --follow, of other pictures; name another folder$'

! sanitized || skip 'trains too long under AddressSanitizer'

# ---- a dry run: nothing is trained, and nothing is left
cifar 40
given=(--data data --pictures 100 --epochs 1 --test-pictures 20 --tries 2)
mkdir tmp
TMPDIR=$PWD/tmp run 0 study head "${given[@]}" -o whole --dry-run
out_has '^class-token-lr-0.001 +100 +1 +[0-9.]+ TFLOP +[0-9.]+$'
out_has '^mean-2 '
out_has '^12 runs, [0-9.]+ TFLOP, about [0-9.]+ minutes on this device; 20 test pictures$'
[ ! -e whole ] || fail 'a dry run wrote the output folder'
[ -z "$(ls -A tmp)" ] || fail 'a dry run left something behind'

# ---- a broken picture is left out, and ends nothing
mkdir -p torn/train/a torn/train/b torn/test/a torn/test/b
for i in 1 2 3 4 5 6; do
    for c in a b; do cp "$VT_DATA/sample.jpg" torn/train/$c/$i.jpg; done
done
for i in 7 8 9 10; do cp "$VT_DATA/sample.jpg" torn/train/a/$i.jpg; done
for c in a b; do cp "$VT_DATA/sample.jpg" torn/test/$c/1.jpg; done
head -c 900 "$VT_DATA/sample.jpg" >torn/test/b/2.jpg
run 0 study few-shot --data torn --pictures 14 --epochs 1 --tries 1 -o torn.out
[ "$(find torn.out/data/14-*/train -type l | wc -l)" = 14 ] ||
    fail 'what a small class lacks does not come from the other'
[ "$(cut -f1 torn.out/results.tsv | tail -1)" = trained ] || fail 'no results beside a broken picture'
run 1 study head --data torn --tries 200 -o many --dry-run
says 'these are more than 256 runs; give fewer --tries$'

# ---- without and with an interruption after some runs
run 0 study head "${given[@]}" -o whole
json <(tr -d '\n' <whole/study.json)
err_has 'run 12 of 12: mean-2'
out_has '^class-token +0\.0[0-9]* +0\.[0-9]+ +0\.[0-9]+ +2'
[ "$(head -1 whole/results.tsv)" = "$(printf 'arm\tlearning rate\ttest accuracy\tdeviation\ttries\tpaper')" ] ||
    fail 'the head of results.tsv is another'
[ "$(wc -l <whole/results.tsv)" = 3 ] || fail 'results.tsv has not two arms'
grep -q 'eproduced' whole/verdict.txt || fail 'no verdict'
! python3 -c 'import matplotlib' 2>/dev/null || [ -s whole/figure.svg ] || fail 'no figure'
grep -q 'eproduced' whole/report.html || fail 'the page lacks the verdict'
run 0 eval -m whole/runs/mean-1-* --data data
run 0 study head "${given[@]}" -o whole
err_not 'run [0-9]* of 12'
on_terminal 60 0 study head "${given[@]}" -o whole
fits 60

# ---- data are known by what is in them, not by their name
mv data moved
run 0 study head --data moved "${given[@]:2}" -o whole
err_not 'run [0-9]* of 12'
cp -r moved data
printf x | dd of=data/data_batch_3.bin bs=1 seek=700 conv=notrunc status=none
run 1 study head "${given[@]}" -o whole
says 'whole: has a study "head" of .*/moved, or of other pictures than are there now'
rm -r data
mv moved data
cp -r whole older # of a version that knew them by their name
sed -i '/"content"/d; s|/moved"|/data"|' older/study.json
run 0 study head "${given[@]}" -o older --dry-run
out_not ' done$'

find whole -printf '%p %T@\n' >before
TMPDIR=$PWD/tmp run 0 study head "${given[@]}" -o whole --dry-run
out_has '^12 runs, .*, about 0\.0 minutes'
find whole -printf '%p %T@\n' | cmp - before || fail 'a dry run changed a study'

"$VITCL" study head "${given[@]}" -o killed >/dev/null 2>messages &
study=$!
for ((i = 0; i < 600; i++)); do
    ! grep -q 'run 6 of 12' messages 2>/dev/null || break
    sleep 0.1
done
sleep 0.4
kill -9 $study
wait $study 2>/dev/null || true
[ ! -e killed/results.tsv ] || fail 'it was finished before it was killed'
run 0 study head "${given[@]}" -o killed
err_not 'run [1-4] of 12'
err_has 'run ([6-9]|1[0-2]) of 12'
for file in results.tsv verdict.txt; do
    cmp whole/$file killed/$file || fail "$file is another after an interruption"
done
(cd whole/runs && sha256sum ./*/model.safetensors) >sums
(cd killed/runs && sha256sum -c --quiet ../../sums) ||
    fail 'models are others after an interruption'

# ---- an interrupt ends it and its training
"$VITCL" study few-shot "${given[@]}" -o stopped >/dev/null 2>stopping &
study=$!
for ((i = 0; i < 600; i++)); do
    ! grep -q 'run 1 of' stopping 2>/dev/null || break
    sleep 0.1
done
kill -TERM $study
code=0
wait $study || code=$?
[ $code = 143 ] || fail "exit status $code after a signal"
grep -q 'continues from here' stopping || fail 'it does not say how to go on'

# ---- an earlier attempt that diverged does not explain another failure
cp -r whole spoilt
id=$(basename spoilt/files/class-token-lr-0.001-*.result.json .result.json)
rm "spoilt/files/$id.result.json"
echo 'vitcl train: the loss is not finite' >>"spoilt/files/$id.messages.txt"
: >"spoilt/runs/$id/training.safetensors"
run 1 study head "${given[@]}" -o spoilt
err_has 'run class-token-lr-0.001 failed \(exit status 1\)'

# ---- killed between a run's last state and the log's last line: that run is
# trained again
cp -r whole lost
id=$(basename lost/files/class-token-lr-0.001-*.result.json .result.json)
rm "lost/files/$id.result.json"
sed -i '$d' "lost/files/$id.log.jsonl"
run 0 study head "${given[@]}" -o lost
cmp whole/results.tsv lost/results.tsv || fail 'results.tsv is another after a lost score'
same_result() { sed 's/"seconds".*//' "$1/files/$id.result.json"; }
cmp <(same_result whole) <(same_result lost) || fail 'the result is another after a lost score'
cmp {whole,lost}/runs/"$id"/model.safetensors || fail 'the model is another after a lost score'
rm -r "lost/runs/$id" "lost/files/$id.result.json" # by hand
run 0 study head "${given[@]}" -o lost
cmp <(same_result whole) <(same_result lost) || fail 'the result is another without its folder'

# ---- another study does not write into the folder
run 1 study few-shot "${given[@]}" -o whole
says 'whole: has a study "head" of '
