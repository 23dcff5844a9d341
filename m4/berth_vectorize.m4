# BERTH_VECTORIZE: VEC_CFLAGS lets the compiler vectorise the numeric floors at any -O level. None of the flags
# reorders a sum, so that results do not depend on them.
AC_DEFUN([BERTH_VECTORIZE], [
  VEC_CFLAGS=
  for berth_flag in -ftree-vectorize -fvect-cost-model=dynamic -fno-math-errno -fno-trapping-math; do
    berth_saved_CFLAGS=$CFLAGS
    CFLAGS="$CFLAGS -Werror $berth_flag"
    AC_MSG_CHECKING([whether $CC takes $berth_flag])
    AC_COMPILE_IFELSE([AC_LANG_PROGRAM([], [])],
      [AC_MSG_RESULT([yes]); VEC_CFLAGS="$VEC_CFLAGS $berth_flag"], [AC_MSG_RESULT([no])])
    CFLAGS=$berth_saved_CFLAGS
  done
  AC_SUBST([VEC_CFLAGS])
])
