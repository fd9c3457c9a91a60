/* The decisions of each strategy: short scripts, each with the driver calls that it must cause.
 *
 *   a=A:100          ask for 100 bytes at allocation site A and call the block a
 *   a=A:100/103@64#2 ... it must have 103 bytes, offset 64, and lie in the 2nd memory of the driver
 *   a=A:100!         ... it must be refused
 *   -a               free it
 *   -a!              ... the strategy cannot, and says so
 *   t                trim
 *   m                a phase "step 7" begins
 *   <150             the driver has 150 bytes from here on
 *   q1               later requests are of queue 1
 *   ~a               free it, while another queue uses it: the strategy gets it when it waits
 *
 * Calls: "+100" granted, "?100" refused, "-100" given back, "*100" made resident; those of
 * pools and of virtual memory are told in fake_source.h. The fake driver aligns to 64 bytes and can
 * split.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc/allocator.h"
#include "base/random.h"
#include "tests/alloc/fake_source.h"
#include "tests/base/cmocka.h"

struct policy_case {
    const char *rule;
    const char *spec;
    const char *script;
    const char *calls;
};

static const struct policy_case null_cases[] = {
    {"everybody gets the same memory", "null", "a=A:100@0#1 b=B:50/50@0#1 -a c=A:100#1", "+100"},
    {"it grows, and keeps what blocks point to", "null", "a=A:100#1 b=B:200#2 c=C:10#2 t",
     "+100 +200"},
    {"trim with nothing live", "null", "a=A:100 b=B:200 -b t -a t", "+100 +200 -200 -100"},
    {"releases when nothing is live", "null", "<250 a=A:100 -a b=B:200", "+100 ?200 -100 +200"},
    {"keeps what is live", "null", "<250 a=A:100 b=B:200!", "+100 ?200"},
};

static const struct policy_case raw_cases[] = {
    {"one call a request", "raw", "a=A:100#1 -a b=A:100/100@0#2", "+100 -100 +100"},
    {"resident", "raw:first_use=resident", "a=A:100 -a", "+100 *100 -100"},
    {"nothing to release", "raw", "<150 a=A:100 b=B:100!", "+100 ?100"},
};

static const struct policy_case pool_cases[] = {
    {"blocks are the largest size of their bin", "pool",
     "a=A:100/103 b=A:1000/1023 c=A:4096/4351 d=A:1048576/1114111 e=A:67108864/71303167",
     "+103 +1023 +4351 +1114111 +71303167"},
    {"below 2^leading_bits bins are exact", "pool",
     "a=A:1/1 b=A:2/2 c=A:3/3 d=A:31/31 e=A:32/33 f=A:33/33 -e g=A:33#5 h=A:34/35",
     "+1 +2 +3 +31 +33 +33 +35"},
    {"sizes that end in ones are their own bin's", "pool",
     "a=A:103/103 -a b=A:100#1 -b c=A:104/107 d=A:4351/4351 e=A:4352/4607",
     "+103 +107 +4351 +4607"},
    {"leading_bits=2", "pool:leading_bits=2", "a=A:16777216/20971519 b=A:100/111",
     "+20971519 +111"},
    {"leading_bits=0 is powers of two", "pool:leading_bits=0",
     "a=A:100/127 b=A:128/255 c=A:127/127 d=A:1/1 e=A:2/3", "+127 +255 +127 +1 +3"},
    {"leading_bits=7", "pool:leading_bits=7", "a=A:100/100 b=A:1000/1003 c=A:4096/4127",
     "+100 +1003 +4127"},
    {"2^32 and above", "pool", "a=A:4294967295/4294967295 b=A:4294967296/4563402751",
     "+4294967295 +4563402751"},
    {"reuse within a bin, tags ignored", "pool", "a=A:103 -a b=B:100/103#1", "+103"},
    {"last in, first out", "pool", "a=A:100 b=A:100 c=A:100 -a -c -b d=A:100#2 e=A:100#3 f=A:100#1",
     "+103 +103 +103"},
    {"other bins are not searched", "pool", "a=A:200 -a b=A:100/103#2", "+207 +103"},
    {"the largest bin is released first, one block at a time", "pool",
     "<700 a=A:100 b=A:200 c=A:300 -c -a -b d=A:400/415",
     "+103 +207 +303 ?415 -303 ?415 -207 +415"},
    {"... however large it is", "pool", "<10000000000 a=A:8589934592 -a b=B:2000000000",
     "+9126805503 ?2013265919 -9126805503 +2013265919"},
    {"with all released it fails", "pool", "<400 a=A:100 b=A:200 -b c=A:350!",
     "+103 +207 ?351 -207 ?351"},
    {"trim", "pool", "a=A:100 b=A:200 c=A:100 -a -b t -c", "+103 +207 +103 -207 -103"},
    {"resident", "pool:first_use=resident", "a=A:100 -a b=A:100", "+103 *103"},
};

static const struct policy_case tagged_v1_cases[] = {
    {"the tag's own block is found again", "tagged", "a=A:100 -a b=A:60/100#1 -b c=A:100/100#1",
     "+100"},
    {"twice the request is still right", "tagged", "a=A:100 -a b=A:50/100#1", "+100"},
    {"more than twice is released", "tagged", "a=A:100 -a b=A:49/49#2", "+100 -100 +49"},
    {"too small is released", "tagged", "a=A:100 -a b=A:101/101#2", "+100 -100 +101"},
    {"another tag's block is not looked at", "tagged", "a=A:100 -a b=B:100#2", "+100 +100"},
    {"one block a tag: the older one goes", "tagged", "a=A:100 b=A:200 -a -b c=A:150/200#2",
     "+100 +200 -100"},
    {"sizes as they are requested", "tagged", "a=A:1/1 b=B:4/4 c=C:5/5", "+1 +4 +5"},
    {"fails with memory in its list", "tagged", "<150 a=A:100 -a b=B:100!", "+100 ?100"},
    {"release=yes", "tagged:release=yes", "<150 a=A:100 -a b=B:100", "+100 ?100 -100 +100"},
    {"release=yes: lowest slot first", "tagged:release=yes",
     "<210 a=A:100 b=B:50 c=C:60 -b -a -c d=D:100", "+100 +50 +60 ?100 -50 ?100 -100 +100"},
    {"release=yes: a slot that was emptied is filled first", "tagged:release=yes",
     "<210 a=A:100 b=B:50 c=C:60 -a -b d=A:100#1 -c e=E:60", "+100 +50 +60 ?60 -60 +60"},
    {"steal=yes: another tag's block that fits", "tagged:steal=yes",
     "a=A:100 b=B:90 -a -b c=C:60/100#1", "+100 +90"},
    {"steal=yes: not one that is too big or too small", "tagged:steal=yes",
     "a=A:100 -a b=B:49 c=C:101", "+100 +49 +101"},
    {"steal=yes: after its own was wrong", "tagged:steal=yes", "a=A:20 b=B:60 -a -b c=A:50/60#2",
     "+20 +60 -20"},
    {"trim", "tagged", "a=A:20 b=B:60 -b -a t", "+20 +60 -60 -20"},
};

static const struct policy_case tagged_later_cases[] = {
    {"v1c: at least four bytes", "tagged:policy=v1c", "a=A:1/4 b=B:4/4 c=C:5/5", "+4 +4 +5"},
    {"v1c: no block is too big", "tagged:policy=v1c", "a=A:1000 -a b=A:1/1000#1", "+1000"},
    {"v1c: too small is released", "tagged:policy=v1c", "a=A:100 -a b=A:101", "+100 -100 +101"},
    {"v1c: one block a tag, own tag only", "tagged:policy=v1c", "a=A:10 b=A:20 -a -b c=B:10",
     "+10 +20 -10 +10"},
    {"v1c: releases on failure", "tagged:policy=v1c", "<150 a=A:100 -a b=B:100",
     "+100 ?100 -100 +100"},
    {"v1c: fails when all is released", "tagged:policy=v1c", "<150 a=A:100 -a b=B:160!",
     "+100 ?160 -100 ?160"},
    {"v2: exactly the size, of any tag", "tagged:policy=v2", "a=A:100 -a b=B:100#1", "+100"},
    {"v2: exactly", "tagged:policy=v2", "a=A:100 -a b=B:99", "+100 +99"},
    {"v2: the last one of that size", "tagged:policy=v2",
     "a=A:100 b=B:100 c=C:7 -c -b -a d=D:100#1 e=E:100#2", "+100 +100 +7"},
    {"v2: the last slot, not the last free", "tagged:policy=v2",
     "a=A:7 b=B:100 c=C:100 -a -b d=D:7#1 -c e=E:100#2", "+7 +100 +100"},
    {"v2: the own tag goes before", "tagged:policy=v2", "a=A:200 b=B:100 -a -b c=A:100/200#1",
     "+200 +100"},
    {"v2: an own block that is too small is released, others not looked at", "tagged:policy=v2",
     "a=A:50 b=B:100 -a -b c=A:100#3", "+50 +100 -50 +100"},
    {"v2: one block a tag", "tagged:policy=v2", "a=A:50 b=A:60 -a -b", "+50 +60 -50"},
    {"v2: steal=yes", "tagged:policy=v2:steal=yes", "a=A:100 -a b=B:99/100#1", "+100"},
    {"v3: the smallest that is big enough", "tagged:policy=v3",
     "a=A:300 b=B:200 c=C:100 -a -b -c d=D:150/200#2", "+300 +200 +100"},
    {"v3: however big, the own tag no better", "tagged:policy=v3",
     "a=A:1000000 b=B:900000 -a -b c=A:4/900000#2", "+1000000 +900000"},
    {"v3: the list is not bounded", "tagged:policy=v3", "a=A:100 b=A:100 -b -a c=A:100#2 d=A:100#1",
     "+100 +100"},
    {"v3: nothing is released for being too small", "tagged:policy=v3",
     "a=A:100 -a b=A:101 -b c=A:100#1", "+100 +101"},
    {"v4: at least four bytes", "tagged:policy=v4", "a=A:1/4 b=B:5/5 c=C:4097/4097", "+4 +5 +4097"},
    {"v4: below 4096 waste does not matter", "tagged:policy=v4", "a=A:4092 -a b=B:4/4092#1",
     "+4092"},
    {"v4: from 4096 on less than twice", "tagged:policy=v4",
     "a=A:4096 -a b=B:2048#2 c=C:2049/4096#1", "+4096 +2048"},
    {"v4: of the own tag any", "tagged:policy=v4", "a=A:1000000 -a b=A:4/1000000#1", "+1000000"},
    {"v4: the smallest acceptable", "tagged:policy=v4",
     "a=A:20000 b=B:9000 c=C:12000 -a -b -c d=A:5000/9000#2 e=D:5000/5000#4 f=A:5000/20000#1",
     "+20000 +9000 +12000 +5000"},
    {"v4: releases on failure", "tagged:policy=v4", "<8050 a=A:8000 -a b=B:100",
     "+8000 ?100 -8000 +100"},
};

static const struct policy_case bufalloc_cases[] = {
    {"chunks are appended, starts aligned up", "bufalloc:region=4096",
     "a=A:100/100@0 b=B:100/100@128 c=C:64@256 d=D:1@320", "+4096"},
    {"256 MiB and wasteful by default", "bufalloc", "a=A:128 b=B:64 -a c=C:128@192", "+268435456"},
    {"wasteful appends before it recycles", "bufalloc:region=4096",
     "a=A:128 b=B:128 -a c=C:128@256", "+4096"},
    {"tight recycles before it appends", "bufalloc:region=4096:strategy=tight",
     "a=A:128 b=B:128 -a c=C:128@0 d=D:128@256", "+4096"},
    {"wasteful recycles when the tail is too small", "bufalloc:region=4096",
     "a=A:2048 b=B:1024 -a c=C:2048@0", "+4096"},
    {"first fit by address", "bufalloc:region=4096",
     "a=A:512 b=B:64 c=C:1024 d=D:64 e=E:512 f=F:1920 -e -a -c g=G:512@0 h=H:512/1024@576",
     "+4096"},
    {"a small thief takes a chunk whole", "bufalloc:region=4096",
     "a=A:3584 b=B:512 -a c=C:64/3584@0#1 d=D:64/64@0#2", "+4096 +4096"},
    {"split=yes keeps the rest", "bufalloc:region=4096:split=yes",
     "a=A:3584 b=B:512 -a c=C:65/65@0 d=D:3456/3456@128#1 -c -d e=E:3584@0", "+4096"},
    {"split=yes without a descriptor gives the whole chunk",
     "bufalloc:region=4096:split=yes:chunks=3", "a=A:2048 b=B:2048 -a c=C:64/2048@0", "+4096"},
    {"one descriptor is the sentinel's", "bufalloc:region=4096:chunks=3",
     "a=A:64 b=B:64 c=C:64@0#2 -b d=D:64@64#1", "+4096 +4096"},
    {"merging with both neighbours", "bufalloc:region=4096",
     "a=A:1024 b=B:1024 c=C:1024 d=D:1024 -a -c -b e=E:3072/3072@0", "+4096"},
    {"merging with the one before", "bufalloc:region=4096",
     "a=A:1024 b=B:1024 c=C:2048 -a -b e=E:2048@0", "+4096"},
    {"merging with the one after", "bufalloc:region=4096",
     "a=A:1024 b=B:1024 c=C:2048 -b -a e=E:2048@0", "+4096"},
    {"merging with the sentinel", "bufalloc:region=4096", "a=A:1024 b=B:1024 -b c=C:3072@1024",
     "+4096"},
    {"merging with the one before and the sentinel", "bufalloc:region=4096",
     "a=A:1024 b=B:1024 -a -b c=C:4096@0", "+4096"},
    {"merging gives descriptors back", "bufalloc:region=4096:chunks=4",
     "a=A:64 b=B:64 c=C:64 -a -b -c d=D:64@0 e=E:64@64 f=F:64@128#1", "+4096"},
    {"the pad is lost until the neighbours merge", "bufalloc:region=4096",
     "a=A:100 b=B:100 c=C:3840@256 -a d=D:101#2 -b e=E:228/228@0#1", "+4096 +4096"},
    {"a large request has a region of its own", "bufalloc:region=4096",
     "a=A:5000/5000@0 b=B:56@0#2", "+5056 +4096"},
    {"regions are tried in the order they were made", "bufalloc:region=4096",
     "a=A:4096#1 b=B:2048#2 -a c=C:64#1", "+4096 +4096"},
    {"trim gives back regions that are wholly free", "bufalloc:region=4096",
     "a=A:4096 b=B:64 -a t c=C:64#2", "+4096 +4096 -4096"},
    {"refused: free regions are released first", "bufalloc:region=4096",
     "<6000 a=A:4096 -a b=B:5000", "+4096 ?5056 -4096 +5056"},
    {"refused: smaller regions are tried", "bufalloc:region=4096", "<6000 a=A:4096 b=B:1000@0#2",
     "+4096 ?4096 ?2048 +1024"},
    {"refused: the request is the smallest", "bufalloc:region=4096", "<5000 a=A:4096 b=B:1000!",
     "+4096 ?4096 ?2048 ?1024"},
};

/* The unit is 64 bytes, so 4160 bytes are 65 units: in one list with 64, and not at its start. */
static const struct policy_case tlsf_cases[] = {
    {"sizes and offsets are multiples of the alignment", "tlsf:parent=64KiB",
     "a=A:100/128@0#1 b=B:1/64@128 c=C:64/64@192", "+8192"},
    {"256 MiB, and the first parent 1/8 of that", "tlsf", "a=A:64", "+33554432"},
    {"a first parent is twice the request, and larger than any before", "tlsf:parent=64KiB",
     "a=A:8192@0#1 b=A:8192@8192#1 c=A:8192#2 d=A:8192#2 e=A:8192#2 f=A:8192#2 g=A:8192@0#3",
     "+16384 +32768 +65536"},
    {"above half a parent: dedicated, and given back", "tlsf:parent=64KiB",
     "a=A:32769/32769@0#1 -a b=B:32768/32768@0#2 -b", "+32769 -32769 +65536"},
    {"the node freed last is taken first", "tlsf:parent=64KiB",
     "a=A:128@0 x=X:64@128 b=A:128@192 y=Y:64@320 -a -b c=A:128@192 d=A:128@0", "+8192"},
    {"the next list that has a node, and its rest stays free", "tlsf:parent=64KiB",
     "a=A:2048@0 b=B:64@2048 -a c=C:64@0 d=D:1984@64 e=E:64@2112", "+8192"},
    {"not the node of its own list, where another may be too small", "tlsf:parent=256KiB",
     "a=A:4160@0 b=B:64@4160 -a c=C:4160@4224", "+32768"},
    {"... but for a size at the start of its list", "tlsf:parent=256KiB",
     "a=A:4096@0 b=B:64@4096 -a c=C:4096@0", "+32768"},
    {"... and where the tail is too small", "tlsf:parent=256KiB",
     "a=A:4160@0 b=B:28608@4160 -a c=C:4160@0", "+32768"},
    {"... where a node before it in the list is too small", "tlsf:parent=256KiB",
     "a=A:4160@0 b=B:64@4160 c=C:4096@4224 d=D:24448@8320 -a -c e=E:4160@0", "+32768"},
    {"min_memory looks at its own list first", "tlsf:parent=256KiB:strategy=min_memory",
     "a=A:4160@0 b=B:64@4160 -a c=C:4160@0", "+32768"},
    {"min_memory cuts the tail before a larger node", "tlsf:parent=64KiB:strategy=min_memory",
     "a=A:2048@0 b=B:64@2048 -a c=C:64@2112", "+8192"},
    {"joining with both neighbours", "tlsf:parent=64KiB",
     "a=A:1024 b=B:1024 c=C:1024 d=D:64 -a -c -b e=E:3072/3072@0", "+8192"},
    {"joining with the one before", "tlsf:parent=64KiB",
     "a=A:1024 b=B:1024 c=C:64 -a -b e=E:2048@0", "+8192"},
    {"joining with the one after", "tlsf:parent=64KiB", "a=A:1024 b=B:1024 c=C:64 -b -a e=E:2048@0",
     "+8192"},
    {"joining with the tail", "tlsf:parent=64KiB", "a=A:1024 b=B:1024 -b c=C:7168@1024", "+8192"},
    {"joining with the one before and the tail", "tlsf:parent=64KiB",
     "a=A:1024 b=B:1024 -a -b c=C:8192@0#1", "+8192"},
    {"one empty parent is kept", "tlsf:parent=64KiB", "a=A:64 -a b=B:64@0#1", "+8192"},
    {"a second one is not", "tlsf:parent=64KiB", "a=A:8192 b=B:8192 c=C:8192#2 -a -b -c",
     "+16384 +32768 -32768"},
    {"empty=0", "tlsf:parent=64KiB:empty=0", "a=A:64 -a", "+8192 -8192"},
    {"empty=2", "tlsf:parent=64KiB:empty=2", "a=A:8192 b=B:8192 c=C:8192#2 -a -b -c",
     "+16384 +32768"},
    {"the fullest parent first", "tlsf:parent=64KiB",
     "a=A:8192#1 b=A:8192#1 c=A:8192#2 -a d=D:64@0#1", "+16384 +32768"},
    {"... as parents empty", "tlsf:parent=64KiB",
     "a=A:8192#1 b=A:8192#1 c=A:8192#2 d=A:8192#2 e=A:8192#2 -a -b f=F:64#2", "+16384 +32768"},
    {"min_time: the emptiest first", "tlsf:parent=64KiB:strategy=min_time",
     "a=A:8192#1 b=A:8192#1 c=A:8192#2 -a d=D:64@8192#2", "+16384 +32768"},
    {"trim gives back empty parents", "tlsf:parent=64KiB", "a=A:64 -a t b=B:64#2",
     "+8192 -8192 +8192"},
    {"refused: smaller parents", "tlsf:parent=64KiB", "<20000 a=A:9000@0#1", "?32768 +16384"},
    {"refused: 1/8 is the smallest, then a dedicated memory", "tlsf:parent=64KiB",
     "<5000 a=A:60/60", "?8192 +60"},
    {"refused: empty parents go first", "tlsf:parent=64KiB", "<20000 a=A:8192 -a b=B:17000/17000",
     "+16384 ?65536 -16384 ?65536 ?32768 +17000"},
    {"refused: nothing helps", "tlsf:parent=64KiB", "<5000 a=A:6000!", "?16384 ?8192 ?6000"},
    {"refused a dedicated memory: a parent will do", "tlsf:parent=64KiB",
     "<70000 a=A:20000 -a b=B:40000/40000@0#1", "+65536 ?40000"},
    {"refused a dedicated memory: empty parents go", "tlsf:parent=64KiB",
     "<70000 a=A:64 -a b=B:65000/65000", "+8192 ?65000 -8192 +65000"},
    {"dedicated=never: a parent of its own size, kept", "tlsf:parent=64KiB:dedicated=never",
     "a=A:100000/100032@0#1 -a b=B:100@0#1", "+100032"},
    {"follow=vma: the list after its own, though all nodes of its own fit",
     "tlsf:parent=64KiB:follow=vma",
     "a=A:64@0 b=B:64@64 c=A:128@128 d=B:64@256 -a -c c=C:64@128 a=C:64@320", "+8192"},
    {"... min_memory: its own, or else a larger node before the tail",
     "tlsf:parent=64KiB:follow=vma:strategy=min_memory",
     "a=A:64@0 b=B:64@64 c=A:128@128 d=B:64@256 -a -c c=C:64@0 a=C:64@128", "+8192"},
    {"... an empty parent at the end goes when a block of another one is freed",
     "tlsf:parent=64KiB:follow=vma", "a=A:64 b=B:8128 c=C:8192#2 -c -a", "+8192 +16384 -16384"},
    {"... a step sorts the first two parents out of order", "tlsf:parent=64KiB:follow=vma",
     "a=A:4096#1 b=A:4096#1 c=C:8192#2 d=D:8128#2 x=X:64#2 e=E:16384#3 f=F:14336#3 -a -x "
     "h=H:1024#3",
     "+8192 +16384 +32768"},
    {"... refused a dedicated memory: a parent is asked for", "tlsf:parent=64KiB:follow=vma",
     "<40000 a=A:64 b=A:40000!", "+8192 ?40000 ?65536"},
    {"... refused a parent: empty ones stay", "tlsf:parent=64KiB:follow=vma",
     "<20000 a=A:8192 -a b=B:17000!", "+16384 ?65536 ?32768 ?17000"},
    {"linear: behind the last block, and none between", "tlsf:parent=64KiB:follow=vma_linear",
     "a=A:1024@0 b=A:1024@1024 c=A:1024@2048 -b d=A:1024@3072 -d e=A:512@3072", "+8192"},
    {"linear: a ring, in the last parent alone", "tlsf:parent=64KiB:follow=vma_linear",
     "a=A:4096@0 b=A:4096@4096 -a c=A:2048@0 d=A:64@2048#1 e=A:4096@0#2 -b f=A:64@4096#2",
     "+8192 +16384"},
    {"linear: the ring ends when its older part is free",
     "tlsf:parent=8KiB:follow=vma_linear:upper=1TiB",
     "a=A:2048@0 b=A:4096@2048 c=A:2048@6144 -a d=A:1024@0 e=A:1024@1024 f=A:64! -b f=A:4096@2048 "
     "g=A:64! -c g=A:2048@6144 -d h=A:1024@0",
     "+8192"},
    {"linear: the upper end", "tlsf:parent=8KiB:follow=vma_linear:upper=1KiB",
     "a=A:1024@7168 b=A:64@0 c=A:2048@5120 d=A:512@64 -a e=A:4608! e=A:4544@576 -e -c "
     "f=A:1024@7168",
     "+8192"},
    {"linear: ... not in a ring", "tlsf:parent=8KiB:follow=vma_linear:upper=4KiB",
     "a=A:2048@0 b=A:2048@2048 c=A:2048@4096 d=A:2048@6144 -a e=A:1024@0 -b f=A:4096! -e f=A:4096!",
     "+8192"},
    {"linear: one empty parent is kept, and refused are smaller ones",
     "tlsf:parent=64KiB:follow=vma_linear", "<20000 a=A:9000@0 -a b=A:64#1", "?32768 +16384"},
};

