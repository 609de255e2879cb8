#include "bampi/agent/verify_policy.h"

const char *verify_verdict(const struct verify_facts *facts)
{
	if (facts->unreadable || facts->samples == 0 || !facts->ends_zero)
		return "failed";
	if (facts->nonzero == 0)
		return "verified";
	return facts->crypto && facts->structured == 0 ? "verified" : "failed";
}

/* Pearson's chi-square of the byte values against the uniform distribution, 255 degrees of freedom:
 * mean 255, standard deviation 22.6. Noise stays below 400 but for one sample in 10^9; text, code
 * and tables are in the thousands. */
bool verify_is_noise(const void *data, size_t size)
{
	const uint8_t *bytes = data;
	uint32_t counts[256] = {0};
	double expected = (double)size / 256.0;
	double sum = 0.0;

	if (size < 2048) /* fewer than 8 per value say nothing */
		return false;
	for (size_t i = 0; i < size; i++)
		counts[bytes[i]]++;
	for (size_t i = 0; i < 256; i++) {
		double difference = (double)counts[i] - expected;

		sum += difference * difference / expected;
	}
	return sum < 400.0;
}
