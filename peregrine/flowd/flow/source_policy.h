/* What a source's samples are worth when some of them were lost: an agent that had to drop samples,
 * a datagram that never came, a collector that could not keep up. sFlow's pool counts the frames
 * that samples were drawn from, so what is missing is known as a factor (sFlow v5 5.3; what pmacct
 * calls renormalisation). */
#pragma once

#include "peregrine/flowd/sample/source_book.h"

/* 1 = nothing is missing; 3 = each sample stands for three times its rate. Never below 1: pools of
 * a short time are noise around the rates. */
double source_factor(const struct source_sums *sums);
