/* Implementation of `put` with an operating system. */

#include <stdio.h>

void put(const char *text);

void put(const char *text)
{
    fputs(text, stdout);
}
