#!/usr/bin/env python3
"""Makes data/offers.csv from a folder of collected list prices.

usage: make-offers.py PRICES >offers.csv      (for maintainers; berth never runs it)

PRICES holds gpu_prices.csv (provider,region,zone,instance_type,accelerator,accelerator_count,
accelerator_mem_gib,vcpus,mem_gib,purchase,price_per_hour_usd,as_of,source) and
aws_spot_advisor_gpu_2025.csv (region,os,instance_type,interruption_bucket,...).
What is taken, what is left out and why stands in data/README.md; the counts go to stderr.
"""
import collections
import csv
import math
import re
import sys

COLUMNS = ("provider,region,zone,instance_type,accelerator,accelerator_count,accelerator_memory_gib,"
           "vcpus,memory_gib,purchase,term_months,payment,upfront,price_per_hour,currency,"
           "interruption_rate,as_of,source").split(",")
MONTH_HOURS = 730

REGIONS = {
    "aws": "us-east-1 us-west-2 eu-central-1 eu-west-1 ap-northeast-1",
    "azure": "eastus southcentralus westeurope swedencentral japaneast",
    "gcp": "us-central1 us-east4 europe-west4 asia-southeast1",
}
# Instance families whose end of sale has passed or is near, and boxes that only transcode video.
GONE = {
    "aws": r"^(p2|p3|p3dn|g3|g3s|g2|vt1)\.",
    "azure": r"^Standard_(NC6|NC12|NC24|NC24r|NC\d+r?s_v[23]|ND\d+r?s|ND40r?s_v2|NV\d+|NV\d+s_v[23]|NV\d+as_v4)$",
}
# Sizes that add CPUs and not GPUs: three of each family say enough.
SKIP = {
    "gcp": r"^g2-standard-(8|16|32)$",
    "azure": r"(_Promo|isrf_|isf_|_noIB_|_flex_|NV36adms|NC8as_T4|ND96ams_A100|ND96is_)",
    "aws": r"^(g4dn|g5|g6|g6e|gr6|g7|g7e|g5g|g4ad)\.(4xlarge|8xlarge|16xlarge|24xlarge|metal)$",
}

