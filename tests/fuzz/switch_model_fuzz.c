// links: sim_switch
/* A saved configuration that is taken is a configuration: it passes its check, written it is read
 * the same, and each port has a data plane that can be imported. Faults are words or they are not.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/sim/switch/switch_fault_table.h"
#include "tests/sim/switch/switch_model.h"
#include "tests/support/fuzz_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(struct switch_model *model)
{
	struct text text = {0};
	struct text text_again = {0};
	struct switch_model again = {0};

	if (switch_model_check(model) != SWITCH_OK)
		abort();
	switch_model_write(model, &text);
	if (switch_model_read(text_get(&text), &again) != 0)
		abort();
	switch_model_write(&again, &text_again);
	if (strcmp(text_get(&text), text_get(&text_again)) != 0)
		abort();
	for (size_t i = 0; i < again.port_count; i++) {
		struct switch_tagging tagging = switch_model_tagging(&again, &again.ports[i]);
		struct switch_tagging imported;

		if (switch_model_import(&again, &again.ports[i], &tagging) != 0)
			abort();
		imported = switch_model_tagging(&again, &again.ports[i]);
		if (!switch_tagging_equal(&tagging, &imported))
			abort();
	}
	switch_model_done(&again);
	text_done(&text);
	text_done(&text_again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	char wrong[64] = "";
	struct switch_model model = {0};
	struct switch_faults faults;

	if (switch_faults_read(text, &faults, wrong) != 0 && strlen(wrong) >= sizeof(wrong))
		abort();
	if (switch_model_read(text, &model) == 0)
		check(&model);
	switch_model_done(&model);
	free(text);
	return 0;
}
