/* Records what a server does, as a raw recording (trace/raw.h) of which `gamut trace import` makes
 * a trace. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Begins; `folder` gets the file of the process. `api` as in struct raw_head. */
void serve_record_open(const char *folder, const char *api);
/* Ends it: what is freed after the counters of a process were written is in neither. */
void serve_record_end(void);
/* All calls below write nothing before serve_record_open and after serve_record_end. `device`: its
 * number, from 0 on; a queue is a handle of that device. The caller's lock orders them. */
void serve_record_device(unsigned device, const char *name, uint64_t memory_bytes,
                         uint64_t alignment);
/* A block of `bytes` with this alignment is handed out, of a private pool or of the common memory
 * (0); `address` 0: the request was refused. */
void serve_record_block(unsigned device, uint64_t address, uint64_t bytes, uint64_t alignment,
                        uint64_t queue, unsigned pool);
/* A private pool begins, or ends. */
void serve_record_pool(unsigned device, unsigned pool, bool begins);
/* The application has freed the block; the strategy has it back. */
void serve_record_free(uint64_t address);
void serve_record_gone(uint64_t address);
/* The strategy gives spare memory back. */
void serve_record_trim(unsigned device);
/* A phase of the process begins; the one before it ends. Called by one thread at a time. */
void serve_record_mark(const char *name);
