/* memcpy and its relatives, which libc and libdst both have: they work, whichever was linked. */

#include <stddef.h>
#include <string.h>

#include "dst.h"

/* Through pointers, so that the compiler does not replace the calls. */
static void *(*volatile copy)(void *, const void *, size_t) = memcpy;
static void *(*volatile shift)(void *, const void *, size_t) = memmove;
static void *(*volatile fill)(void *, int, size_t) = memset;
static int (*volatile compare)(const void *, const void *, size_t) = memcmp;

int main(void)
{
    static unsigned char from[64], to[64];
    uint64_t workspace[8];
    for (size_t i = 0; i < sizeof from; i++)
        from[i] = (unsigned char)(i * 7 + 1);
    if (copy(to, from, sizeof to) != to || compare(to, from, sizeof to) != 0)
        return 1;
    shift(to + 3, to, 40);
    if (compare(to + 3, from, 40) != 0 || to[43] != from[43])
        return 2;
    fill(to + 1, 0x5a, 50);
    if (to[0] != from[0] || to[1] != 0x5a || to[50] != 0x5a || to[51] != from[51])
        return 3;
    fill(workspace, 0xff, sizeof workspace);
    dst_workspace_clear(workspace);
    return workspace[0] == 0 && dst_version()[0] != 0 ? 0 : 4;
}