# Which product a cloud's machine holds, where the price list names only the family.
PRODUCT = [
    ("aws", r"^p4d\.", "A100-SXM4-40GB"), ("aws", r"^p4de\.", "A100-SXM4-80GB"),
    ("aws", r"^p5\.", "H100-SXM5-80GB"), ("aws", r"^p5en\.", "H200-SXM-141GB"),
    ("aws", r"^g7e\.", "RTX PRO 6000 Blackwell Server"),
    ("azure", r"^Standard_NC\d+ads_A100_v4", "A100-PCIE-80GB"),
    ("azure", r"^Standard_ND96ams", "A100-SXM4-80GB"), ("azure", r"^Standard_ND96asr", "A100-SXM4-40GB"),
    ("azure", r"^Standard_NCC?\d+adi?s_H100", "H100-NVL-94GB"), ("azure", r"^Standard_ND96.*_H100", "H100-SXM5-80GB"),
    ("azure", r"^Standard_ND96.*_H200", "H200-SXM-141GB"),
    ("gcp", r"^a2-(high|mega)gpu", "A100-SXM4-40GB"), ("gcp", r"^a2-ultragpu", "A100-SXM4-80GB"),
    ("gcp", r"^a3-", "H100-SXM5-80GB"), ("gcp", r"^g4-", "RTX PRO 6000 Blackwell Server"),
    ("hyperstack", r"^n3-H100-SXM5", "H100-SXM5-80GB"),
    ("hyperstack", r"^n3-(A100|H100)", {"A100": "A100-PCIE-80GB", "H100": "H100-PCIE-80GB"}),
    ("hyperstack", r"^(a100-nvlink|h100-nvlink)$", {"A100 NVLink": "A100-PCIE-80GB", "H100 NVLink": "H100-PCIE-80GB"}),
    ("coreweave", r"^a100-\d+gb-nvlink", {"40": "A100-SXM4-40GB", "80": "A100-SXM4-80GB"}),
    ("crusoe", r"^A100-PCIe-40GB", "A100-PCIE-40GB"), ("crusoe", r"^A100-PCIe-80GB", "A100-PCIE-80GB"),
    ("crusoe", r"^A100-SXM", "A100-SXM4-80GB"), ("crusoe", r"^H100-SXM", "H100-SXM5-80GB"),
    ("crusoe", r"^H200-SXM", "H200-SXM-141GB"),
]
# Spellings of a family or form that, with the memory beside it, mean one row or model of accelerators.csv.
SPELLING = {
    "A100": "A100-%sGB", "A100 40GB": "A100-40GB", "A100 80GB": "A100-80GB", "A100 80GB NVLink": "A100-80GB",
    "A100 NVLink": "A100-%sGB", "A100 PCIe": "A100-PCIE-%sGB", "A100 80GB PCIe": "A100-PCIE-80GB",
    "A100 SXM": "A100-SXM4-%sGB", "A100 SXM4": "A100-SXM4-%sGB", "A100 80GB SXM": "A100-SXM4-80GB",
    "A100 SXM4 80GB": "A100-SXM4-80GB", "A800 80G": "A800", "A6000": "RTX A6000",
    "H100": "H100-80GB", "H100 NVLink": "H100-80GB", "H100 PCIe": "H100-PCIE-80GB",
    "H100 PCIe NVLink": "H100-PCIE-80GB", "H100 NVL": "H100-NVL-94GB", "H100NVL": "H100-NVL-94GB",
    "H100 SXM": "H100-SXM5-80GB", "H100 SXM5": "H100-SXM5-80GB", "HGX H100": "H100-SXM5-80GB",
    "HGX H100 SXM": "H100-SXM5-80GB", "H200 SXM": "H200-SXM-141GB", "H200 SXM5": "H200-SXM-141GB",
    "HGX H200": "H200-SXM-141GB", "B200": "B200-180GB", "B200 SXM": "B200-180GB", "B200 SXM6": "B200-180GB",
    "B200 NVL": "B200-180GB", "B300": "B300-288GB", "B300 SXM6": "B300-288GB", "HGX B300": "B300-288GB",
    "GB200": "GB200-186GB", "GB300": "GB300-279GB", "GB300 SXM6": "GB300-279GB", "GH200": "GH200-%sGB",
    "V100": "V100-%sGB", "V100 SXM2": "V100-SXM2-%sGB", "V100 NVLink": "V100-SXM2-%sGB",
    "RTX PRO 6000 SE": "RTX PRO 6000 Blackwell Server", "RTX PRO-A6000 SE": "RTX PRO 6000 Blackwell Server",
    "RTX Pro 6000 SE": "RTX PRO 6000 Blackwell Server", "RTX PRO 6000 WE": "RTX PRO 6000 Blackwell WS",
    "RTX Pro 6000": "RTX PRO 6000", "RTX Pro 6000 Blackwell": "RTX PRO 6000", "RTX 6000 Pro": "RTX PRO 6000",
    "RTX PRO 6000 CC": "RTX PRO 6000", "RTXPRO6000": "RTX PRO 6000", "RTXPRO4500": "RTX PRO 4500 Blackwell",
    "GeForce RTX 4090": "RTX 4090", "GeForce RTX 5090": "RTX 5090", "RTX 4090 (High freq.)": "RTX 4090",
    "RTX 5090 (High freq.)": "RTX 5090", "RTX 4090 (48 GB mod)": "RTX 4090 48GB mod",
    "RTX 4080 (32 GB mod)": "RTX 4080 32GB mod", "RTX 3060": "RTX 3060 %sGB", "RTX 4060 Ti": "RTX 4060 Ti %sGB",
    "RTX 5060 Ti": "RTX 5060 Ti 16GB", "Gaudi": "Gaudi1", "Inferentia": "Inferentia1", "Trainium": "Trainium1",
    "QAIC100": "Qualcomm Cloud AI 100", "V620": "Radeon Pro V620", "V710": "Radeon Pro V710",
    "TPU-v2": "TPU v2", "TPU-v3": "TPU v3", "TPU-v4": "TPU v4", "TPU-v5e": "TPU v5e", "TPU-v5p": "TPU v5p",
    "TPU-v6e": "TPU v6e",
}
# What catalogues show of a card where it is less, or more, than the memory it is sold with.
MEMORY = {"B200-180GB": "180", "B300-288GB": "288", "GB200-186GB": "186", "GB300-279GB": "279", "L40": "48",
          "GTX 1080 Ti": "11"}

