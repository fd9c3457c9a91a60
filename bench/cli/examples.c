/* The examples of all commands, which the help and the manual print. */
#include "cli/commands.h"

#include <stddef.h>

const struct example examples[] = {
    {"run", "gamut run -w stencil -s raw,pool --out base.json",
     "two allocators under one program, checked and measured"},
    {"run", "gamut run -w 'stencil*' -s 'pool,tagged:policy=v*' -D host,opencl",
     "names and values may be patterns"},
    {"run", "gamut run -w my.mem -D host", "a program of your own under every allocator"},
    {"run", "gamut run -w srad -s pool -m none,extended,best",
     "as written, merged, merged and packed"},
    {"run", "gamut run -w canny -s raw,pool --mem-limit 64MiB",
     "what still fits into 64 MiB of device memory"},
    {"run", "gamut run -w halo -D cuda:0+cuda:1 -R all -s pool", "two devices as one"},
    {"run", "gamut run --suite seed-impact -D cuda", "next to published figures"},
    {"run", "gamut run --like base.json --out new.json", "the same cases and options again"},
    {"run", "gamut run --add base.json --rounds 10", "ten more rounds into the same file"},
    {"run", "gamut run --aa -w stencil -s raw,pool -D host", "the noise floor of this machine"},

    {"atlas", "gamut atlas --quick -D host,opencl", "what memory costs, in seconds"},
    {"atlas", "gamut atlas --quick -D cuda --format json --no-save", "for a program to read"},

    {"experiment", "gamut experiment isosurface:cells=32:window=10:heap=128MiB -s raw,pool",
     "memory of sizes that only the device knows"},
    {"experiment", "gamut experiment isosurface -D cuda --rounds 6", "six rounds on a GPU"},

    {"list", "gamut list devices", "what was found and, for the rest, why not"},
    {"list", "gamut list strategies", "allocators and their options"},

    {"record",
     "gamut record -o app.trace -- build/gamut run -w stencil -s pool --dataset smoke -D opencl "
     "--no-save",
     "an OpenCL application; here gamut itself"},

    {"serve",
     "gamut serve -s pool -- build/gamut run -w stencil -s raw --dataset smoke -D opencl --no-save",
     "an OpenCL application whose buffers come from pool"},

    {"trace", "gamut trace import history.csv -o my.trace",
     "a trace of PyTorch's allocator history"},
    {"trace", "gamut trace info my.trace", "what it has, and what it cannot answer"},
    {"trace", "gamut trace show my.trace >my.txt", "as text, one line an event"},

    {"replay", "gamut replay my.trace", "what every allocator would have held"},
    {"replay", "gamut replay my.trace -s caching,vmm --mem-limit 2GiB", "and what a limit refuses"},

    {"fit", "gamut fit my.trace", "the least memory that serves it, for every allocator"},
    {"fit", "gamut fit my.trace -s caching,vmm --format json", "for a program to read"},

    {"explain", "gamut explain history.csv", "why it ran out of memory, or what it loses"},

    {"advise", "gamut advise history.csv", "which settings of PyTorch would hold less memory"},
    {"advise", "gamut advise my.trace --current vmm --format md", "compared with another setting"},

    {"view", "gamut view my.trace -o my.html", "its blocks over time, and three address maps"},
    {"view", "gamut view my.trace -s recorded,tlsf --from 1000 --to 2000 -o part.html",
     "a thousand events under its own allocator and another"},

    {"view", "gamut view history.csv --beside advised",
     "the recorded setting next to the one that gamut advise names"},
    {"view", "gamut view my.trace history.csv", "how two runs differ"},
    {"view", "gamut view base.json -w stencil -o stencil.html",
     "the allocators of a result's cases, with all blocks of their program"},

    {"replay", "gamut replay my.trace -s all --shard 1/2 -o half1.json",
     "half of the list, on one machine of two"},
    {"replay", "gamut replay my.trace -s all --shard 2/2 -o half2.json", "the other half"},
    {"join", "gamut join half*.json -o whole.json", "both halves in one file"},

    {"plan", "gamut plan stencil", "a program with its memory written out"},
    {"plan", "gamut plan srad -m all rows=502 cols=458 steps=100",
     "what each merge set does to its memory"},
    {"plan", "gamut plan srad -m best --why next", "what was decided about the array next"},
    {"plan", "gamut plan my.mem -m all", "a program of your own"},
    {"plan", "gamut plan --lifetimes buffers.csv", "offsets for a list of id,lower,upper,size"},

    {"new", "gamut new allocator mine", "an allocator of your own, for -s ./mine.so"},

    {"print", "gamut print base.json", "the table that run printed"},
    {"print", "gamut print base.json --format bmf", "for bencher run --adapter json"},
    {"print", "gamut print base.json --format gbench", "for Google Benchmark's compare.py"},
    {"print", "gamut print --format otava base.json new.json",
     "for Apache Otava, results in their order"},

    {"compare", "gamut compare base.json new.json", "what became slower, larger or wrong"},
    {"compare", "gamut compare base.json --by strategy=raw", "strategies within one run"},
    {"compare", "gamut compare base.json new.json --gate wall_ns:2% --format md",
     "fail on a time more than 2 % worse"},

    {"plot", "gamut plot base.json", "the charts of a file, in a folder next to it"},
    {"plot", "gamut plot base.json -c speedup -t dumb", "one chart, in the terminal"},

    {"report", "gamut report base.json --out page", "a page with a verdict, charts and tables"},
    {"report", "gamut report new.json --against base.json --out judged",
     "the same with what changed"},

    {"doctor", "gamut doctor", "a line for each check, and what to do"},
    {"doctor", "gamut doctor --format json", "for a program to read"},

    {"completion", "source <(gamut completion bash)", "for this session of bash"},

    {"man", "gamut man | man -l -", "read the manual without an installation"},

    {"help", "gamut help run", "the same as gamut run --help"},

    {NULL, NULL, NULL},
};
