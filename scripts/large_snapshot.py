"""A made-up PyTorch snapshot of many events, to see what reading one takes.

    python3 scripts/large_snapshot.py EVENTS FILE

Some 3000 blocks live at once, each with one of 2000 call stacks, in one segment. 13.5 million events are a pickle
of 1 GB, and this script then takes 6 GB of memory.
"""
import pickle
import random
import sys

STACKS, BLOCK_MOST, START_US = 2000, 1 << 23, 1_700_000_000_000_000
BASE = 0x7F0000000000

rng = random.Random(1)
stacks = [
    [{"filename": f"/model/layer{i % 40}.py", "line": 10 * i + k, "name": f"forward_{k}"} for k in range(12)]
    for i in range(STACKS)
]


def history(count):
    """The entries, and what lives after them: (address, size, stack)."""
    time_us, free_slots, live = START_US, [], []

    def entry(action, address, size, stack):
        return {"action": action, "addr": address, "size": size, "stream": 0, "time_us": time_us,
                "compile_context": "N/A", "user_metadata": "", "frames": stacks[stack]}

    entries = [entry("segment_alloc", BASE, 1 << 36, 0)]
    slots = 0
    while len(entries) < count:
        time_us += rng.randrange(20)
        if len(live) < 2000 or rng.random() < 0.34 and len(live) < 4000:
            if not free_slots:
                free_slots.append(slots)
                slots += 1
            address = BASE + free_slots.pop() * BLOCK_MOST
            live.append((address, rng.randrange(1, BLOCK_MOST // 512) * 512, rng.randrange(STACKS)))
            entries.append(entry("alloc", *live[-1]))
        else:
            i = rng.randrange(len(live))
            live[i], live[-1] = live[-1], live[i]
            block = live.pop()
            free_slots.append((block[0] - BASE) // BLOCK_MOST)
            entries += [entry("free_requested", *block), entry("free_completed", *block)]
    return entries, sorted(live)


entries, live = history(int(sys.argv[1]))
blocks = [{"address": address, "size": size, "requested_size": size, "state": "active_allocated",
           "frames": stacks[stack]} for address, size, stack in live]
segment = {"device": 0, "address": BASE, "total_size": 1 << 36, "stream": 0, "segment_type": "large",
           "segment_pool_id": (0, 0), "is_expandable": False, "frames": stacks[0], "blocks": blocks}
with open(sys.argv[2], "wb") as file:
    pickle.dump({"segments": [segment], "device_traces": [entries], "external_annotations": [],
                 "allocator_settings": {"expandable_segments": False}}, file)
