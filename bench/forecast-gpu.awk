# bench/forecast-gpu.awk - scores points.csv (round,series,t,mean,p01 ... p99) and windows.csv (round,series,from,to,p50 ... p99).
# OWA against Naive2, MAE relative to the last value as a geometric mean, peaks in units of a mean weekly peak, as the peers
# were scored. Cases whose history is (near) constant or (near) empty are left out: scaled errors mean nothing there.

function max(a, b) { return a > b ? a : b }
function abs(a) { return a < 0 ? -a : a }
function pinball(a, q, p) { return a >= q ? p * (a - q) : (1 - p) * (q - a) }
function check(what, got, low, high, peer, peers) {
	ok = got >= low && got <= high
	printf("%-44s %7.4f  must %s%-6s %s", what, got, low > 0 ? low "-" : "<= ", high, ok ? "pass" : "FAIL")
	printf(peer > 0 ? "  %.3f of %s\n" : "\n", peer > 0 ? got / peer : 0, peers)
	bad += !ok
}
function good(c) { return scale[c] > 0.005 * max(level[c], 1) && level[c] > 1 }
# One scored point forecast: method m, case c, window w.
function point(m, c, w, smape_, mae, mase_, pin90_, cover_) {
	n[m, w]++
	mase[m, w] += mase_; base_mase[m, w] += n2_mase[c, w]
	if (least[c, w] > .5) { ns[m, w]++; smape[m, w] += smape_; base_smape[m, w] += n2_smape[c, w] }
	pin90[m, w] += pin90_; base_pin[m, w] += n2_pin[c, w]; cover[m, w] += cover_
	l = log(max(mae, .001 * level[c]) / max(last_mae[c, w], .001 * level[c]))
	kind = c ~ /^(alibaba_spot|helios_venus)/ ? "agg" : "step"
	rel[m, w, kind] += l; nrel[m, w, kind]++
	if (third[c]) { rel3[m, w, kind] += l; nrel3[m, w, kind]++ }
}
function owa(m, w) { return .5 * (smape[m, w] / base_smape[m, w] + mase[m, w] / base_mase[m, w]) }
function gm(m, w, kind) { return exp(rel[m, w, kind] / nrel[m, w, kind]) }
function gm3(m, w, kind) { return nrel3[m, w, kind] ? exp(rel3[m, w, kind] / nrel3[m, w, kind]) : 0 }
function peak(m, c, w, actual, p90, p95) {
	g = w == "d1" ? 1 : w == "w1" ? 2 : 3; ps = max(pscale[c], 1)
	np[m, g]++
	ppin[m, g] += pinball(actual, p95, .95) / ps
	pexc[m, g] += actual > p95 + 1e-9
	perr[m, g] += abs(p90 - actual) / ps
}
FNR == 1 { file++ }
file == 1 { if (FNR > 1) { c = $1 "," $3; round[$1, seen[$1]++ + 0] = c; origin[c] = $3; ahead[c] = $4; third[c] = FNR % 3 == 0 } next }
file == 2 { if (FNR > 1) { c = $1 "," $2; level[c] = $3; least[c, "h24"] = $4; least[c, "h168"] = $5; pscale[c] = $6 } next }
file <= 8 {
	if (FNR == 1)
		next
	c = $1 "," $3
	if (file == 3) { last_mae[c, $5] = $7; scale[c] = $14 }
	if (file == 4) { n2_smape[c, $5] = $6; n2_mase[c, $5] = $8; n2_pin[c, $5] = $10 }
	if (good(c)) {
		if (file >= 4)
			point($4, c, $5, $6, $7, $8, $10, $12)
		else
			held[++nh] = c SUBSEP $5 SUBSEP $6 SUBSEP $7 SUBSEP $8 SUBSEP $10 SUBSEP $12
	}
	next
}
file <= 11 { if (FNR > 1 && $5 == "marginal" && good($1 "," $3)) peak($4, $1 "," $3, $6, $7, $9, $10); next }
file == 12 { value[$1, ++rows[$1]] = $3; next }
file == 13 {
	c = round[$2, $1]
	i = ++step[c]
	x = value[$2, origin[c] + i]
	if (i > 168)
		next
	e = abs(x - $4)
	sum[c] += e
	sum_s[c] += x + $4 > 0 ? 200 * e / (abs(x) + $4) : 0
	sum_c[c] += x >= $7 - 1e-6 * (1 + x) && x <= $13 + 1e-6 * (1 + x)
	sum_p[c] += pinball(x, $12, .9)
	if ((i == 24 || i == 168) && good(c))
		point("berth", c, "h" i, sum_s[c] / i, sum[c] / i, sum[c] / i / scale[c], sum_p[c] / i / scale[c], sum_c[c] / i)
	next
}
{
	c = round[$2, $1]
	w = wseen[c]++
	first = w == 0 ? 1 : (w - 1) * 168 + 1
	last = w == 0 ? 24 : w * 168
	if (last > ahead[c] || !good(c))
		next
	top = 0
	for (i = first; i <= last; i++)
		top = max(top, value[$2, origin[c] + i])
	peak("berth", c, w == 0 ? "d1" : "w" w, top, $6, $7)
}
END {
	for (i = 1; i <= nh; i++) {
		split(held[i], h, SUBSEP)
		point("naive", h[1], h[2], h[3], h[4], h[5], h[6], h[7])
	}
	if (!n["berth", "h24"])
		exit 1
	print n["berth", "h24"] " cases of GPU demand; MAE relative to the last value on rhythmic aggregates and on step-like series"
	print "          24 h:  OWA  aggr.  step  pin90  cov90 | 168 h:  OWA  aggr.  step  pin90  cov90"
	split("berth naive ses naive2 snaive stlets mstlets", order, " ")
	for (i = 1; i <= 7; i++) {
		m = order[i]
		printf("%-13s", m)
		for (k = 1; k <= 2; k++) {
			w = k == 1 ? "h24" : "h168"
			printf("%s %5.3f  %5.3f %5.3f  %5.3f  %5.3f", k == 1 ? "" : " |       ", owa(m, w), gm(m, w, "agg"), gm(m, w, "step"),
			    pin90[m, w] / base_pin[m, w], cover[m, w] / n[m, w])
		}
		printf("\n")
	}
	print "\npeaks    24 h: pin95   exc95 err90 | 168 h: pin95   exc95 err90 | weeks 2-4: pin95   exc95 err90"
	split("berth snaive stlets mstlets", order, " ")
	for (i = 1; i <= 4; i++) {
		printf("%-13s", order[i])
		for (g = 1; g <= 3; g++)
			printf("%s%.4f  %.3f %.3f", g == 1 ? " " : g == 2 ? " |        " : " |            ", ppin[order[i], g] / np[order[i], g],
			    pexc[order[i], g] / np[order[i], g], perr[order[i], g] / np[order[i], g])
		printf("\n")
	}
	printf("\n")
	b = "berth"
	check("OWA, 24 h", owa(b, "h24"), 0, .94, owa("naive", "h24"), "the last value's")
	check("OWA, 168 h", owa(b, "h168"), 0, .94, owa("ses", "h168"), "SES's")
	check("MAE of the last value's, aggregates, 24 h*", gm3(b, "h24", "agg"), 0, .70, .65, "Fourier + auto.arima")
	check("MAE of the last value's, aggregates, 168 h*", gm3(b, "h168", "agg"), 0, .76, .73, "Fourier + auto.arima")
	check("MAE of the last value's, step-like, 24 h", gm(b, "h24", "step"), 0, 1.02, 1, "the last value's")
	check("MAE of the last value's, step-like, 168 h", gm(b, "h168", "step"), 0, 1, 1, "the last value's")
	check("P90 pinball of Naive2's, 24 h", pin90[b, "h24"] / base_pin[b, "h24"], 0, .84, .89, "R stl + ets")
	check("P90 pinball of Naive2's, 168 h", pin90[b, "h168"] / base_pin[b, "h168"], 0, .80, .88, "R mstl + ets")
	check("coverage of 90 %, 24 h", cover[b, "h24"] / n[b, "h24"], .87, .93)
	check("coverage of 90 %, 168 h", cover[b, "h168"] / n[b, "h168"], .87, .93)
	split(".026 .061 .074", mp, " "); split(".27 .45 .63", me, " "); split("24 h,168 h,weeks 2-4", name, ",")
	for (g = 1; g <= 3; g++) {
		check("peak P95 pinball, " name[g], ppin[b, g] / np[b, g], 0, mp[g] + 0, ppin["snaive", g] / np["snaive", g], "seasonal naive")
		check("peak above P95, " name[g], pexc[b, g] / np[b, g], .03, .08)
		check("|P90 of peak - actual|, " name[g], perr[b, g] / np[b, g], 0, me[g] + 0, perr["snaive", g] / np["snaive", g],
		    "seasonal naive")
	}
	print "* on the cases that the slow peers were run on"
	printf("%.1f ms a series of up to 2,016 h, 672 h ahead (CPU, store and output with it)\n", 1000 * cpu / 248)
	exit (bad != 0)
}
