#include "common/model/scale_policy.h"

#include <math.h>

/* Square of the 97.5 % quantile of the normal distribution. */
#define Z2 3.841459

/* Beyond four standard deviations, and by more than counters and samples count differently (a
 * checksum of 4 bytes a frame, and what is read a moment later). */
#define ODD_DEVIATIONS 4
#define ODD_LEAST      0.1

static struct traffic_sums scale_policy_times(const struct traffic_sums *sums, double factor,
					      double square)
{
	return (struct traffic_sums){.bytes = (uint64_t)floor((double)sums->bytes * factor),
				     .packets = (uint64_t)floor((double)sums->packets * factor),
				     .samples = sums->samples,
				     .square = square * factor * factor};
}

/* Of seconds that counters say nothing of there is the estimate alone. */
static double scale_policy_uncovered(const struct link_scale *scale)
{
	return (1 - scale->covered) / scale->covered;
}

struct traffic_sums scale_whole(const struct link_scale *scale, const struct traffic_sums *whole)
{
	return scale_policy_times(whole, scale->factor,
				  whole->square * scale_policy_uncovered(scale));
}

/* The variance of share p = part / link, times link^2: (1-p)^2 V(part) + p^2 V(rest). Where p is
 * near 1 that is near 0, and yet a sample more could have been another's: Wilson's interval has
 * z^2 / n there, which a square of z samples of middling size gives. */
struct traffic_sums scale_part(const struct link_scale *scale, const struct traffic_sums *part)
{
	double link = (double)scale->link.bytes;
	double p = link > 0 ? fmin(1, (double)part->bytes / link) : 1;
	double rest = fmax(0, scale->link.square - part->square);
	double middling = link > 0 ? scale->link.square / link : 0;
	double square = (1 - p) * (1 - p) * part->square + p * p * rest +
			p * p * scale->link.square * scale_policy_uncovered(scale) +
			p * Z2 * middling * middling;

	return scale_policy_times(part, scale->factor, square);
}

/* Its own deviation alone may be too little: what others' samples miss is in the factor. Around
 * what was sampled it is enough, so the way from there is added. */
struct traffic_sums scale_own(const struct link_scale *scale, const struct traffic_sums *own)
{
	double deviation = fmax(1, scale->factor) * sqrt(own->square) +
			   (double)own->bytes * fabs(scale->factor - 1) / sqrt(Z2);
	struct traffic_sums scaled = scale_policy_times(own, scale->factor, 0);

	scaled.square = deviation * deviation;
	return scaled;
}

bool scale_is_odd(const struct link_scale *scale)
{
	double sampled = scale->factor > 0 ? 1 / scale->factor : 0;
	double deviation =
		scale->link.bytes ? sqrt(scale->link.square) / (double)scale->link.bytes : 0;

	return scale->known && fabs(sampled - 1) > ODD_LEAST + ODD_DEVIATIONS * deviation;
}
