# bench/forecast-m4.awk - scores the points of `berth forecast --points -o csv` on M4 Hourly.
# Input: train.csv (series,timestamp,gpus), test.csv (M4's layout), points.csv (series,t,mean,p01,p025,p05 ... p99).
# sMAPE, MASE, OWA and MSIS as in Makridakis, Spiliotis & Assimakopoulos (2020).

function max0(x) { return x > 0 ? x : 0 }
function pinball(a, q, p) { return a >= q ? p * (a - q) : (1 - p) * (q - a) }
function line(what, got, must, low, peer, peers) {
	ok = low == "" ? (got <= must) : (got >= low && got <= must)
	printf("%-22s %8.4f   must %s%-7s %s   %.3f of %s\n", what, got, low == "" ? "<= " : low "-", must,
	    ok ? "pass" : "FAIL", got / peer, peers)
	if (!ok)
		bad++
}
FNR == 1 { file++; next }
file == 1 {
	n[$1]++
	if (n[$1] > 24)
		diff[$1] += ($3 > old[$1, n[$1] % 24] ? 1 : -1) * ($3 - old[$1, n[$1] % 24])
	old[$1, n[$1] % 24] = $3
	next
}
file == 2 {
	if ($1 in n)
		for (i = 2; i <= 49; i++)
			actual[$1, i - 2] = $i
	next
}
{
	s = $1
	x = actual[s, step[s] + 0]
	step[s]++
	if (x == "") {
		print "no truth for " s > "/dev/stderr"
		exit 1
	}
	sc = diff[s] / (n[s] - 24)
	e = x > $3 ? x - $3 : $3 - x
	if (x + $3 > 0)
		smape += 200 * e / (x + $3)
	mase += e / sc
	cover += x >= $6 && x <= $12
	msis += ($13 - $5 + 40 * max0($5 - x) + 40 * max0(x - $13)) / sc
	pin90 += pinball(x, $11, .9) / sc
	pin99 += pinball(x, $14, .99) / sc
	steps++
}
END {
	if (steps == 0)
		exit 1
	for (s in step)
		series++
	smape /= steps; mase /= steps; msis /= steps; cover /= steps; pin90 /= steps; pin99 /= steps
	owa = .5 * (smape / 18.383 + mase / 2.395)
	print "M4 Hourly, " series " series, 48 hours ahead; peers on all 414"
	print "                                       OWA    MASE   sMAPE    MSIS"
	printf "%-34s  %6.3f  %6.3f  %6.2f  %6.2f\n", "berth", owa, mase, smape, msis
	printf "%-34s  %6.3f  %6.3f  %6.2f  %6.2f\n", "Doornik et al. (best entry)", .410, .801, 8.913, 6.139
	printf "%-34s  %6.3f  %6.3f  %6.2f  %6.2f\n", "Smyl ES-RNN (winner overall)", .440, .893, 9.328, 7.928
	printf "%-34s  %6.3f  %6.3f  %6.2f  %6.2f\n", "FFORMA", .484, .819, 11.506, 18.509
	printf "%-34s  %6.3f  %6.3f  %6.2f  %6.2f\n", "R mstl + auto.arima", .549, 1.072, 11.95, 12.00
	printf "%-34s  %6s  %6.3f\n", "statsforecast AutoARIMA", "-", .92
	printf "%-34s  %6s  %6.3f\n", "Chronos-T5-large (M4 in training)", "-", .698
	printf "%-34s  %6.3f  %6.3f  %6.2f  %6.2f\n", "seasonal naive", .627, 1.193, 13.912, 10.53
	printf "%-34s  %6.3f  %6.3f  %6.2f  %6.2f\n\n", "Naive2", 1, 2.395, 18.383, 19.43
	line("OWA", owa, .44, "", .410, "Doornik")
	line("MASE", mase, .79, "", .698, "Chronos-T5-large")
	line("sMAPE", smape, 10.2, "", 8.913, "Doornik")
	line("MSIS", msis, 6.7, "", 6.139, "Doornik")
	line("coverage of 90 %", cover, .93, .87, .850, "R mstl + ets")
	line("P90 pinball, scaled", pin90, .235, "", .325, "R mstl + ets")
	printf "%-22s %8.1f   series/s, %.2f ms each (CPU, store and output with it)\n", "speed", series / cpu, 1000 * cpu / series
	exit (bad != 0)
}