/* 2 MiB are 2097152 bytes, 20 MiB 20971520. */
static const struct policy_case caching_cases[] = {
    {"multiples of 512", "caching", "a=A:1/512@0#1 b=B:512/512@512 c=C:513/1024@1024", "+2097152"},
    {"divisions=4: from 2 KiB on, four steps to the next power of two", "caching:divisions=4",
     "a=A:2048/2048 b=B:2049/2560 c=C:5000/5120 d=D:8193/10240 e=E:4096/4096", "+2097152"},
    {"divisions by MiB: those of the first interval hold below it, '>' after the last",
     "caching:divisions={2:4,4:1,>:2}",
     "a=A:2049/2560 b=B:2621441/3145728 c=C:4194305/4194816 d=D:16777217/25165824",
     "+2097152 +20971520 +25165824"},
    {"up to 1 MiB: small", "caching", "a=A:1048576/1048576@0#1 b=B:1048577/1049088@0#2",
     "+2097152 +20971520"},
    {"from 10 MiB on: segments of their own size", "caching",
     "a=A:10485760/10485760 b=B:10485761/10486272#2 c=C:10485248/10485248#3",
     "+10485760 +12582912 +20971520"},
    {"... whatever a large segment has", "caching:large_segment=12MiB",
     "a=A:9437184@0#1 b=B:9437184@0#2 c=C:10485760#3 d=D:1048577@9437184#1",
     "+12582912 +12582912 +10485760"},
    {"... and more", "caching:large_segment=32MiB",
     "a=A:10485248@0#1 b=B:10485760@10485248#1 c=C:10485760@20971008#1 d=D:10485760#2",
     "+33554432 +10485760"},
    {"... but half of one that is no larger", "caching:large_segment=8MiB",
     "a=A:4193792@0#1 b=B:4194304@4193792#1 c=C:4194304#2", "+8388608 +4194304"},
    {"the smallest that is large enough", "caching",
     "a=A:4096@0 b=B:512@4096 c=C:2048@4608 d=D:512@6656 -a -c e=E:1024@4608 f=F:1024@5632",
     "+2097152"},
    {"of equals the lowest, not the last freed", "caching",
     "a=A:1024@0 x=X:512@1024 b=A:1024@1536 y=Y:512@2560 -a -b c=A:1024@0", "+2097152"},
    {"of equals that of the oldest segment", "caching",
     "a=A:1048576#1 b=A:1048576#1 c=A:1048576#2 d=A:1048576#2 -a -c e=A:1048576#1",
     "+2097152 +2097152"},
    {"small: 512 bytes are left over", "caching", "a=A:1024 b=B:512 -a c=C:512@0 d=D:512@512",
     "+2097152"},
    {"large: 1 MiB is handed out with it", "caching", "a=A:19922944/20971520", "+20971520"},
    {"large: more is not", "caching", "a=A:19922432/19922432 b=B:1048577/1049088@19922432#1",
     "+20971520"},
    {"joining with both neighbours", "caching",
     "a=A:1024 b=B:1024 c=C:1024 d=D:512 -a -c -b e=E:3072/3072@0", "+2097152"},
    {"joining with the one before", "caching", "a=A:1024 b=B:1024 c=C:512 -a -b e=E:2048@0",
     "+2097152"},
    {"joining with the one after", "caching", "a=A:1024 b=B:1024 c=C:512 -b -a e=E:2048@0",
     "+2097152"},
    {"the pools are apart", "caching", "a=A:2000000#1 -a b=B:512@0#2 -b c=C:2000000#1",
     "+20971520 +2097152"},
    {"trim: whole segments, the large pool first, the smallest first", "caching",
     "a=A:512 b=B:30000000 c=C:2000000#3 d=D:512 e=E:1048576 f=E:1048576#4 -a -b -c -f t",
     "+2097152 +31457280 +20971520 +2097152 -20971520 -31457280 -2097152"},
    {"refused: all that is free goes at once", "caching",
     "<26000000 a=A:512 -a b=B:2000000 -b c=C:24000000",
     "+2097152 +20971520 ?25165824 -20971520 -2097152 +25165824"},
    {"refused: fails where a smaller segment would do", "caching", "<10000000 a=A:2000000!",
     "?20971520"},
    {"max_split: oversize blocks are not split", "caching:max_split=30MiB",
     "a=A:40000000/41943040 b=B:31456768/31457280#2", "+41943040 +31457280"},
    {"max_split: ... nor given to smaller requests", "caching:max_split=30MiB",
     "a=A:40000000 -a b=B:20000000#2", "+41943040 +20971520"},
    {"max_split: ... nor to those of 20 MiB less", "caching:max_split=30MiB",
     "a=A:63963136 -a b=B:40000000/41943040#2 c=C:50000000/65011712#1", "+65011712 +41943040"},
    {"max_split: ... by `rounding`", "caching:max_split=30MiB:rounding=30MiB",
     "a=A:63963136 -a b=B:40000000/65011712#1", "+65011712"},
    {"max_split, refused: the smallest that is large enough", "caching:max_split=30MiB",
     "<160000000 a=A:63963136 b=B:84934656 -a -b c=C:31457280",
     "+65011712 +85983232 ?31457280 -65011712 +31457280"},
    {"max_split, refused: at least m bytes", "caching:max_split=30MiB",
     "<50000000 a=A:40000000 -a b=B:2000000", "+41943040 ?20971520 -41943040 +20971520"},
    {"max_split, refused: the largest ones", "caching:max_split=30MiB",
     "<110000000 a=A:33000000 b=B:40000000 -a -b c=C:64000000",
     "+33554432 +41943040 ?65011712 -41943040 -33554432 +65011712"},
    {"max_split, refused: then everything", "caching:max_split=30MiB",
     "<68000000 a=A:33000000 b=B:512 -a -b c=C:64000000",
     "+33554432 +2097152 ?65011712 -33554432 -2097152 +65011712"},
    {"refused: waits for blocks that other queues use, whose segment then goes", "caching",
     "<30000000 a=A:20000000 ~a b=B:12000000", "+20971520 ?12582912 -20971520 +12582912"},
    {"... but does not take one", "caching", "<30000000 a=A:9000000@0 b=B:9000000 ~a c=C:9000000!",
     "+20971520 ?20971520 ?20971520"},
    {"191302: takes one", "caching:proposal=191302",
     "<30000000 a=A:9000000@0 b=B:9000000 ~a c=C:9000000@0", "+20971520 ?20971520"},
    {"waits for all", "caching", "<60000000 a=A:20000000 b=B:20000000 ~a ~b c=C:20000000",
     "+20971520 +20971520 ?20971520 -20971520 -20971520 +20971520"},
    {"171771: waits for as many as are needed, the oldest first", "caching:proposal=171771",
     "<60000000 a=A:20000000 b=B:20000000 ~a ~b c=C:20000000#3",
     "+20971520 +20971520 ?20971520 -20971520 +20971520"},
    {"a free segment stays with its queue", "caching", "a=A:12000000 -a q1 b=B:12000000#2",
     "+12582912 +12582912"},
    {"186232: takes one of another queue, after a wait, the smallest", "caching:proposal=186232",
     "a=A:30000000 b=B:12000000 -a -b q1 c=C:12000000/12582912#2 d=D:1000000#3",
     "+31457280 +12582912 w +2097152"},
    {"186232: ... and not one that has blocks, nor before its own", "caching:proposal=186232",
     "a=A:9000000 b=B:9000000 -a q1 c=C:9000000#2 -c q0 d=D:9000000#1", "+20971520 +20971520"},
};

