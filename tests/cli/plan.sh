#!/bin/sh
# berth plan: on demand that never moved, the plan is what arithmetic says, and the forecast's doubt adds to it; budget,
# limits, refusals, what is kept.
. "$TOP_SRCDIR/tests/cli/lib.sh"

run plan
expect_exit 3 "no series"
expect_err_has 'berth record'

# Six weeks of 12 GPUs, hour by hour, of H100s; and a series whose accelerator nobody knows.
awk 'BEGIN {
	print "timestamp,gpus,series,accelerator"
	for (h = 0; h < 42 * 24; h++) {
		t = 1792411200 + 3600 * h
		print t ",12,flat,H100"
		print t ",3,odd,Warp 9000"
	}
}' >use.csv
run record csv use.csv
expect_exit 0
run plan --series flat
expect_exit 3 "no offers"
expect_err_has 'berth prices'

cat >offers.csv <<CSV
provider,region,instance_type,accelerator,accelerator_count,purchase,term_months,payment,upfront,price_per_hour,currency
acme,r1,quad,H100,4,on_demand,,,,8,USD
acme,r1,quad,H100,4,reserved,12,none,0,4.8,USD
acme,r1,quad,H100,4,reserved,12,all,38544,0,USD
acme,r1,quad,H100,4,reserved,36,none,0,4,USD
acme,r1,quad,H100,4,spot,,,,3,USD
CSV
run prices import offers.csv
expect_exit 0

# 52 weeks = 8736 h. Three machines at 4.40 an hour (38544 / 8760) over 12 months, 12 GPUs all the time: 2 x 12 x 8736 on demand.
run plan --series flat --max-term 12 --no-spot -o json
expect_exit 0
expect_is_json berth.plan/1
expect_json '$.series[0].name' flat
expect_json '$.series[0].accelerator' H100
expect_json '$.series[0].buys[0].count' 3
expect_json '$.series[0].buys[0].gpus' 12
expect_json '$.series[0].buys[0].term_months' 12
expect_json '$.series[0].buys[0].payment' all
expect_json '$.series[0].buys[0].upfront' 38544.000000
expect_json_near '$.series[0].buys[0].break_even_utilisation' 0.55 1e-6
expect_json_near '$.series[0].buys[0].break_even_hours' 4818 0.1
# The forecast of a flat history doubts, upwards more than down: expected are 12 GPUs and up to 1 % more. What it doubts is
# bought on demand, and every GPU-hour is served once: by the machines as far as they are used, else on demand.
awk -v m="$(json '$.series[0].mean')" 'BEGIN { exit !(m >= 12 && m <= 12.12) }'
ok $? "12 GPUs are expected, and 1 % more at most"
expect_json_near '$.series[0].on_demand_only_cost' "$(awk -v m="$(json '$.series[0].mean')" 'BEGIN { printf "%.6f", 8736 * 2 * m }')" 1
rest=$(json '$.series[0].rest[0].expected_cost') used=$(json '$.series[0].buys[0].utilisation')
expect_json_near '$.series[0].expected_cost' "$(awk -v r="$rest" 'BEGIN { printf "%.6f", 115315.2 + r }')" 1
expect_json_near '$.series[0].on_demand_only_cost' \
	"$(awk -v r="$rest" -v u="$used" 'BEGIN { printf "%.6f", 2 * u * 12 * 8736 + r }')" 1
