# progress.sh - the line of a training: it fits terminals of several widths; in a
# pipe there is none of it.
cat >config.json <<'J'
{"architecture": "vit_tiny_patch16_224", "model_args": {"img_size": 8,
 "patch_size": 4, "embed_dim": 8, "depth": 1, "num_heads": 1, "mlp_ratio": 1}}
J
mkdir -p data/bird data/cat
for i in $(seq 8); do
    for class in bird cat; do
        { printf 'P6 2 2 255\n' && head -c 12 "$VT_DATA/sample.jpg"; } >data/$class/$i.ppm
    done
done
given=(train --config config.json --data data --batch 8 --epochs 100 --hold-out 8)
run 0 "${given[@]}" -o pipe
[ "$(grep -c ': epoch ' err)" = 100 ] || fail 'not one line for each epoch'
! grep -q $'[\r\033]' err || fail 'a pipe gets what is for a terminal'

# look.py COLUMNS DIR: trains in a terminal of that width.
cat >look.py <<'P'
import fcntl, os, pty, re, struct, sys, termios
columns = int(sys.argv[1])
pid, fd = pty.fork()
if pid == 0:
    os.environ["COLUMNS"] = "1000" # the terminal itself knows better
    fcntl.ioctl(2, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    os.execv(sys.argv[3], sys.argv[3:] + ["-o", sys.argv[2]])
seen = b""
while True:
    try:
        part = os.read(fd, 65536)
    except OSError:
        break
    if not part:
        break
    seen += part
assert os.waitpid(pid, 0)[1] == 0, seen
text = seen.decode()
lines = re.split(r"[\r\n]+", text.replace("\x1b[K", ""))
for line in lines: # the cursor must not wrap either
    assert len(line) <= columns or "/" in line, line # a long path
changing = [l for l in lines if re.match(r"(\[#*-*\]  )?epoch \d+/100  ", l)]
ended = [l for l in lines if re.match(r"epoch \d+/100: ", l)]
assert len(ended) == 100, len(ended)
assert changing, text
last = changing[-1]
wanted = {
    30: r"epoch 100/100  loss \d\.\d{4}$",
    60: r"epoch 100/100  loss \d\.\d{4}  acc \d+\.\d %  (\d[\d.]+/s  )?0:00 left$",
    80: r"epoch 100/100  loss \d\.\d{4}  acc.* \d+\.\d %  lr 0  "
        r"\d+(/s| pictures/s)  0:00 left$",
    100: r"(\[#{10,}\]  )?epoch 100/100  loss \d\.\d{4}  accuracy \d+\.\d %  "
         r"lr 0  \d+ pictures/s  0:00 left$"}
assert re.match(wanted[columns], last), last
wanted = {30: r"epoch 1/100: loss \d\.\d{4}$",
          60: r"epoch 1/100: loss \d\.\d{4}, .*held-out \d+\.\d\d %(, best)?$",
          80: r"epoch 1/100: loss .*, acc.* %, held-out .*\d\.\d\d %, best",
          100: r"epoch 1/100: loss .*, acc.* %, held-out loss \d\.\d{4}, "
               r"held-out .*\d\.\d\d %, best"}
assert re.match(wanted[columns], ended[0]), ended[0]
# Each line is cleared before the next one: only what stays has a line feed.
kept = [l.split("\r")[-1].replace("\x1b[K", "") for l in
        text.replace("\r\n", "\n").split("\n")]
assert sum(l.startswith(("[", "epoch")) for l in kept) == 100, kept
P
for columns in 30 60 80 100; do
    python3 look.py $columns t$columns "$VITCL" "${given[@]}" || fail "$columns columns"
done
cmp pipe/model.safetensors t60/model.safetensors || fail 'another model'

# The line of other commands is made by the same functions.
mkdir many
for i in $(seq 600); do cp data/bird/1.ppm many/$i.ppm; done
for columns in 40 60; do
    on_terminal $columns 0 embed --batch 1 many -o vectors$columns.safetensors
    tr '\r' '\n' <out | sed 's/\x1b\[K//g' | grep '/600 ' >lines || fail 'no progress'
    ! grep -qE "^.{$columns}" lines || fail "wider than $columns: $(tail -n 1 lines)"
    grep -qE '600/600  [0-9.]+(/s| pictures?/s)  0:00 left$' lines ||
        fail "not whole: $(tail -n 1 lines)"
done
grep -qE '^\[#{10,}\]  600/600  ' lines || fail 'no bar at 60 columns'