# Share of machines reclaimed in a month, by advisor bucket: the middle of each; above 20 %: 30 %.
BUCKET = {"0": 0.025, "1": 0.075, "2": 0.125, "3": 0.175, "4": 0.30}

left_out = collections.Counter()


def number(text, decimals=6):
    text = f"{float(text):.{decimals}f}"
    return text.rstrip("0").rstrip(".")


def product(r):
    for provider, pattern, name in PRODUCT:
        if r["provider"] == provider and re.search(pattern, r["instance_type"]):
            if isinstance(name, str):
                return name
            return name.get(r["accelerator"]) or name[r["accelerator_mem_gib"]]
    name = SPELLING.get(r["accelerator"], r["accelerator"])
    return name % r["accelerator_mem_gib"] if "%s" in name else name


def purchase(text):
    """on_demand, spot, or reserved with its term in months and its payment."""
    m = re.fullmatch(r"reserved_(\d)y(_all_upfront|_no_upfront|_convertible_no_upfront)?", text)
    if not m:
        return text, "", ""
    return "reserved", str(12 * int(m[1])), "all" if m[2] == "_all_upfront" else "none"


def short_source(text):
    m = re.match(r"(UNDATED )?([\w.-]+/[\w.-]+@[\w.-]+)", text)
    return m[2] if m else text


def instance_type(r):
    """Neoclouds are listed by a slug that repeats provider and purchase: one machine, one name."""
    text = r["instance_type"]
    if text.startswith(r["provider"] + "-"):
        text = text[len(r["provider"]) + 1:]
        text = re.sub(r"-(on-demand|spot)$", "", text)
    return text.replace(" (per GPU)", "")


def wanted(r, still_sold, moved):
    p, it = r["provider"], r["instance_type"]
    if float(r["accelerator_count"]) < 1:
        return "part of a card"
    if p in GONE and re.search(GONE[p], it):
        return "end of sale"
    if p in REGIONS and "TPU" not in it and r["region"] not in REGIONS[p].split():
        return "region not chosen"
    if p in SKIP and re.search(SKIP[p], it):
        return "size not chosen"
    if r["as_of"] and r["as_of"] < "2024":
        return "older than 2024"
    if p == "aws" and r["region"] != "us-east-1" and (it not in still_sold or it in moved):
        return "list price has moved since"
    if float(r["price_per_hour_usd"]) <= 0:
        return "no price"
    return None


def date_undated(rows):
    """An undated row is true at a date if a dated one of the same card and provider asks the same for one GPU."""
    dated = collections.defaultdict(dict)
    for r in rows:
        if r["as_of"]:
            dated[r["provider"], r["accelerator"].split()[0], r["purchase"]][
                round(float(r["price_per_hour_usd"]) / float(r["accelerator_count"]), 6)] = r
    for r in rows:
        if r["as_of"]:
            yield r
            continue
        prices = dated.get((r["provider"], r["accelerator"].split()[0], r["purchase"]), {})
        same = prices.get(round(float(r["price_per_hour_usd"]) / float(r["accelerator_count"]), 6))
        if same is None:
            left_out["undated"] += 1
            continue
        yield dict(r, as_of=same["as_of"], source=short_source(r["source"]) + " + " + short_source(same["source"]))


def newest(rows):
    best = {}
    for r in rows:
        key = (r["provider"], r["region"], instance_type(r), r["accelerator"], r["accelerator_mem_gib"],
               r["accelerator_count"], r["purchase"])
        if key in best:
            left_out["older than another"] += 1
        if key not in best or r["as_of"] > best[key]["as_of"]:
            best[key] = r
    return best.values()


