/* Workspaces on this machine: moved and copied between calls, and placed before a guard page. */

#define _DEFAULT_SOURCE /* mmap */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"
#include "dst.h"

/* Moves a workspace to a new address; the old one is overwritten and freed. */
static void *moved(void *old, size_t size)
{
    void *place = malloc(size);
    if (place == NULL)
        abort();
    memcpy(place, old, size);
    memset(old, 0x5a, size);
    free(old);
    return place;
}

static void *allocated(size_t size)
{
    void *place = malloc(size);
    if (place == NULL)
        abort();
    memset(place, 0xa5, size);
    dst_workspace_clear(place);
    return place;
}

/* The last `size` bytes before a page that faults on any access, aligned down. */
typedef struct {
    unsigned char *pages, *workspace;
    size_t length;
} guarded;

static guarded before_a_guard(size_t size, size_t align)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t used = (size + page - 1) / page * page;
    guarded g;
    g.length = used + page;
    g.pages = mmap(NULL, g.length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (g.pages == MAP_FAILED || mprotect(g.pages + used, page, PROT_NONE) != 0)
        abort();
    g.workspace = g.pages + ((used - size) & ~(align - 1));
    return g;
}

#define PRECISION 32
#include "precision.h"
#include "models.h"
#include "workspaces.h"

#undef PRECISION
#define PRECISION 64
#include "precision.h"
#include "models.h"
#include "workspaces.h"

/* Calls every function on a handle of another kind. */
static void wrong_functions(void *workspace, int kind, int precision)
{
    unsigned char before[8];
    memcpy(before, workspace, sizeof before);
    for (int other = 0; other < KINDS; other++) {
        if (other != kind || precision != 32)
            refuse_f32(workspace, other);
        if (other != kind || precision != 64)
            refuse_f64(workspace, other);
    }
    CHECK(memcmp(before, workspace, sizeof before) == 0);
}

static void guards(void)
{
    for (int kind = 0; kind < KINDS; kind++) {
        guarded g = smallest_f32(kind);
        wrong_functions(g.workspace, kind, 32);
        use_f32(g.workspace, kind);
        munmap(g.pages, g.length);
        g = smallest_f64(kind);
        wrong_functions(g.workspace, kind, 64);
        use_f64(g.workspace, kind);
        munmap(g.pages, g.length);
    }
    /* For a workspace that was cleared but never initialised, eight bytes are enough. */
    {
        guarded g = before_a_guard(8, 8);
        dst_workspace_clear(g.workspace);
        wrong_functions(g.workspace, -1, 0);
        munmap(g.pages, g.length);
    }
}

int main(void)
{
    moves_f32();
    moves_f64();
    guards();
    return summary("workspaces");
}
