/* The servers of the CUDA devices of a process. The first request opens each. */
#pragma once

#include "inside/server.h"

enum { CUDA_SERVERS_MOST = 64 };

/* The server of a device. Without one the application has no memory at all: the process ends with a
 * sentence. */
struct server *cuda_server_of(int number);
/* The server of a device if it is open, else NULL. */
struct server *cuda_server_at(unsigned number);
/* The memory of a device whose server is open. */
uint64_t cuda_server_memory_bytes(int number);
