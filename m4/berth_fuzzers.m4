# BERTH_FUZZERS: libFuzzer targets (clang); without it the targets only replay their seeds.
AC_DEFUN([BERTH_FUZZERS], [
  AC_ARG_ENABLE([fuzzers], [AS_HELP_STRING([--enable-fuzzers], [link the fuzz targets with libFuzzer (clang)])],
    [], [enable_fuzzers=no])
  AS_IF([test "x$enable_fuzzers" = xyes], [FUZZ_CFLAGS="-fsanitize=fuzzer-no-link" FUZZ_LDFLAGS="-fsanitize=fuzzer"])
  AC_SUBST([FUZZ_CFLAGS])
  AC_SUBST([FUZZ_LDFLAGS])
  AM_CONDITIONAL([FUZZERS], [test "x$enable_fuzzers" = xyes])
])
