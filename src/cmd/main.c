#include <stdio.h>

int
main(void)
{
	puts("berth");
	return 0;
}
