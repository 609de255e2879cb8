#include "common/base/macros.h"
#include "common/io/daemon.h"

#include "peregrine/control/peregrined.h"

int main(int argc, char **argv)
{
	return daemon_main(&peregrined_daemon, argc, argv);
}