static const struct policy_case bfc_cases[] = {
    {"multiples of 256", "bfc", "a=A:1/256@0#1 b=B:257/512@256#1", "+2097152"},
    {"the smallest that is large enough", "bfc",
     "a=A:4096@0 b=B:256@4096 c=C:2048@4352 d=D:256@6400 -a -c e=E:1024@4352", "+2097152"},
    {"of equals the lowest, not the last freed", "bfc",
     "a=A:1024@0 x=X:256@1024 b=A:1024@1280 y=Y:256@2304 -a -b c=A:1024@0", "+2097152"},
    {"a chunk of less than twice the request is handed out whole", "bfc",
     "a=A:2048@0 b=B:256 -a c=C:1280/2048@0 -c d=D:1024/1024@0", "+2097152"},
    {"... unless `waste` bytes would be left over", "bfc:waste=512",
     "a=A:2048@0 b=B:256 -a c=C:1536/1536@0 -c d=D:1792/2048@0", "+2097152"},
    {"regions double, each after one that fitted", "bfc:start=1KiB",
     "a=A:1024#1 b=B:1024#2 c=C:2048#3", "+1024 +2048 +4096"},
    {"... and until the request fits", "bfc:start=1KiB", "a=A:5000/8192#1 b=B:256#2 c=C:9000#3",
     "+8192 +8192 +16384"},
    {"most: from there on a larger request alone doubles", "bfc:start=1KiB:most=2KiB",
     "a=A:1024 b=A:2048 c=A:2048 d=A:3072 e=A:4096", "+1024 +2048 +2048 +4096 +4096"},
    {"... and a region that is refused doubles", "bfc:start=4KiB:most=64KiB:collect=no",
     "<4096 a=A:4096 b=A:4096! c=A:8192!",
     "+4096 ?8192 ?7424 ?6912 ?6400 ?5888 ?5376 "
     "?4864 ?4608 ?4352 ?4096 ?16384 ?14848 ?13568 ?12288 ?11264 ?10240 ?9216 ?8448"},
    {"extend=exact: as requested", "bfc:extend=exact", "a=A:5000/5120#1 b=B:256#2 c=C:9000#3",
     "+5120 +256 +9216"},
    {"joining with both neighbours", "bfc:start=4KiB",
     "a=A:1024 b=B:1024 c=C:1024 d=D:1024 -a -c -b e=E:3072/3072@0", "+4096"},
    {"refused: nine tenths, again and again", "bfc:start=10KiB", "<9000 a=A:2048@0#1",
     "?10240 ?9216 +8448"},
    {"... down to the request", "bfc:start=4KiB", "<1024 a=A:1024@0#1",
     "?4096 ?3840 ?3584 ?3328 ?3072 ?2816 ?2560 ?2304 ?2048 ?1792 ?1536 ?1280 +1024"},
    {"refused: free regions go, and it is tried again", "bfc:extend=exact",
     "<3100 a=A:1024 b=B:1024 -a c=C:2048", "+1024 +1024 ?2048 -1024 +2048"},
    {"... unless collect=no", "bfc:extend=exact:collect=no", "<2000 a=A:1024 -a c=C:1536!",
     "+1024 ?1536"},
    {"two ends: what is freed in the middle is the gap", "bfc:start=8KiB:lower=1KiB",
     "a=A:1024@0 b=A:256@7936 c=A:2048@1024 d=A:512@7424 -c e=A:2048@1024 -d -e f=A:6912/6912@1024",
     "+8192"},
    {"two ends: each has its holes, and takes no other's", "bfc:start=16KiB:lower=1KiB",
     "a=A:1024@0 b=A:1024@1024 c=A:256@16128 d=A:256@15872 -a -c e=A:512@15360 f=A:256@16128 "
     "g=A:1024@0",
     "+16384"},
    {"two ends: the lower one cuts exactly, the upper one as one end does, and from above",
     "bfc:start=32KiB:lower=1KiB",
     "a=A:1536@0 b=A:1024@1536 -a c=A:1024/1024@0 d=A:1024@2560 e=A:768@32000 f=A:256@31744 -e "
     "g=A:512/768@32000 -g h=A:256/256@32512",
     "+32768"},
    {"two ends: of equal holes, the farthest from the middle", "bfc:start=16KiB:lower=1KiB",
     "a=A:1024@0 b=A:1024@1024 c=A:1024@2048 d=A:1024@3072 e=A:256@16128 f=A:256@15872 "
     "g=A:256@15616 h=A:256@15360 -c -a -g -e i=A:1024@0 j=A:256@16128",
     "+16384"},
    {"two ends: one region, and a request that has no room", "bfc:start=4KiB:lower=1KiB",
     "a=A:1024@0 b=A:256@3840 c=A:3072! -b d=A:3072@1024 e=A:1! -a e=A:1!", "+4096"},
};

