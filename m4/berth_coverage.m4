# BERTH_COVERAGE: gcov instrumentation.
AC_DEFUN([BERTH_COVERAGE], [
  AC_ARG_ENABLE([coverage], [AS_HELP_STRING([--enable-coverage], [build with gcov instrumentation])],
    [], [enable_coverage=no])
  AS_IF([test "x$enable_coverage" = xyes], [COV_CFLAGS="--coverage -O0"])
  AC_SUBST([COV_CFLAGS])
])
