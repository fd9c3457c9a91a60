"""RMM's buffers by its callback resource, served: contents, streams, out of memory, and what was served."""
import json
import time

import gamut

gamut.serve("caching", framework="rmm")
import numpy
import rmm
from rmm.pylibrmm.stream import Stream

print("rmm", rmm.__version__)
other = Stream()
for i in range(50):
    host = numpy.full(1000 + 70000 * (i % 7), i, dtype=numpy.uint8)
    first = rmm.DeviceBuffer.to_device(host)
    second = rmm.DeviceBuffer(size=len(host), stream=other)
    assert (first.copy_to_host() == host).all()
    del first, second
try:
    rmm.DeviceBuffer(size=1 << 45)
    print("a buffer of 32 TiB was made")
except MemoryError as error:
    print("MemoryError:", error)
kept = rmm.DeviceBuffer(size=1000)
begin = time.perf_counter()
for i in range(20000):
    rmm.DeviceBuffer(size=4096)
print(f"{1e6 * (time.perf_counter() - begin) / 20000:.2f} us a buffer")
device = gamut.statistics()["devices"][0]
print(json.dumps({k: device["counters"][k] for k in ("alloc_count", "free_count", "hit_count", "driver_alloc_count", "peak_reserved_bytes", "peak_requested_bytes")}), "live", device["live_count"])