static const struct policy_case blocks_cases[] = {
    {"multiples of the alignment, in blocks of 256 MiB", "blocks", "a=A:1/64@0#1 b=B:65/128@64#1",
     "+268435456"},
    {"the smallest chunk that is large enough, and its rest stays free",
     "blocks:start=4KiB:most=4KiB",
     "a=A:512@0 b=B:64@512 c=C:256@576 d=D:64@832 -a -c e=E:192@576 f=F:64@768 g=G:448@0", "+4096"},
    {"of equals the lowest, not the last freed", "blocks:start=4KiB:most=4KiB",
     "a=A:512@0 b=B:64@512 c=C:512@576 d=D:64@1088 -c -a e=E:512@0", "+4096"},
    {"joining with both neighbours", "blocks:start=4KiB:most=4KiB",
     "a=A:1024 b=B:1024 c=C:1024 d=D:1024 -a -c -b e=E:3072/3072@0", "+4096"},
    {"more than a block: a memory of its own, given back", "blocks:start=4KiB:most=4KiB",
     "a=A:4097/4160@0#1 -a b=B:4096@0#2", "+4160 -4160 +4096"},
    {"the last block first, however well an earlier one fits", "blocks:start=4KiB:most=4KiB",
     "a=A:3072#1 b=B:3072#2 c=C:1024@3072#2 d=D:1024@3072#1", "+4096 +4096"},
    {"the only block is kept", "blocks:start=4KiB:most=4KiB", "a=A:4096 -a b=B:64@0#1", "+4096"},
    {"... of several an empty one is not", "blocks:start=4KiB:most=4KiB",
     "a=A:4096#1 b=B:4096#2 -a -b c=C:64#2", "+4096 +4096 -4096"},
    {"of several empty places a block takes the last", "blocks:start=4KiB:most=4KiB",
     "a=A:5056#1 b=B:3072#2 x=X:1024@3072#2 c=C:5056#3 -a -c f=F:3072#4 -x g=G:1024@3072#4",
     "+5056 +4096 +5056 -5056 -5056 +4096"},
    {"... a memory of its own the first", "blocks:start=4KiB:most=4KiB",
     "a=A:5056#1 b=B:3072#2 x=X:1024@3072#2 c=C:5056#3 -a -c e=E:5056#4 f=F:3072#5 -x "
     "g=G:1024@3072#5",
     "+5056 +4096 +5056 -5056 -5056 +5056 +4096"},
    {"blocks double up to `most`", "blocks:start=4KiB:most=10KiB",
     "a=A:4096 b=B:5000 c=C:9000 d=D:64", "+4096 +8192 +10240"},
    {"... and an own memory is for what is above the next one", "blocks:start=4KiB:most=16KiB",
     "a=A:4097 b=B:4096 c=C:4097 d=D:8193", "+4160 +4096 +8192 +16384"},
    {"... and halve when blocks go", "blocks:start=4KiB:most=16KiB",
     "a=A:4096 b=B:8192 -b c=C:8192", "+4096 +8192 -8192 +8192"},
    {"refused: the empty block stays", "blocks:start=4KiB:most=4KiB",
     "<5000 a=A:64 -a b=B:4097! t b=B:4097", "+4096 ?4160 -4096 +4160"},
};

static const struct policy_case buddy_cases[] = {
    {"powers of two, at least the alignment", "buddy:heap=4KiB",
     "a=A:65/128@0 b=A:1/64@128 c=A:128/128@256", "+4096"},
    {"heaps of 8 MiB; from half of one on a memory of its own, given back", "buddy",
     "a=A:4194303/4194304@0#1 b=A:4194304/4194304@0#2 -b", "+8388608 +4194304 -4194304"},
    {"heap= is rounded up to a power of two", "buddy:heap=4097", "a=A:1", "+8192"},
    {"the smallest sufficient block, cut in halves, the lower one used", "buddy:heap=4KiB",
     "a=A:1024@0 b=A:64@1024 c=A:256@1280 d=A:256@1536 e=A:1024@2048 f=A:64@1088", "+4096"},
    {"of equals the one that became free last", "buddy:heap=4KiB",
     "a=A:64@0 b=A:64@64 c=A:64@128 d=A:64@192 -a -c e=A:64@128 f=A:64@0", "+4096"},
    {"joining with the buddy, up to the heap", "buddy:heap=4KiB",
     "a=A:1024@0 b=A:1024@1024 c=A:1024@2048 d=A:1024 -b -a -d -c e=A:2047/2048@0#1 "
     "f=A:2047@2048#1",
     "+4096"},
    {"... and with no other neighbour", "buddy:heap=4KiB",
     "a=A:1024@0 b=A:1024@1024 c=A:1024@2048 d=A:1024@3072 -b -c e=A:2047@0#2", "+4096 +4096"},
    {"... nor with a buddy that is in use in part", "buddy:heap=4KiB",
     "a=A:1024@0 b=A:512@1024 c=A:512@1536 -b -a d=A:1024@0 e=A:512@1024", "+4096"},
    {"free heaps are kept, and the last one is used first", "buddy:heap=4KiB",
     "a=A:2047#1 b=A:2047#1 c=A:2047#2 -c -a -b d=A:64#1", "+4096 +4096"},
    {"refused: kept heaps stay", "buddy:heap=4KiB", "<5000 a=A:64 -a b=A:2048! t b=A:2048",
     "+4096 ?2048 -4096 +2048"},
};

