# BERTH_DOCS: what the manual and the completions need.
AC_DEFUN([BERTH_DOCS], [
  AC_CHECK_PROG([MANDOC], [mandoc], [mandoc])
  AC_ARG_WITH([bashcompletiondir], [AS_HELP_STRING([--with-bashcompletiondir=DIR], [bash completion])],
    [], [with_bashcompletiondir='${datadir}/bash-completion/completions'])
  AC_SUBST([bashcompletiondir], [$with_bashcompletiondir])
])
