#!/bin/sh
# The command line: an atlas and predictions by it.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/cli.sh"
unset OCL_ICD_VENDORS

"$gamut" run --smoke -w canny -s raw,pool,tagged,bufalloc --out a.json >out 2>err || fail "no a.json"

# ---- an atlas
expect 2 "exclude each other" atlas --no-save --out b.json
expect 2 "did you mean --quick?" atlas --qick
expect 2 "one argument too many" atlas host
expect 2 "json" atlas --format csv
expect 77 "no device matches" atlas -D opencl:no-such-device-anywhere
expect 2 "there are: best, all, host" atlas -D nosuch
expect 2 "there are: best, all, host" atlas -D host,nosuch
expect 2 "host+host. is a group: this command measures one device at a time" atlas -D host+host
expect 2 "a.json exists" atlas --quick --out a.json
expect 0 "1 measured; wrote b.json" atlas --quick --out b.json
has "^raw  *alloc .* µs"
has "^malloc  *first_use"
has "^stream:threshold=0  *host has no"
is_json b.json
expect 0 "" plot b.json --out atlas-charts
expect 0 "1 measured" atlas --quick --no-save --format json
is_json out
if "$gamut" list devices | grep -q '^opencl:0'; then
    expect 0 "1 measured; wrote c.json" atlas --quick -D opencl:0 --out c.json
    has "^raw  *free .* [a-z_]*$"
    has "^command  *read "
    has "^raw  *alloc_busy "
    has "^after_write  *free_3 "
fi

# ---- predictions
expect 2 "none.json" run --smoke -w right.mem --no-save --atlas none.json
expect 2 "a.json: the file has no atlas" run --smoke -w right.mem --no-save --atlas a.json
expect 0 "1 ok" run --smoke -w canny -s raw --no-save --atlas b.json
has "strategy  .*wall  *predicted  *error"
expect 0 "1 ok" run --smoke -w canny -s raw --no-save --atlas b.json --format json
has '"predicted_ns": *[1-9]'
is_json out
if "$gamut" list devices | grep -q '^opencl:0'; then
    expect 0 "b.json has no atlas of opencl:0" run --smoke -w canny -s raw --no-save -D opencl:0 --atlas b.json
fi
# An atlas of before busy prices is read, and the run says that it has none.
if "$gamut" list devices | grep -q '^opencl:0'; then
    expect 0 "1 ok" run --smoke -w canny -s raw --no-save -D opencl:0 --atlas c.json
    ! grep -q "busy device" err || fail "an atlas with busy prices is called idle"
    grep -v -E '"method": ?"after_write"|"call": ?"[a-z_]*_busy"' c.json >idle.json
    expect 0 "opencl:0 has no prices of a busy device" run --smoke -w canny -s raw --no-save -D opencl:0 --atlas idle.json
    has "strategy  .*wall  *predicted  *error"
fi
sed 's/"device": "host", "name": "/&another /' b.json >another.json
expect 0 "was made on another" run --smoke -w canny -s raw --no-save --atlas another.json
sed 's/"waits":"unknown"/"waits":"perhaps"/' b.json >broken.json
expect 2 "broken.json: atlas.*curves.0.*waits" run --smoke -w canny --no-save --atlas broken.json
# The newest of the device is found by itself, but not for a smoke run.
mkdir -p kept/machine && cp another.json kept/machine/20300101T000000Z-x.json
cp b.json kept/machine/20200101T000000Z-x.json && cp a.json kept/machine/20290101T000000Z-x.json
expect 0 "predicted by the atlas in kept/machine/20200101" run -w canny -s raw -d smoke --rounds 1 \
    --max-samples 5 --no-save --results kept --format json
grep -q '"sessions": \[{.*"atlases":\[{"device":"host","file":"20200101T000000Z-x.json","run":"[0-9a-f]*","started_at":"2[0-9TZ:.-]*"}\]' out ||
    fail "the result does not name the atlas"
expect 0 "1 ok" run --smoke -w canny -s raw --no-save --results kept
! grep -q atlas err || fail "a smoke run looks for atlases"
# Rounds that are added may be predicted by another atlas than those before.
expect 0 "1 ok" run -w canny -s raw -d smoke --rounds 1 --max-samples 5 --atlas b.json --out added.json
expect 0 "1 ok" run --add added.json --rounds 1 --atlas another.json
grep -q '"sessions": \[.*"file":"b.json".*"file":"another.json"' added.json || fail "a session does not name its atlas"

# Shards may have been predicted by different ones, so each names its own.
for shard in 1 2; do expect 0 "wrote s$shard" run --smoke -w canny,fft -s raw --atlas b.json --shard $shard/2 -o s$shard.json; done
expect 0 "2 ok" join s1.json s2.json -o joined.json
[ "$(grep '^"joined"' joined.json | grep -o '"file":"b.json"' | wc -l)" = 2 ] || fail "a joined shard does not name its atlas"
! grep '^"sessions"' joined.json | grep -q atlases || fail "a joined result has the atlas of one shard"

# ---- interruption
# Sizes are visited in random order, the first may take a second: which method has a row by then is chance.
interrupted HUP 'sizes' cut_atlas.json '"sample_count":[1-9]' atlas
has "^[a-z]* .* [^ ]*s ("

summary
