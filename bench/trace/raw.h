/* The raw recording: what a recorder writes while an application runs. It is written to be cheap
 * and to survive a crash; `gamut trace import` makes a trace of it (import/raw.c). Both ends are of
 * one build, and the format may change with each version.
 *
 * The file is a head of RAW_HEAD_BYTES and chunks of RAW_CHUNK_BYTES. Each thread of the
 * application has a chunk that is mapped into its memory, so that a record is in the file as soon
 * as it is written. A full chunk is copied to the end of the file and emptied. A thread's records
 * are those of its chunks in the order of `sequence`; two chunks of one thread with the same
 * sequence are the same chunk, copied and not emptied before the application died, and the one with
 * more bytes counts.
 *
 * A record is a struct raw_record and then `words` numbers of 64 bits. Objects are named by the
 * handles or addresses that the application has; a handle may be used again after its last release.
 * Records of calls that create something are stamped when the call returns, all others when it
 * begins: in the order of the stamps a handle is never created before it was destroyed. A command
 * is stamped when its call begins, and the event that it makes exists when the call has returned.
 */
#pragma once

#include <stdint.h>

enum {
    RAW_VERSION = 4,
    RAW_DEVICE_NAME_WORDS = 16,
    RAW_HEAD_BYTES = 4096,
    RAW_CHUNK_BYTES = 32768,
    RAW_WORDS_MOST = 2048,
    RAW_UNSEEN_MOST = 64,
};
#define RAW_MAGIC       "gamutraw"
#define RAW_CHUNK_MAGIC UINT32_C(0x6b6e6863)

/* X(name, help): the kinds of records. Of records with one stamp those of earlier kinds come first.
 * What a command's words are stands at struct raw_command. */
#define RAW_KIND_LIST(X)                                                                           \
    X(name, "object: an address in a program. words: its name, filled up with NULs")               \
    X(device, "object: a device. words: bytes of its memory; its name in 16 words, filled up "     \
              "with NULs; alignment of its memories in bytes (0, or left out: unknown)")           \
    X(context, "object: a new context. words: its first device")                                   \
    X(queue, "object: a new queue. words: context, RAW_QUEUE flags")                               \
    X(block, "object: a new block. words: context, bytes, RAW_BLOCK flags, site or queue, "        \
             "private pool (0, or left out: none)")                                                \
    X(part, "object: a new view of a part. words: block, offset, bytes, site")                     \
    X(kernel, "object: a new kernel. words: its name, filled up with NULs")                        \
    X(clone, "object: a new kernel with the arguments of another. words: that kernel")             \
    X(event, "object: a new event that the application completes itself")                          \
    X(refused, "a request that failed. words: context, bytes, RAW_BLOCK flags, site, error")       \
    X(retain, "object: anything. words: class of object (RAW_CLASS)")                              \
    X(release, "object: anything. words: class of object (RAW_CLASS)")                             \
    X(gone, "object: a block. The driver says that nothing uses it")                               \
    X(argument, "object: a kernel. words: index of the argument, value")                           \
    X(launch, "a command: a kernel")                                                               \
    X(copy, "a command: a copy on the device; it writes the last block and reads the others")      \
    X(fill, "a command: a fill")                                                                   \
    X(write, "a command: a copy from the host")                                                    \
    X(read, "a command: a copy to the host")                                                       \
    X(map, "a command: the host gets access")                                                      \
    X(unmap, "a command: the host's access ends")                                                  \
    X(marker, "a command without work: it waits for the events, or for all commands before it")    \
    X(flush, "object: a queue")                                                                    \
    X(finish, "object: a queue, or a context. The host waits for it, or for its device")           \
    X(wait, "the host waits for events. words: the events")                                        \
    X(ran, "object: an event. words: nanoseconds between the begin and the end of its command; "   \
           "from the call that gave it to its end, and from its end to this stamp (0: unknown)")   \
    X(free, "object: a block with one owner, which frees it. words: queue (0: none); bytes whose " \
            "blocks are freed, or 0")                                                              \
    X(begin,                                                                                       \
      "a phase begins. object: its nest, or its range. words: its name, filled up with NULs")      \
    X(end, "a phase ends. object: as of its begin")                                                \
    X(trim, "object: a context. The allocator of its device gives back what is spare")             \
    X(pool_begin, "object: a context. words: number of a private pool, which captured graphs use") \
    X(pool_end, "object: a context. words: number of a private pool, which no graph uses any "     \
                "more")

#define RAW_KIND(name, ...) RAW_##name,
enum raw_kind { RAW_KIND_LIST(RAW_KIND) RAW_KINDS };

