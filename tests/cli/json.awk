# Flattens JSON on standard input to lines "path<TAB>value": $.jobs[0].id<TAB>j-1. Strings are unquoted (
# \" undone, \uXXXX left), empty objects and arrays give {} and []. Exits 1 with a message on anything that is no JSON.
function fail(what) { printf "json: %s at byte %d: %s\n", what, at, substr(text, at, 40) > "/dev/stderr"; bad = 1; exit 1 }
function blank() { while (substr(text, at, 1) ~ /^[ \t\r\n]$/) at++ }
function string(   c, s) {
	s = ""
	for (at++; (c = substr(text, at, 1)) != "\""; at++) {
		if (c == "") fail("unclosed string")
		if (c == "\n") fail("line end in a string")
		if (c == "\\") {
			c = substr(text, ++at, 1)
			if (c == "n") c = "\\n"
			else if (c == "t") c = "\\t"
			else if (c == "u") { if (substr(text, at + 1, 4) !~ /^[0-9a-fA-F][0-9a-fA-F][0-9a-fA-F][0-9a-fA-F]$/) fail("bad \\u"); c = "\\u" }
			else if (c !~ /^["\\\/bfr]$/) fail("bad escape")
		}
		s = s c
	}
	at++
	return s
}
function value(path,   c, n, key, rest) {
	blank()
	c = substr(text, at, 1)
	if (c == "{") {
		at++; blank()
		if (substr(text, at, 1) == "}") { at++; print path "\t{}"; return }
		for (;;) {
			blank()
			if (substr(text, at, 1) != "\"") fail("key expected")
			key = string(); blank()
			if ((path SUBSEP key) in seen) fail("key twice: " key)
			seen[path, key] = 1
			if (substr(text, at, 1) != ":") fail("':' expected")
			at++; value(path "." key); blank()
			c = substr(text, at++, 1)
			if (c == "}") return
			if (c != ",") fail("',' or '}' expected")
		}
	}
	if (c == "[") {
		at++; blank()
		if (substr(text, at, 1) == "]") { at++; print path "\t[]"; return }
		for (n = 0; ; n++) {
			value(path "[" n "]"); blank()
			c = substr(text, at++, 1)
			if (c == "]") return
			if (c != ",") fail("',' or ']' expected")
		}
	}
	if (c == "\"") { print path "\t" string(); return }
	rest = substr(text, at, 64)
	if (match(rest, /^(true|false|null)/) || match(rest, /^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?/)) {
		print path "\t" substr(text, at, RLENGTH)
		at += RLENGTH
		return
	}
	fail("value expected")
}
{ text = text $0 "\n" }
END {
	if (bad) exit 1
	at = 1
	value("$"); blank()
	if (at <= length(text)) fail("bytes behind the value")
}