expect_json_near '$.totals.upfront' 115632 1e-6
# The runner-up is what would be planned if the purchase that costs most were not on offer; offers are counted by rule.
expect_json '$.series[0].runner_up.without' 'acme r1 quad reserved 12 months, all upfront'
expect_json '$.series[0].runner_up.offer' 'acme r1 quad reserved 12 months, nothing upfront'
next=$(json '$.series[0].runner_up.expected_cost') extra=$(json '$.series[0].runner_up.extra_cost') cost=$(json '$.series[0].expected_cost')
awk -v n="$next" -v e="$extra" -v c="$cost" 'BEGIN { d = n - c - e; exit !(e > 0 && d < 1e-5 && d > -1e-5) }'
ok $? "the runner-up costs $extra more"
expect_json '$.series[0].offers_seen' 5
expect_json '$.series[0].refused.term' 1
expect_json '$.series[0].refused.purchase' 1
expect_json '$.series[0].refused.dearer' 1
expect_json '$.series[0].gap' 0.000000000
grep -v ',all,' offers.csv >fewer.csv
run --store fewer.db record csv use.csv
run --store fewer.db prices import fewer.csv
run --store fewer.db plan --series flat --max-term 12 --no-spot -o json
expect_json_near '$.series[0].expected_cost' "$next" 1e-4 "what is planned without it costs as much"
grep -v reserved offers.csv >fewer.csv
echo acme,r2,quad,H100,4,on_demand,,,,9,USD >>fewer.csv
rm -f fewer.db*
run --store fewer.db record csv use.csv
run --store fewer.db prices import fewer.csv
run --store fewer.db plan --series flat --no-spot -o json
expect_json_near '$.series[0].runner_up.expected_cost' "$(awk -v c="$(json '$.series[0].expected_cost')" 'BEGIN { print c * 9 / 8 }')" 1 "on demand at the next price"
run plan --series flat --max-term 12 --no-spot -o json
# Six weeks at 12 make much more unlikely over a year: a GPU or three on top, and hardly any of its hours.
json '$.series[0].peak' | awk '{ exit !($1 > 12 && $1 <= 15) }'
ok $? "the peak ($(json '$.series[0].peak')) is 12 and little more"
awk -v u="$used" -v r="$rest" 'BEGIN { exit !(u > 0.95 && r < 0.08 * 115315.2) }'
ok $? "the machines are busy ($used), little is bought beside them ($rest)"
lower=$(json '$.series[0].lower_bound') cost=$(json '$.series[0].expected_cost')
[ "$lower" = "$cost" ]
ok $? "the plan is proven optimal ($lower, $cost)"

# 36 months at 4.00 are cheaper and the default; the tail beyond the horizon is told.
run plan flat --no-spot -o json
expect_json '$.series[0].buys[0].term_months' 36
expect_json '$.series[0].buys[0].count' 3
expect_out_has 'run on beyond the horizon'

# A budget for one machine and a half buys one.
run plan flat --max-term 12 --no-spot --budget 60000 -o json
expect_json '$.series[0].buys[0].count' 1
expect_json '$.budget' 60000.000000
expect_out_has 'the budget of 60000.00 USD binds'
run plan flat --no-spot --budget 0 -o json
expect_json '$.series[0].buys' '[]'
expect_json_near '$.series[0].rest[0].share' 1 1e-6

# Spot at 3 a machine-hour carries a fifth of the peak, 2 GPUs, where that is cheaper than reserved: here it is not.
run plan flat --max-term 12 -o json
expect_json '$.series[0].buys[0].count' 3
run plan flat --max-term 12 --budget 0 -o json
expect_json '$.series[0].rest[0].purchase' spot
expect_json '$.series[0].rest[0].gpus' 2

# What can be had on demand is limited: the peak must be carried, or it is said that it cannot.
run plan flat --no-spot --max-term 12 --on-demand-limit 5 --budget 60000
expect_exit 3
expect_err_has 'budget is 60000.00 USD'
# One machine of 4 is all that the budget buys: on demand must carry the rest of the peak, and one GPU less is too few.
run plan flat --no-spot --max-term 12 -o json
most=$(json '$.series[0].peak' | awk '{ n = int($1); print (n < $1 ? n + 1 : n) - 4 }')
run plan flat --no-spot --max-term 12 --on-demand-limit "$most" --budget 60000 -o json
expect_exit 0
expect_json '$.series[0].buys[0].count' 1
json '$.series[0].covered' | awk '{ exit !($1 >= 0.95) }'
ok $? "the peak is carried at the service level"
run plan flat --no-spot --max-term 12 --on-demand-limit $((most - 1)) --budget 60000
expect_exit 3 "one GPU less cannot carry the peak"

# An accelerator that nobody knows is an error that names the next step; all series leave it out with a warning.
run plan --series odd
expect_exit 3
expect_err_has "no accelerator called 'Warp 9000'"
expect_err_has '\-\-gpu'
run plan --series odd --gpu H100 --no-spot -o json
expect_exit 0
# A machine of 4 at 4.00 an hour for 3 GPUs beats 3 GPUs at 2.00 on demand.
expect_json '$.series[0].buys[0].count' 1
awk -v m="$(json '$.series[0].mean')" 'BEGIN { exit !(m >= 3 && m <= 3.03) }'
ok $? "3 GPUs are expected, and 1 % more at most"
expect_json_near '$.series[0].on_demand_only_cost' "$(awk -v m="$(json '$.series[0].mean')" 'BEGIN { printf "%.6f", 8736 * 2 * m }')" 1
expect_json_near '$.series[0].expected_cost' "$(awk -v r="$(json '$.series[0].rest[0].expected_cost')" 'BEGIN { printf "%.6f", 34944 + r }')" 1
run plan --no-spot -o json
expect_exit 0
expect_err_has "left out: series odd: .*--gpu names it"
expect_json '$.series[1].name' ''
run plan --series nobody
expect_exit 1

