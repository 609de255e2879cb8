/* haasctl pdci create: what is asked for, from the options to the body of POST /pdcis. */
#include <stdlib.h>
#include <string.h>

#include "common/base/json_text.h"

#include "portal/cli/listing.h"

static int pdci_ask_cli_add_nic(struct text *body, const char *word, char separator)
{
	CLEANUP(freep) char *copy = strdup(word);
	char *network = copy ? strchr(copy, separator) : NULL;
	char *mode = network ? strchr(network + 1, ':') : NULL;

	if (!network)
		return haasctl_usage("%s is not NIC%cNETWORK or NIC%cNETWORK:MODE", word, separator,
				     separator);
	*network++ = '\0';
	if (mode)
		*mode++ = '\0';
	json_begin_object(body, NULL);
	json_put_string(body, "nic", copy);
	json_put_string(body, "network", network);
	if (mode)
		json_put_string(body, "mode", mode);
	json_end_object(body);
	return EXIT_OK;
}

int haasctl_add_nics(struct text *body, const char *key, const char *const words[], size_t count,
		     char separator)
{
	int status = EXIT_OK;

	json_begin_array(body, key);
	for (size_t i = 0; status == EXIT_OK && i < count; i++)
		status = pdci_ask_cli_add_nic(body, words[i], separator);
	json_end_array(body);
	return status;
}

struct pdci_ask_cli_group {
	const char *class, *nodes, *image;
	const char *disks, *min_disk, *disk_kind;
	const char *nics[64];
	size_t nic_count;
	const char *bonds[8];
	size_t bond_count;
};

/* NAME=NIC+NIC.. */
static int add_bond(struct text *body, const char *word)
{
	CLEANUP(freep) char *copy = strdup(word);
	char *nics = copy ? strchr(copy, '=') : NULL;
	char *rest = NULL;

	if (!nics || !strchr(nics, '+'))
		return haasctl_usage("%s is not NAME=NIC+NIC", word);
	*nics++ = '\0';
	json_begin_object(body, NULL);
	json_put_string(body, "name", copy);
	json_begin_array(body, "nics");
	for (char *nic = strtok_r(nics, "+", &rest); nic; nic = strtok_r(NULL, "+", &rest))
		json_put_string(body, NULL, nic);
	json_end_array(body);
	json_end_object(body);
	return EXIT_OK;
}

/* Local disks that each node must have. */
static int pdci_ask_cli_add_disks(struct text *body, const struct pdci_ask_cli_group *group)
{
	bool flash = group->disk_kind && strcmp(group->disk_kind, "flash") == 0;
	int64_t count = 1;
	int64_t bytes = 0;
	int status = EXIT_OK;

	if (!group->disks && !group->min_disk && !group->disk_kind)
		return EXIT_OK;
	if (group->disk_kind && !flash && strcmp(group->disk_kind, "rotating") != 0)
		return haasctl_usage("disk-kind %s: choose from flash rotating",
				     group->disk_kind); /* of --group: an option is checked */
	if (group->disks)
		status = haasctl_number("disks", group->disks, &count);
	if (status == EXIT_OK && group->min_disk)
		status = haasctl_size("min-disk", group->min_disk, &bytes);
	json_begin_object(body, "disks");
	json_put_int(body, "count", count);
	if (group->min_disk)
		json_put_int(body, "min_bytes", bytes);
	if (group->disk_kind)
		json_put_bool(body, "rotational", !flash);
	json_end_object(body);
	return status;
}

static int add_group(struct text *body, const struct pdci_ask_cli_group *group)
{
	int64_t count = 0;
	int status;

	if (!group->nodes || !group->image)
		return haasctl_usage("a group needs nodes and an image: --nodes N --image IMAGE, "
				     "or --group class=C,nodes=N,image=IMAGE");
	status = haasctl_number("nodes", group->nodes, &count);
	json_begin_object(body, NULL);
	if (group->class)
		json_put_string(body, "class", group->class);
	json_put_int(body, "count", count);
	json_put_string(body, "image", group->image);
	if (status == EXIT_OK)
		status = pdci_ask_cli_add_disks(body, group);
	if (status == EXIT_OK && group->nic_count > 0)
		status = haasctl_add_nics(body, "nics", group->nics, group->nic_count, ':');
	if (group->bond_count > 0) {
		json_begin_array(body, "bonds");
		for (size_t i = 0; status == EXIT_OK && i < group->bond_count; i++)
			status = add_bond(body, group->bonds[i]);
		if (status != EXIT_OK)
			return status;
		json_end_array(body);
	}
	json_end_object(body);
	return status;
}

