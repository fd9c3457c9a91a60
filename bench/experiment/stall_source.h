/* The kernels of the stall experiment; see kernels.h for how this file is used. */

/* How many words the frame needs: what only the device knows. */
GAMUT_SOURCE(
    FN u32 stall_size(u32 frame, u32 words) {
        u32 x = frame * 2654435761u;
        x ^= x >> 16;
        return 1 + x % words;
    }

    FN void produce_item(i64 item, GAMUT_GLOBAL u32 *counts, u32 frame, u32 words) {
        counts[frame] = stall_size(frame, words) + (u32)item * 0;
    }

    FN void consume_item(i64 item, GAMUT_GLOBAL u32 *block, i64 offset, u32 frame) {
        block[offset + item] = frame * 65536 + (u32)item;
    })
