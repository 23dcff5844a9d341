# bench/forecast-mean.awk - rows.csv (shift, then for 24 h and 168 h OWA, aggregates, step-like, P90 pinball, coverage, then for 24 h, 168 h
# and weeks 2 to 4 P95 pinball, share above P95, |P90 - actual|): mean over the shifts and how far it may err, against the bounds
# that hold at the origins of the peers.

function check(what, low, high,    i, m, v, ok) {
	column++
	for (i = 1; i <= NR; i++)
		m += x[i, column] / NR
	for (i = 1; i <= NR; i++)
		v += (x[i, column] - m) ^ 2
	ok = m >= low && m <= high
	printf("%-44s %7.4f  +- %.4f  must %s%-6s %s\n", what, m, NR > 1 ? sqrt(v / (NR - 1) / NR) : 0, low > 0 ? low "-" : "<= ", high,
	    ok ? "pass" : "FAIL")
	bad += !ok
}
{ for (i = 2; i <= NF; i++) x[NR, i - 1] = $i }
END {
	if (NR == 0)
		exit 1
	print "\nmean over " NR " shifts of the origins, +- its standard error were they independent (they share most of their hours)"
	for (h = 24; h <= 168; h += 144) {
		check("OWA, " h " h", 0, .94)
		check("MAE of the last value's, aggregates*, " h " h", 0, h == 24 ? .70 : .76)
		check("MAE of the last value's, step-like, " h " h", 0, h == 24 ? 1.02 : 1)
		check("P90 pinball of Naive2's, " h " h", 0, h == 24 ? .84 : .80)
		check("coverage of 90 %, " h " h", .87, .93)
	}
	split(".026 .061 .074", mp, " "); split(".27 .45 .63", me, " "); split("24 h,168 h,weeks 2-4", name, ",")
	for (g = 1; g <= 3; g++) {
		check("peak P95 pinball, " name[g], 0, mp[g] + 0)
		check("peak above P95, " name[g], .03, .08)
		check("|P90 of peak - actual|, " name[g], 0, me[g] + 0)
	}
	exit (bad != 0)
}
