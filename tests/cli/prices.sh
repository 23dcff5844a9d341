#!/bin/sh
# berth prices: list, import, refresh, history, diff; gate, staleness, JSON keys, exit statuses.
. "$TOP_SRCDIR/tests/cli/lib.sh"

run prices list
expect_exit 1 "no store: an error that names init"
expect_err_has 'berth init'

run prices import --bundled -o json
expect_exit 0
expect_is_json berth.prices/1
run prices list --gpu H100:8 -o json
expect_exit 0
expect_is_json berth.offers/1
keys=$(awk -f "$TOP_SRCDIR/tests/cli/json.awk" "$out" | sed -n 's/^\$\.offers\[0\]\.\([a-z_]*\).*/\1/p' | tr '\n' ' ')
want="provider region zone instance_type accelerator accelerator_count accelerator_memory_gib vcpus memory_gib purchase \
term_months upfront price_per_hour price_per_gpu_hour currency available interruption_rate measured as_of source kind starts_at ends_at usage_price_per_hour "
[ "$keys" = "$want" ]
ok $? "keys of an offer, in order ($keys)"

# The cheapest is the cheapest: counted again from the file.
run prices list --gpu H200:8 --purchase on_demand -o csv --columns price_per_hour --limit 1
got=$(sed -n 2p "$out")
least=$(awk -F , 'NR > 1 && $5 ~ /^H200/ && $6 == 8 && $10 == "on_demand" && (min == "" || $14 < min) { min = $14 }
    END { printf "%.6f", min }' "$BERTH_DATA/offers.csv")
[ "$got" = "$least" ]
ok $? "cheapest eight H200s: $got, by hand $least"

run prices list --gpu H100:8 --purchase barter
expect_exit 2
run prices list --gpu H1000
expect_exit 1
expect_err_has 'H100'
run prices list --max-age 1d
expect_exit 0
expect_err_has 'shown 0 of 0'
run prices list --gpu P4 -o json
expect_exit 3 "a known GPU that nobody offers"
expect_is_json berth.offers/1
run prices list --provider nobody
expect_exit 3
expect_err_has 'no offer fits'

# Bad rows by line; unknown names kept; prices that are none never first.
cat >odd.csv <<CSV
provider,region,instance_type,accelerator,accelerator_count,purchase,price_per_hour,currency
acme,r,free,L40S,1,on_demand,0,USD
acme,r,minus,L40S,1,on_demand,-3,USD
acme,r,blank,L40S,1,on_demand,,USD
acme,r,real,L40S,1,on_demand,0.5,USD
acme,r,yuan,L40S,1,on_demand,0.1,CNY
acme,r,odd,L40S-9000,1,on_demand,0.01,USD
acme,r,part,L40S,0.5,on_demand,0.1,USD
acme,r,word,L40S,1,on_demand,cheap,USD
CSV
run prices import odd.csv -o json
expect_exit 8
expect_json '$.providers[0].offers' 5
expect_json '$.providers[0].refused' 3
expect_err_has "odd.csv:3: refused: price_per_hour '-3': a price below 0 is no price"
expect_err_has 'odd.csv:8: refused: .*part of an accelerator'
expect_err_has 'odd.csv:9: refused: .*not a price'
expect_err_has "accelerator 'L40S-9000' is not in the table"
run prices list --provider acme -o csv --columns instance_type,price_per_gpu_hour
[ "$(sed -n 2p "$out")" = "real,0.500000" ]
ok $? "the one real price is first"
[ "$(tail -1 "$out" | cut -d , -f 1)" = odd ]
ok $? "the unknown accelerator is last, though it costs least"
run prices list --provider acme --gpu L40S -o csv --columns instance_type
expect_out_lacks odd

# A provider that is in a file no more is named; its list stands. Not so of files that do not say themselves who sells.
cols=provider,instance_type,accelerator,purchase,price_per_hour,as_of
mkdir gone
printf '%s\nleft,t,L4,on_demand,1,2026-11-01\nstays,t,L4,on_demand,1,2026-11-01\n' $cols >two.csv
printf '%s\nstays,t,L4,on_demand,1,2026-11-02\n' $cols >gone/two.csv
run prices import two.csv
expect_exit 0
! grep -q 'any more' "$err"
ok $? "nothing is gone at first"
run prices import gone/two.csv
expect_exit 0
expect_err_has '^berth.*two.csv: nothing of left in it any more: .* on 2026-11-30 stands'
run prices list --provider left -o csv --columns price_per_hour
expect_out 1.000000 "its list stands"
run prices import two.csv gone/two.csv
! grep -q 'any more' "$err"
ok $? "one of two files of the name sells it"
run prices import --provider stays gone/two.csv
! grep -q 'any more' "$err"
ok $? "with --provider nothing is said of the others"

# The gate: half of the prices ten times as high is not believed.
{
	echo provider,instance_type,accelerator,purchase,price_per_hour,as_of
	for i in 1 2 3 4 5 6 7 8; do echo "beta,t$i,L4,on_demand,$i.00,2026-11-01"; done
} >beta.csv
run prices import beta.csv
expect_exit 0
sed 's/\.00,2026-11-01/0.00,2026-11-20/' beta.csv >new.csv
mkdir up && mv new.csv up/beta.csv
run prices import up/beta.csv -o json
expect_exit 6 "a list that moved too far is quarantined"
expect_json '$.providers[0].stale' true
expect_err_has '8 of 8 prices moved by over 50 %'
run prices list --provider beta -o csv --columns price_per_hour
expect_out 1.000000 "the old prices stand"
file=$(find "$HOME" -path '*quarantine*' -name '*.csv')
[ -n "$file" ] && [ "$(wc -l <"$file")" -eq 9 ]
ok $? "the new list lies in quarantine ($file)"
run prices list --provider beta
expect_err_has 'stale: beta'
run prices quarantine -o csv --columns name,offers
expect_out beta-beta.csv,8
run prices quarantine -o json
expect_is_json berth.quarantine/1
expect_json '$.lists[0].provider' beta
run prices accept nothing
expect_exit 1
expect_err_has 'prices quarantine'
run prices reject beta-beta.csv
expect_exit 0
run prices quarantine -o csv --columns name
[ "$(wc -l <"$out")" -eq 1 ] && [ -z "$(find "$HOME" -path '*quarantine*' -name '*.csv')" ]
ok $? "rejected, it is gone"
run prices import up/beta.csv
expect_exit 6
run prices accept beta-beta.csv -o json
expect_exit 0
expect_json '$.providers[0].offers' 8
run prices list --provider beta -o csv --columns price_per_hour
expect_out 10.000000 "accepted, it is in place"
run prices list --provider beta
! grep -q stale "$err"
ok $? "and not stale any more"
run events --type price.moved -o json
expect_out_has 'offer:beta/L4/on_demand'
run prices import beta.csv --force
run prices import up/beta.csv --force
expect_exit 0
run prices list --provider beta -o csv --columns price_per_hour
expect_out 10.000000 "with --force it is taken"
run prices diff --provider beta --since 2026-11-30T11:59:59Z --until 2026-11-30T12:00:01Z -o json
expect_is_json berth.price_diff/1

# Refresh: one account fails, the other goes on.
mkdir -p .config/berth
cat >.config/berth/berth.yaml <<YAML
accounts:
  - {name: play, provider: replay}
  - {name: lost, provider: import, files: nowhere.csv, vendor: x}
YAML
NOW=2026-11-30T00:00:00Z
run prices refresh -o json
expect_exit 8
expect_json '$.providers[0].stale' false
expect_json '$.providers[1].stale' true
run prices refresh --account lost
expect_exit 1 "alone it is an error"
run prices refresh --account nobody
expect_exit 1
run prices list --account play -o csv --columns purchase
for way in on_demand spot reserved; do expect_out "$way" "the replayed cloud sells $way"; done
NOW=2026-11-30T06:00:00Z
run prices refresh --account play
expect_exit 0
run prices diff --account play --since 2026-11-30T00:00:01Z -o csv --columns change,instance_type,was,is
expect_out moved,a1.a100,0.780000,0.860000
run prices history --account play --type a1.a100 --region eu-central-1 --purchase spot -o json
expect_is_json berth.price_history/1
run prices list --account play --at 2026-11-30T01:00:00Z --type a1.a100 --purchase spot -o csv --columns zone,price_per_hour
expect_out eu-central-1a,0.780000 "the lists as they were"

# What has no past is not called new: a diff compares what both times know.
fresh="--store fresh.db --config /dev/null"
run $fresh prices diff
expect_exit 1
run $fresh prices import beta.csv
run $fresh prices diff
expect_exit 0 "a first list"
expect_lines 1 "of a first list nothing is new"
expect_err_has 'no price of beta is as old as 2026-11-2.*: 8 offers have nothing to be compared with yet'
run $fresh prices diff -o json
expect_json '$.compared' 0
expect_json '$.not_compared[0].provider' beta
expect_json '$.not_compared[0].offers' 8
was=$NOW
NOW=2026-12-02T00:00:00Z
{ sed -e '/,t8,/d' -e 's/,t3,L4,on_demand,3.00,/,t3,L4,on_demand,3.30,/' beta.csv; echo beta,t9,L4,on_demand,9,2026-12-01; } >moved.csv
mkdir later && mv moved.csv later/beta.csv
run $fresh prices import later/beta.csv
sed 's/^beta/delta/' beta.csv >delta.csv
run $fresh prices import delta.csv
run $fresh prices diff -o csv --columns change,provider,instance_type,was,is
[ "$(tail -n +2 "$out" | sort | tr '\n' ' ')" = 'gone,beta,t8,8.000000, moved,beta,t3,3.000000,3.300000 new,beta,t9,,9.000000 ' ]
ok $? "new, gone and moved of the list that was there; the first list beside it is none of them"
run $fresh prices diff
expect_err_has 'left out: no price of delta is as old as .*: 8 offers'
expect_err_has 'compared 7 offers .*: 3 changes'
run $fresh prices diff --since 2026-12-01T23:59:59Z --type 't[12]' --provider beta
expect_err_has 'compared 2 offers .*: nothing moved'
run $fresh prices history --type t3 --provider beta -o csv --columns price_per_hour,payment,kind,currency
[ "$(tail -n +2 "$out" | tr '\n' ' ')" = '3.000000,,plain,USD 3.300000,,plain,USD ' ]
ok $? "history has both prices, and says what they are of"
NOW=$was

# --dry-run changes nothing.
run prices import up/beta.csv --force --dry-run
sed 's/beta/gamma/' beta.csv >gamma.csv
run prices import gamma.csv --dry-run
expect_exit 0
run prices list --provider gamma
expect_err_has 'shown 0 of 0'

# Another currency: listed, not ranked, said; with a rate it is comparable.
printf 'provider,instance_type,accelerator,purchase,price_per_hour,currency\nyuan,p3,V100,on_demand,21.8568,CNY\n' >yuan.csv
run prices import yuan.csv
run prices list --provider yuan
expect_err_has '1 of them .*not in USD'
run prices list --provider yuan -o csv --columns price_per_hour,price_per_gpu_hour,currency
expect_out 21.856800,,CNY
printf 'from,to,rate,as_of\nUSD,CNY,7.10,2026-11-28\n' >.config/berth/rates.csv
echo 'prices: {rates: rates.csv}' >>.config/berth/berth.yaml
run prices import yuan.csv --force
run prices list --provider yuan -o csv --columns price_per_hour,currency,source
expect_out_has '^3.078423,USD,.*CNY at 7.10 a USD of 2026-11-28'

# Windows, licensed and dedicated rows stand beside the plain one and never before it.
cat >kinds.csv <<CSV
provider,region,instance_type,accelerator,accelerator_count,purchase,price_per_hour,kind
sigma,r,t1,L40S,1,on_demand,2.0,
sigma,r,t1,L40S,1,on_demand,1.5,windows
sigma,r,t1,L40S,1,on_demand,1.2,dedicated
sigma,r,t1,L40S,1,on_demand,1.3,licensed
CSV
run prices import kinds.csv
expect_exit 0 "four kinds of one machine are four offers"
run prices list --provider sigma -o csv --columns price_per_hour,kind
expect_out '2.000000,plain'
[ "$(wc -l <"$out")" -eq 2 ]
ok $? "only the plain one is listed"
run prices list --provider sigma --kind windows,dedicated -o csv --columns price_per_hour,kind
[ "$(tr '\n' ' ' <"$out")" = "price_per_hour,kind 1.200000,dedicated 1.500000,windows " ]
ok $? "the others when they are asked for"
run prices list --kind free
expect_exit 2

# A dated reservation: its fee over its own hours; two of them are two offers; what is written is read again.
cat >blocks.csv <<CSV
provider,region,zone,instance_type,accelerator,accelerator_count,purchase,payment,upfront,price_per_hour,kind,starts_at,ends_at
tau,r,z,t1,L40S,8,reserved,all,4800,0,block,2026-12-01T11:30:00Z,2026-12-02T11:30:00Z
tau,r,z,t1,L40S,8,reserved,all,9600,0,block,2026-12-03T11:30:00Z,2026-12-05T11:30:00Z
tau,r,z,t1,L40S,8,reserved,all,9600,0,block,2026-12-05T11:30:00Z,2026-12-03T11:30:00Z
tau,r,z,t1,L40S,8,on_demand,,,90,,,
CSV
run prices import blocks.csv
expect_exit 8 "a block that ends before it starts is refused"
expect_err_has 'blocks.csv:4'
run prices list --provider tau --kind block -o csv --columns zone,upfront,price_per_gpu_hour,starts_at,ends_at
[ "$(tail -n +2 "$out" | sort | tr '\n' ' ')" = "z,4800.000000,25.000000,2026-12-01T11:30:00Z,2026-12-02T11:30:00Z z,9600.000000,25.000000,2026-12-03T11:30:00Z,2026-12-05T11:30:00Z " ]
ok $? "two blocks with their dates: 4800 over 24 hours and 8 cards is 25"
blocks="prices list --provider tau --kind block -o csv"
run $blocks
cp "$out" again.csv
run --store again.db prices import again.csv
run --store again.db $blocks
cmp -s again.csv "$out"
ok $? "written and read again"
run prices list --provider tau -o csv --columns price_per_hour,kind
[ "$(tail -n +2 "$out")" = '90.000000,plain' ]
ok $? "a block is not ranked with the others"

# The public list of EC2 as AWS publishes it: JSON, and a document that is none.
cat >ec2.json <<CSV
{"offerCode": "AmazonEC2", "products": {
 "A": {"productFamily": "Compute Instance", "attributes": {"instanceType": "g5.xlarge", "location": "EU (Ireland)", "tenancy": "Shared",
  "operatingSystem": "Linux", "capacitystatus": "UnusedCapacityReservation", "gpu": "1"}},
 "B": {"productFamily": "Compute Instance", "attributes": {"instanceType": "g5.xlarge", "location": "EU (Ireland)", "tenancy": "Shared",
  "operatingSystem": "Linux", "capacitystatus": "Used", "gpu": "1", "vcpu": "4", "memory": "16 GiB"}}},
 "terms": {"OnDemand": {
 "A": {"A.T": {"priceDimensions": {"d": {"unit": "Hrs", "beginRange": "0", "pricePerUnit": {"USD": "0.5"}}}}},
 "B": {"B.T": {"priceDimensions": {"d": {"unit": "Hrs", "beginRange": "0", "pricePerUnit": {"USD": "1.123"}}}}}}}}
CSV
run --store ec2.db prices import ec2.json
expect_exit 0 "the list of EC2"
run --store ec2.db prices list -o csv --columns provider,region,instance_type,accelerator,price_per_hour,vcpus
[ "$(tail -n +2 "$out")" = 'aws,eu-west-1,g5.xlarge,A10G,1.123000,4' ]
ok $? "one offer, of the machine that is in use"
echo '{"Items": []}' >other.json
run --store ec2.db prices import other.json
expect_exit 1 "JSON that is no such list"
expect_err_has 'no prices in it'

# What cannot be read.
run prices import missing.csv
expect_exit 1
printf 'a,b\n1,2\n' >no.csv
run prices import no.csv
expect_exit 1
expect_err_has 'no price list that berth knows'
sed 1q beta.csv >none.csv
run prices import none.csv
expect_exit 1
expect_err_has 'no row of prices'
run prices import no.csv gamma.csv
expect_exit 8 "one file that cannot be read does not keep the other out"
run prices import
expect_exit 2
run_in "$(cat beta.csv)" prices import -
expect_exit 0 "standard input"

# Packed, through a pipe, or both: the same list as the plain file.
if command -v gzip >/dev/null; then
	packed=$(pwd)/packed.db
	run --store "$packed" prices import beta.csv
	cp "$out" plain.out
	gzip -c beta.csv >beta.csv.gz
	run --store "$packed" prices import beta.csv.gz
	expect_exit 0 "packed"
	cmp -s "$out" plain.out
	ok $? "as many offers as in the plain file"
	run --store "$packed" prices list --max-age 1000w -o csv --columns source
	[ "$(sed 1d "$out" | sort -u)" = beta.csv ]
	ok $? "and it is the same list"
	head -c 60 beta.csv.gz >cut.csv.gz
	run --store "$packed" prices import cut.csv.gz
	expect_exit 1
	expect_err_has 'cut.csv.gz: the packed file ends too early'
	if command -v python3 >/dev/null; then
		python3 "$TOP_SRCDIR/bench/aws_gen.py" 1 | gzip -c >ec2.json.gz
		ran="berth prices import -"
		gzip -dc ec2.json.gz | "$BERTH" --now "$NOW" --store "$packed" prices import - -o json >"$out" 2>"$err"
		status=$?
		expect_exit 0 "a price list of EC2 through a pipe"
		cp "$out" pipe.out
		run --store "$(pwd)/packed2.db" prices import ec2.json.gz -o json
		cmp -s "$out" pipe.out
		ok $? "is the list that was packed"
	fi
fi

# A list that is not wanted any more ends as a whole, by provider, source or pattern; the past keeps it.
fresh=$(pwd)/drop.db
cat >east.csv <<CSV
provider,region,instance_type,accelerator,accelerator_count,purchase,price_per_hour,currency
acme,r,a,L40S,1,on_demand,0.5,USD
acme,r,b,L40S,1,on_demand,0.6,USD
other,r,c,L40S,1,on_demand,0.7,USD
CSV
sed 's/,r,/,s,/; /other/d' east.csv >west.csv
run --store "$fresh" prices import east.csv west.csv
expect_exit 0
run --store "$fresh" --dry-run prices drop west.csv -o json
expect_exit 0
expect_is_json berth.prices-drop/1
expect_json '$.lists[0].offers' 2
run --store "$fresh" prices drop nobody
expect_exit 1
expect_err_has "no price list of a provider or source called 'nobody'; there are: acme from east.csv, acme from west.csv, other from east.csv"
run --store "$fresh" prices drop west.csv nobody
expect_exit 1
run --store "$fresh" prices list -o csv --columns provider,region
[ "$(wc -l <"$out")" -eq 6 ]
ok $? "neither a dry run nor a wrong name among right ones ends a list"
run --store "$fresh" --now 2026-12-01T00:00:00Z prices drop west.csv
expect_exit 0
expect_out_has 'acme .*west.csv'
run --store "$fresh" --now 2026-12-01T00:00:00Z prices list -o csv --columns provider,region
expect_out 'acme,r' 'the other list of the provider stands'
[ "$(grep -c 'acme,s' "$out")" -eq 0 ]
ok $? "and the dropped one is gone"
run --store "$fresh" --now 2026-12-01T00:00:00Z prices history --region s -o json
expect_json '$.offers[0].prices[0].until' 2026-12-01T00:00:00Z 'it stays as history'
run --store "$fresh" --now 2026-12-02T00:00:00Z prices drop 'ac*' other -o json
expect_json '$.lists[1].provider' other
run --store "$fresh" --now 2026-12-02T00:00:00Z prices list
expect_exit 0
expect_err_has 'shown 0 of 0'
run --store "$fresh" --now 2026-12-02T00:00:00Z prices drop acme
expect_exit 1
expect_err_has 'there is none'
run --store "$fresh" --now 2026-12-03T00:00:00Z prices import east.csv -o json
expect_exit 0 'it can be imported again'

# A price list of EC2 in a file is as old as its publication, not as its oldest price.
cat >ec2.json <<'JSON'
{"formatVersion":"v1.0","offerCode":"AmazonEC2","publicationDate":"2026-11-20T18:02:11Z","products":{"A":{"sku":"A",
"productFamily":"Compute Instance","attributes":{"instanceType":"p5.48xlarge","location":"US East (N. Virginia)","vcpu":"192",
"memory":"2048 GiB","gpu":"8","tenancy":"Shared","operatingSystem":"Linux","preInstalledSw":"NA","capacitystatus":"Used",
"marketoption":"OnDemand","licenseModel":"No License required","operation":"RunInstances"}}},"terms":{"OnDemand":{"A":{"A.T":{
"effectiveDate":"2025-01-01T00:00:00Z","priceDimensions":{"A.T.D":{"unit":"Hrs","beginRange":"0","endRange":"Inf",
"pricePerUnit":{"USD":"55.04"}}}}}}}}
JSON
run --store "$fresh" --now 2026-12-03T00:00:00Z prices import ec2.json
expect_exit 0
run --store "$fresh" --now 2026-12-03T00:00:00Z prices list --provider aws -o csv --columns instance_type,as_of
expect_out p5.48xlarge,2026-11-20T18:02:11Z
done_testing
