#!/bin/sh
# Completion scripts are accepted by their shells and offer what the rows say.
. "$TOP_SRCDIR/tests/cli/lib.sh"

PATH=${BERTH%/*}:$PATH
export PATH

run completion bash
expect_exit 0
run completion tcsh
expect_exit 2
run completion
expect_exit 2 "which shell?"
run completion --names GPU
expect_out H100-SXM5-80GB "names of accelerators"
expect_no_err
run completion --names SERIES
expect_exit 0 "no store: no names, no error"
expect_no_out
expect_no_err

if command -v bash >/dev/null 2>&1; then
	"$BERTH" completion bash >"$TEST_TMP/berth.bash"
	bash -n "$TEST_TMP/berth.bash"
	ok $? "bash accepts its script"
	cat >"$TEST_TMP/try.bash" <<'BASH'
. "$TEST_TMP/berth.bash"
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
COMPREPLY=()
_berth
printf '%s\n' "${COMPREPLY[@]}" | sort | tr '\n' ' '
BASH
	export TEST_TMP
	try() {	# try WANT WORD...: completions of the last word, sorted, contain WANT; "=WANT" are exactly WANT
		want=$1
		shift
		ran="bash: $*"
		got=$(bash "$TEST_TMP/try.bash" "$@" 2>"$err")
		case $want in
		=*) [ "$got" = "${want#=}" ] ;;
		*) case " $got" in *" $want "*) true ;; *) false ;; esac ;;
		esac
		ok $? "bash: '$*' offers '$want' (offers '$got')"
	}
	try '=doctor ' berth do
	try --log-format berth doctor --l
	try '=json ' berth doctor -o j
	try '=json ' berth --output = j
	try '=zsh ' berth completion z
	try '=version ' berth -q --store x.db ver
	try doctor berth help ''
	: >aFile
	try aFile berth --config a
else
	skip "bash" "no bash"
fi
if command -v zsh >/dev/null 2>&1; then
	"$BERTH" completion zsh >"$TEST_TMP/_berth"
	zsh -n "$TEST_TMP/_berth" 2>"$err"
	ok $? "zsh accepts its script"
	ran="zsh completion"
	cat >"$TEST_TMP/try.zsh" <<'ZSH'
zmodload zsh/zpty || exit 77
zpty z zsh -f -i || exit 77
zpty -w z "PS1=; fpath=($TEST_TMP \$fpath); autoload -Uz compinit; compinit -u -D; zstyle ':completion:*' list-colors ''; print ready"
zpty -r z line '*ready*ready*'
zpty -n -w z $'berth completion fi\t'
zpty -r -m z line '*berth completion fish*' && print found
zpty -d z
ZSH
	got=$(timeout 20 zsh -f "$TEST_TMP/try.zsh" 2>"$err")
	if [ $? -eq 77 ]; then
		skip "zsh completes 'berth completion fi' to fish" "no pseudo terminal here"
	else
		[ "$got" = found ]
		ok $? "zsh completes 'berth completion fi' to fish"
	fi
else
	skip "zsh" "no zsh"
fi
if command -v fish >/dev/null 2>&1; then
	"$BERTH" completion fish >"$TEST_TMP/berth.fish"
	fish -n "$TEST_TMP/berth.fish"
	ok $? "fish accepts its script"
	ran="fish completion"
	got=$(fish --no-config -c "source $TEST_TMP/berth.fish; complete -C 'berth doctor --log-format j'" 2>"$err" | cut -f1 | tr '\n' ' ')
	[ "$got" = 'json ' ]
	ok $? "fish completes a value (offers '$got')"
	got=$(fish --no-config -c "source $TEST_TMP/berth.fish; complete -C 'berth -q completion '" 2>"$err" | cut -f1 | sort | tr '\n' ' ')
	[ "$got" = 'bash fish zsh ' ]
	ok $? "fish completes the words of a verb (offers '$got')"
else
	skip "fish" "no fish"
fi
done_testing