static const struct policy_case ggml_cases[] = {
    {"a twentieth more, and a multiple of 256", "ggml", "a=A:1000/1280 b=A:2560/2816 c=A:1/256",
     "+1280 +2816 +256"},
    {"the smallest that is large enough", "ggml",
     "a=A:3000 b=A:2000 c=A:1000 -a -b -c d=A:1500/2304#2", "+3328 +2304 +1280"},
    {"... however large it is", "ggml", "a=A:1000000 -a b=A:1#1", "+1050112"},
    {"... below 64 GiB to spare", "ggml", "a=A:68719476736 -a b=A:3435973888#2 c=A:3435973889#1",
     "+72155450624 +3607772672"},
    {"of equals the first slot's, not the last freed", "ggml", "a=A:1000 b=A:1000 -b -a c=A:1000#2",
     "+1280 +1280"},
    {"the first empty slot is filled", "ggml",
     "a=A:1000 b=A:1000 c=A:1000 -a -b d=A:1000#1 -c e=A:1000#3", "+1280 +1280 +1280"},
    {"of more than `buffers` one is released", "ggml:buffers=1",
     "a=A:1000 b=A:2000 -a -b c=A:900#1", "+1280 +2304 -2304"},
    {"refused: all are released, and it is asked again", "ggml",
     "<4000 a=A:1000 b=A:2000 -b -a c=A:2500", "+1280 +2304 ?2816 -2304 -1280 +2816"},
    {"... once", "ggml", "<1500 a=A:1000 -a b=A:1500!", "+1280 ?1792 -1280 ?1792"},
    {"... and if there is nothing to release", "ggml", "<1500 b=A:1500!", "?1792 ?1792"},
    {"virtual: a stack of multiples of 128, and what is missing is mapped",
     "ggml:pool=virtual:range=8KiB", "a=A:1000/1024@0 b=A:1/128@1024 c=A:2000/2048@1152",
     "+1024 r8192 m0 a0+1024 +1024 m1024 a1024+1024 +2048 m2048 a2048+2048"},
    {"virtual: nothing is unmapped", "ggml:pool=virtual:range=8KiB",
     "a=A:3000 -a t b=A:100/128@0 c=A:100@128 -c d=A:3000@128",
     "+3072 r8192 m0 a0+3072 +1024 m3072 a3072+1024"},
    {"virtual: refused", "ggml:pool=virtual:range=8KiB", "<3000 a=A:1000 b=A:2000! c=A:1000@1024",
     "+1024 r8192 m0 a0+1024 ?2048 +1024 m1024 a1024+1024"},
    {"virtual: the addresses end", "ggml:pool=virtual:range=3000",
     "a=A:1000 b=A:2049! c=A:2048@1024", "+1024 r3072 m0 a0+1024 +2048 m1024 a1024+2048"},
    {"virtual: only the last block can be freed", "ggml:pool=virtual:range=8KiB",
     "a=A:1000 b=A:1000 -a! -b c=A:1@1024", "+1024 r8192 m0 a0+1024 +1024 m1024 a1024+1024"},
};

static const struct policy_case cupy_cases[] = {
    {"multiples of 512, each memory as large as the request", "cupy",
     "a=A:1/512@0#1 b=B:513/1024@0#2", "+512 +1024"},
    {"the smallest that is large enough", "cupy",
     "a=A:4096 b=B:2048 c=C:3072 -a -b -c d=D:2500/2560@0#3", "+4096 +2048 +3072"},
    {"of equals the lowest, not the last freed", "cupy", "a=A:512 b=A:512 -a -b c=A:512#1",
     "+512 +512"},
    {"a chunk is cut even if most of it is used", "cupy",
     "a=A:2048 -a b=B:1536/1536@0#1 c=C:512/512@1536#1", "+2048"},
    {"joining with both neighbours", "cupy",
     "a=A:2048 -a a=A:512 b=B:512 c=C:512 d=D:512 -a -c -b e=E:1536@0#1", "+2048"},
    {"memories do not join", "cupy", "a=A:512 b=B:512 -a -b c=C:1024#3", "+512 +512 +1024"},
    {"refused: wholly free memories go, and it is asked again", "cupy",
     "<3100 a=A:1024 b=B:512 c=C:512 -a -c d=D:2048", "+1024 +512 +512 ?2048 -512 -1024 +2048"},
    {"... not those in use in part", "cupy", "<2600 a=A:2048 -a a=A:512 b=B:2048!", "+2048 ?2048"},
    {"limit: refused, and nothing is given back for it", "cupy:limit=2KiB",
     "a=A:1024 b=B:1024 -a -b c=C:1536!", "+1024 +1024"},
};

static const struct policy_case rmm_cases[] = {
    {"another queue's block serves after a wait, and its rest stays there", "rmm",
     "a=A:1024 -a q1 b=B:256@0 q0 c=C:768@256", "+1024 w"},
    {"... and queues' blocks are joined before the pool grows", "rmm",
     "a=A:1024 -a q1 b=B:512@0 -b q0 c=C:1024@0 q2 d=D:256#2", "+1024 w w +1024"},
    {"multiples of 256, and first as large as the request", "rmm", "a=A:1/256@0#1 -a b=B:257/512#2",
     "+256 +512"},
    {"the pool doubles", "rmm", "a=A:1024#1 b=B:256@0#2 c=C:256@256#2 d=D:768#3",
     "+1024 +1024 +2048"},
    {"... or grows by the request if that is more", "rmm", "a=A:1024 b=B:5000/5120@0#2 c=C:256",
     "+1024 +5120 +6144"},
    {"initial", "rmm:initial=4KiB", "a=A:256@0#1 b=B:3840@256#1 c=C:256#2", "+4096 +4096"},
    {"a first memory that is refused fails the request", "rmm:initial=4KiB", "<4000 a=A:256!",
     "?4096"},
    {"the smallest that is large enough", "rmm:initial=8KiB",
     "a=A:2048 b=B:256 c=C:1024 d=D:256 -a -c e=E:512@2304", "+8192"},
    {"of equals the lowest, not the last freed", "rmm:initial=4KiB",
     "a=A:512@0 x=X:256 b=B:512 y=Y:2816 -a -b c=C:512@0", "+4096"},
    {"a block is always cut", "rmm:initial=4KiB", "a=A:3840/3840@0 b=B:1/256@3840", "+4096"},
    {"joining with both neighbours", "rmm:initial=4KiB",
     "a=A:1024 b=B:1024 c=C:1024 d=D:1024 -a -c -b e=E:3072@0#1", "+4096"},
    {"max: by half of what is left", "rmm:max=16KiB", "a=A:256#1 b=B:8192#2", "+8192 +8192"},
    {"... or by the request if that is more", "rmm:max=16KiB", "a=A:12288 b=B:256 c=C:2048 d=D:256",
     "+12288 +2048 +2048"},
    {"max: free memories go, the lowest first, until enough is left", "rmm:max=4KiB",
     "a=A:2048#1 b=B:1024#2 c=C:1024#3 -a -b -c d=D:3072#4", "+2048 +1024 +1024 -2048 -1024 +3072"},
    {"... not those in use in part", "rmm:max=4KiB", "a=A:256 b=B:4096!", "+2048"},
    {"... and none for more than max", "rmm:max=4KiB", "a=A:256 -a b=B:4352!", "+2048"},
    {"refused: half, again and again", "rmm:initial=8KiB", "<11000 a=A:8192 b=B:1024#2",
     "+8192 ?8192 ?4096 +2048"},
    {"... and last the request; free memory is kept", "rmm:initial=8KiB",
     "<9000 a=A:8192 b=B:3000! -a c=C:9000!", "+8192 ?8192 ?4096 ?3072 ?9216"},
    {"bins: all are filled first, and a request gets a block of the smallest that is large enough",
     "rmm:least_bin=256:bins=1KiB:bin_blocks=2:initial=8KiB",
     "a=A:1/256@0 b=B:257/512@512 c=C:513/1024@1536 d=D:1024@2560 e=E:1025/1280@3584", "+8192"},
    {"... without a first memory", "rmm:least_bin=256:bins=512:bin_blocks=2", "a=A:300@0#2",
     "+512 +1024"},
    {"... the block that has been free for longest", "rmm:least_bin=256:bins=256:bin_blocks=3",
     "a=A:1@0 b=B:1@256 -b -a c=C:1@512 d=D:1@256 e=E:1@0", "+768"},
    {"... an empty one takes more from the pool, and keeps it",
     "rmm:least_bin=256:bins=256:bin_blocks=2", "a=A:1#1 b=B:1#1 c=C:1#2 -a -b -c t d=D:512#3",
     "+512 +512 +1024"},
};

