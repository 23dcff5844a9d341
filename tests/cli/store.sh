#!/bin/sh
# berth store: upkeep, and what a store that is foreign, newer, damaged or on a network says.
. "$TOP_SRCDIR/tests/cli/lib.sh"
db=$HOME/.local/state/berth/berth.db

run store
expect_exit 1 "without a store"
expect_err_has 'berth init'
printf 'timestamp,series,gpus\n2026-11-30T08:00:00Z,a,1\n2026-11-30T09:00:00Z,a,3\n' >usage.csv
run record csv usage.csv
expect_exit 0
[ "$(stat -c %a "$db")" = 600 ] && [ "$(stat -c %a "${db%/*}")" = 700 ]
ok $? "the store is its owner's alone"
run store -o json
expect_is_json berth.store/1
expect_json '$.engine' sqlite
expect_json '$.tables.sample' 2
expect_json '$.tables.run' 1
run store check
expect_exit 0
expect_out 'sound: no damage, and all sums agree'
run store backup copy.db -o json
expect_exit 0
expect_is_json berth.store-backup/1
run store backup copy.db
expect_exit 1
expect_err_has 'copy.db exists'
run --store copy.db series -o csv --columns name,samples
expect_out 'a,2' "a copy is a store"
run store export sample
expect_lines 3
expect_out '{"table":"sample","row":{"series_id":1,"t":1796025600,"mean":1,"peak":null}}'
run store export simple
expect_exit 1
sqlite3 "$db" 'UPDATE series SET samples = 5'
run store check
expect_exit 1
expect_out_has 'series a: says 5 samples'
run store rebuild --dry-run
expect_exit 0
run store check
expect_exit 1 "a dry run rebuilds nothing"
run store rebuild
expect_out_has 'series a'
run store check
expect_exit 0
run store runs -o json
expect_json '$.runs[0].verb' 'store rebuild'
expect_json '$.runs[0].exit_status' 0
run store loads -o json
expect_json '$.loads[0].rows_read' 2
expect_json '$.loads[0].format' csv
run store migrate
expect_exit 0

# A newer store, another program's, none at all.
cp copy.db newer.db
sqlite3 newer.db 'PRAGMA user_version=999' >/dev/null
run --store newer.db series
expect_exit 1
expect_err_has 'version 999, made by a newer berth'
sqlite3 other.db 'CREATE TABLE x (y)'
run --store other.db record csv usage.csv
expect_exit 1
expect_err_has 'another program'
echo 'these words are no database, however long they are: one two three four five six seven eight nine ten' >text.db
run --store text.db record csv usage.csv
expect_exit 1
expect_err_has 'not a database'
run --store postgresql://host/berth series
expect_status=$status
[ "$expect_status" -eq 2 ]
ok $? "an engine that is not built in"
mkdir closed && chmod 500 closed
if [ -w closed ]; then
	skip "a folder that cannot be written" "root writes everywhere"
else
	run --store closed/berth.db record csv usage.csv
	expect_exit 1
	expect_err_has 'closed/berth.db'
fi

# A file system that looks like NFS.
cat >shim.c <<'X'
#define _LARGEFILE64_SOURCE
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>
int statfs(const char *p, struct statfs *b) { memset(b, 0, sizeof(*b)); b->f_type = 0x6969; return access(p, F_OK); }
int statfs64(const char *p, struct statfs64 *b) { memset(b, 0, sizeof(*b)); b->f_type = 0x6969; return access(p, F_OK); }
X
if grep -q __asan_init "$BERTH"; then
	skip "NFS" "a preloaded library and sanitizers do not go together"
elif ${CC:-cc} -shared -fPIC -o shim.so shim.c; then
	[ "$(sqlite3 copy.db 'PRAGMA journal_mode')" = wal ]
	ok $? "a write-ahead log on a local disk"
	LD_PRELOAD=$HOME/shim.so run --store copy.db record csv usage.csv
	expect_exit 0
	expect_err_has 'network file system'
	[ "$(sqlite3 copy.db 'PRAGMA journal_mode')" = delete ]
	ok $? "a rollback journal on NFS"
	run --store copy.db record csv usage.csv
	expect_exit 0
	! grep -q 'network file system' "$err"
	ok $? "on a local disk again nothing is said of it"
	[ "$(sqlite3 copy.db 'PRAGMA journal_mode')" = wal ]
	ok $? "and the log is written ahead again"
else
	ok 1 "the shim of a network file system compiles"
fi
done_testing
