// links: common_io
// alone: its leak suppressions would hold for others
/* Invariants: a file that loads leaves every value within its row's bounds; one that does not sets
 * a problem and leaves nothing to free.
 * @include is cut out: it would read files of this machine. */
#undef NDEBUG /* the invariants are the test */
#include <assert.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/base/text.h"
#include "common/io/conf.h"
#include "common/net/ipv4.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* libconfig 1.5 loses the string it was reading when a file ends inside it. A daemon reads one
 * file. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:libconfig";
}

struct values {
	char *name;
	int64_t port;
	double share;
	bool on;
	int mode;
	struct ipv4_prefix prefix;
	char **servers;
};

static const char *const modes[] = {"bios", "uefi", NULL};
static const struct conf_row rows[] = {
	{.key = "name",
	 .type = CONF_STRING,
	 .offset = offsetof(struct values, name),
	 .default_text = "n"},
	{.key = "http.port",
	 .type = CONF_INT,
	 .offset = offsetof(struct values, port),
	 .default_text = "80",
	 .min = 1,
	 .max = 65535},
	{.key = "http.share",
	 .type = CONF_REAL,
	 .offset = offsetof(struct values, share),
	 .default_text = "0.5",
	 .max = 1},
	{.key = "http.on",
	 .type = CONF_BOOL,
	 .offset = offsetof(struct values, on),
	 .default_text = "true"},
	{.key = "boot.a.mode",
	 .type = CONF_ENUM,
	 .offset = offsetof(struct values, mode),
	 .default_text = "uefi",
	 .words = modes},
	{.key = "net.prefix",
	 .type = CONF_PREFIX,
	 .offset = offsetof(struct values, prefix),
	 .default_text = "10.0.0.0/8"},
	{.key = "net.servers",
	 .type = CONF_STRINGS,
	 .offset = offsetof(struct values, servers),
	 .default_text = ""},
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct values values = {0};
	struct problem problem = {0};
	char path[64];
	int fd;
	int rc;

	if (size > 4096 || memmem(data, size, "@include", 8))
		return 0;
	fd = memfd_create("conf", MFD_CLOEXEC);
	assert(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	(void)text_format(path, sizeof(path), "/proc/self/fd/%d", fd);
	rc = conf_load(path, rows, COUNT_OF(rows), &values, &problem);
	close(fd);
	assert((rc == 0) != problem_is_set(&problem));
	if (rc == 0) {
		assert(values.name && values.servers);
		assert(values.port >= 1 && values.port <= 65535);
		assert(values.share >= 0 && values.share <= 1);
		assert(values.mode == 0 || values.mode == 1);
		assert((values.prefix.address & ~ipv4_mask(values.prefix.length)) == 0);
		conf_done(rows, COUNT_OF(rows), &values);
	}
	assert(!values.name && !values.servers);
	return 0;
}
