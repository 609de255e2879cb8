#include "common/base/macros.h"
#include "common/io/daemon.h"

#include "bampi/bootd/bootd.h"

int main(int argc, char **argv)
{
	return daemon_main(&bootd_daemon, argc, argv);
}
