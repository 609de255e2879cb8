/* SETs below a vendor's own root (switch_like_table.h), and what is shown there. */
#pragma once

#include "tests/sim/switch/switch_like_table.h"

struct switch_likeness {
	const struct switch_like *like;
	uint32_t rows[SWITCH_LIKE_ROWS]; /* in use; 0 = free */
};

/* The modes of ports, for the list of all that is shown. */
void switch_like_show(const struct switch_like *like, const struct switch_device *device,
		      struct switch_mib *mib);

/* The values of varbinds that are all below the root. `now`: make it true, else only try. */
enum switch_error switch_like_set(struct switch_likeness *likeness, struct switch_device *device,
				  const netsnmp_variable_list *const varbinds[], size_t count,
				  bool now);
