"""offers_gen.py N [SEED]: a price list of N offers in berth's layout, on standard output: regions, types and ways to buy as clouds have."""
import random
import sys

n, r = int(sys.argv[1]), random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
GPUS = [("H100", 80, 2.9), ("H200", 141, 3.6), ("A100-80GB", 80, 1.8), ("A100", 40, 1.4), ("L40S", 48, 0.9), ("L4", 24, 0.4),
        ("T4", 16, 0.25), ("A10G", 24, 0.6), ("V100", 16, 0.9), ("B200", 180, 5.0), ("A10", 24, 0.5), ("L40", 48, 0.8)]
PROVIDERS = ["aws", "azure", "gcp", "oci", "ibm", "nebius", "crusoe", "runpod"]
out = ["provider,region,zone,instance_type,accelerator,accelerator_count,accelerator_memory_gib,vcpus,memory_gib,purchase,"
       "term_months,payment,upfront,price_per_hour,currency,interruption_rate,as_of,source"]
i = 0
while len(out) <= n:
    provider = PROVIDERS[i % 8]
    name, memory, price = GPUS[i // 8 % 12]
    count = (1, 2, 4, 8)[i // 96 % 4]
    region = f"{('us', 'eu', 'ap', 'sa')[i // 384 % 4]}-{('east', 'west', 'central')[i // 1536 % 3]}-{i // 4608 % 9}"
    zone = region + "abc"[i // 41472 % 3]
    kind = i // 124416 % 3
    way = ("on_demand,,,", "spot,,,", "reserved,12,none,0")[kind]
    cost = price * count * (1, 0.4, 0.7)[kind] * (0.8 + 0.4 * r.random())
    out.append(f"{provider},{region},{zone},{name.lower()}-{count}x,{name},{count},{memory},{count * 12},{count * 120},{way},"
               f"{cost:.4f},USD,,2026-11-29,bench")
    i += 1
sys.stdout.write("\n".join(out) + "\n")
