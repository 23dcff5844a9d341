# BERTH_CUDA: how the device code of berth-probe gets built.
#   --with-cuda[=DIR]  nvcc required        --without-cuda  nvcc never used
#   default            nvcc if it works, else clang, else no device code
# Sets NVCC, CLANG, NVCC_GENCODE (all architectures), NVCC_GENCODE80 and NVCC_GENCODE89 (from that one up) and the
# conditionals NVCC, NVCC_SM90 and CLANG_PTX. nvcc makes data files only; it never links.
AC_DEFUN([BERTH_CUDA], [
  AC_ARG_VAR([NVCC], [CUDA compiler])
  AC_ARG_VAR([NVCCFLAGS], [extra flags for nvcc])
  AC_ARG_VAR([NVCC_ARCHS], [compute capabilities to build for, "75 80 86 89 90 100 120" (default: all that nvcc knows)])
  AC_ARG_WITH([cuda], [AS_HELP_STRING([--with-cuda@<:@=DIR@:>@], [CUDA toolkit (default: use it if found)])],
    [], [with_cuda=auto])
  AS_CASE([$with_cuda],
    [no], [berth_cuda_path= NVCC=],
    [yes|auto], [berth_cuda_path=/usr/local/cuda],
    [berth_cuda_path=$with_cuda])
  berth_device_code=none
  AS_IF([test "x$with_cuda" != xno && test -z "$NVCC"],
    [AC_PATH_PROG([NVCC], [nvcc], [], [$berth_cuda_path/bin$PATH_SEPARATOR$PATH])])
  AS_IF([test -n "$NVCC"], [
    AC_CACHE_CHECK([whether $NVCC makes a fatbin], [berth_cv_nvcc_works], [
      berth_cv_nvcc_works=no
      AS_ECHO(['extern "C" __global__ void k(int *p) { *p = 1; }']) > conftest.cu
      AS_IF([$NVCC $NVCCFLAGS -fatbin -o conftest.fatbin conftest.cu >&AS_MESSAGE_LOG_FD 2>&1 && test -s conftest.fatbin],
        [berth_cv_nvcc_works=yes])
      rm -f conftest.cu conftest.fatbin])
    AS_IF([test "x$berth_cv_nvcc_works" = xyes], [berth_device_code=nvcc], [NVCC=])])
  NVCC_GENCODE= NVCC_GENCODE80= NVCC_GENCODE89= berth_sm90=no
  AS_IF([test "x$berth_device_code" = xnvcc], [
    AC_CACHE_CHECK([which architectures $NVCC accepts], [berth_cv_nvcc_archs], [
      berth_cv_nvcc_archs=
      berth_list=`$NVCC --list-gpu-arch 2>/dev/null | tr '\n' ' '`
      for berth_a in ${NVCC_ARCHS:-60 70 75 80 86 87 89 90 100 103 110 120 121}; do
        AS_CASE([" $berth_list "], [*"compute_$berth_a "*], [berth_cv_nvcc_archs="$berth_cv_nvcc_archs $berth_a"])
      done])
    AS_IF([test -z "$berth_cv_nvcc_archs"], [AC_MSG_ERROR([$NVCC accepts none of the architectures])])
    for berth_a in $berth_cv_nvcc_archs; do
      berth_g="-gencode arch=compute_$berth_a,code=sm_$berth_a"
      NVCC_GENCODE="$NVCC_GENCODE $berth_g"
      AS_IF([test $berth_a -ge 80], [NVCC_GENCODE80="$NVCC_GENCODE80 $berth_g"])
      AS_IF([test $berth_a -ge 89], [NVCC_GENCODE89="$NVCC_GENCODE89 $berth_g"])
      AS_IF([test $berth_a -eq 90], [berth_sm90=yes])
    done])
  NVCC_COMPRESS=
  AS_IF([test "x$berth_device_code" = xnvcc], [
    AC_CACHE_CHECK([whether $NVCC packs fatbins small], [berth_cv_nvcc_compress], [
      berth_cv_nvcc_compress=no
      AS_ECHO(['extern "C" __global__ void k(int *p) { *p = 1; }']) > conftest.cu
      AS_IF([$NVCC $NVCCFLAGS --compress-mode=size -fatbin -o conftest.fatbin conftest.cu >&AS_MESSAGE_LOG_FD 2>&1],
        [berth_cv_nvcc_compress=yes])
      rm -f conftest.cu conftest.fatbin])
    AS_IF([test "x$berth_cv_nvcc_compress" = xyes], [NVCC_COMPRESS="--compress-mode=size"])])
  AC_SUBST([NVCC_COMPRESS])
  AC_SUBST([NVCC_GENCODE]) AC_SUBST([NVCC_GENCODE80]) AC_SUBST([NVCC_GENCODE89])
  AS_IF([test "x$with_cuda" != xno && test "x$with_cuda" != xauto && test -z "$NVCC"],
    [AC_MSG_ERROR([--with-cuda was given, but no working nvcc was found; name the toolkit: --with-cuda=DIR])])
  AS_IF([test -z "$NVCC" && test "x$with_cuda" != xno], [
    AC_PATH_PROGS([CLANG], [clang clang-19 clang-16 clang-15 clang-14])
    AS_IF([test -n "$CLANG"], [
      AC_CACHE_CHECK([whether $CLANG makes PTX], [berth_cv_clang_ptx], [
        berth_cv_clang_ptx=no
        AS_ECHO(['__attribute__((global)) void k(int *p) { *p = 1; }']) > conftest.cu
        AS_IF([$CLANG -x cuda --cuda-device-only --cuda-gpu-arch=sm_60 -nocudainc -nocudalib -S -o conftest.ptx conftest.cu >&AS_MESSAGE_LOG_FD 2>&1 && test -s conftest.ptx],
          [berth_cv_clang_ptx=yes])
        rm -f conftest.cu conftest.ptx])
      AS_IF([test "x$berth_cv_clang_ptx" = xyes], [berth_device_code=clang])])])
  AM_CONDITIONAL([NVCC_SM90], [test "x$berth_sm90" = xyes])
  AM_CONDITIONAL([NVCC], [test "x$berth_device_code" = xnvcc])
  AM_CONDITIONAL([CLANG_PTX], [test "x$berth_device_code" = xclang])
])