#define ARENA "arena:size=16KiB:superblock=4KiB"
static const struct policy_case arena_cases[] = {
    {"half of the device's memory, at the first request", "arena:superblock=4KiB", "a=A:1/256@0 -a",
     "+524288"},
    {"... at least a superblock", "arena", "a=A:257/512@0", "+1048576"},
    {"size, in multiples of 256", "arena:size=5000:superblock=1KiB", "a=A:1", "+4864"},
    {"a memory that is refused fails the request", ARENA, "<16000 a=A:1! b=B:1!", "?16384 ?16384"},
    {"first fit by address, always cut", ARENA,
     "a=A:1024@0 b=B:256@1024 c=C:512@1280 d=D:256@1792 -a -c e=E:512@0 f=F:256@512", "+16384"},
    {"joining with both neighbours", ARENA,
     "a=A:1024 b=B:1024 c=C:1024 d=D:1024 -a -c -b e=E:3072@0", "+16384"},
    {"a queue's superblock is cut off", ARENA, "a=A:256@0 q1 b=B:256@4096 q0 c=C:3840@256",
     "+16384"},
    {"... another one if it has no room", ARENA, "a=A:3072@0 b=B:2048@4096 c=C:1024@3072",
     "+16384"},
    {"... and kept when it is empty", ARENA, "a=A:256@0 -a q1 b=B:256@4096", "+16384"},
    {"... whole, if no superblock would be left over", "arena:size=7KiB:superblock=4KiB",
     "a=A:4096@0 b=B:3072@4096", "+7168"},
    {"a large request has one of its size", ARENA, "a=A:5120@0 q1 b=B:5120@5120 q0 c=C:256@10240",
     "+16384"},
    {"... and waits when it is freed", ARENA, "a=A:5120@0 q1 b=B:256@5120 q0 -a c=C:4352@0",
     "+16384 w"},
    {"... or is cut from one that is larger", "arena:size=11KiB:superblock=4KiB",
     "a=A:7424@0 b=B:256@7424", "+11264"},
    {"a queue takes over a superblock where a large block lives",
     "arena:size=11KiB:superblock=4KiB", "a=A:7424@0 b=B:256@7424 -a c=C:256@0", "+11264 w"},
    {"free superblocks of the global arena join", ARENA,
     "a=A:5120 b=B:5120 -a -b c=C:10240@0 -c d=D:16384@0", "+16384 w w w"},
    {"no room: after a wait queues hand back all superblocks", ARENA,
     "a=A:256 q1 b=B:256 q2 c=C:256 -b -a d=D:8192@0", "+16384 w"},
    {"... those in use, too", ARENA, "a=A:256@0 q1 b=B:8192@4096 q2 c=C:4096@12288 d=D:256@256",
     "+16384 w"},
    {"... and a block in a superblock of another queue is freed after a wait", ARENA,
     "a=A:256@0 q1 b=B:8192@4096 q2 c=C:4096@12288 d=D:256@256 -a", "+16384 w w"},
    {"... then the request fails", ARENA, "a=A:256 q1 b=B:16384! c=C:256@256", "+16384 w"},
    {"trim gives the memory back if it is free and the global arena's", ARENA,
     "a=A:5120 t -a t b=B:1 -b t", "+16384 w -16384 +16384"},
};

static const struct policy_case stream_cases[] = {
    {"one command a request", "stream", "a=A:100/100@0 -a b=A:100", "o0/111 +100 -100 +100"},
    {"the options are the pool's",
     "stream:threshold=64MiB:follow_events=no:opportunistic=no:internal_dependencies=no", "a=A:1",
     "o67108864/000 +1"},
    {"... each its own", "stream:threshold=max:opportunistic=no", "a=A:1", "o-1/101 +1"},
    {"trim waits first", "stream:threshold=max", "a=A:100 b=A:50 -a t",
     "o-1/111 +100 +50 -100 w t"},
    {"refused: wait, trim, once more", "stream:threshold=max", "<150 a=A:100 -a b=B:120",
     "o-1/111 +100 -100 ?120 w t +120"},
    {"refused again: no more tries", "stream", "<150 a=A:100 b=B:120!",
     "o0/111 +100 ?120 w t ?120"},
};

/* Small requests (to 2048) in chunks of 2048, large ones in chunks of 4096, rounded up to 512. A
 * segment has 9/8 of the fake device's 1 MiB, rounded up to chunks. */
#define VMM         "vmm:small=2048:small_chunk=2KiB:large_chunk=4KiB"
#define SMALL_RANGE "r1179648"
static const struct policy_case vmm_cases[] = {
    {"addresses once, then a chunk at a time", VMM, "a=A:100/512@0 b=B:1536/1536@512 c=C:1@2048#1",
     SMALL_RANGE " +2048 m0 a0+2048 +2048 m2048 a2048+2048"},
    {"2 and 20 MiB by default, the limit at 1 MiB", "vmm", "a=A:1048576 b=B:1048577",
     "r2097152 +2097152 m0 a0+2097152 r20971520 +20971520 m0 a0+20971520"},
    {"classes have ranges of their own", VMM, "a=A:2048@0#1 b=B:2049/2560@0#3",
     SMALL_RANGE " +2048 m0 a0+2048 " SMALL_RANGE " +4096 m0 a0+4096"},
    {"several chunks at once are made accessible at once", VMM, "a=A:9000/9216@0",
     SMALL_RANGE " +4096 m0 +4096 m4096 +4096 m8192 a0+12288"},
    {"best fit", VMM, "a=A:1024 b=B:512 c=C:512 d=D:2048 -a -c e=E:500@1536 f=F:600@0",
     SMALL_RANGE " +2048 m0 a0+2048 +2048 m2048 a2048+2048"},
    {"the lowest of equals", VMM, "a=A:512 b=B:512 c=C:512 d=D:512 -a -c e=E:512@0 f=F:512@1024",
     SMALL_RANGE " +2048 m0 a0+2048"},
    {"what can expand counts as large as it could", VMM,
     "a=A:1024 b=B:512 -a c=C:512@0 d=D:512@512 e=E:512@1536", SMALL_RANGE " +2048 m0 a0+2048"},
    {"the rest stays free, neighbours join", VMM,
     "a=A:512 b=B:512 c=C:512 d=D:512 -a -c -b e=E:1536@0", SMALL_RANGE " +2048 m0 a0+2048"},
    {"free and unmapped side by side: only what is missing is mapped", VMM,
     "a=A:1024@0 b=B:2048/2048@1024", SMALL_RANGE " +2048 m0 a0+2048 +2048 m2048 a2048+2048"},
    {"trim releases wholly free chunks, after a wait", VMM,
     "a=A:1536 b=B:1024@1536 c=C:1536@2560 d=D:2048@4096 -b -d t",
     SMALL_RANGE " +2048 m0 a0+2048 +2048 m2048 a2048+2048 +2048 m4096 a4096+2048 w u4096 -2048"},
    {"trim with nothing to release asks nobody", VMM, "a=A:1536 b=B:1024 -a t",
     SMALL_RANGE " +2048 m0 a0+2048 +2048 m2048 a2048+2048"},
    {"gaps are filled before the segment grows", VMM,
     "a=A:2048@0 b=B:2048@2048 c=C:2048@4096 -b t d=D:2048@2048",
     SMALL_RANGE " +2048 m0 a0+2048 +2048 m2048 a2048+2048 +2048 m4096 a4096+2048 w u2048 -2048 "
                 "+2048 m2048 a2048+2048"},
    {"the lowest gap first", VMM,
     "a=A:2048 b=B:2048 c=C:2048 d=D:2048 e=E:2048 -d -b t f=F:2048@2048",
     SMALL_RANGE " +2048 m0 a0+2048 +2048 m2048 a2048+2048 +2048 m4096 a4096+2048 +2048 m6144 "
                 "a6144+2048 +2048 m8192 a8192+2048 w u2048 -2048 u6144 -2048 +2048 m2048 "
                 "a2048+2048"},
    {"a run over free and unmapped pieces", VMM,
     "a=A:4096@0 b=B:4096@4096 c=C:4096@8192 d=D:4096@12288 -a -b -c t e=E:4096@0 f=F:512 -e "
     "g=G:12288@0",
     SMALL_RANGE " +4096 m0 a0+4096 +4096 m4096 a4096+4096 +4096 m8192 a8192+4096 +4096 m12288 "
                 "a12288+4096 w u0 -4096 u4096 -4096 u8192 -4096 +4096 m0 a0+4096 r1179648 +2048 "
                 "m0 a0+2048 +4096 m4096 +4096 m8192 a4096+8192"},
    {"refused: free chunks of both classes go, after a wait", VMM,
     "<8192 a=A:2048 b=B:4096 -a -b c=C:8192@0",
     SMALL_RANGE " +2048 m0 a0+2048 " SMALL_RANGE " +4096 m0 a0+4096 ?4096 w u0 -4096 u0 -2048 "
                 "+4096 m0 +4096 m4096 a0+8192"},
    {"refused: what the attempt had mapped goes back first", VMM,
     "<9000 a=A:2048 b=B:4096 -a c=C:8192!",
     SMALL_RANGE " +2048 m0 a0+2048 " SMALL_RANGE " +4096 m0 a0+4096 ?4096 w u0 -2048 "
                 "+4096 m4096 ?4096 u4096 -4096"},
    {"refused with nothing to release: no second try", VMM, "<5000 a=A:4096 b=B:4096!",
     SMALL_RANGE " +4096 m0 a0+4096 ?4096"},
    {"scattered free chunks make one large block", VMM,
     "<16384 a=A:4096 b=B:4096 c=C:4096 d=D:4096 -a -c e=E:8192@16384",
     SMALL_RANGE " +4096 m0 a0+4096 +4096 m4096 a4096+4096 +4096 m8192 a8192+4096 +4096 m12288 "
                 "a12288+4096 ?4096 w u0 -4096 u8192 -4096 +4096 m16384 +4096 m20480 a16384+8192"},
    {"max_split: a smaller request gets no larger piece",
     "vmm:small=0:large_chunk=2KiB:max_split=4KiB", "a=A:4096@0 b=B:512@4096 -a c=C:2048@4608",
     "r1179648 +2048 m0 +2048 m2048 a0+4096 +2048 m4096 a4096+2048 +2048 m6144 a6144+2048"},
    {"193400: it does", "vmm:small=0:large_chunk=2KiB:max_split=4KiB:proposal=193400",
     "a=A:4096@0 b=B:512@4096 -a c=C:2048@0",
     "r1179648 +2048 m0 +2048 m2048 a0+4096 +2048 m4096 a4096+2048"},
    {"out of addresses: another segment", "vmm:small=0:large_chunk=512KiB",
     "a=A:1048576@0#1 b=B:524288@1048576#1 c=C:524288@0#5",
     "r1572864 +524288 m0 +524288 m524288 a0+1048576 +524288 m1048576 a1048576+524288 "
     "r1572864 +524288 m0 a0+524288"},
    {"reserve: fewer addresses, and no larger request",
     "vmm:small=0:large_chunk=512KiB:reserve=0.75", "a=A:1048576@0#1 b=B:524288@0#4 c=C:1048577!",
     "r1048576 +524288 m0 +524288 m524288 a0+1048576 r1048576 +524288 m0 a0+524288"},
    {"... in gibibytes", "vmm:small=0:large_chunk=512KiB:reserve=0.0007G", "a=A:524288@0",
     "r1048576 +524288 m0 a0+524288"},
    {"... but no more than without it", "vmm:small=0:large_chunk=512KiB:reserve=40G",
     "a=A:524288@0", "r1572864 +524288 m0 a0+524288"},
    {"a request beyond a segment is beyond the device", "vmm:small=0:large_chunk=2MiB",
     "a=A:2097152@0 b=B:2097153!", "r2097152 +2097152 m0 a0+2097152"},
};

