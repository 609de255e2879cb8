/* Where the agent's libraries (libsodium, jansson) take their random numbers from. */
#pragma once

/* To be called before sodium_init(). Left to themselves both wait until the kernel's generator is
 * seeded: seconds on a node without RDRAND that started just now. The agent draws what needs no
 * secrecy (delays, hash seeds, the places that a read-back looks at) and makes no keys. */
void random_source_set(void);
