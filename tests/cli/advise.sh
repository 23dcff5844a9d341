#!/bin/sh
# berth advise: precisions and accelerators compared, measured reports preferred.
. "$TOP_SRCDIR/tests/cli/lib.sh"

run advise
expect_exit 2
expect_err_has '--params'
run advise --params 8X
expect_exit 2
run advise --params 8B
expect_exit 3 "nothing is offered and nothing named"
expect_err_has 'prices import'
run advise --params 8B --gpu H1000
expect_exit 1
expect_err_has 'did you mean'
run advise --params 8B --gpu H100-SXM5-80GB --precision bf61
expect_exit 2

run advise --params 8B --layers 32 --hidden 4096 --kv-width 1024 --gpu H100-SXM5-80GB --precision bf16,fp8 -o json
expect_exit 0
expect_is_json berth.advice/1
expect_json '$.model.shape_estimated' false
expect_json '$.variants[0].precision' fp8 "the faster comes first where there is no price"
expect_json '$.variants[0].bound_by' memory
expect_json '$.variants[0].price_per_hour' null
# 8e9 weights of 2 bytes
expect_json '$.variants[1].weights_gib' 14.901
run prices import --bundled
expect_exit 0
run advise --params 8B --gpu H100-SXM5-80GB,GB300-279GB --phase prefill --precision bf16,int8
expect_exit 0
expect_out_has 'GB300-279GB .*trap: INT8'
run advise --params 8B --batch 16
expect_exit 0
expect_out_has 'a million tokens'

# A measurement goes before the estimate
echo '{"tokens_per_second": 123456.0}' >vllm.json
run advise --params 8B --gpu H100-SXM5-80GB --precision bf16,fp8 --measured H100-SXM5-80GB:fp8=vllm.json -o json
expect_exit 0
expect_json '$.variants[0].engine' vllm
expect_json '$.variants[0].measured' true
expect_json '$.variants[0].rate_per_s' 123456
expect_json '$.variants[1].precision' bf16
expect_json '$.variants[2].precision' '' "it takes the estimate's place"
echo nothing >none.txt
run advise --params 8B --gpu H100-SXM5-80GB --measured H100-SXM5-80GB=none.txt
expect_exit 1
expect_err_has 'none.txt: no throughput'
run advise --params 8B --measured none.txt
expect_exit 2

# The accelerators of a job
run advise "$TOP_SRCDIR/data/jobs/batch-inference-l4.yaml" --params 350M -o json
expect_exit 0
expect_is_json berth.advice/1
grep -q '"accelerator": "L4"' "$out" && grep -q '"accelerator": "A10G"' "$out" && ! grep -q H100 "$out"
ok $? "only the job's accelerators are compared"
run advise missing.yaml --params 8B
expect_exit 1

done_testing