enum raw_class {
    RAW_CLASS_CONTEXT,
    RAW_CLASS_QUEUE,
    RAW_CLASS_BLOCK,
    RAW_CLASS_KERNEL,
    RAW_CLASS_EVENT
};
/* With the class of a released block: it was gone when the call returned, and no record `gone`
 * follows. */
enum raw_release_flag { RAW_RELEASE_CLASS = 0xff, RAW_RELEASE_GONE = 0x100 };
/* SEEN: the queue may have a record already; a thread has met it for the first time. */
enum raw_queue_flag { RAW_QUEUE_OUT_OF_ORDER = 1, RAW_QUEUE_TIMES = 2, RAW_QUEUE_SEEN = 4 };
/* The low byte of a block's flags is its enum driver_memory. */
enum raw_block_flag {
    RAW_BLOCK_MEMORY = 0xff,
    RAW_BLOCK_HOST_POINTER = 0x100, /* the application's own memory */
    RAW_BLOCK_COPIED = 0x200,       /* filled from the host by the call */
    RAW_BLOCK_IMAGE = 0x400,        /* an image; the bytes are those that the driver reports */
    RAW_BLOCK_GONE_FOLLOWS = 0x800, /* a record `gone` will say when its last command is done */
    RAW_BLOCK_ADDRESS = 0x1000,     /* the handle is the block's address on the device */
    RAW_BLOCK_ALIGNMENT = 0x3f0000, /* the power of two that the block was asked to be aligned to */
    RAW_BLOCK_ALIGNMENT_SHIFT = 16,
};

/* The phases of a nest, which a thread has for itself, end in the opposite order of their begins. A
 * range has this bit and a number; it may end at any time and in any thread. */
#define RAW_PHASE_RANGE (UINT64_C(1) << 63)

/* The event of a timed command of CUDA is none of the application's: this and CUPTI's correlation
 * number. */
#define RAW_EVENT_CORRELATION (UINT64_C(1) << 62)

/* A command has the words: RAW_COMMAND flags, kernel (0 but for launch), bytes, number of blocks,
 * number of events; the blocks; the events that it waits for. Its object is the queue, its result
 * the event that it makes (0: none). The blocks of a launch of OpenCL are its kernel's arguments,
 * and not listed. */
enum raw_command {
    RAW_COMMAND_FLAGS,
    RAW_COMMAND_KERNEL,
    RAW_COMMAND_BYTES,
    RAW_COMMAND_BLOCKS,
    RAW_COMMAND_EVENTS,
    RAW_COMMAND_WORDS
};
enum raw_command_flag {
    RAW_COMMAND_BLOCKING = 1, /* the call returned after the command had ended */
    RAW_COMMAND_BARRIER = 2,  /* later commands of the queue wait for this one */
    RAW_COMMAND_READS = 4,    /* map: access of the host */
    RAW_COMMAND_WRITES = 8,
};

struct raw_record {
    uint64_t ticks;         /* time at which the call began, or returned (raw_at_end) */
    uint64_t duration : 40; /* ticks in the call; RAW_DURATION_MOST: that many or more */
    uint64_t kind : 8;      /* enum raw_kind */
    uint64_t words : 16;    /* the number of words that follow */
    uint64_t object, result;
};

#define RAW_DURATION_MOST ((UINT64_C(1) << 40) - 1)

/* Is a record stamped when the call returned? */
static inline int raw_at_end(unsigned kind)
{
    return kind >= RAW_context && kind <= RAW_event;
}

/* Two clocks read at one moment. */
struct raw_moment {
    uint64_t ticks, ns;
};

struct raw_chunk {
    uint32_t magic;  /* RAW_CHUNK_MAGIC; 0: the chunk was never begun */
    uint32_t thread; /* number of the thread, from 0 on */
    uint64_t sequence;
    uint64_t used;            /* bytes of records after this head */
    struct raw_moment moment; /* the begin of the chunk */
    uint64_t reserved[3];
};

struct raw_head {
    char magic[8];
    uint32_t version, chunk_bytes;
    char api[16];          /* "OpenCL", "CUDA" */
    char via[16];          /* the recorder's way in: "layer", "icd", "cupti" */
    char application[128]; /* its command line */
    uint64_t process, parent;
    uint64_t began_realtime_ns;      /* since 1970 */
    struct raw_moment began, latest; /* the second is read again whenever a chunk is full */
    uint64_t lost_records;           /* records that could not be written: the disk was full */
    uint32_t ended;                  /* the process ended in order */
    uint32_t anonymous;              /* names are left out */
    uint32_t timed;                  /* commands are timed by the device */
    uint32_t devices;                /* records of devices; without one there is no trace */
    /* Calls that concern memory and are not recorded, by name. */
    struct raw_unseen {
        char name[40];
        uint64_t count;
    } unseen[RAW_UNSEEN_MOST];
};