/* A part "key=value" of an option, and where its value goes. */
struct part_row {
	const char *key;
	const char **to;
};

/* Cuts `part` in place; *ret_value is what stands behind "=", NULL = nothing. False: no row has the
 * key. */
static bool pdci_ask_cli_take_part(char *part, const struct part_row rows[], size_t count,
				   char **ret_value)
{
	char *value = strchr(part, '=');

	if (value)
		*value++ = '\0';
	*ret_value = value;
	for (size_t i = 0; value && i < count; i++) {
		if (strcmp(part, rows[i].key) == 0) {
			*rows[i].to = value;
			return true;
		}
	}
	return false;
}

/* One "key=value" of --group; `part` is cut in place. */
static int pdci_ask_cli_read_part(char *part, struct pdci_ask_cli_group *group)
{
	char *value;
	const struct part_row rows[] = {
		{"class", &group->class},       {"nodes", &group->nodes},
		{"image", &group->image},       {"disks", &group->disks},
		{"min-disk", &group->min_disk}, {"disk-kind", &group->disk_kind}};

	if (pdci_ask_cli_take_part(part, rows, COUNT_OF(rows), &value))
		return EXIT_OK;
	if (value && strcmp(part, "nic") == 0 && group->nic_count < COUNT_OF(group->nics)) {
		group->nics[group->nic_count++] = value;
		return EXIT_OK;
	}
	if (value && strcmp(part, "bond") == 0 && group->bond_count < COUNT_OF(group->bonds)) {
		group->bonds[group->bond_count++] = value;
		return EXIT_OK;
	}
	return haasctl_usage("%s is not known in --group; say class=C,nodes=N,image=IMAGE"
			     "[,disks=N][,min-disk=SIZE][,disk-kind=flash|rotating]"
			     "[,nic=NIC:NETWORK[:MODE]]...[,bond=NAME=NIC+NIC]...",
			     part);
}

static int add_group_option(struct text *body, const char *word)
{
	CLEANUP(freep) char *copy = strdup(word);
	struct pdci_ask_cli_group group = {0};
	char *rest = NULL;
	int status = EXIT_OK;

	for (char *part = copy ? strtok_r(copy, ",", &rest) : NULL; part && status == EXIT_OK;
	     part = strtok_r(NULL, ",", &rest))
		status = pdci_ask_cli_read_part(part, &group);
	return status == EXIT_OK ? add_group(body, &group) : status;
}

/* The group of --class, --nodes, --image and --nic comes first, when there is any of them. */
static int add_groups(struct text *body, const struct command_input *input)
{
	const char *const *words = command_options(input, "--group");
	const char *const *nics = command_options(input, "--nic");
	const char *const *bonds = command_options(input, "--bond");
	struct pdci_ask_cli_group first = {.class = command_option(input, "--class"),
					   .nodes = command_option(input, "--nodes"),
					   .image = command_option(input, "--image"),
					   .disks = command_option(input, "--disks"),
					   .min_disk = command_option(input, "--min-disk"),
					   .disk_kind = command_option(input, "--disk-kind")};
	int status = EXIT_OK;

	for (; nics && *nics && first.nic_count < COUNT_OF(first.nics); nics++)
		first.nics[first.nic_count++] = *nics;
	for (; bonds && *bonds && first.bond_count < COUNT_OF(first.bonds); bonds++)
		first.bonds[first.bond_count++] = *bonds;
	if ((nics && *nics) || (bonds && *bonds))
		return haasctl_usage("more than %zu NICs or %zu bonds", COUNT_OF(first.nics),
				     COUNT_OF(first.bonds));
	json_begin_array(body, "groups");
	if (first.class || first.nodes || first.image || first.disks || first.min_disk ||
	    first.disk_kind || first.nic_count > 0 || first.bond_count > 0 || !words || !words[0])
		status = add_group(body, &first);
	for (; status == EXIT_OK && words && *words; words++)
		status = add_group_option(body, *words);
	if (status == EXIT_OK)
		json_end_array(body);
	return status;
}