# Owned machines come first, and cost nothing more. The plan is kept, and two runs are the same.
run plan flat --no-spot -o json
grep -v '"id"' "$out" >first
run plan flat --no-spot -o json
grep -v '"id"' "$out" | cmp -s - first
ok $? "two runs make the same plan"
run explain plan
expect_exit 0
expect_out_has 'GPUs 1-12 are busy'
run explain plan:1 -o json
expect_is_json berth.explanation/1
expect_json '$.plan.series[0].name' flat
expect_json '$.inputs.horizon_s' 31449600

# A series by its name: what the newest plan that has it says.
id=$("$BERTH" --now "$NOW" explain plan -o json | sed -n 's/^  "id": \([0-9]*\),$/\1/p')
run explain flat
expect_exit 0
expect_out_has "^Plan $id of 2"
expect_out_has 'GPUs 1-12 are busy'
run explain flat -o json
expect_is_json berth.explanation/1
expect_json '$.kind' series
expect_json '$.id' "$id"
expect_json '$.series[0].name' flat
expect_json '$.series[1].name' ''
run explain flatt
expect_exit 1
expect_err_has "nothing was decided about 'flatt', and no plan has a series of that name"
run plan flat --dry-run -o json
run explain plan:999
expect_exit 1
run plan flat --service-level 1
expect_exit 2

# One absurd series, one that no offer serves: named and left out, the others planned; alone each is an error.
awk 'BEGIN {
	print "timestamp,gpus,series,accelerator"
	for (h = 0; h < 42 * 24; h++)
		print 1792411200 + 3600 * h ",3e6,absurd,H100\n" 1792411200 + 3600 * h ",2,unsold,L4"
}' >more.csv
run record csv more.csv
run plan -o json
expect_exit 8
expect_json '$.series[0].name' flat
expect_json '$.series[1].name' ''
expect_err_has 'left out.*absurd'
expect_err_has 'left out.*unsold'
expect_err_has '2 of 3 series'
run plan absurd
expect_exit 1
expect_err_has absurd
run plan unsold
expect_exit 3
run plan absurd unsold
expect_exit 3 "none is left: the first one says why"

# A plan is made again from what the store held then, byte for byte, whatever the prices are now.
run plan flat --no-spot --service-level 0.9 -o json
id=$(json '$.id')
run plan --replay "$id"
expect_exit 0
expect_out_has "Plan $id comes out the same, byte for byte"
sed '2,$s/,8,USD/,9,USD/; s/4\.8,USD/5.8,USD/' offers.csv >dearer.csv
cp dearer.csv offers.csv
real=$NOW
NOW=$(date -u -d "@$(($(date -u -d "$NOW" +%s) + 86400))" +%Y-%m-%dT%H:%M:%SZ)
run prices import offers.csv
run plan flat --no-spot --service-level 0.9 -o json
run plan --replay "$id" -o json
expect_exit 0
expect_json '$.same' true
printf 'timestamp,gpus,series,accelerator\n%s,99,flat,H100\n' "$((1792411200 + 3600 * 100))" >late.csv
run record csv late.csv
expect_exit 0
run plan --replay "$id"
expect_exit 0 "history that is corrected behind it changes nothing"
expect_out_has "Plan $id comes out the same, byte for byte"
run plan --replay 999999
expect_exit 1

# Dated anew at the same price since, forth or back: what was too old for a plan stays out of it, what was not stays in.
day_before() { date -u -d "@$(($(date -u -d "$NOW" +%s) - 86400 * $1))" +%Y-%m-%dT%H:%M:%SZ; }
aged() { printf 'provider,region,instance_type,accelerator,accelerator_count,purchase,price_per_hour,as_of\nagedco,r1,old,H100,1,spot,0.01,%s\n' "$1" >aged.csv; }
aged "$(day_before 3)"
run prices import aged.csv
run plan flat --service-level 0.9 -o json
id=$(json '$.id')
expect_out_has '1 offer is left out, the price is too old'
aged "$NOW"
run prices import aged.csv
run plan --replay "$id"
expect_exit 0 "an offer that was too old is younger now"
run plan flat --service-level 0.9 -o json
id=$(json '$.id')
expect_out_has agedco
aged "$(day_before 3)"
run prices import aged.csv
run plan --replay "$id"
expect_exit 0 "an offer that was young enough is older now"
run prices drop aged.csv
expect_exit 0
NOW=$real

