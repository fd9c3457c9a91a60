/* The device APIs. To add one: a file that defines `const struct device_ops device_NAME`, and its
 * line here. An API whose headers were missing at build time stays in the list and reports that. */
#pragma once

#define DEVICE_API_LIST(X)                                                                         \
    X(host)                                                                                        \
    X(opencl)                                                                                      \
    X(cuda)

#define X(name) extern const struct device_ops device_##name;
DEVICE_API_LIST(X)
#undef X
