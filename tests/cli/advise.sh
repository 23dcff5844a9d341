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
expect_err_has 'next: berth completion --names GPU'
run advise --params 8B --gpu frobnicator
expect_exit 1
expect_err_has 'next: berth completion --names GPU'
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
run advise --params 8B --gpu B300-288GB --phase prefill --precision bf16,int8
expect_out_has 'B300-288GB .* int8 .*trap: INT8 .*take FP8'
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

# Of vLLM's tokens those that the phase asks for; what the report leaves open is said
echo '{"model_id": "m", "duration": 10.0, "completed": 5, "failed": 0, "total_input_tokens": 4000, "total_output_tokens": 1000, "output_throughput": 100.0, "total_token_throughput": 500.0, "std_itl_ms": NaN}' >serve.json
run advise --params 8B --gpu H100-SXM5-80GB --precision bf16 --measured H100-SXM5-80GB=serve.json -o json
expect_exit 0
expect_json '$.variants[0].rate_per_s' 100 "decode: those that were made"
grep -q 'taken as bf16' "$out"; ok $? "a precision that is not said is said to be taken for granted"
run advise --params 8B --phase prefill --gpu H100-SXM5-80GB --precision bf16 --measured H100-SXM5-80GB:bf16=serve.json -o json
expect_exit 0
grep -q '"rate_per_s": 400' "$out"; ok $? "prefill: those that were read"
echo '{"avg_latency": 0.5, "latencies": [0.5], "percentiles": {"99": 0.5}}' >latency.json
run advise --params 8B --batch 8 --gpu H100-SXM5-80GB --measured H100-SXM5-80GB:bf16=latency.json
expect_exit 1
expect_err_has 'latency.json: a vLLM latency report does not say how many tokens.*--output-tokens'
run advise --params 8B --batch 8 --output-tokens 128 --gpu H100-SXM5-80GB --precision bf16 --measured H100-SXM5-80GB:bf16=latency.json -o json
expect_exit 0
expect_json '$.variants[0].rate_per_s' 2048 "8 sequences of 128 tokens in half a second"
echo '{"total_token_throughput": NaN, "output_throughput": 100}' >nan.json
run advise --params 8B --gpu H100-SXM5-80GB --measured H100-SXM5-80GB=nan.json
expect_exit 1
expect_err_has 'nan.json: total_token_throughput of this vLLM benchmark is not a number'
echo '{"total_token_throughput": Infinity, "label": "NaN", "output_throughput": 100}' >inf.json
run advise --params 8B --gpu H100-SXM5-80GB --measured H100-SXM5-80GB=inf.json
expect_exit 1
expect_err_has 'inf.json: total_token_throughput of this vLLM benchmark is not a number'
printf '&&&& RUNNING TensorRT.trtexec # trtexec\n[I] Throughput: 10 qps\n&&&& RUNNING TensorRT.trtexec # trtexec\n[I] Throughput: 20 qps\n' >two.txt
run advise --params 8B --gpu H100-SXM5-80GB --measured H100-SXM5-80GB=two.txt
expect_exit 1
expect_err_has 'two.txt: it holds 2 runs of trtexec'

# The accelerators of a job
run advise "$TOP_SRCDIR/data/jobs/batch-inference-l4.yaml" --params 350M -o json
expect_exit 0
expect_is_json berth.advice/1
grep -q '"accelerator": "L4"' "$out" && grep -q '"accelerator": "A10G"' "$out" && ! grep -q H100 "$out"
ok $? "only the job's accelerators are compared"
run advise missing.yaml --params 8B
expect_exit 1

done_testing
