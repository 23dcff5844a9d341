# bench/forecast-shifted.awk - scores points.csv (round,series,t,mean,p01 ... p99) and windows.csv (round,series,from,to,p50 ... p99)
# at the origins of cases.csv on usage.csv, with the same measures and the same cases left out as bench/forecast-gpu.awk, against
# Naive2 and the last value made here. Naive2: classical multiplicative indices where the lag of a day passes the 90 % test.

function max(a, b) { return a > b ? a : b }
function abs(a) { return a < 0 ? -a : a }
function pinball(a, q, p) { return a >= q ? p * (a - q) : (1 - p) * (q - a) }
# Seasonal indices of y[1..n] into f[0..23]; all 1 where there is no season.
function indices(n,    i, k, m, v, r, lag, sum, ma, c, t) {
	for (i = 0; i < 24; i++)
		f[i] = 1
	m = v = sum = 0
	for (i = 1; i <= n; i++) {
		if (y[i] <= 0)
			return
		m += y[i] / n
	}
	for (i = 1; i <= n; i++)
		v += (y[i] - m) ^ 2
	for (lag = 1; lag <= 24; lag++) {
		r = 0
		for (i = lag + 1; i <= n; i++)
			r += (y[i] - m) * (y[i - lag] - m)
		r /= v > 0 ? v : 1
		if (lag < 24)
			sum += r * r
	}
	if (n < 72 || abs(r) <= 1.645 * sqrt((1 + 2 * sum) / n))
		return
	for (i = 0; i < 24; i++)
		f[i] = c[i] = 0
	for (i = 13; i + 12 <= n; i++) {
		ma = (y[i - 12] + y[i + 12]) / 48
		for (k = i - 11; k < i + 12; k++)
			ma += y[k] / 24
		f[i % 24] += y[i] / ma
		c[i % 24]++
	}
	for (i = t = 0; i < 24; i++)
		t += f[i] /= c[i]
	for (i = 0; i < 24; i++)
		f[i] *= 24 / t
}
# What of case c does not depend on the forecast: scale, level, mean weekly peak, and the last value and Naive2 over both windows.
function prepare(c, s, o,    n, i, d, m, from, e, w, h, x, b, lv, sd, top) {
	from = o > 2016 ? o - 2016 : 0
	n = o - from
	scale[c] = level[c] = ps[c] = 0
	for (i = 1; i <= n; i++) {
		y[i] = value[s, from + i]
		if (i > 24)
			scale[c] += abs(y[i] - y[i - 24]) / (n - 24)
		if (i > n - 672)
			level[c] += y[i] / (n < 672 ? n : 672)
	}
	for (e = o; e >= max(169, o - 1175); e -= 168) {
		top = 0
		for (i = e - 167; i <= e; i++)
			top = max(top, value[s, i])
		ps[c] += top
		x++
	}
	ps[c] = max(ps[c] / x, 1)
	good[c] = scale[c] > .005 * max(level[c], 1) && level[c] > 1
	if (!good[c])
		return
	indices(n)
	for (i = 2; i <= n; i++)
		m += (y[i] / f[i % 24] - y[i - 1] / f[(i - 1) % 24]) / (n - 1)
	for (i = 2; i <= n; i++)
		sd += (y[i] / f[i % 24] - y[i - 1] / f[(i - 1) % 24] - m) ^ 2 / (n - 2)
	sd = sqrt(sd)
	lv = y[n] / f[n % 24]
	for (i = 1; i <= 168; i++) {
		x = value[s, o + i]
		b = lv * f[(n + i) % 24]
		d1 += abs(x - y[n])
		d2 += abs(x - b)
		d3 += x + b > 0 ? 200 * abs(x - b) / (x + b) : 0
		d4 += pinball(x, max((lv + 1.2815515655446 * sd * sqrt(i)) * f[(n + i) % 24], 0), .9)
		least[c] = i == 1 || x < least[c] ? x : least[c]
		if (i == 24 || i == 168) {
			last[c, i] = d1 / i; mase2[c, i] = d2 / i / scale[c]; smape2[c, i] = d3 / i; pin2[c, i] = d4 / i / scale[c]
			low[c, i] = least[c]
		}
	}
	d1 = d2 = d3 = d4 = 0
}
FNR == 1 { file++ }
file == 1 { if (FNR > 1) { k = seen[$1]++ + 0; c = $1 "," k; origin[c] = $3; ahead[c] = $4; of[c] = $1; third[c] = FNR % 3 == 0 } next }
file == 2 { value[$1, ++rows[$1]] = $3; next }
file == 3 {
	if (!prepared++)
		for (c in of)
			prepare(c, of[c], origin[c])
	c = $2 "," $1
	if (!good[c] || ++step[c] > 168)
		next
	i = step[c]
	x = value[$2, origin[c] + i]
	e[c] += abs(x - $4)
	es[c] += x + $4 > 0 ? 200 * abs(x - $4) / (x + $4) : 0
	ep[c] += pinball(x, $12, .9)
	ec[c] += x >= $7 - 1e-6 * (1 + x) && x <= $13 + 1e-6 * (1 + x)
	if (i == 24 || i == 168) {
		n[i]++
		if (low[c, i] > .5) { sm[i] += es[c] / i; sm2[i] += smape2[c, i] }
		ma[i] += e[c] / i / scale[c]; ma2[i] += mase2[c, i]
		pin[i] += ep[c] / i / scale[c]; pinb[i] += pin2[c, i]; cov[i] += ec[c] / i
		kind = $2 ~ /^(alibaba_spot|helios_venus)/ ? "agg" : "step"
		l = log(max(e[c] / i, .001 * level[c]) / max(last[c, i], .001 * level[c]))
		rel[i, kind] += l
		nrel[i, kind]++
		if (third[c] && kind == "agg") { rel[i, "slow"] += l; nrel[i, "slow"]++ }
	}
	next
}
{
	c = $2 "," $1
	w = wseen[c]++
	to = w == 0 ? 24 : w * 168
	if (!good[c] || to > ahead[c])
		next
	top = 0
	for (i = w == 0 ? 1 : to - 167; i <= to; i++)
		top = max(top, value[$2, origin[c] + i])
	g = w < 2 ? w : 2
	np[g]++
	pp[g] += pinball(top, $7, .95) / ps[c]; pe[g] += top > $7 + 1e-9; pa[g] += abs($6 - top) / ps[c]
}
END {
	if (!n[24])
		exit 1
	printf("%d cases, origins %d h earlier than those of the peers\n", n[24], shift)
	print "           OWA   MAE of the last value's:          P90 pinball   coverage"
	print "                 aggregates  (slow*)  step-like    of Naive2's   of 90 %"
	line = shift
	for (i = 24; i <= 168; i += 144) {
		owa = .5 * (sm[i] / sm2[i] + ma[i] / ma2[i])
		agg = exp(rel[i, "agg"] / nrel[i, "agg"]); slow = exp(rel[i, "slow"] / nrel[i, "slow"])
		steps = exp(rel[i, "step"] / nrel[i, "step"])
		printf("%4d h    %.3f      %.3f      %.3f     %.3f        %.3f         %.3f\n", i, owa, agg, slow, steps, pin[i] / pinb[i], cov[i] / n[i])
		line = line "," owa "," slow "," steps "," pin[i] / pinb[i] "," cov[i] / n[i]
	}
	print "peaks      P95 pinball   above P95   |P90 - actual|"
	split("24 h,168 h,weeks 2-4", name, ",")
	for (g = 0; g < 3; g++) {
		printf("%-10s   %.4f        %.3f         %.3f\n", name[g + 1], pp[g] / np[g], pe[g] / np[g], pa[g] / np[g])
		line = line "," pp[g] / np[g] "," pe[g] / np[g] "," pa[g] / np[g]
	}
	print "* the third of the aggregates' cases that slow peers were run on, which the bound is for"
	if (table != "")
		print line >>table
}
