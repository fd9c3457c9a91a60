/* The importers, in the order in which they are tried. A new one is a file here and a line. */
#pragma once

#define IMPORTER_LIST(X)                                                                           \
    X(text)                                                                                        \
    X(raw)                                                                                         \
    X(pytorch)                                                                                     \
    X(pytorch_json)                                                                                \
    X(pytorch_csv)                                                                                 \
    X(rmm)                                                                                         \
    X(umpire)                                                                                      \
    X(minimalloc)                                                                                  \
    X(xla)                                                                                         \
    X(kineto)                                                                                      \
    X(nsys)
