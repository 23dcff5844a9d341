#!/bin/sh
# The manual: mandoc finds nothing, every verb has a page, pages and option rows agree, so do the exit statuses.
: "${BERTH:?}" "${TOP_SRCDIR:?}"
man=$TOP_SRCDIR/man
tmp=$(mktemp -d "${TMPDIR:-/tmp}/berth-man.XXXXXX") || exit 99
trap 'rm -rf "$tmp"' EXIT
n=0

ok() {	# ok STATUS NAME [FILE with what is wrong]
	n=$((n + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $n - $2"
	else
		echo "not ok $n - $2"
		[ -n "$3" ] && sed 's/^/#   /' "$3"
	fi
}

# Options that a page documents: ".It Fl o , -output Ar FORMAT" gives "-o", "--output" and "--output FORMAT".
page_options() {
	awk '
	/^\.It .*Fl / {
		long = ""; arg = ""
		flag = 0
		for (i = 2; i <= NF; i++) {
			if ($i == "Fl" || $i == "Ar" || $i == "Cm" || $i == "Op" || $i == "Oo") { flag = $i == "Fl"; if ($i == "Ar") arg = $(i + 1); continue }
			if (!flag || $i == ",") continue
			name = $i
			sub(/^\\-/, "-", name)
			print "-" name
			if (name ~ /^-/) long = "-" name
		}
		print long " " arg
	}' "$1" | sort -u
}

# The same from the rows: verb, long, short, type, argument, help.
row_options() {
	awk -F '\t' '{ print "--" $2; if ($3 != "") print "-" $3; print "--" $2 " " $5 }' | sort -u
}

compare() {	# compare PAGE ROWS-FILE
	row_options <"$2" >"$tmp/want"
	page_options "$1" >"$tmp/have"
	diff "$tmp/want" "$tmp/have" >"$tmp/diff"
	ok $? "${1##*/}: options are those of the program (< program, > page)" "$tmp/diff"
}

if command -v "${MANDOC:-mandoc}" >/dev/null 2>&1; then
	for page in "$man"/*.[1-8]; do
		"${MANDOC:-mandoc}" -T lint -W warning "$page" >"$tmp/lint" 2>&1
		ok $? "${page##*/}: mandoc has no warning" "$tmp/lint"
	done
else
	n=$((n + 1))
	echo "ok $n - mandoc has no warning # SKIP no mandoc"
fi

"$BERTH" help --verbs >"$tmp/verbs" || { echo "Bail out! berth help --verbs"; exit 1; }
for verb in $(cut -f1 "$tmp/verbs" | sort -u); do
	page=$man/berth-$verb.1
	if [ ! -f "$page" ]; then
		ok 1 "berth-$verb.1 is there"
		continue
	fi
	summary=$(awk -F '\t' -v v="$verb" '$1 == v && $2 == "" { print $4 }' "$tmp/verbs")
	grep -Fxq ".Nd $summary" "$page"
	ok $? "berth-$verb.1: .Nd $summary"
	"$BERTH" help --rows "$verb" >"$tmp/rows"
	compare "$page" "$tmp/rows"
	for sub in $(awk -F '\t' -v v="$verb" '$1 == v && $2 != "" { print $2 }' "$tmp/verbs"); do
		grep -Eqw "Cm .*$sub|Nm berth $verb .*$sub" "$page"
		ok $? "berth-$verb.1 says what $sub does"
	done
	grep -Eq "^\.Xr berth-$verb 1|Cm $verb" "$man/berth.1"
	ok $? "berth(1) names $verb"
done

"$BERTH" help --rows >"$tmp/rows"
compare "$man/berth.1" "$tmp/rows"

"$BERTH" help | awk '/^Exit status/ { on = 1; next } /^$/ { on = 0 } on { sub(/^ +/, ""); sub(/  /, "\t"); print }' >"$tmp/want"
awk '/^\.Sh EXIT STATUS/ { on = 1; next } /^\.Sh/ { on = 0 }
    on && /^\.It [0-9]/ { getline text; print $2 "\t" text }' "$man/berth.1" >"$tmp/have"
diff "$tmp/want" "$tmp/have" >"$tmp/diff" && [ "$(wc -l <"$tmp/want")" -eq 10 ]
ok $? "berth.1: exit statuses are those of the program" "$tmp/diff"
echo "1..$n"
