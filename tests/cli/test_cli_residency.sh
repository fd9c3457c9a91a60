#!/bin/sh
# Groups of devices and residencies, from the command line.
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/cli/cli.sh
. "$here/cli.sh"
unset GAMUT_DEVICE # --like would narrow itself to it

expect 0 "" list residencies
has "^versioned "
has ":grain=range (range|memory)"

# A residency is a part of the case where there is a group, and of no other.
expect 0 "10 ok" run --smoke -w halo -s raw,pool -D host,host+host -R all --out group.json --progress plain
has "halo smoke on host+host"
has "residency"
is_json group.json
[ "$(grep -c '"residency":' group.json)" -ge 8 ] || fail "group.json lacks residencies"
expect 0 "" compare group.json --by residency=always
has "host+host"
expect 0 "10 ok" run --like group.json --no-save --rounds 1
expect 0 "8 ok" run --like group.json -D host+host --no-save --rounds 1
expect 0 "2 ok" run --like group.json -D host --no-save --rounds 1
expect 0 "4 ok" run --smoke -w halo -s raw -D host+host -R 'versioned:grain=range|memory:route=host|direct' --no-save --format csv
has ",versioned:grain=memory:route=host,ok,copy_migration_bytes,bytes,exact,"

# The lower half and its neighbour's last row, then two rows of 40 words in each of 4 steps; always:
# whole halves.
expect 0 "2 ok" run --smoke -w halo -s raw -D host+host -R versioned,always --no-save --format csv
has ",versioned,ok,copy_migration_bytes,bytes,exact,4800,"
has ",always,ok,copy_migration_bytes,bytes,exact,47040,"
expect 0 "1 ok" run --smoke -w halo -s raw -D host --no-save --format csv
has ",host,,ok,copy_migration_bytes,bytes,exact,0,"

# A kernel beyond the group is no kernel of it; one device runs all.
cat >far.mem <<EOF
fun far(n: i64, x: [n]i32) { let y: [n]i32 = kernel third on 2 (i < n) { y[i] = 2 * x[i]; } in y }
dataset smoke { n = 2; x = [1, 2]; } expect { y = [2, 4]; }
EOF
expect 0 "2 ok, 1 skipped" run --smoke -w far.mem -s raw -D host,host+host,host+host+host --no-save
has "^not on host+host: raw (kernel 'third' runs on device 2, host+host has devices 0 to 1"

# What is not there, and what can't be.
expect 77 "no device matches any member of 'opencl:no-such+opencl:nor-such'" \
    run --smoke -w halo -D opencl:no-such+opencl:nor-such --no-save
expect 0 "1 ok, 1 skipped" run --smoke -w halo -s raw -D host,host+cuda:77 --no-save
has "^not on host+cuda:77: raw ("
lacks "SKIPPED"
expect 2 "there is no device 'host+hots'" run --smoke -w halo -D host+hots --no-save
expect 2 "there is no residency 'versiond' (did you mean versioned" \
    run --smoke -w halo -D host+host -R versiond --no-save
expect 2 "lazy has no options" run --smoke -w halo -D host+host -R lazy:grain=memory --no-save
expect 2 "residency is for a group of devices" run --smoke -w halo -D host -R lazy --no-save
expect 2 "a group has at most 8 devices" \
    run --smoke -w halo -D host+host+host+host+host+host+host+host+host --no-save

# Each member has the limit: at most one half of a step and what it makes of it, not both halves.
expect 0 "1 ok" run --smoke -w halo -s raw -D host+host -R versioned --mem-limit 14k --no-save
expect 3 "oom: raw" run --smoke -w halo -s raw -D host+host -R versioned --mem-limit 8k --no-save
grep -q "device . of host+host (host): a copy of 3.28 KiB" err || fail "the reason is not said"

summary
