/* haasctl node import: the sheet of nodes, its columns for help and manual, and a sheet to begin
 * with. portald reads it (portal/server/node_sheet.c); story_cli_nodes holds the two lists of
 * columns together. */
#include <stdio.h>
#include <string.h>

#include "common/io/file.h"

#include "portal/cli/listing.h"

#define SHEET_LIMIT ((size_t)8 << 20)

/* clang-format off */
static const struct option_row node_sheet_rows[] = {
	{"name",             0, OPTION_VALUE, "NODE",                    "needed; rows of one name are one node's NICs"},
	{"class",            0, OPTION_VALUE, "CLASS",                   "nodes of one class stand in for each other"},
	{"rack",             0, OPTION_VALUE, "RACK",                    "where it stands"},
	{"unit",             0, OPTION_VALUE, "1-100",                   "and how high in the rack"},
	{"firmware",         0, OPTION_VALUE, "bios|uefi",               "how it boots (default bios)"},
	{"secure_boot",      0, OPTION_VALUE, "off|signed|attested",     "what it starts by network (default off)"},
	{"serial",           0, OPTION_VALUE, "TEXT",                    "its serial number"},
	{"nic",              0, OPTION_VALUE, "NIC",                     "a NIC; the first of a node boots (default eth0)"},
	{"mac",              0, OPTION_VALUE, "MAC",                     "its MAC, in any usual spelling"},
	{"bmc_driver",       0, OPTION_VALUE, "ipmi|redfish|libvirt|sim", "how its BMC is reached (default ipmi)"},
	{"bmc_address",      0, OPTION_VALUE, "ADDRESS",                 "of its BMC: 10.1.0.17"},
	{"bmc_port",         0, OPTION_VALUE, "PORT",                    "default 623, of Redfish 443"},
	{"bmc_username",     0, OPTION_VALUE, "USER",                    "at most 16 bytes"},
	{"bmc_password",     0, OPTION_VALUE, "PASSWORD",                "at most 20 bytes; stored sealed, shown nowhere"},
	{"bmc_cipher_suite", 0, OPTION_VALUE, "0-19",                    "of IPMI (default 17)"},
	{"bmc_insecure",     0, OPTION_VALUE, "true|false",              "true = a weak cipher suite is meant"},
	{"bmc_workarounds",  0, OPTION_VALUE, "WORDS",                   "for faulty BMCs, blanks between: supermicro20"},
	{"bmc_tls",          0, OPTION_VALUE, "verify|unverified|off",   "of Redfish (default verify)"},
	{"bmc_fingerprint",  0, OPTION_VALUE, "sha256//BASE64",          "of the public key of a Redfish BMC"},
	{"bmc_uri",          0, OPTION_VALUE, "URI",                     "of driver libvirt, in place of an address"},
};
/* clang-format on */

const struct command_list node_sheet_list = {
	"node", "import", "columns of the sheet, in any order; an empty cell changes nothing",
	node_sheet_rows, COUNT_OF(node_sheet_rows)};

const struct option_row node_sheet_options[2] = {
	{"--dry-run", 0, OPTION_FLAG, NULL, "only check; an error per wrong cell"},
	{"--template", 0, OPTION_FLAG, NULL, "print a sheet to begin with: a node with two NICs"},
};

/* clang-format off */
/* The cells of those columns: a node, and its second NIC. */
static const char *const node_sheet_cells[2][COUNT_OF(node_sheet_rows)] = {
	{"gpu1", "gpu8", "r1", "12", "uefi", "off", "", "eth0", "52:54:00:00:00:17", "ipmi", "10.1.0.17", "", "admin", "secret", "", "", "", "", ""},
	{"gpu1", "",     "",   "",   "",    "",     "", "eth1", "52:54:00:00:00:18", "",     "",          "", "",      "",       "", "", "", "", ""},
};
/* clang-format on */

static int node_sheet_template(void)
{
	for (size_t i = 0; i < COUNT_OF(node_sheet_rows); i++)
		printf("%s%s", i > 0 ? "," : "", node_sheet_rows[i].name);
	printf("\n");
	for (size_t row = 0; row < COUNT_OF(node_sheet_cells); row++) {
		for (size_t i = 0; i < COUNT_OF(node_sheet_rows); i++)
			printf("%s%s", i > 0 ? "," : "", node_sheet_cells[row][i]);
		printf("\n");
	}
	return EXIT_OK;
}

static int node_sheet_send(struct haasctl *haasctl, const struct command_input *input,
			   const char *sheet, size_t size)
{
	static const struct output_column columns[] = {NUMBER("row"), COLUMN("name"),
						       COLUMN("result")};
	CLEANUP(haasctl_reply_done) struct haasctl_reply reply = {0};
	bool dry_run = command_option(input, "--dry-run") != NULL;
	int status =
		haasctl_call(haasctl, input,
			     &(struct haasctl_call){.method = "POST",
						    .target = dry_run ? "/nodes/import?dry_run=true"
								      : "/nodes/import",
						    .body = sheet,
						    .body_size = size,
						    .content_type = "text/csv"},
			     &reply);

	if (status != EXIT_OK)
		return status;
	status = listing_rows(input, json_object_get(reply.json, "rows"), COLUMNS(columns));
	fprintf(stderr, "%s%" JSON_INTEGER_FORMAT " created, %" JSON_INTEGER_FORMAT " updated\n",
		dry_run ? "dry run, nothing written: " : "",
		json_integer_value(json_object_get(reply.json, "created")),
		json_integer_value(json_object_get(reply.json, "updated")));
	return status;
}

int haasctl_node_import(void *context, const struct command_input *input)
{
	const char *path = input->word_count > 0 ? input->words[0] : NULL;
	CLEANUP(freep) char *sheet = NULL;
	size_t size = 0;

	if (command_option(input, "--template"))
		return node_sheet_template();
	if (!path)
		return haasctl_usage("which sheet? node import FILE, or - for stdin; "
				     "node import --template prints one to begin with");
	int rc =
		file_read(strcmp(path, "-") == 0 ? "/dev/stdin" : path, SHEET_LIMIT, &sheet, &size);
	if (rc < 0)
		return haasctl_cannot("read", path, rc);
	if (size == 0) {
		fprintf(stderr,
			"haasctl: the sheet is empty\n"
			"  %s has no bytes; its first row names the columns, and `name` is needed\n"
			"  hint: haasctl node import --template\n",
			path);
		return EXIT_FAILED;
	}
	int status = node_sheet_send(context, input, sheet, size);
	explicit_bzero(sheet, size); /* it holds passwords */
	return status;
}
