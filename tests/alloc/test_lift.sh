#!/bin/sh
# Each strategy can be lifted out of gamut: it compiles and links with the files alone that the line
# "Needs:" at its top names, none of them in vain, as plain C11; its headers are C++17 as well.
# What was linked serves three allocations and takes them back.
#   UPDATE=1 tests/alloc/test_lift.sh      writes the interface of the library anew, for you to look at and commit
set -u
cd "$(dirname "$0")/../.." || exit 1
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
CC=${CC:-cc} CXX=${CXX:-c++}
# source.c reads a clock, which is POSIX's and not C's.
flags="-D_POSIX_C_SOURCE=200809L -Ibench -Istrategies"
failed=0

fail() { # WHAT [LOG]
    failed=1
    echo "$1"
    [ $# -lt 2 ] || head -20 "$2"
}

# The file that #include "NAME" or a line "Needs:" means.
file_of() { # NAME
    case $1 in alloc/*) echo "strategies/$1" ;; *) echo "bench/$1" ;; esac
}

# Compiles a file unless it has been already, and prints the name of the object.
object_of() { # NAME
    object=$dir/$(echo "$1" | tr / _).o
    # shellcheck disable=SC2086
    [ -f "$object" ] || $CC -std=c11 -Wall -Wextra -Wpedantic -Werror $flags -MMD -c -o "$object" "$(file_of "$1")" || return 1
    echo "$object"
}

cat >"$dir/main.c" <<'END'
/* Options at their defaults, a source that answers with numbers, three blocks that do not overlap. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "alloc/allocator.h"
#include "alloc/planned/planned.h"
#include "alloc/source_pool.h"
#include "alloc/source_vm.h"

extern const struct allocator_ops STRATEGY;

static uint64_t next = 1 << 20;

static int take(uint64_t bytes, uint64_t *number)
{
    *number = next;
    next += (bytes + 4095) / 4096 * 4096;
    return 0;
}
static int plain_alloc(void *c, uint64_t bytes, uint64_t *memory, struct error *e)
{
    (void)c, (void)e;
    return take(bytes, memory);
}
static int plain_free(void *c, uint64_t memory, uint64_t bytes, struct error *e)
{
    (void)c, (void)e, (void)memory, (void)bytes;
    return 0;
}
static int plain_sync(void *c, struct error *e)
{
    (void)c, (void)e;
    return 0;
}

/* A pool that keeps nothing. */
static uint64_t pool_bytes;
static int pool_open(void *c, const struct driver_pool_options *o, uint64_t most, uint64_t *pool,
                     struct error *e)
{
    (void)c, (void)o, (void)most, (void)e;
    *pool = 1;
    return 0;
}
static int pool_close(void *c, uint64_t pool, struct error *e)
{
    (void)c, (void)pool, (void)e;
    return 0;
}
static int pool_alloc(void *c, uint64_t pool, unsigned q, uint64_t bytes, uint64_t *memory,
                      struct error *e)
{
    (void)c, (void)pool, (void)q, (void)e;
    pool_bytes += bytes;
    return take(bytes, memory);
}
static int pool_free(void *c, uint64_t pool, unsigned q, uint64_t memory, uint64_t bytes,
                     struct error *e)
{
    (void)c, (void)pool, (void)q, (void)memory, (void)e;
    pool_bytes -= bytes;
    return 0;
}
static int pool_trim(void *c, uint64_t pool, uint64_t keep, struct error *e)
{
    (void)c, (void)pool, (void)keep, (void)e;
    return 0;
}
static int pool_reserved(void *c, uint64_t pool, uint64_t *bytes, uint64_t *peak, struct error *e)
{
    (void)c, (void)pool, (void)e;
    *bytes = *peak = pool_bytes;
    return 0;
}

/* Virtual memory of numbers. */
static int vm_info(void *c, struct driver_vm_info *info, struct error *e)
{
    (void)c, (void)e;
    *info = (struct driver_vm_info){.granularity_bytes = 4096, .memory_bytes = 1 << 28};
    return 0;
}
static int vm_piece(void *c, uint64_t range, uint64_t offset, uint64_t bytes, struct error *e)
{
    (void)c, (void)range, (void)offset, (void)bytes, (void)e;
    return 0;
}
static int vm_map(void *c, uint64_t range, uint64_t offset, uint64_t chunk, uint64_t bytes,
                  struct error *e)
{
    (void)chunk;
    return vm_piece(c, range, offset, bytes, e);
}

static const struct driver_pool_ops pool = {pool_open, pool_close,    pool_alloc, pool_free,
                                            pool_trim, pool_reserved, pool_close};
static const struct driver_vm_ops vm = {vm_info,    plain_alloc, plain_free, plain_alloc,
                                        plain_free, vm_map,      vm_piece,   vm_piece};
static const struct source_ops ops = {.alloc = plain_alloc, .free = plain_free, .sync = plain_sync};

static uint64_t value_of(const struct option_spec *o)
{
    if (o->type == OPTION_CHOICE) {
        uint64_t position = 0;
        const char *found = strstr(o->choices, o->fallback);
        for (const char *c = o->choices; c < found; c++)
            position += *c == '|';
        return position;
    }
    char *unit;
    uint64_t number = strtoull(o->fallback, &unit, 10);
    return strcmp(o->fallback, "max") == 0 ? UINT64_MAX
           : *unit == 'G'                  ? number << 30
           : *unit == 'M'                  ? number << 20
           : *unit == 'k' || *unit == 'K'  ? number << 10
                                           : number;
}

int main(void)
{
    const struct allocator_ops *strategy = &STRATEGY;
    struct option_values options = {0};
    /* A plan of the three requests, for the strategy that serves from one. */
    struct plan_slot slots[] = {
        {1000, 0, 3, 0, false}, {2000, 1024, 3, 0, false}, {4000, 3072, 3, 0, false}};
    struct plan_queue queue = {.height = 7168, .bound = 7168, .count = 3, .slots = slots, .turns = 1};
    const struct offset_plan plan = {.unit = 512, .mark = "", .queue_count = 1, .queues = &queue};
    const bool is_planned = strcmp(strategy->name, "planned") == 0;
    options.given = is_planned ? &plan : NULL;
    for (size_t i = 0; strategy->options && strategy->options[i].name; i++)
        options.value[i] = value_of(&strategy->options[i]);
    struct source source = {.ops = &ops,
                            .pools = &pool,
                            .vm = &vm,
                            .alignment = 256,
                            .can_split = true};
    struct block block[3];
    void *state;
    assert(strategy->init(&source, &options, &state) == 0);
    for (uint64_t i = 0; i < 3; i++) {
        const struct alloc_request request = {.size = 1000 << i, .alignment = 256, .tag = "lifted"};
        assert(strategy->alloc(state, &request, &block[i]) == 0);
        assert(block[i].memory != 0 && block[i].size >= request.size);
        assert(!is_planned || (block[i].memory == block[0].memory && block[i].offset == slots[i].offset));
        assert(strategy->check(state) == 0);
        for (uint64_t j = 0; j < i && !strategy->harness_only; j++)
            assert(block[j].memory != block[i].memory ||
                   block[j].offset + block[j].size <= block[i].offset ||
                   block[i].offset + block[i].size <= block[j].offset);
    }
    for (int i = 0; i < 3; i++)
        assert(strategy->free(state, &block[i], "lifted") == 0);
    assert(strategy->check(state) == 0 && strategy->trim(state) == 0);
    strategy->fini(state);
    return 0;
}
END

# shellcheck disable=SC2086
$CC -std=c11 -Wall -Wextra $flags -c -o "$dir/main.o" "$dir/main.c" || exit 1

lift() { # STRATEGY
    file=$(find strategies/alloc -name "$1.c")
    needs=$(sed -n '/^ \* Needs: /,/^ \*\//{s/^ \* \(Needs: \)\{0,1\}//p}' "$file" | tr '\n' ' ')
    [ -n "$needs" ] || { fail "$1.c does not say what it needs"; return; }
    objects=
    for file in "${file#strategies/}" $needs; do
        object=$(object_of "$file" 2>"$dir/log") || { fail "$1: $file is not plain C11:" "$dir/log"; return; }
        objects="$objects $object"
    done
    # shellcheck disable=SC2086
    $CC -Wl,--defsym=STRATEGY="allocator_$1" -o "$dir/lifted" "$dir/main.o" $objects 2>"$dir/log" || { fail "$1 does not link with $needs:" "$dir/log"; return; }
    "$dir/lifted" 2>"$dir/log" || fail "$1, lifted, fails:" "$dir/log"
    # shellcheck disable=SC2086
    needed=$(nm -A -g "$dir/main.o" $objects | awk -F '[: ]+' -v used_too="allocator_$1" 'BEGIN { used[used_too] } $(NF - 1) == "U" { used[$NF]; next } { owner[$NF] = $1 } END { for (s in used) print owner[s] }')
    for object in $objects; do
        echo "$needed" | grep -qxF "$object" || fail "$1 does not need $object"
    done
}

strategies=$(sed -n 's/^ *X(\([a-z_]*\)).*/\1/p' strategies/alloc/list.h)
[ "$(echo "$strategies" | wc -l)" -ge 10 ] || fail "list.h has too few strategies: $strategies"
for strategy in $strategies; do
    lift "$strategy"
done

# The service around a strategy comes along without the list of all of them.
object_of alloc/allocator.c >/dev/null || fail "allocator.c is not plain C11"
! nm "$dir/alloc_allocator.c.o" | grep -q 'U allocator_' || fail "allocator.c needs a strategy or the list"

for header in $(sed 's/\\$//; s/^.*://' "$dir"/*.d | tr ' ' '\n' | grep '\.h$' | sort -u); do
    # shellcheck disable=SC2086
    echo "#include \"$header\"" | $CXX -x c++ -std=c++17 -Wall -Wextra -Werror -fsyntax-only $flags - 2>"$dir/log" || fail "$header is not C++17:" "$dir/log"
done
# What a caller of the library compiles against, without comments and without the clock and texts of bench/base. Whoever changes it decides whether the version must grow.
interface=tests/alloc/interface.txt
for header in $(${CC:-cc} $flags -MM -x c strategies/library/gamut_strategies.h | tr -d '\\' | tr ' ' '\n' | grep '\.h$' | grep -v -e base/clock -e base/text | LC_ALL=C sort); do
    echo "$header"
    $CC -fpreprocessed -dD -E -P -x c "$header" | grep -v '^#undef'
done >"$dir/interface.txt"
if ! diff -u "$interface" "$dir/interface.txt" >"$dir/log"; then
    fail "the interface of the strategies' library changed:" "$dir/log"
    echo "If a caller must change or be compiled again, raise ALLOCATOR_API_VERSION and GAMUT_STRATEGIES_API, and say so in CHANGELOG.md."
    echo "Then: UPDATE=1 tests/alloc/test_lift.sh"
    [ -z "${UPDATE:-}" ] || cp "$dir/interface.txt" "$interface"
fi
exit $failed
