/* X(function, name): the importers. A new one is a file here and a line. */
#pragma once

#define IMPORTER_LIST(X)                                                                           \
    X(text, "text")                                                                                \
    X(raw, "raw")                                                                                  \
    X(pytorch, "pytorch")                                                                          \
    X(pytorch_json, "pytorch-json")                                                                \
    X(pytorch_csv, "pytorch-csv")                                                                  \
    X(rmm, "rmm")                                                                                  \
    X(umpire, "umpire")                                                                            \
    X(minimalloc, "minimalloc")                                                                    \
    X(xla, "xla")                                                                                  \
    X(kineto, "kineto")                                                                            \
    X(nsys, "nsys")