/* The plan: A 1000 at 0 for good; then, again and again, B 1000 at 1024 until the next request, B
 * 2000 at 1024 for two, C 512 left out, C 600 at 1024. A step begins at the first B. */
#define PLANNED "planned:trace=" GAMUT_ROOT "/tests/alloc/small.plan"
static const struct policy_case planned_cases[] = {
    {"in order, from one memory, and again", PLANNED,
     "a=A:1000/1000@0#1 b=B:1000@1024#1 -b c=B:2000@1024#1 d=C:512#2 -c -d e=C:600@1024#1 -e "
     "f=B:1000@1024#1 -f g=B:2000@1024#1",
     "+3072 +512 -512"},
    {"bytes that are freed late are not handed out", PLANNED,
     "a=A:1000 b=B:1000@1024#1 c=B:2000#2 -b d=C:512#3 e=C:600@1024#1", "+3072 +2000 +512"},
    {"an inserted request shifts nothing", PLANNED, "a=A:1000 b=C:300@2560#1 c=B:1000@1024#1",
     "+3072"},
    {"... and gets the smallest free range", PLANNED,
     "a=A:1000 b=C:300@2560#1 c=C:1100@1024#1 -b d=C:400@2560#1", "+3072"},
    {"... or else goes to the driver", PLANNED, "a=A:1000 b=C:2100#2 c=B:1000@1024#1",
     "+3072 +2100"},
    {"a smaller request gets the slot", PLANNED, "a=A:1000 b=B:800/1000@1024#1", "+3072"},
    {"... if it uses half of it", PLANNED, "a=A:1000 b=B:499@2560#1", "+3072"},
    {"a larger one of the slot's tag passes it", PLANNED,
     "a=A:1000 b=B:1100@1536#1 -b c=B:2000@1024#1", "+3072"},
    {"... of another tag does not", PLANNED, "a=A:1000 b=C:1100@1536#1 -b c=B:1000@1024#1",
     "+3072"},
    {"another tag is another request", PLANNED, "a=A:1000 b=C:1000@2048#1 c=B:1000@1024#1",
     "+3072"},
    {"... but not one that the plan does not know", PLANNED, "a=A:1000 b=Z:1000@1024#1", "+3072"},
    {"two requests in a row are too few to find the place in the next round", PLANNED,
     "a=A:1000 b=B:2000@1024#1 c=C:512#2 -b d=C:600@2048#1", "+3072 +512"},
    {"out of order, where the bytes are not needed before", PLANNED,
     "a=A:1000 b=B:1000 -b c=B:2000 -c d=C:600@1024#1 e=C:512#2 -d f=B:1000@1024#1", "+3072 +512"},
    {"... or are in use", PLANNED, "a=A:1000 b=B:1000 -b c=B:2000 d=C:600#2", "+3072 +600"},
    {"a mark begins the step again", PLANNED, "a=A:1000 m b=B:1000@1024#1 -b m c=B:1000@1024#1",
     "+3072"},
    {"... which would be another request", PLANNED, "a=A:1000 b=B:1000@1024#1 -b c=B:1000@2048#1",
     "+3072"},
    {"trim gives an empty arena back", PLANNED, "a=A:1000 t -a t b=B:1000@1024#2",
     "+3072 -3072 +3072"},
    {"no memory for the arena: it is asked for again in the next round", PLANNED,
     "<3000 a=A:1000#1 b=B:1000#2", "?3072 +1000 ?3072 +1000"},
    {"an empty arena makes room", PLANNED, "<3500 a=A:1000 -a b=C:3300", "+3072 ?3300 -3072 +3300"},
    {"one that is in use does not", PLANNED, "<3500 a=A:1000 b=C:3300!", "+3072 ?3300"},
};

struct script_state {
    const struct policy_case *c;
    struct allocator allocator;
    struct {
        struct block block;
        const char *tag;
        uint64_t requested;
        bool is_pending;
    } named[26]; /* the pending ones in the order of their names */
    struct source_pending pending;
    unsigned queue;
};

static const char *tag_of(char letter)
{
    static const char tags[26][2] = {"A", "B", "C", "D", "E", "F", "G", "H", "I",
                                     "J", "K", "L", "M", "N", "O", "P", "Q", "R",
                                     "S", "T", "U", "V", "W", "X", "Y", "Z"};
    return tags[letter - 'A'];
}

static void expect(const struct script_state *s, const char *token, const char *what,
                   uint64_t actual, uint64_t expected)
{
    if (actual != expected)
        fail_msg("%s (%s), at '%s': %s is %llu, not %llu", s->c->rule, s->c->spec, token, what,
                 (unsigned long long)actual, (unsigned long long)expected);
}

/* name=TAG:size, then any of /granted @offset #memory ! */
static void run_alloc(struct script_state *s, const char *token)
{
    char *rest;
    uint64_t size = strtoull(token + 4, &rest, 10);
    struct alloc_request request = {
        .size = size, .alignment = 64, .tag = tag_of(token[2]), .queue = s->queue};
    struct block block;
    int code = allocator_alloc(&s->allocator, &request, &block);
    if (code != (*rest == '!' ? ERR_OOM : 0))
        fail_msg("%s (%s), at '%s': alloc returned %d", s->c->rule, s->c->spec, token, code);
    if (code)
        return;
    while (*rest) {
        char kind = *rest;
        uint64_t value = strtoull(rest + 1, &rest, 10);
        if (kind == '/')
            expect(s, token, "the size granted", block.size, value);
        else if (kind == '@')
            expect(s, token, "the offset", block.offset, value);
        else if (kind == '#')
            expect(s, token, "the memory", block.memory, value);
        else
            fail_msg("'%s' is not a token", token);
    }
    s->named[token[0] - 'a'].block = block;
    s->named[token[0] - 'a'].tag = request.tag;
    s->named[token[0] - 'a'].requested = size;
}

static void run_free(struct script_state *s, char name, int code)
{
    struct block *block = &s->named[name - 'a'].block;
    assert_int_equal(allocator_free(&s->allocator, block, s->named[name - 'a'].tag,
                                    s->named[name - 'a'].requested),
                     code);
    block->memory = 0;
}

static int settle(void *context, uint64_t enough_bytes, unsigned *count)
{
    struct script_state *s = context;
    uint64_t bytes = 0;
    for (char name = 'a'; name <= 'z' && bytes < enough_bytes; name++)
        if (s->named[name - 'a'].is_pending) {
            s->named[name - 'a'].is_pending = false;
            bytes += s->named[name - 'a'].block.size;
            run_free(s, name, 0);
            ++*count;
        }
    return 0;
}

static void run_case(const struct policy_case *c)
{
    struct fake_source fake;
    fake_source_open(&fake, 64, true);
    struct script_state s = {.c = c, .pending = {&s, settle}};
    fake.source.pending = &s.pending;
    if (strncmp(c->spec, "planned", 7) == 0)
        fake.source.vm = NULL; /* test_planned has the mapped arena */
    fake_source_allocator(&fake, c->spec, &s.allocator);

    char *script = strdup(c->script), *save;
    for (char *token = strtok_r(script, " ", &save); token; token = strtok_r(NULL, " ", &save)) {
        if (token[0] == '-')
            run_free(&s, token[1], token[2] == '!' ? ERR_UNSUPPORTED : 0);
        else if (token[0] == '~')
            s.named[token[1] - 'a'].is_pending = true;
        else if (token[0] == 'q')
            s.queue = (unsigned)(token[1] - '0');
        else if (token[0] == 't')
            assert_int_equal(allocator_trim(&s.allocator), 0);
        else if (strcmp(token, "m") == 0)
            allocator_mark(&s.allocator, "step 7");
        else if (token[0] == '<')
            fake.capacity_bytes = strtoull(token + 1, NULL, 10);
        else
            run_alloc(&s, token);
        expect(&s, token, "the number of broken invariants", allocator_check(&s.allocator), 0);
    }
    free(script);
    if (strcmp(c->calls, fake.log.data ? fake.log.data : "") != 0)
        fail_msg("%s (%s): the driver calls are\n  %s\nnot\n  %s", c->rule, c->spec, fake.log.data,
                 c->calls);

    for (char name = 'z'; name >= 'a'; name--) /* the last one first: some serve a stack */
        if (s.named[name - 'a'].block.memory)
            run_free(&s, name, 0);
    allocator_close(&s.allocator);
    assert_int_equal(fake.live_count, 0);
    assert_int_equal(fake.misuse_count, 0);
    fake_source_close(&fake);
}

#define POLICY_TEST(table)                                                                         \
    static void test_##table(void **state)                                                         \
    {                                                                                              \
        (void)state;                                                                               \
        for (size_t i = 0; i < sizeof table / sizeof *table; i++)                                  \
            run_case(&table[i]);                                                                   \
    }
POLICY_TEST(null_cases)
POLICY_TEST(raw_cases)
POLICY_TEST(pool_cases)
POLICY_TEST(tagged_v1_cases)
POLICY_TEST(tagged_later_cases)
POLICY_TEST(bufalloc_cases)
POLICY_TEST(tlsf_cases)
POLICY_TEST(caching_cases)
POLICY_TEST(bfc_cases)
POLICY_TEST(cupy_cases)
POLICY_TEST(rmm_cases)
POLICY_TEST(arena_cases)
POLICY_TEST(blocks_cases)
POLICY_TEST(buddy_cases)
POLICY_TEST(ggml_cases)
POLICY_TEST(stream_cases)
POLICY_TEST(vmm_cases)
POLICY_TEST(planned_cases)

