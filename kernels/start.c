/* The start of the program in the version that every glibc has; linked with
 * --wrap=__libc_start_main. */

typedef int start_main_fn(int, char **, char **);

int start_old(start_main_fn *main_fn, int argc, char **argv, void (*init)(void), void (*fini)(void),
    void (*rtld_fini)(void), void *stack_end);
__asm__(".symver start_old,__libc_start_main@GLIBC_2.2.5");

int __wrap___libc_start_main(start_main_fn *main_fn, int argc, char **argv, void (*init)(void),
    void (*fini)(void), void (*rtld_fini)(void), void *stack_end);

/* init and fini are NULL from a new crt1.o; an old libc then runs none, and this program has none.
 */
int
__wrap___libc_start_main(start_main_fn *main_fn, int argc, char **argv, void (*init)(void),
    void (*fini)(void), void (*rtld_fini)(void), void *stack_end)
{
	return start_old(main_fn, argc, argv, init, fini, rtld_fini, stack_end);
}
