/* A reader in Rust as a target of libFuzzer: READER is its function in tests/fuzz/src/lib.rs. */

#include <stddef.h>
#include <stdint.h>

void READER(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    READER(data, len);
    return 0;
}
