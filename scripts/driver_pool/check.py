"""check.py CHECK LOG...: brings logs of probe and of log.c (.xz) into the form of check.c, and gives them to it.

CHECK is made by: cc -O2 -Ibench -Istrategies -I. scripts/driver_pool/check.c bench/run/predict/stream_pool.c bench/base/arena.c -lm -o CHECK
Logs: results/data/driver-pool-{idle,held,pytorch,pytorch-unseen}.txt.xz."""
import lzma, subprocess, sys


def held(lines):
    """Of probe: "a QUEUE BLOCK BYTES ADDRESS RESERVED" and how many frees of each queue are done, "f QUEUE BLOCK NUMBER" and the same, d and D the same."""
    first = {"a": 6, "f": 4, "d": 3, "D": 3}
    done, seen = {}, [0] * 4
    for t, w in enumerate(lines):
        for q, count in enumerate(map(int, w[first[w[0]]:])) if w[0] in first else ():
            while seen[q] < count:
                seen[q] += 1
                done[q, seen[q]] = t
    for t, w in enumerate(lines):
        if w[0] == "a":
            yield *w[:6], t
        elif w[0] == "f":
            yield *w[:3], 0, 0, 0, done.get((int(w[1]), int(w[3])), 10**9)
        elif w[0] == "o":
            yield *w[:3],
        elif w[0] in "Sse":
            yield "s", 32 if w[0] == "S" else w[1]


def pytorch(lines):
    """Of log.c: "a STREAM BYTES ADDRESS RESERVED CAPTURED CODE NUMBER", "f STREAM ADDRESS NUMBER CAPTURED CODE", "c NUMBER" when that call is done. A free that
    is not done when its stream begins to wait for another, without a request between, counts as done with the next call after that wait: so the driver sees it."""
    done, blocks, count, events, frees, behind = {}, {}, 0, {}, {}, {}
    for t, w in enumerate(lines):
        if w[0] == "c":
            done.setdefault(w[1], t)
    for t, w in enumerate(lines):
        if w[0] == "w":
            behind.setdefault(w[1], set()).update(n for n in frees.get(w[1], ()) if done.get(n, 10**9) > t)
        elif w[0] in "af":
            number = w[7 if w[0] == "a" else 3]
            for n in behind.pop(w[1], ()):
                done[n] = max(done.get(n, 10**9), done.get(number, 10**9))
            frees[w[1]] = [] if w[0] == "a" else [*frees.get(w[1], ()), number]
    for t, w in enumerate(lines):
        if w[0] == "a" and w[5] == "0":
            blocks[w[3]] = count
            yield "a", w[1], count, *w[2:5], t
            count += 1
        elif w[0] == "f" and w[4] == "0" and w[2] in blocks:
            yield "f", w[1], blocks.pop(w[2]), 0, 0, 0, done.get(w[3], 10**9)
        elif w[0] == "r":
            events[w[2]] = w[1]
        elif w[0] == "w" and w[2] in events:
            yield "o", w[1], events[w[2]]
        elif w[0] in ("ss", "ds"):
            yield "s", 32 if w[0] == "ds" else w[1]


def idle(lines):
    return ((*w, 0) if w[0] != "s" else ("s", 32) for w in lines)


def pools(path):
    form = held if "held" in path else pytorch if "pytorch" in path else idle
    name, lines = None, []
    for line in [*lzma.open(path, "rt"), "#"]:
        if line.startswith("#"):
            if lines:
                yield name, form(lines)
            name, lines = line.strip("# \n"), []
        else:
            lines.append(line.split())


text = "".join(f"# {name}\n" + "".join(" ".join(map(str, x)) + "\n" for x in lines) for path in sys.argv[2:] for name, lines in pools(path))
sys.exit(subprocess.run([sys.argv[1]], input=text, text=True).returncode)
