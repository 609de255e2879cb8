/* The weight of a source's samples when some were lost: by an agent that dropped samples, a lost
 * datagram, or an overloaded collector. sFlow's pool counts the frames that samples were drawn
 * from. So the loss is known as a factor (sFlow v5 5.3; pmacct calls it renormalisation). */
#pragma once

#include "peregrine/flowd/sample/source_book.h"

/* 1 = no sample was lost; 3 = each sample stands for three times its rate. Never below 1: over a
 * short time the pool fluctuates around the rate. */
double source_factor(const struct source_sums *sums);
