/* What the parts of an exchange share: exchange.c (sums, step by step), exchange_size.c (their memory). */
#pragma once

#include "trainer_image/train/exchange.h"

enum { EXCHANGE_BUCKET = 4 << 20 }; /* numbers of a bucket at most: bounds the workspace of sums */

/* Numbers of the sum by which a link is measured. */
size_t exchange_probe(size_t numbers, bool of_devices);
