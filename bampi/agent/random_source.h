/* Where the agent's libraries (libsodium, jansson) take their random numbers from. */
#pragma once

/* To be called before sodium_init(). Left to themselves both wait until the kernel's generator is
 * seeded: seconds on a node without RDRAND that started just now. Only numbers without secrecy come
 * from here: delays, hash seeds, the places that a read-back looks at. The agent's secret key does
 * not: common/io/seal_key draws from the seeded generator alone. */
void random_source_set(void);
