/* Checks that are counted and report the place of a failure, and numbers printed as bits. No stdio: the same code runs on
 * bare metal, where `put` is a semihosting call. */
#ifndef CHECK_H
#define CHECK_H

#include <float.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Writes a text; implemented per platform. */
void put(const char *text);

static unsigned checks, failures;

static inline void put_unsigned(uint64_t value)
{
    char text[21];
    char *digit = text + sizeof text - 1;
    *digit = '\0';
    do {
        *--digit = (char)('0' + value % 10);
        value /= 10;
    } while (value != 0);
    put(digit);
}

static inline void put_hex(uint64_t value, int digits)
{
    char text[18];
    text[digits] = '\0';
    while (digits-- > 0) {
        text[digits] = "0123456789abcdef"[value & 15];
        value >>= 4;
    }
    put(text);
}

static inline void put_bits_f32(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    put(" ");
    put_hex(bits, 8);
}

static inline void put_bits_f64(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    put(" ");
    put_hex(bits, 16);
}

static inline int check_(int holds, const char *what, const char *file, unsigned line)
{
    checks++;
    if (!holds) {
        failures++;
        put("FAILED ");
        put(file);
        put(":");
        put_unsigned(line);
        put(": ");
        put(what);
        put("\n");
    }
    return holds;
}

#define CHECK(condition) check_((condition) != 0, #condition, __FILE__, __LINE__)

/* True if |a - b| <= tolerance*max(|a|, |b|); false for a NaN. */
static inline int close_to(double a, double b, double tolerance)
{
    double size_a = a < 0 ? -a : a, size_b = b < 0 ? -b : b, distance = a < b ? b - a : a - b;
    return distance <= tolerance * (size_a > size_b ? size_a : size_b);
}

/* Prints a summary and returns the exit code. */
static inline int summary(const char *name)
{
    put(name);
    put(": ");
    put_unsigned(checks);
    put(" checks, ");
    put_unsigned(failures);
    put(" failed\n");
    return failures == 0 ? 0 : 1;
}

#endif