# Two GPUs in one hour of ten: the likeliest hour has none, but 0.2 are expected, and paid for.
end=$(date -u -d "$NOW" +%s)
awk -v e="$((end - end % 3600))" 'BEGIN { print "timestamp,gpus,series,accelerator"; s = 7; for (h = 42 * 24; h >= 1; h--) {
	s = (s * 1103515245 + 12345) % 2147483648; print e - 3600 * h "," (s / 2147483648 < 0.1 ? 2 : 0) ",rare,H100" } }' >rare.csv
run record csv rare.csv
run plan rare --no-spot --horizon 4w -o json
awk -v c="$(json '$.series[0].on_demand_only_cost')" 'BEGIN { w = 0.2 * 28 * 24 * 2; exit !(c > 0.5 * w && c < 2 * w) }'
ok $? "a series that is mostly nothing still costs something: $(json '$.series[0].on_demand_only_cost')"

# GPUs that stood idle are to be reclaimed first: 4 of them for a quarter of the last four weeks.
run plan flat --no-spot -o json
expect_json_near '$.series[0].reclaim.gpus' 0 1e-9
end=$(date -u -d "$NOW" +%s)
awk -v e="$((end - end % 3600))" 'BEGIN { print "timestamp,gpus,series,accelerator"; for (h = 1; h <= 168; h++) print e - 3600 * h ",4,idle,H100" }' >idle.csv
run record csv --unit gpu_held_idle idle.csv
expect_exit 0
run plan flat --no-spot -o json
expect_json_near '$.series[0].reclaim.gpus' 1 1e-6
run plan flat --no-spot
expect_out_has 'reclaim first: 1.0 GPUs'

# No provider alone: at most half with the cheapest, so the next cheapest is bought beside it.
cat >two.csv <<CSV
provider,region,instance_type,accelerator,accelerator_count,purchase,term_months,payment,upfront,price_per_hour,currency
bold,r1,one,H100,1,on_demand,,,,2,USD
bold,r1,one,H100,1,reserved,12,none,0,0.8,USD
calm,r1,one,H100,1,reserved,12,none,0,0.9,USD
CSV
run prices import two.csv
run plan flat --no-spot --provider 'bold,calm' -o json
expect_json '$.series[0].buys[0].provider' bold
expect_json '$.series[0].buys[1].provider' ''
all=$(json '$.series[0].buys[0].gpus')
run plan flat --no-spot --provider 'bold,calm' --share 'bold=..0.5' -o json
expect_json '$.series[0].buys[0].provider' bold
expect_json '$.series[0].buys[1].provider' calm
[ "$(json '$.series[0].buys[0].gpus')" -le "$(json '$.series[0].buys[1].gpus')" ] && [ "$(json '$.series[0].buys[0].gpus')" -gt 3 ]
ok $? "half of $all with each"
run plan flat --no-spot --provider 'bold,calm' --share 'bold=..0.5'
expect_out_has 'bold: .* of .* GPUs that are owned or bought \(asked: 0 to 50 %\)'
# In three steps, a month apart: what comes later runs on demand until then, at 2 instead of 0.8 USD an hour.
run plan flat --no-spot --provider bold --max-term 12 --ladder 3 --ladder-every 30d -o json
expect_exit 0
set -- $(json '$.series[0].ladder.steps[0].count') $(json '$.series[0].ladder.steps[1].count') $(json '$.series[0].ladder.steps[2].count')
[ "$(($1 + $2 + $3))" -eq "$(json '$.series[0].buys[0].count')" ] && [ "$1" -ge "$2" ] && [ "$2" -ge "$3" ]
ok $? "the steps ($*) are the purchase"
[ "$(json '$.series[0].ladder.steps[1].t')" = "$(date -u -d "$(json '$.series[0].ladder.steps[0].t') 30 days" +%Y-%m-%dT%H:%M:%SZ)" ]
ok $? "a month apart"
awk -v l="$(json '$.series[0].ladder.expected_cost')" -v c="$(json '$.series[0].expected_cost')" 'BEGIN { exit !(l >= c - 1e-6 && l < 1.3 * c) }'
ok $? "and cost no less than all at once"
run plan flat --no-spot --provider bold --ladder 3
expect_out_has 'in steps: buy'
run plan flat --ladder 1
expect_exit 2

for bad in bold bold=2..3 bold=0.6..0.5 =..1 bold=0.5; do
	run plan flat --share "$bad"
	expect_exit 2 "no share: $bad"
done
done_testing
