# shard.sh - the parts of several workers, killed and started again, have the
# bytes of one run when they are joined; what is missing or does not belong
# together is said; engines say who a worker is.
python3 - <<'P'
import os, random
random.seed(3)
for i in range(97):
    os.makedirs(f"pics/{'abcde'[i % 5]}", exist_ok=True)
    with open(f"pics/{'abcde'[i % 5]}/{i:04}.ppm", "wb") as f:
        if i % 20 == 7:
            f.write(b"P6\n32 ")
            continue
        f.write(b"P6\n32 32\n255\n" +
                bytes(random.randrange(256) for _ in range(3072)))
P
find pics -type f -exec touch -d '2 days ago' '{}' +
find pics -type f | LC_ALL=C sort >list
c=(-m builtin:cifar10)

# ---- classify: seven shards in any order, two of them killed
run 1 classify "${c[@]}" --json pics
cp out one.jsonl
run 1 classify "${c[@]}" pics -o written.jsonl
cmp written.jsonl one.jsonl || fail "-o is not standard output"
[ "$(grep -c '"error"' one.jsonl)" = 5 ] || fail "not five errors"
# Before its part is complete, and before the manifest has its name:
signal_at "fsync 1 9" 137 classify "${c[@]}" pics --shard 3/7 -o "p/part-{shard}.jsonl"
[ ! -e p/part-00003-of-00007.jsonl ] || fail "a killed worker left a part"
signal_at "rename 2 9" 137 classify "${c[@]}" pics --shard 6/7 -o "p/part-{shard}.jsonl"
[ ! -e p/part-00006-of-00007.jsonl.manifest ] || fail "a killed worker finished"
for k in 5 3 1 7 2 4; do
    run 0 classify "${c[@]}" pics --shard $k/7 -o "p/part-{shard}.jsonl"
done
run 1 merge p
says 'p: of 7 shards these are missing: 6; run them again$'
run 0 classify "${c[@]}" - --shard 6/7 -o "p/part-{shard}.jsonl" <list
cp p/part-00001-of-00007.jsonl part
run 1 merge p -o p/part-00001-of-00007.jsonl
says 'p/part-00001-of-00007\.jsonl: is the part of shard 1; name another file with -o$'
cmp part p/part-00001-of-00007.jsonl || fail 'a part is lost'
run 0 merge p
err_has 'p/all.jsonl: 97 rows of 7 shards, 5 of pictures'
cmp p/all.jsonl one.jsonl || fail "the parts of classify are not the run"
grep -q '^{"position":5,"picture":' p/part-00006-of-00007.jsonl ||
    fail "no position"
# the other files have a name for each shard, too
mkdir q
signal_at "rename 3 9" 137 classify "${c[@]}" pics --shard 1/7 -o 'q/part-{shard}.jsonl' \
    --html 'q/h-{shard}.html'
[ -s q/h-00001-of-00007.html ] || fail "the manifest comes before the page"
rm -rf q
mkdir q
run 2 classify "${c[@]}" pics --shard 1/7 -o 'q/part-{shard}.jsonl' --logits l.npy
says 'l\.npy: every shard would write this file; put \{shard\} into the name$'
for command in "classify ${c[*]} pics -o q/all.jsonl" "embed ${c[*]} pics -o q/all.npy" \
    "eval ${c[*]} --data pics -o q/all.json"; do
    read -ra words <<<"$command"
    run 2 "${words[@]}" --shard 1/2
    says 'q/all\.[a-z]+: every shard would write this file; put \{shard\} into the name$'
done
run 0 classify "${c[@]}" pics --shard 1/1 -o q/whole.jsonl
rm q/whole.jsonl*
for name in '{Shard}' '{shard}/{shard}'; do
    run 2 classify "${c[@]}" pics --shard 1/7 -o "$name.jsonl"
    says 'jsonl: the place of the shard is written \{shard\}, once$'
