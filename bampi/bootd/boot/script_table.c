#include "bampi/bootd/boot/script_table.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "common/base/error.h"

/* Words in braces are values; iPXE's own ${...} is not used. Every command that can fail says what
 * follows: a script that ends by itself would hand the machine to its firmware's boot order, and so
 * to a disk that may hold another tenant's data. */
#define HEAD       \
	"#!ipxe\n" \
	"# node {node}: {target} ({reason})\n"
#define ASK_AGAIN "imgfree ||\nchain --replace {url}/boot/script?mac={mac} ||\n"
/* With a token a script is given once, but for whoever has it already. */
#define ASK_AGAIN_KNOWING \
	"imgfree ||\nchain --replace {url}/boot/script?mac={mac}&again={token} ||\n"

static const char agent_script[] =
	HEAD "echo haas: node {node} starts the agent\n"
	     "kernel {url}/boot/file/" BOOT_KERNEL
	     " console={console} quiet panic=30 initrd=" BOOT_RAMDISK
	     " haas.url={agent} haas.token={token} haas.mac={mac} || goto failed\n"
	     "initrd {url}/boot/file/" BOOT_RAMDISK " || goto failed\n"
	     "boot || goto failed\n"
	     ":failed\n"
	     "echo haas: the agent did not start, asking again in 5 s\n"
	     "sleep 5\n" ASK_AGAIN_KNOWING "reboot || goto failed\n";

static const char disk_bios_script[] =
	HEAD "echo haas: node {node} starts its disk\n"
	     "sanboot --no-describe --drive 0x80 ||\n"
	     "echo haas: the disk does not start, leaving it to the boot order\n"
	     "exit 1\n";

/* Not plain "exit": success stops EDK2's boot order at its menu (UEFI 2.10, 3.1.1; seen on OVMF),
 * failure goes on to the next option. */
static const char disk_uefi_script[] = HEAD "echo haas: node {node} starts its disk\n"
					    "exit 1\n";

/* Debian's builds of iPXE have no poweroff command: they wait, and notice when there is something
 * to do. */
static const char stop_script[] =
	HEAD "echo haas: node {node}: {reason}\n"
	     "echo haas: powering off\n"
	     "sleep 3\n"
	     "poweroff ||\n"
	     "echo haas: this iPXE cannot power off, asking again every 30 s\n"
	     ":hold\n"
	     "sleep 30\n" ASK_AGAIN "goto hold\n";

/* Not a node of ours: not ours to stop. */
static const char none_script[] = HEAD "echo haas: {mac} is not a node of this site\n"
				       "sleep 3\n"
				       "exit 1\n";

static const char wait_script[] = HEAD "echo haas: {reason}, asking again in 5 s\n"
				       ":hold\n"
				       "sleep 5\n" ASK_AGAIN "goto hold\n";

static const struct {
	enum boot_target target;
	const char *bios, *uefi;
} script_table_scripts[] = {
	{BOOT_TARGET_NONE, none_script, none_script},
	{BOOT_TARGET_AGENT, agent_script, agent_script},
	{BOOT_TARGET_DISK, disk_bios_script, disk_uefi_script},
	{BOOT_TARGET_STOP, stop_script, stop_script},
};

static bool script_table_plain(const char *value)
{
	for (const char *c = value; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f || *c == '$')
			return false;
	return true;
}

/* One word of a command line: neither the kernel nor iPXE takes it for two. */
static bool script_table_word(const char *value)
{
	return script_table_plain(value) && !strpbrk(value, " \"'&|\\");
}

bool script_table_console(const char *text)
{
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789,";

	return text[strspn(text, letters)] == '\0';
}

static int script_table_fill(const char *template, const char *target,
			     const struct script_values *values, struct text *ret)
{
	const struct {
		const char *word, *value;
		bool (*fits)(const char *value);
	} words[] = {
		{"{node}", values->node, script_table_plain},
		{"{mac}", values->mac, script_table_word},
		{"{url}", values->url, script_table_word},
		{"{agent}", values->agent, script_table_word},
		{"{token}", values->token, script_table_word},
		{"{console}", values->console, script_table_console},
		{"{reason}", values->reason, script_table_plain},
		{"{target}", target, script_table_plain},
	};
	const char *at = template;

	for (size_t i = 0; i < COUNT_OF(words); i++)
		if (!words[i].fits(words[i].value))
			return E_MALFORMED;
	while (*at) {
		size_t size = strcspn(at, "{");

		text_add_bytes(ret, at, size);
		at += size;
		for (size_t i = 0; i < COUNT_OF(words) && *at; i++) {
			size = strlen(words[i].word);
			if (strncmp(at, words[i].word, size) == 0) {
				text_add(ret, words[i].value);
				break;
			}
			assert(i + 1 < COUNT_OF(words));
		}
		at += *at ? size : 0;
	}
	return ret->failed ? -ENOMEM : 0;
}

int script_table_write(enum boot_target target, enum node_firmware firmware,
		       const struct script_values *values, struct text *ret)
{
	for (size_t i = 0; i < COUNT_OF(script_table_scripts); i++)
		if (script_table_scripts[i].target == target)
			return script_table_fill(firmware == FIRMWARE_UEFI
							 ? script_table_scripts[i].uefi
							 : script_table_scripts[i].bios,
						 boot_target_text(target), values, ret);
	return E_NOT_FOUND;
}

int script_table_wait(const struct script_values *values, struct text *ret)
{
	return script_table_fill(wait_script, "wait", values, ret);
}
