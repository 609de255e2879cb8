/* haasctl switch aggregates: aggregates (LACP) as switches show them, ours and those of operators.
 */
#include <stdio.h>
#include <stdlib.h>

#include "portal/cli/listing.h"

static const struct output_column aggregate_cli_columns[] = {
	COLUMN("switch"),
	COLUMN("aggregate"),
	COLUMN("members"),
	COLUMN("up"),
	COLUMN("trunk"),
	TITLED_NUMBER("native_vlan", "NATIVE"),
	TITLED("tagged_vlans", "TAGGED"),
	COLUMN("ours"),
	COLUMN("bond"),
	WIDE("made_at"),
	WIDE("seen_at"),
};

int haasctl_switch_aggregates(void *context, const struct command_input *input)
{
	CLEANUP(text_done) struct text target = {0};

	if (input->word_count > 0)
		haasctl_path(&target, "/aggregates?switch=", input->words[0], "");
	else
		text_add(&target, "/aggregates");
	return listing_pages(context, input, text_get(&target), 0, COLUMNS(aggregate_cli_columns));
}