done
run 2 classify "${c[@]}" pics --html 'h-{shard}.html'
says 'h-\{shard\}\.html: \{shard\} needs --shard K/N$'
run 0 classify "${c[@]}" pics --shard 1/7 -o 'q/part-{shard}.jsonl' --logits 'q/l-{shard}.npy' \
    --html 'q/h-{shard}.html'
[ -s q/l-00001-of-00007.npy ] || fail "wrote $(ls q)"
[ -s q/h-00001-of-00007.html ] || fail "wrote $(ls q)"
rm q/h-00001-of-00007.html
run 1 classify "${c[@]}" pics --shard 1/7 -o 'q/part-{shard}.jsonl' --html 'q/h-{shard}.html'
err_has '^vitcl classify: q/part-00001-of-00007\.jsonl is finished, but q/h-00001-of-00007\.html is not there'
copying=(classify "${c[@]}" pics --shard 1/7 -o 'q/part-{shard}.jsonl' --copy-to)
run 1 "${copying[@]}" q/copies
err_has 'q/part-00001-of-00007\.jsonl is finished, but its pictures are not all in q/copies'
rm q/*.manifest
run 0 "${copying[@]}" q/copies
run 0 "${copying[@]}" q/copies
err_has 'is finished; remove'
rm -r q/copies
run 1 "${copying[@]}" q/copies
err_has 'its pictures are not all in q/copies'

# ---- a finished part stays; other settings, models and pictures do not fit
before=$(stat -c %Y.%i p/part-00002-of-00007.jsonl)
run 0 classify "${c[@]}" pics --shard 2/7 -o "p/part-{shard}.jsonl"
err_has 'part-00002-of-00007.jsonl is finished'
[ "$before" = "$(stat -c %Y.%i p/part-00002-of-00007.jsonl)" ] || fail "rewritten"
run 1 classify "${c[@]}" pics --top 2 --shard 2/7 -o "p/part-{shard}.jsonl"
err_has 'was written with other settings \(top=5 '
VITCL_DOT=off run 1 classify "${c[@]}" pics --shard 2/7 -o "p/part-{shard}.jsonl"
err_has 'was written with other settings \(top=5 .*gemm='
run 1 classify "${c[@]}" pics --any-batch --shard 2/7 -o "p/part-{shard}.jsonl"
err_has 'was written with other settings'
cp p/part-00002-of-00007.jsonl.manifest manifest
sed -i 's/"version":"[^"]*"/"version":"0.0.1"/' p/part-00002-of-00007.jsonl.manifest
run 1 merge p
says 'manifest: not a manifest of vitcl, or damaged'
unsummed='s/,"xxh3":.*}/}/' # as older versions wrote it
sed -i "$unsummed" p/part-00002-of-00007.jsonl.manifest
run 1 classify "${c[@]}" pics --shard 2/7 -o "p/part-{shard}.jsonl"
err_has 'was written by another version of vitcl'
run 1 merge p
err_has 'was written by another version of vitcl'
sed 's/"device":"[^"]*"/"device":"another"/; s/"gemm":"[^"]*"/"gemm":"clblast\\u001b"/; '"$unsummed" \
    manifest >p/part-00002-of-00007.jsonl.manifest
run 0 merge p
err_has 'shards 1 and 2 were computed on different devices: the last bits'
err_has 'shards 1 and 2 were multiplied by different providers \(native; clblast.*\)'
! grep -q $'\x1b' err || fail "a manifest reaches the terminal as it is"
cp manifest p/part-00002-of-00007.jsonl.manifest
run 0 merge p
[ "$(wc -l <err)" = 1 ] || fail "more lines than the summary"
run 1 classify --preset vit-ti/16 pics --shard 2/7 -o "p/part-{shard}.jsonl"
err_has 'was written with another model'
rm p/part-00002-of-00007.jsonl.manifest
cp p/part-00002-of-00007.jsonl x.jsonl
run 0 classify "${c[@]}" pics/a --shard 2/7 -o "p/part-{shard}.jsonl"
run 1 merge p
says 'its worker saw other pictures'
# A finished part is of its own pictures, named in any way.
for other in pics pics/b; do
    run 1 classify "${c[@]}" $other --shard 2/7 -o "p/part-{shard}.jsonl"
    says 'part-00002-of-00007.jsonl: was written for other pictures \(20\) than are named now'
done
sed 's|pics/b/0001|pics/b/1001|' list >other # as many
rm p/part-00002-of-00007.*
head -c 30 list >short
run 0 classify "${c[@]}" pics --shard 2/7 -o "p/part-{shard}.jsonl"
run 1 classify "${c[@]}" - --shard 2/7 -o "p/part-{shard}.jsonl" <other
says 'was written for other pictures'
run 0 classify "${c[@]}" - --shard 2/7 -o "p/part-{shard}.jsonl" <list
err_has 'is finished'
cp pics/a/0005.ppm changed && cp pics/a/0010.ppm pics/a/0005.ppm # as long as it was
run 1 classify "${c[@]}" pics --shard 2/7 -o "p/part-{shard}.jsonl"
says 'part-00002-of-00007.jsonl: its pictures have changed since it was written; remove its .manifest file to write it anew'
cp changed pics/a/0005.ppm
run 0 classify "${c[@]}" pics --shard 2/7 -o "p/part-{shard}.jsonl"
err_has 'is finished'
# One that is damaged is written anew.
truncate -s -1 p/part-00002-of-00007.jsonl
run 0 classify "${c[@]}" pics --shard 2/7 -o "p/part-{shard}.jsonl"
err_not 'is finished'
cmp x.jsonl p/part-00002-of-00007.jsonl || fail "a damaged part was not written anew"
truncate -s -1 p/part-00004-of-00007.jsonl
run 1 merge p
says 'part-00004-of-00007.jsonl: is not as its manifest says'
printf '{"format":"vitcl partition 1","shard":9,"shards":7}' \
    >p/part-00004-of-00007.jsonl.manifest
run 1 merge p
says 'not a manifest of vitcl'
mkdir none
run 1 merge none
says 'none: no finished parts'

# ---- embed: each format, more workers than needed
for form in npy safetensors jsonl; do
    run 1 embed "${c[@]}" pics/c -o one.$form
    for ((k = 24; k > 0; k -= 1)); do # 20 pictures
        [ $k -le 3 ] || [ $form = npy ] || continue
        n=24
        [ $form = npy ] || n=3
        run 0 embed "${c[@]}" pics/c --shard $k/$n -o "$form/{shard}.$form"
    done
    run 0 merge $form -o joined.$form
    cmp joined.$form one.$form || fail "the parts of embed .$form are not the run"
done
cmp joined.paths one.paths || fail "the names of .npy are not the run's"
# One bit of a part or a manifest is another: that is noticed, and nothing written.
for form in npy safetensors jsonl; do
    mkdir -p "damage/$form"
    find $form -name '*-of-00003*' -exec cp -t "damage/$form" {} +
    [ $form != npy ] || cp npy/* damage/npy
done
python3 - "$VITCL" <<'P'
import glob, os, random, subprocess, sys
random.seed(7)
for form in ("npy", "safetensors", "jsonl"):
    parts = [p for p in sorted(glob.glob(f"damage/{form}/0*")) if os.path.getsize(p)]
    out = f"damage/all.{form}"
    for _ in range(24):
        path = random.choice(parts)
        data = bytearray(good := open(path, "rb").read())
        at = random.randrange(len(data))
        data[at] ^= 1 << random.randrange(8)
        open(path, "wb").write(data)
        p = subprocess.run([sys.argv[1], "merge", f"damage/{form}", "-o", out],
                           capture_output=True, text=True, errors="replace")
        assert p.returncode == 1 and p.stderr.count("\n") == 1, (path, at, p)
        assert not os.path.exists(out), (path, at)
        open(path, "wb").write(good)
    p = subprocess.run([sys.argv[1], "merge", f"damage/{form}", "-o", out])
    assert p.returncode == 0
    assert open(out, "rb").read() == open(f"one.{form}", "rb").read()
P
run 0 search -m builtin:cifar10 joined.safetensors pics/c/0002.ppm -k 1
out_has "pics/c/0002.ppm"
run 2 merge npy -o joined.jsonl
says 'joined.jsonl: the parts are .npy files'

# ---- eval: the counts of workers give the report of one run
classes=(airplane automobile bird cat deer dog frog horse ship truck)
at=0
while read -r name; do
    mkdir -p "data/${classes[at % 10]}"
    cp "$name" "data/${classes[at % 10]}"
    at=$((at + 1))
done < <(sed -n 30,64p list)
find data -type f | sort | awk -F/ '
    { printf("%s\"%s/%s\":[%s]", (NR > 1 ? "," : "{"), $2, $3, (NR % 3 ? NR % 10 : "")) }
    END { print "}" }' >real.json
for k in 3 1 4 2; do
    run 0 eval "${c[@]}" --data data --labels real.json --shard $k/4 -o "e/{shard}.json"
done
run 0 eval "${c[@]}" --data data --labels real.json --shard 2/4 -o "e/{shard}.json"
err_has 'e/00002-of-00004.json is finished'
mkdir less
cp -r data/cat data/dog less
run 1 eval "${c[@]}" --data less --labels real.json --shard 2/4 -o "e/{shard}.json"
err_has 'e/00002-of-00004.json: was written for other pictures'
cp -r data grown
for name in grown/*/*; do echo >>"$name" && break; done
run 1 eval "${c[@]}" --data grown --labels real.json --shard 2/4 -o "e/{shard}.json"
err_has 'e/00002-of-00004.json: was written for other pictures'
for how in --json --classes "--classes --json --confusion c.csv"; do
    read -ra words <<<"$how"
    run 1 eval "${c[@]}" --data data --labels real.json "${words[@]}"
    cp out one
    [ ! -e c.csv ] || mv c.csv one.csv
    run 0 merge e "${words[@]}"
    err_has '5 pictures could not be decoded'
    cmp out one || fail "the parts of eval are not the run"
