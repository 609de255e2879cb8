#include "common/base/macros.h"
#include "common/io/daemon.h"

#include "bampi/storage/stored.h"

int main(int argc, char **argv)
{
	return daemon_main(&stored_daemon, argc, argv);
}
