"""aws_gen.py MIB: a price list of EC2 in one region, in the shape and with the white space of the public one, on standard output."""
import json
import random
import sys

target, r = int(float(sys.argv[1]) * 1048576), random.Random(1)
LETTERS = "ABCDEFGHJKMNPQRSTUVWXYZ23456789"
GPUS = [("p5.48xlarge", 8, 192, 2048, 55.04), ("p4d.24xlarge", 8, 96, 1152, 21.96), ("g6.xlarge", 1, 4, 16, 0.8048),
        ("g5.12xlarge", 4, 48, 192, 5.672), ("g4dn.xlarge", 1, 4, 16, 0.526)]


def sku():
    return "".join(r.choice(LETTERS) for _ in range(16))


def product(code, name, gpus, vcpus, memory, system, state):
    return {"sku": code, "productFamily": "Compute Instance", "attributes": {
        "servicecode": "AmazonEC2", "location": "US East (N. Virginia)", "locationType": "AWS Region", "instanceType": name,
        "currentGeneration": "Yes", "instanceFamily": "GPU instance" if gpus else "General purpose", "vcpu": str(vcpus),
        "physicalProcessor": "AMD EPYC 7R13 Processor", "clockSpeed": "3.6 GHz", "memory": f"{memory:,} GiB",
        "storage": "8 x 3840 GB NVMe SSD", "networkPerformance": "3200 Gigabit", "processorArchitecture": "64-bit",
        "tenancy": "Shared", "operatingSystem": system, "licenseModel": "No License required",
        "usagetype": f"BoxUsage:{name}", "operation": "RunInstances", "availabilityzone": "NA", "capacitystatus": state,
        "classicnetworkingsupport": "false", "dedicatedEbsThroughput": "80000 Mbps", "ecu": "NA",
        "enhancedNetworkingSupported": "No", **({"gpu": str(gpus)} if gpus else {}), "gpuMemory": "NA",
        "intelAvxAvailable": "No", "intelAvx2Available": "No", "intelTurboAvailable": "No", "marketoption": "OnDemand",
        "normalizationSizeFactor": "384", "preInstalledSw": "NA", "processorFeatures": "AMD Turbo",
        "regionCode": "us-east-1", "servicename": "Amazon Elastic Compute Cloud", "vpcnetworkingsupport": "true"}}


def term(code, price):
    at = f"{code}.JRTCKXETXF"
    return {at: {"offerTermCode": "JRTCKXETXF", "sku": code, "effectiveDate": "2026-11-01T00:00:00Z", "priceDimensions": {
        at + ".6YS6EN2CT7": {"rateCode": at + ".6YS6EN2CT7", "description": f"${price} per On Demand Linux Instance Hour",
                             "beginRange": "0", "endRange": "Inf", "unit": "Hrs",
                             "pricePerUnit": {"USD": f"{price:.10f}"}, "appliesTo": []}}, "termAttributes": {}}}


def pretty(value, by):
    return json.dumps(value, indent=2, separators=(",", " : ")).replace("\n", "\n" + " " * by)


out = sys.stdout
size = out.write('{\n  "formatVersion" : "v1.0",\n  "disclaimer" : "made up",\n  "offerCode" : "AmazonEC2",\n'
                 '  "version" : "20261130000000",\n  "publicationDate" : "2026-11-30T00:00:00Z",\n  "products" : {\n')
rows = []
# one product and its term are some 3.4 kB together, products two thirds of it
while size < target * 0.66:
    if len(rows) % 50 == 7:
        name, gpus, vcpus, memory, price = GPUS[len(rows) // 50 % len(GPUS)]
        rows.append((sku(), name, gpus, vcpus, memory, "Linux" if len(rows) % 100 == 7 else "Windows", "Used", price))
    else:
        n = len(rows)
        rows.append((sku(), f"m{n % 9}i.{n % 17}xlarge", 0, 4 * (n % 17 + 1), 16 * (n % 17 + 1),
                     ("Linux", "Windows", "RHEL", "SUSE")[n % 4], ("Used", "UnusedCapacityReservation")[n % 2], 0.01 * (n % 997 + 1)))
    row = rows[-1]
    size += out.write(f'    "{row[0]}" : ' + pretty(product(*row[:7]), 4) + ",\n")
rows.append((sku(), "p4de.24xlarge", 8, 96, 1152, "Linux", "Used", 27.44705))
out.write(f'    "{rows[-1][0]}" : ' + pretty(product(*rows[-1][:7]), 4) + '\n  },\n  "terms" : {\n    "OnDemand" : {\n')
for i, row in enumerate(rows):
    out.write(f'      "{row[0]}" : ' + pretty(term(row[0], row[7]), 6) + (",\n" if i + 1 < len(rows) else "\n"))
out.write("    }\n  },\n  \"attributesList\" : { }\n}\n")