/* The bin of a size, worked out bit by bit: the leading one, `bits` more, and ones. */
static uint64_t largest_of_bin(unsigned bits, uint64_t size)
{
    unsigned low = 0;
    while (size >> low >> 1 >> bits)
        low++;
    return (((size >> low) + 1) << low) - 1;
}

static void test_pool_sizes(void **state)
{
    (void)state;
    for (unsigned bits = 0; bits <= 7; bits++) {
        struct fake_source fake;
        fake_source_open(&fake, 64, false);
        char spec[32];
        snprintf(spec, sizeof spec, "pool:leading_bits=%u", bits);
        struct allocator allocator;
        fake_source_allocator(&fake, spec, &allocator);
        struct random random = {bits};
        for (int i = 0; i < 2000; i++) {
            uint64_t size = (random_u64(&random) >> (4 + random_below(&random, 60))) + 1;
            struct alloc_request request = {.size = size, .alignment = 1};
            struct block block;
            assert_int_equal(allocator_alloc(&allocator, &request, &block), 0);
            assert_int_equal(block.size, largest_of_bin(bits, size));
            assert_true(block.size >= size && block.size - size <= size >> bits);
            assert_int_equal(allocator_free(&allocator, &block, NULL, size), 0);
            assert_int_equal(allocator_trim(&allocator), 0);
            assert_int_equal(fake.live_count, 0);
        }
        allocator_close(&allocator);
        fake_source_close(&fake);
    }
}

/* 1024 descriptors, one of them the sentinel's: the 1024th chunk is in another region. */
static void test_bufalloc_1023_chunks(void **state)
{
    (void)state;
    struct fake_source fake;
    fake_source_open(&fake, 64, true);
    struct allocator allocator;
    fake_source_allocator(&fake, "bufalloc", &allocator);
    static struct block blocks[1024];
    const struct alloc_request request = {.size = 64, .alignment = 64};
    for (size_t i = 0; i < 1024; i++) {
        assert_int_equal(allocator_alloc(&allocator, &request, &blocks[i]), 0);
        assert_int_equal(blocks[i].memory, i < 1023 ? 1 : 2);
        assert_int_equal(blocks[i].offset, i < 1023 ? 64 * i : 0);
    }
    assert_int_equal(allocator_check(&allocator), 0);
    for (size_t i = 0; i < 1024; i++)
        assert_int_equal(allocator_free(&allocator, &blocks[i], NULL, 64), 0);
    assert_int_equal(allocator_check(&allocator), 0);
    allocator_close(&allocator);
    assert_int_equal(fake.live_count, 0);
    fake_source_close(&fake);
}

/* VMA's small heap: with a capacity of at most 1 GiB a parent is 1/8 of it, the first 1/8 of that.
 */
static void test_tlsf_small_capacity(void **state)
{
    (void)state;
    static const struct {
        uint64_t capacity_bytes;
        const char *calls;
    } cases[] = {{64 << 20, "+1048576"},
                 {1 << 30, "+16777216"},
                 {(1 << 30) + 1, "+33554432"},
                 {1000, "+100"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fake_source fake;
        fake_source_open(&fake, 64, true);
        fake.source.capacity_bytes = cases[i].capacity_bytes;
        struct allocator allocator;
        fake_source_allocator(&fake, "tlsf", &allocator);
        const struct alloc_request request = {.size = 100, .alignment = 64};
        struct block block;
        assert_int_equal(allocator_alloc(&allocator, &request, &block), 0);
        assert_string_equal(fake.log.data, cases[i].calls);
        assert_int_equal(allocator_free(&allocator, &block, NULL, 100), 0);
        allocator_close(&allocator);
        assert_int_equal(fake.live_count, 0);
        fake_source_close(&fake);
    }
}

/* What is wholly free on one queue goes back to the source before a request of another fails. */
/* ---- a second reading of RMM's arena: 256 bytes after 256 bytes ---- */

enum { UNITS = 256, SUPER_UNITS = 8, QUEUES = 3, LIVE = 40 };

static struct {
    bool is_used[UNITS];
    unsigned superblock[UNITS]; /* number of that of a unit */
    int arena[4 * LIVE * 1000]; /* of a superblock; -1: the global one */
    unsigned superblock_count, wait_count;
} plain;

static unsigned end_of_superblock(unsigned at)
{
    const unsigned number = plain.superblock[at];
    while (at < UNITS && plain.superblock[at] == number)
        at++;
    return at;
}

/* The units from `at` on that are free, in one superblock. */
static unsigned room(unsigned at)
{
    unsigned count = 0;
    for (const unsigned end = end_of_superblock(at); at < end && !plain.is_used[at]; at++)
        count++;
    return count;
}

static bool is_first(unsigned at)
{
    return at == 0 || plain.superblock[at] != plain.superblock[at - 1];
}

static bool is_empty(unsigned at)
{
    return is_first(at) && at + room(at) == end_of_superblock(at);
}

static unsigned plain_fit(int arena, unsigned units)
{
    unsigned at = 0;
    while (at < UNITS && (plain.arena[plain.superblock[at]] != arena || room(at) < units))
        at++;
    return at;
}

static unsigned plain_find(int queue, unsigned units)
{
    const bool is_global = units > SUPER_UNITS;
    unsigned at = is_global ? UNITS : plain_fit(queue, units);
    if (at < UNITS || (at = plain_fit(-1, units)) == UNITS)
        return at;
    const unsigned first = is_global ? units : SUPER_UNITS, end = end_of_superblock(at);
    if (is_empty(at) && room(at) >= first + SUPER_UNITS) {
        plain.arena[++plain.superblock_count] = -1;
        for (unsigned i = at + first; i < end; i++)
            plain.superblock[i] = plain.superblock_count;
    }
    if (!is_global)
        plain.arena[plain.superblock[at]] = queue;
    return at;
}

/* Neighbours that are the global arena's, and empty, become one. */
static void plain_merge(void)
{
    unsigned last = 0;
    for (unsigned at = 0; at < UNITS; at++) {
        if (!is_first(at))
            continue;
        const unsigned end = end_of_superblock(at);
        const bool joins = at > 0 && is_empty(last) && is_empty(at) &&
                           plain.arena[plain.superblock[last]] == -1 &&
                           plain.arena[plain.superblock[at]] == -1;
        for (unsigned i = at; joins && i < end; i++)
            plain.superblock[i] = plain.superblock[last];
        last = joins ? last : at;
    }
}

static unsigned plain_alloc(int queue, unsigned units)
{
    unsigned at = plain_find(queue, units);
    if (at == UNITS) {
        plain.wait_count++;
        for (unsigned i = 0; i <= plain.superblock_count; i++)
            plain.arena[i] = -1;
        plain_merge();
        at = plain_find(queue, units);
    }
    for (unsigned i = 0; at < UNITS && i < units; i++)
        plain.is_used[at + i] = true;
    return at;
}

static void plain_free(int queue, unsigned at, unsigned units)
{
    plain.wait_count += units > SUPER_UNITS || plain.arena[plain.superblock[at]] != queue;
    for (unsigned i = 0; i < units; i++)
        plain.is_used[at + i] = false;
    plain_merge();
}

static void test_arena_at_random(void **state)
{
    (void)state;
    struct fake_source fake;
    struct allocator allocator;
    struct block live[LIVE];
    unsigned count = 0, refused = 0;
    struct random random = {7};
    fake_source_open(&fake, 64, true);
    fake_source_allocator(&fake, "arena:size=64KiB:superblock=2KiB", &allocator);
    memset(&plain, 0, sizeof plain);
    plain.arena[0] = -1;
    for (unsigned step = 0; step < 40000; step++) {
        const unsigned i = (unsigned)random_below(&random, LIVE);
        if (i < count) {
            plain_free((int)live[i].queue, (unsigned)live[i].offset / 256,
                       (unsigned)live[i].size / 256);
            assert_int_equal(allocator_free(&allocator, &live[i], NULL, live[i].size), 0);
            live[i] = live[--count];
        } else {
            const bool is_large = random_below(&random, 6) == 0;
            const unsigned units = 1 + (unsigned)random_below(&random, is_large ? 50 : SUPER_UNITS);
            const struct alloc_request request = {.size = 256 * units,
                                                  .alignment = 64,
                                                  .queue = (unsigned)random_below(&random, QUEUES)};
            const unsigned at = plain_alloc((int)request.queue, units);
            assert_int_equal(allocator_alloc(&allocator, &request, &live[count]),
                             at < UNITS ? 0 : ERR_OOM);
            if (at < UNITS)
                assert_int_equal(live[count++].offset, 256 * at);
            refused += at == UNITS;
        }
        assert_int_equal(fake.source.counts.sync_count, plain.wait_count);
        assert_int_equal(allocator_check(&allocator), 0);
    }
    print_message("%u of the requests were refused, %u waits\n", refused, plain.wait_count);
    assert_true(refused > 500 && refused < 10000);
    for (; count > 0; count--)
        assert_int_equal(allocator_free(&allocator, &live[count - 1], NULL, live[count - 1].size),
                         0);
    allocator_close(&allocator);
    fake_source_close(&fake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_null_cases),         cmocka_unit_test(test_raw_cases),
        cmocka_unit_test(test_pool_cases),         cmocka_unit_test(test_tagged_v1_cases),
        cmocka_unit_test(test_tagged_later_cases), cmocka_unit_test(test_bufalloc_cases),
        cmocka_unit_test(test_tlsf_cases),         cmocka_unit_test(test_caching_cases),
        cmocka_unit_test(test_bfc_cases),          cmocka_unit_test(test_cupy_cases),
        cmocka_unit_test(test_rmm_cases),          cmocka_unit_test(test_arena_cases),
        cmocka_unit_test(test_arena_at_random),    cmocka_unit_test(test_stream_cases),
        cmocka_unit_test(test_vmm_cases),          cmocka_unit_test(test_tlsf_small_capacity),
        cmocka_unit_test(test_pool_sizes),         cmocka_unit_test(test_bufalloc_1023_chunks),
        cmocka_unit_test(test_planned_cases),      cmocka_unit_test(test_blocks_cases),
        cmocka_unit_test(test_buddy_cases),        cmocka_unit_test(test_ggml_cases),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