/* --network NAME[=PREFIX] */
static void add_networks(struct text *body, const char *const *words)
{
	if (!words || !words[0])
		return;
	json_begin_array(body, "networks");
	for (; *words; words++) {
		size_t length = strcspn(*words, "=");
		char name[128];

		(void)text_format(name, sizeof(name), "%.*s", (int)(length < 127 ? length : 127),
				  *words);
		json_begin_object(body, NULL);
		json_put_string(body, "name", name);
		if ((*words)[length] == '=')
			json_put_string(body, "prefix", *words + length + 1);
		json_end_object(body);
	}
	json_end_array(body);
}

struct volume {
	const char *name, *size, *archive;
	bool with_pdci;
};

/* One "key=value" of --volume; `part` is cut in place. */
static int read_volume_part(char *part, struct volume *volume)
{
	char *value;
	const struct part_row rows[] = {
		{"size", &volume->size}, {"name", &volume->name}, {"archive", &volume->archive}};

	if (pdci_ask_cli_take_part(part, rows, COUNT_OF(rows), &value))
		return EXIT_OK;
	if (!value && strcmp(part, "delete") == 0) {
		volume->with_pdci = true;
		return EXIT_OK;
	}
	return haasctl_usage("%s is not known in --volume; say size=SIZE or "
			     "archive=ARCHIVE[,name=NAME][,delete], or name=NAME",
			     part);
}

/* A new one, or with a name alone one that is there. `given` is its name when it has none. */
static int add_volume(struct text *body, const struct volume *volume, const char *given)
{
	int64_t bytes = 0;
	int status = volume->size ? haasctl_size("size", volume->size, &bytes) : EXIT_OK;

	if (status != EXIT_OK)
		return status;
	if (!volume->name && !volume->size && !volume->archive)
		return haasctl_usage("--volume needs size=SIZE, archive=ARCHIVE or name=NAME");
	json_begin_object(body, NULL);
	if (!volume->size && !volume->archive) {
		json_put_string(body, "volume", volume->name);
	} else {
		json_put_string(body, "name", volume->name ? volume->name : given);
		if (volume->size)
			json_put_int(body, "size_bytes", bytes);
		if (volume->archive)
			json_put_string(body, "archive", volume->archive);
		json_put_bool(body, "keep", !volume->with_pdci);
	}
	json_end_object(body);
	return EXIT_OK;
}

static int add_volume_option(struct text *body, const char *word, const char *given)
{
	CLEANUP(freep) char *copy = strdup(word);
	struct volume volume = {0};
	char *rest = NULL;
	int status = EXIT_OK;

	for (char *part = copy ? strtok_r(copy, ",", &rest) : NULL; part && status == EXIT_OK;
	     part = strtok_r(NULL, ",", &rest))
		status = read_volume_part(part, &volume);
	return status == EXIT_OK ? add_volume(body, &volume, given) : status;
}

static int add_volumes(struct text *body, const struct command_input *input)
{
	const char *const *words = command_options(input, "--volume");
	char given[96];
	int status = EXIT_OK;

	if (!words || !words[0])
		return EXIT_OK;
	json_begin_array(body, "volumes");
	for (size_t i = 0; status == EXIT_OK && words[i]; i++) {
		(void)text_format(given, sizeof(given), "%s-%zu", input->words[0], i + 1);
		status = add_volume_option(body, words[i], given);
	}
	if (status == EXIT_OK)
		json_end_array(body);
	return status;
}

int pdci_create_body(struct text *body, const struct command_input *input)
{
	static const char *const texts[][2] = {
		{"--tenant", "tenant"}, {"--spread", "spread"}, {"--spare", "spare"}};
	int status;

	json_begin_object(body, NULL);
	json_put_string(body, "name", input->words[0]);
	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		if (command_option(input, texts[i][0]))
			json_put_string(body, texts[i][1], command_option(input, texts[i][0]));
	}
	status = add_groups(body, input);
	if (status != EXIT_OK)
		return status;
	add_networks(body, command_options(input, "--network"));
	status = add_volumes(body, input);
	if (status != EXIT_OK)
		return status;
	json_begin_object(body, "params");
	haasctl_add_words(body, "packages", command_options(input, "--package"));
	status = haasctl_add_ssh_keys(body, command_options(input, "--ssh-key"));
	if (status == EXIT_OK)
		status = haasctl_add_user_data(body, command_option(input, "--user-data"));
	if (status != EXIT_OK)
		return status;
	json_end_object(body);
	json_end_object(body);
	return EXIT_OK;
}