def advisor(path):
    rate = {}
    with open(path, newline="") as f:
        for r in csv.DictReader(f):
            month = BUCKET[r["interruption_bucket"]]
            rate[r["region"], r["instance_type"]] = number(-math.log(1 - month) / MONTH_HOURS, 7)
    return rate


def offer(r, rates):
    kind, term, payment = purchase(r["purchase"])
    price, upfront, name = float(r["price_per_hour_usd"]), "", product(r)
    if payment == "all":
        price, upfront = 0, number(price * MONTH_HOURS * int(term), 2)
    return {
        "provider": r["provider"], "region": r["region"], "zone": r["zone"], "instance_type": instance_type(r),
        "accelerator": name, "accelerator_count": number(r["accelerator_count"], 0),
        "accelerator_memory_gib": MEMORY.get(name, number(r["accelerator_mem_gib"], 2)),
        "vcpus": number(r["vcpus"]) if r["vcpus"] else "", "memory_gib": number(r["mem_gib"]) if r["mem_gib"] else "",
        "purchase": kind, "term_months": term, "payment": payment, "upfront": upfront,
        "price_per_hour": number(price), "currency": "USD",
        "interruption_rate": rates.get((r["region"], r["instance_type"]), "") if kind == "spot" and
        r["provider"] == "aws" else "",
        "as_of": r["as_of"] + "T00:00:00Z", "source": r["source"] if " + " in r["source"] else short_source(r["source"]),
    }


def hour(o):
    return float(o["price_per_hour"]) + (float(o["upfront"]) / MONTH_HOURS / int(o["term_months"]) if o["upfront"]
                                         else 0)


def not_dearer_than_on_demand(offers):
    """Spot and reserved rows from another date than the on-demand row beside them may have been overtaken by a cut."""
    same_type, same_card = {}, {}
    for o in offers:
        if o["purchase"] == "on_demand":
            same_type[o["provider"], o["region"], o["instance_type"]] = hour(o)
            card = (o["provider"], o["accelerator"])
            each = hour(o) / int(o["accelerator_count"])
            same_card[card] = min(each, same_card.get(card, each))
    for o in offers:
        if o["purchase"] != "on_demand":
            limit = same_type.get((o["provider"], o["region"], o["instance_type"]))
            if limit is None and o["region"] == "":
                limit = same_card.get((o["provider"], o["accelerator"]))
            if limit is not None and hour(o) >= limit:
                left_out["not below on demand"] += 1
                continue
        yield o


def main():
    folder = sys.argv[1]
    with open(folder + "/gpu_prices.csv", newline="") as f:
        rows = list(csv.DictReader(f))
    us = collections.defaultdict(dict)
    for r in rows:
        if r["provider"] == "aws" and r["region"] == "us-east-1" and r["purchase"] == "on_demand":
            us[r["instance_type"]][r["as_of"]] = float(r["price_per_hour_usd"])
    still_sold = {t for t, p in us.items() if "2026-07-20" in p}
    moved = {t for t, p in us.items() if len({round(v, 4) for v in p.values()}) > 1}
    chosen = []
    for r in date_undated(rows):
        why = wanted(r, still_sold, moved)
        if why:
            left_out[why] += 1
        else:
            chosen.append(r)
    rates = advisor(folder + "/aws_spot_advisor_gpu_2025.csv")
    offers = sorted((offer(r, rates) for r in newest(chosen)), key=lambda o: (
        o["provider"], o["region"], o["accelerator"], int(o["accelerator_count"]), o["instance_type"],
        o["purchase"], o["term_months"], o["payment"]))
    offers = list(not_dearer_than_on_demand(offers))
    out = csv.DictWriter(sys.stdout, COLUMNS, lineterminator="\n")
    out.writeheader()
    out.writerows(offers)
    print(f"{len(rows)} rows read, {len(offers)} taken; left out: " +
          ", ".join(f"{n} {why}" for why, n in left_out.most_common()), file=sys.stderr)


main()
