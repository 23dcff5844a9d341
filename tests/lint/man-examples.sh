#!/bin/sh
# Runs the examples of the manual: lines that start with "$ " in literal blocks under EXAMPLES. The lines that follow
# are what has to come out (stdout and stderr; "..." stands for any lines, or any text within one); without such lines only success counts.
# Each page has a fresh home and a fixed clock. Roff comments before a block say more:
#	.\" $ COMMAND		run before, its output is not looked at
#	.\" skip: REASON	not run (a network, a terminal, a GPU)
: "${BERTH:?}" "${TOP_SRCDIR:?}"
# the pages show what fits a line: so must the names of files here
base=${TMPDIR:-/tmp}
[ ${#base} -le 20 ] || base=/tmp
tmp=$(mktemp -d "$base/berth-examples.XXXXXX") || exit 99
trap 'rm -rf "$tmp"' EXIT
n=0

unset XDG_CONFIG_HOME XDG_STATE_HOME XDG_DATA_HOME XDG_CACHE_HOME BERTH_CONFIG BERTH_STORE NO_COLOR TZ
LC_ALL=C TERM=dumb COLUMNS=80 BERTH_DATA=$TOP_SRCDIR/data DATA=$TOP_SRCDIR/data
PATH=$tmp/bin:$PATH
export LC_ALL TERM COLUMNS BERTH_DATA DATA PATH
mkdir "$tmp/bin"
printf '#!/bin/sh\nexec "%s" --now 2026-11-30T12:00:00Z "$@"\n' "$BERTH" >"$tmp/bin/berth"
printf '#!/bin/sh\nexec "%s" "$@"\n' "${BERTH_PROBE:-/bin/false}" >"$tmp/bin/berth-probe"	# never itself
chmod +x "$tmp/bin/berth" "$tmp/bin/berth-probe"

# One line for each step: kind TAB text; kinds: pre, skip, run, want.
steps() {
	awk '
	function plain(s) { gsub(/\\&/, "", s); gsub(/\\-/, "-", s); gsub(/\\\(aq/, "\047", s); gsub(/\\\(dq/, "\"", s)
	    gsub(/\\\(ga/, "`", s); gsub(/\\\(ha/, "^", s); gsub(/\\\(ti/, "~", s); gsub(/\\e/, "\\", s); return s }
	/^\.Sh/ { on = $2 == "EXAMPLES"; next }
	!on { next }
	/^\.\\" (test: )?skip/ { sub(/^\.\\" (test: )?skip:? */, ""); print "skip\t" ($0 == "" ? "not for a test" : $0); next }
	/^\.\\" \$ / { print "pre\t" substr($0, 7); next }
	/^\.Bd .*-literal/ { block = 1; next }
	/^\.Ed/ { block = 0; print "end\t"; next }
	block && /^\$ / { print "run\t" plain(substr($0, 3)); next }
	block { print "want\t" plain($0) }' "$1"
}

# Lines of file 2 against those of file 1, where "..." stands for any number of lines.
matches() {
	awk -v want="$1" '
	# the line s against the pattern p, where "..." stands for any text
	function like(s, p,   at, head, tail, k) {
		at = index(p, "...")
		if (at == 0) return s == p
		head = substr(p, 1, at - 1)
		tail = substr(p, at + 3)
		if (substr(s, 1, length(head)) != head) return 0
		for (k = length(head) + 1; k <= length(s) + 1; k++) if (like(substr(s, k), tail)) return 1
		return 0
	}
	function fits(i, j) {
		if (i > nw) return j > n
		if (w[i] == "...") { for (; j <= n + 1; j++) if (fits(i + 1, j)) return 1; return 0 }
		return j <= n && like(line[j], w[i]) && fits(i + 1, j + 1)
	}
	BEGIN { while ((getline s < want) > 0) w[++nw] = s }
	{ line[++n] = $0 }
	END { exit !fits(1, 1) }' "$2"
}

settle() {	# judges the command that was run last
	[ -n "$command" ] || return 0
	n=$((n + 1))
	if [ -s "$tmp/want" ]; then
		matches "$tmp/want" "$tmp/out" && verdict=ok || verdict='not ok'
	else
		[ "$status" -eq 0 ] && verdict=ok || verdict='not ok'
	fi
	printf '%s %d - %s: %s\n' "$verdict" "$n" "$name" "$command"
	if [ "$verdict" != ok ]; then
		echo "#   exit $status; wanted:"
		sed 's/^/#   /' "$tmp/want"
		echo "#   got:"
		sed 's/^/#   /; 40q' "$tmp/out"
	fi
	command=
}

for page in "$TOP_SRCDIR"/man/*.[1-8]; do
	name=${page##*/}
	HOME=$tmp/home
	export HOME
	rm -rf "$HOME"
	mkdir "$HOME" && cd "$HOME" || exit 99
	steps "$page" >"$tmp/steps"
	command= skip=
	while IFS='	' read -r kind text <&3; do
		case $kind in
		skip) skip=$text ;;
		pre) settle; [ -n "$skip" ] || sh -c "$text" >"$tmp/pre" 2>&1 </dev/null ||
			{ n=$((n + 1)); printf 'not ok %d - %s: %s\n' "$n" "$name" "$text"; sed 's/^/#   /; 20q' "$tmp/pre"; } ;;
		run)
			settle
			if [ -n "$skip" ]; then
				n=$((n + 1))
				printf 'ok %d - %s: %s # SKIP %s\n' "$n" "$name" "$text" "$skip"
				continue
			fi
			command=$text
			: >"$tmp/want"
			sh -c "$text" >"$tmp/out" 2>&1 </dev/null && status=0 || status=$? ;;
		want) [ -z "$command" ] || printf '%s\n' "$text" >>"$tmp/want" ;;
		end) settle; skip= ;;
		esac
	done 3<"$tmp/steps"
	settle
done
[ "$n" -gt 0 ] || { n=1; echo "not ok 1 - the manual has examples"; }
echo "1..$n"
