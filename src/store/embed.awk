# Turns migrations/NNNN_name.sql, in the order given, into one C file: the SQL as lines, so that no
# literal is longer than C promises to take.
BEGIN {
	print "/* Made by embed.awk from the files of src/store/migrations: edit those. */"
	print "#include <stddef.h>\n\n#include \"store/migrate.h\"\n"
}
FNR == 1 {
	if (n)
		print "\tNULL\n};\n"
	base = FILENAME
	sub(/^.*\//, "", base)
	name[++n] = base
	version[n] = substr(base, 1, 4) + 0
	if (version[n] != n) {
		print FILENAME ": the number must be " n > "/dev/stderr"
		exit failed = 1
	}
	printf "static const char *const migration_%d[] = {\n", n
}
/\\/ {
	print FILENAME ":" FNR ": no backslash, please" > "/dev/stderr"
	exit failed = 1
}
{
	gsub(/"/, "\\\"")
	gsub(/\t/, "\\t")
	printf "\t\"%s\\n\",\n", $0
}
END {
	if (failed || !n)
		exit 1
	print "\tNULL\n};\n\nconst struct migration migrations[] = {"
	for (i = 1; i <= n; i++)
		printf "\t{ %d, \"%s\", migration_%d },\n", version[i], name[i], i
	print "};\n\nconst size_t migrations_n = sizeof(migrations) / sizeof(migrations[0]);"
}
