# BERTH_SUMMARY: what was decided, for the person at the terminal.
AC_DEFUN([BERTH_SUMMARY], [
  AS_ECHO([""])
  AS_ECHO(["berth $PACKAGE_VERSION"])
  AS_ECHO(["  compiler      $CC  $CFLAGS"])
  AS_ECHO(["  prefix        $prefix"])
  AS_ECHO(["  postgres      $with_postgres"])
  AS_ECHO(["  zstd input    $berth_zstd"])
  AS_ECHO(["  device code   $berth_device_code ${NVCC:+($NVCC)}"])
  AS_ECHO(["  sanitizers    $enable_sanitizers"])
  AS_ECHO(["  fuzzers       $enable_fuzzers"])
  AS_ECHO(["  coverage      $enable_coverage"])
  AS_ECHO(["  werror        $enable_werror"])
])