done
cmp c.csv one.csv || fail "the parts of eval have another confusion matrix"
run 1 eval "${c[@]}" --data data --shard 1/4 -o "e/{shard}.json"
err_has 'was written with other settings'
{ cat real.json && echo; } >other.json
run 1 eval "${c[@]}" --data data --labels other.json --shard 1/4 -o "e/{shard}.json"
err_has 'was written with other settings'
run 2 merge e -o all.jsonl
says '-o is for rows'
run 2 merge npy --classes
says 'are for the counts of eval'
cp e/00001-of-00004.json kept.json
tr 123456780 012345670 <kept.json >e/00001-of-00004.json # counts of the same length
run 1 merge e
says 'e/00001-of-00004.json: not counts of vitcl eval, or damaged'
cp kept.json e/00001-of-00004.json
sed -i 's/"right1":/"right1":9/' e/00001-of-00004.json
size=$(stat -c %s e/00001-of-00004.json)
sed -i "s/\"bytes\":[0-9]*/\"bytes\":$size/; $unsummed" e/00001-of-00004.json.manifest
run 1 merge e
says 'e/00001-of-00004.json: not counts of vitcl eval, or damaged'
rm e/*
for k in 1 2; do
    run 0 eval "${c[@]}" --data data --shard $k/2 -o "e/{shard}.json"
    find data/cat -name '*.ppm' -exec mv '{}' data/dog ';'
done
run 1 merge e
says 'its worker saw other pictures'
run 2 eval "${c[@]}" --data data --shard 1/2
says '--shard and -o FILE.json belong together'
run 2 eval "${c[@]}" --data data --shard 1/2 -o x.json --classes
says 'vitcl merge takes --classes'

# ---- engines
part() { # FILE VARIABLE…: writes this part of a list of one
    local want=$1
    shift
    rm -rf e
    echo "${c[*]} $want" >cmd
    echo pics/a/0000.ppm | env "$@" "$VITCL" embed "${c[@]}" - --shard "$auto" \
        -o 'e/{shard}.jsonl' >out 2>err || fail "$*"
    [ -e "e/$want.jsonl" ] || fail "$* is not $want: $(ls e)"
}
no_part() { # RE VARIABLE…
    local re=$1 code=0
    shift
    env "$@" "$VITCL" embed "${c[@]}" - --shard "$auto" </dev/null >out 2>err || code=$?
    [ $code = 2 ] || fail "$*: exit status $code"
    says "$re"
}
unset "${!SLURM_@}" "${!OMPI_@}" "${!PMI_@}" JOB_COMPLETION_INDEX
array=(SLURM_ARRAY_TASK_MIN=10 SLURM_ARRAY_TASK_STEP=5 SLURM_ARRAY_TASK_COUNT=4)
auto=auto
part 00003-of-00004 SLURM_ARRAY_TASK_ID=20 "${array[@]}" SLURM_PROCID=0 SLURM_NTASKS=1
part 00003-of-00004 SLURM_ARRAY_TASK_ID=20 "${array[@]}" SLURM_PROCID=0
part 00002-of-00003 SLURM_PROCID=1 SLURM_NTASKS=3 PMI_RANK=1 PMI_SIZE=3
part 00001-of-00002 OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2
part 00002-of-00002 PMI_RANK=1 PMI_SIZE=2
no_part 'SLURM_ARRAY_TASK_ID=21 does not fit' SLURM_ARRAY_TASK_ID=21 "${array[@]}"
no_part 'shard 5 of 4' SLURM_ARRAY_TASK_ID=30 "${array[@]}"
no_part 'SLURM_ARRAY_TASK_MIN is missing' SLURM_ARRAY_TASK_ID=1
no_part 'PMI_SIZE is missing' PMI_RANK=1
no_part "PMI_SIZE is not a whole number: 'x'" PMI_RANK=1 PMI_SIZE=x
no_part 'PMI_RANK says 2/3, but SLURM_PROCID 1/4' PMI_RANK=1 PMI_SIZE=3 \
    SLURM_PROCID=0 SLURM_NTASKS=4
no_part 'JOB_COMPLETION_INDEX does not tell the number' JOB_COMPLETION_INDEX=0
no_part 'no variable of Slurm, MPI or Kubernetes is set' A=1
auto=auto/5
part 00005-of-00005 JOB_COMPLETION_INDEX=4
no_part 'PMI_RANK says 3 workers' PMI_RANK=1 PMI_SIZE=3
no_part 'shard 6 of 5' JOB_COMPLETION_INDEX=5
for auto in 0/3 4/3 1/0 1/100001 1 /3 1/ a/b auto/ auto/x 1/2/3 -1/3; do
    no_part 'shard' A=1
done

# ---- usage
run 2 classify "${c[@]}" pics --shard 1/2
says '--shard needs -o FILE.jsonl or --json'
run 2 classify "${c[@]}" pics -o 'x-{shard}.jsonl'
says '\{shard\} needs --shard'
run 2 embed "${c[@]}" pics --shard 1/2 -o x.csv
says 'not .csv'
run 2 embed "${c[@]}" pics --shard 1/2 -u -o x.safetensors
says '--update and --shard cannot be used together'
run 2 merge
says 'name one folder'
run 0 classify "${c[@]}" pics/a/0000.ppm -o plain.jsonl
grep -q '^{"picture":"pics/a/0000.ppm"' plain.jsonl || fail "-o without --shard"
[ ! -s out ] || fail "-o also writes to standard output"
[ ! -e plain.jsonl.manifest ] || fail "a manifest without --shard"
run 1 classify "${c[@]}" pics/a/0000.ppm -o none/none/x.jsonl
err_has 'none/none/x.jsonl: cannot write'
