#!/bin/sh
# berth budget: caps, periods, what is spent and reserved (rows put there by the sqlite3 program), the ledger.
. "$TOP_SRCDIR/tests/cli/lib.sh"
db=$HOME/.local/state/berth/berth.db

run budget
expect_exit 1 "without a store"
run budget set project:nlp --cap 100 -o json
expect_exit 0
expect_is_json berth.budget/1
expect_json '$.budgets[0].name' project:nlp/month
expect_json '$.budgets[0].left' 100.000000
run budget set all --cap 12.345678 --period day --name brake
expect_exit 0
run budget set everybody --cap 1
expect_exit 2
expect_err_has 'project:NAME'
run budget set all
expect_exit 2
expect_err_has 'cap'
run budget set all --cap -5
expect_exit 2
run budget set all --cap 5 --period fortnight
expect_exit 2
run budget set all --cap 1 --dry-run
run budget -o csv --columns name,cap
expect_lines 3 "a dry run sets nothing"

# Long names are cut where the terminal is narrow.
fits() {	# fits WHAT
	[ "$(awk 'length > 80' "$out" | wc -l)" -eq 0 ]
	ok $? "$1: no line is wider than the terminal"
}
run budget set project:a-project-with-a-long-name-of-its-own --cap 1234567.89 --period month --name a-budget-with-a-long-name-of-its-own
COLUMNS=80 run budget
fits budget
expect_out_has '1234567\.89'
expect_out_has '^a-bud.*own '
run budget delete a-budget-with-a-long-name-of-its-own

# Today is Monday 2026-11-30. In seconds: today 12:00 = 1796040000; the 29th = 1795953600; 31 October = 1793404800.
sqlite3 "$db" "
INSERT INTO ledger (t, kind, account, project, user_name, job_id, instance_id, amount, note) VALUES
 (1796040000, 'compute', 'main', 'nlp', 'ann', 'j-1', 7, 10000000, ''),
 (1795953600, 'egress', 'main', 'nlp', 'bob', 'j-2', NULL, 500000, ''),
 (1793404800, 'upfront', 'main', 'cv', 'ann', '', NULL, 77000000, '');
INSERT INTO reservation (intent_id, account, project, user_name, job_id, amount, held, made) VALUES
 (NULL, 'main', 'nlp', 'ann', 'j-1', 30000000, 20000000, 1796040000);"
run budget -o json
expect_exit 0
expect_json '$.budgets[0].name' brake
expect_json '$.budgets[0].spent' 10.000000
expect_json '$.budgets[0].reserved' 20.000000
expect_json '$.budgets[0].left' -17.654322
expect_json '$.budgets[1].spent' 10.500000
expect_json '$.budgets[1].left' 69.500000
expect_json '$.budgets[1].from' 2026-11-01T00:00:00Z
expect_json '$.spent.in_month.total' 10.500000
expect_json '$.spent.in_all.total' 87.500000
expect_json '$.spent.in_all.upfront' 77.000000
run budget
expect_out 'spent in 2026-11: $10.50 (compute $10.00, egress $0.50)'
expect_out 'spent in all: $87.50 (compute $10.00, upfront $77.00, egress $0.50)'
run budget ledger -o csv --columns t,kind,amount --user ann
expect_out '2026-10-31T00:00:00Z,upfront,77.000000'
expect_lines 3
run budget ledger --job j-2 -o json
expect_json '$.rows[0].amount' 0.500000
expect_json '$.rows[1].amount' ''
run budget ledger --from 2026-11-30T00:00:00Z -o csv
expect_lines 2
run budget delete brake nothing
expect_exit 1
run budget -o csv --columns name
expect_out brake "a delete that fails deletes nothing"
run budget delete brake project:nlp/month
expect_exit 0
run budget
expect_err_has 'no caps'
sqlite3 "$db" "INSERT INTO ledger (t, kind, account, project, user_name, job_id, instance_id, amount, note) VALUES
 (1796040000, 'compute', 'an-account-of-a-cloud-with-a-long-name', 'a-project-with-a-long-name-of-its-own', 'ann',
  'j-1ro0woe804', 123456, 1234567890000, 'a long note about what was paid for');"
COLUMNS=80 run budget ledger
fits ledger
expect_out_has '1234567\.89 '
run budget ledger -o csv
expect_out_has ',an-account-of-a-cloud-with-a-long-name,a-project-with-a-long-name-of-its-own,.*,123456,' "whole elsewhere"
done_testing
