"""Huawei Cloud: berth beside huaweicloudsdkecs, -bss and -iam.

The server verifies each signature, berth's and the client's, with the client's own signer, checks each body against the
client's request class, and answers with objects that its model classes build.
"""
import calendar
import json
import os
import random
import re
import time

import huaweicloudsdkbss.v2 as bss
import huaweicloudsdkecs.v2 as ecs
import huaweicloudsdkiam.v3 as iam
from huaweicloudsdkcore.auth.credentials import BasicCredentials, GlobalCredentials
from huaweicloudsdkcore.exceptions.exceptions import ServiceResponseException
from huaweicloudsdkcore.http.http_config import HttpConfig
from huaweicloudsdkcore.sdk_request import SdkRequest
from huaweicloudsdkcore.signer.signer import Signer
from huaweicloudsdkcore.utils import http_utils

from witness import Berth, Server, done, machine, ok, own_folder

SEED = int(os.environ.get("WITNESS_SEED", "20261130"))
AK, SK, TOKEN, DOMAIN = "AKwitness0000000000", "s3cr+t /=", "tok/en+==", "d0c0ffee"
REGIONS = {"cn-north-4": "0a1b2c3d", "ap-southeast-3": "4e5f6a7b"}
rng = random.Random(SEED)
faults = []
refuse_with = {}		# part of a path: (status, body) of the next answer
verified = {"berth": 0, "client": 0}


def plain(model):
    return http_utils.sanitize_for_serialization(model)


def build(module, name, value):
    """A value of a type of the client's models, out of JSON; what no class knows is a fault."""
    inner = re.fullmatch(r"list\[(.*)\]", name)
    if inner:
        return [build(module, inner[1], v) for v in value]
    cls = getattr(module, name, None)
    if cls is None or not hasattr(cls, "openapi_types"):
        return value
    names = {v: k for k, v in cls.attribute_map.items()}
    unknown = [k for k in value if k not in names]
    if unknown:
        raise ValueError(f"{name} has no {unknown}")
    return cls(**{names[k]: build(module, cls.openapi_types[names[k]], v) for k, v in value.items()})


# --- a cloud out of the client's classes -----------------------------------------------------------------------------
ZONES = {r: [r + z for z in "abc"] for r in REGIONS}
CARDS = {
    "pi2": dict(infogpuname="{n} * NVIDIA T4 / {n} * 16G"),
    "p2s": dict(pci_passthroughalias="nvidia-v100:{n}"),
    "g1": dict(pci_passthroughgpu_specs="m60_1q:virt:{n}"),
    "p3": dict(infogpus='[{{"name": "NVIDIA A100", "memory_mb": 40960, "count": {n}, "alias_prefix": "nvidia-a100"}}]'),
    "ai1s": dict(infoasic_accelerators='[{{"name": "HUAWEI Ascend 310", "memory_mb": 8192, "count": {n}}}]'),
}
NAMES = {"pi2": "T4", "p2s": "V100", "p3": "A100-40GB", "ai1s": "Ascend 310"}
GIB = {"pi2": 16.0, "p3": 40.0, "ai1s": 8.0}
STATUS = ["normal", "promotion", "obt", "sellout", "abandon", None]
SIZES = [(1, 4, 32), (2, 8, 64), (8, 64, 488)]


def flavor(region, family, n, vcpus, gib):
    some = rng.sample(ZONES[region], 2)
    specs = {k: v.format(n=n) for k, v in CARDS.get(family, {}).items()}
    specs.update(ecsperformancetype="ascend" if family == "ai1s" else "gpu" if family in CARDS else "normal",
                 condoperationstatus=rng.choice(STATUS), condspotoperationstatus=rng.choice([None, "normal", "abandon"]),
                 condoperationaz=rng.choice([None, ", ".join(f"{z}({rng.choice(STATUS[:5])})" for z in some)]),
                 condoperationcharge=rng.choice([None] * 4 + ["period", "demand"]))
    return ecs.Flavor(id=f"{family}.{vcpus}large.{n}", name=f"{family}.{vcpus}large.{n}", vcpus=str(vcpus), ram=gib * 1024, disk="0",
                      os_extra_specs=ecs.FlavorExtraSpec(**specs))


FLAVORS = {r: [flavor(r, f, n, v, g) for f in [*CARDS, "s6"] for n, v, g in SIZES] for r in REGIONS}
NO_PRODUCT = {"p3.64large.8.linux"}		# BSS does not know it, and refuses the whole question
POLICIES = {r: [ecs.ListFlavorSellPoliciesResult(id=i + 1, flavor_id=f.id, sell_status=rng.choice(["available", "sellout"]),
                                                 availability_zone_id=rng.choice(ZONES[r]), sell_mode="spot",
                                                 spot_options=ecs.FlavorSpotOptions(longest_spot_duration_hours=6))
                for i, f in enumerate(rng.sample(FLAVORS[r], 9))] for r in REGIONS}
STATES = ["ACTIVE", "BUILD", "ERROR", "SHUTOFF", "HARD_REBOOT", "MIGRATING", "SOFT_DELETED", "DELETED", "SUSPENDED"]


def server_of(region, i):
    inst = rng.choice(["inst"] * 4 + ["other"])
    tags = [f"berth-installation={inst}", f"berth-token=tok-{i}", "team=x=y"]
    address = [ecs.ServerAddress(version="4", addr=f"10.0.0.{i % 250}", os_ext_ip_stype="fixed")]
    if rng.random() < 0.5:
        address.append(ecs.ServerAddress(version="4", addr=f"192.0.2.{i % 250}", os_ext_ip_stype="floating"))
    state = rng.choice(STATES)
    return ecs.ServerDetail(
        id=f"{i:08x}-0000-4000-8000-{region[:2].encode().hex():0>12}", name=f"berth-{inst}-tok-{i}", status=state,
        created=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(1795000000 + rng.randrange(10 ** 6))),
        flavor=ecs.ServerFlavor(id=rng.choice(FLAVORS[region]).id, vcpus="8", ram="32768"), addresses={"net-1": address},
        os_ext_a_zavailability_zone=rng.choice(ZONES[region]), metadata={"charging_mode": rng.choice(["0", "2"])},
        fault={"code": 500, "message": "No valid host was found."} if state == "ERROR" else None,
        os_ext_st_stask_state=rng.choice([None, None, "deleting"]), tags=rng.choice([tags, tags, []]))


FLEET = {r: [server_of(r, i) for i in range(n)] for r, n in zip(REGIONS, (230, 3))}
LIMITS = {r: ecs.ShowServerLimitsResponse(absolute=ecs.ServerLimits(
    max_total_instances=rng.randrange(900), total_instances_used=rng.randrange(9), max_total_cores=rng.choice([-1, 800]),
    total_cores_used=16, max_total_spot_instances=rng.choice([None, 30]), total_spot_instances_used=1)) for r in REGIONS}
price_memo = {}


def price_of(product, hourly):
    key = (product.resource_spec, product.region, None if hourly else (product.period_type, product.period_num))
    if key not in price_memo:
        official = rng.randrange(100, 90000) / 100 * (1 if hourly else 500)
        price_memo[key] = official, rng.choice([0, round(official * 0.2, 2)])
    return price_memo[key]


def ratings(body, hourly):
    if any(p.resource_spec in NO_PRODUCT for p in body.product_infos):
        return 400, {"error_code": "CBC.99006006", "error_msg": "Product not found."}
    rows = [(p, *price_of(p, hourly)) for p in body.product_infos]
    if hourly:
        return 200, plain(bss.ListOnDemandResourceRatingsResponse(
            measure_id=1, currency="CNY", product_rating_results=[bss.DemandProductRatingResult(
                id=p.id, product_id="x", amount=round(full - less, 2), discount_amount=less, official_website_amount=full,
                measure_id=1) for p, full, less in rows]))
    best = [bss.OptionalDiscountRatingResult(discount_id="d", best_offer=1, measure_id=1, product_rating_results=[
        bss.PeriodProductRatingResult(id=p.id, amount=round(full - less, 2), discount_amount=less, official_website_amount=full,
                                      measure_id=1) for p, full, less in rows if less])]
    return 200, plain(bss.ListRateOnPeriodDetailResponse(
        currency="CNY", optional_discount_rating_results=best, official_website_rating_result=bss.OfficialWebsiteRatingResult(
            measure_id=1, product_rating_results=[bss.PeriodProductOfficialRatingResult(
                id=p.id, official_website_amount=full, measure_id=1) for p, full, less in rows])))


def page_of(items, call, key):
    """Behind the marker, 7 at a time, as a server with a limit of its own does."""
    at = next((i + 1 for i, x in enumerate(items) if str(x.id) == call.arg("marker")), 0)
    return items[at:at + min(7, int(call.arg(key)))]


def ecs_answer(region, method, path, call):
    if path == "availability-zones":
        return 200, ecs.ListServerAzInfoResponse([ecs.ListServerAzInfo(availability_zone_id=z, type="Core") for z in ZONES[region]])
    if path == "cloudservers/flavors":
        return 200, ecs.ListFlavorsResponse(page_of(FLAVORS[region], call, "limit"))
    if path == "cloudservers/flavor-sell-policies":
        return 200, ecs.ListFlavorSellPoliciesResponse(count=9, sell_policies=page_of(POLICIES[region], call, "limit"))
    if path == "cloudservers/limits":
        return 200, LIMITS[region]
    if path == "cloudservers/detail":
        found = [m for m in FLEET[region] if call.arg("name") in m.name]
        at = (int(call.arg("offset")) - 1) * int(call.arg("limit"))
        return 200, ecs.ListServersDetailsResponse(count=len(found), servers=found[at:at + int(call.arg("limit"))])
    if path == "cloudservers/delete":
        return 200, ecs.DeleteServersResponse(job_id="job-end")
    if path == "cloudservers":
        if call.body.get("dry_run"):
            return 202, {}
        return 200, ecs.CreateServersResponse(job_id="job-1", server_ids=["11111111-2222-4333-8444-555555555555"])
    if path == "jobs/job-1":
        return 200, job
    found = [m for m in FLEET[region] if path == "cloudservers/" + m.id]
    if found:
        return 200, ecs.ShowServerResponse(found[0])
    return 404, {"error": {"code": "Ecs.0614", "message": "Instance could not be found."}}


BODIES = {"/delete": (ecs, "DeleteServersRequestBody"), "/cloudservers": (ecs, "CreateServersRequestBody"),
          "/on-demand-resources": (bss, "RateOnDemandReq"), "/subscribe-rate": (bss, "RateOnPeriodReq")}


def verify(call):
    """The client's own signer over what came."""
    names = re.search(r"SignedHeaders=([^,]*),", call.headers["Authorization"])[1].split(";")
    req = SdkRequest(method=call.method, schema="https", host=call.headers["Host"], resource_path=call.path,
                     header_params={n: call.headers[n] for n in names}, query_params=call.query, body=call.raw)
    signed = Signer(BasicCredentials(AK, SK)).sign(req)
    need = {"host", "x-sdk-date", "x-security-token"} | {n for n in ("x-project-id", "x-client-token", "content-type") if n in call.headers}
    return signed.header_params["Authorization"] == call.headers["Authorization"] and need <= set(names)


def app(call):
    if abs(time.time() - calendar.timegm(time.strptime(call.headers["X-Sdk-Date"], "%Y%m%dT%H%M%SZ"))) > 900:
        return 401, {"error_code": "APIGW.0301", "error_msg": "Incorrect IAM authentication information: x-sdk-date is expired"}, {}
    if not verify(call) or call.headers.get("X-Security-Token") != TOKEN:
        faults.append(f"{call.who}: the signature of {call.path} is wrong: {call.headers['Authorization']}")
        return 401, {"error_code": "APIGW.0301", "error_msg": "verify aksk signature fail"}, {}
    verified[call.who] += 1
    request = None
    for end, (module, name) in BODIES.items():
        if call.method == "POST" and call.path.endswith(end):
            try:
                request = build(module, name, call.body)
                if plain(request) != call.body:
                    faults.append(f"{call.who}: {call.path}: {call.body} comes back as {plain(request)}")
            except ValueError as e:
                faults.append(f"{call.who}: {call.path}: {e}")
                return 400, {"error": {"code": "Ecs.0005", "message": str(e)}}, {}
    for part in list(refuse_with):
        if part in call.path:
            return *refuse_with.pop(part), {}
    if call.path == "/v3/auth/projects":
        return 200, plain(iam.KeystoneListAuthProjectsResponse(projects=[
            iam.AuthProjectResult(name=n, id=p, domain_id=DOMAIN, enabled=True, is_domain=False, description="")
            for n, p in {"MOS": "ffff", "cn-north-4_test": "eeee", **REGIONS}.items()])), {}
    if call.path.startswith("/v2/bills/ratings/"):
        return *ratings(request, call.path.endswith("on-demand-resources")), {}
    version, project, path = call.path[1:].split("/", 2)
    region = next((r for r, p in REGIONS.items() if p == project), None)
    if region is None or call.headers.get("X-Project-Id") != project or version != ("v1.1" if path == "cloudservers" else "v1"):
        faults.append(f"{call.who}: {call.method} {call.path}")
        return 404, {"error_code": "APIGW.0101", "error_msg": "The API does not exist"}, {}
    status, answer = ecs_answer(region, call.method, path, call)
    return status, answer if isinstance(answer, dict) else plain(answer), {}


folder = own_folder()
server = Server(folder, app)
with open(os.path.join(folder, "credentials"), "w") as f:
    f.write(f"[global]\nak = other\nsk = other\n[basic]\nak = {AK}\nsk={SK}\nsecurity_token = {TOKEN}\n")
os.environ["HUAWEICLOUD_SDK_CREDENTIALS_FILE"] = os.path.join(folder, "credentials")
for name in ("HUAWEICLOUD_SDK_AK", "HUAWEICLOUD_SDK_SK"):
    os.environ.pop(name, None)
section = {"name": "h", "provider": "huawei", "regions": list(REGIONS), "site": "china", "domain": DOMAIN, "image": "img-1",
           "vpc": ["cn-north-4=vpc-n", "ap-southeast-3=vpc-s"], "subnet": ["cn-north-4=sub-n", "ap-southeast-3=sub-s"],
           "security_group": "sg-1", "ssh_key": "ours", "spot_max_price": "12.5", "endpoint": server.base,
           "price_endpoint": server.base, "iam_endpoint": server.base, "ca_file": server.cert, "timeout": "20s",
           "prices": [{"purchase": "spot", "accelerator": "T4", "price_per_gpu_hour": 0.25}]}
berth = Berth(server, folder, section)
server.who = "client"


def client(cls, credentials):
    http = HttpConfig.get_default_config()
    http.ssl_ca_cert, http.timeout, http.retry_times = server.cert, 20, 0
    return cls.new_builder().with_http_config(http).with_credentials(credentials.with_security_token(TOKEN)) \
        .with_endpoint(server.base).build()


ECS = {r: client(ecs.EcsClient, BasicCredentials(AK, SK, p)) for r, p in REGIONS.items()}
BSS = client(bss.BssClient, GlobalCredentials(AK, SK, DOMAIN))
IAM = client(iam.IamClient, GlobalCredentials(AK, SK, DOMAIN))


def projects():
    """What each of berth's processes begins with."""
    return {p.name: p.id for p in IAM.keystone_list_auth_projects(iam.KeystoneListAuthProjectsRequest()).projects}


def seen(call):
    head = {k: call.headers.get(k) for k in ("X-Project-Id", "X-Domain-Id", "X-Client-Token", "X-Security-Token", "Host")}
    signed = set(re.search(r"SignedHeaders=([^,]*),", call.headers["Authorization"])[1].split(";")) - {"user-agent", "content-type"}
    return {"method": call.method, "path": call.path, "query": call.query, "body": call.body, **head, "signed": sorted(signed),
            "authorization": call.headers["Authorization"].split(" SignedHeaders=")[0]}


def same(name):
    """All that berth asked, in its order, and all that the client did."""
    ours, theirs = ([seen(c) for c in server.of(w)] for w in ("berth", "client"))
    ok(len(ours) == len(theirs) > 0 and ours == theirs, f"{name}: the same requests ({len(theirs)}), field by field",
       next(({"berth": a, "client": b} for a, b in zip(ours, theirs) if a != b), {"berth": len(ours), "client": len(theirs)}))
    server.clear()


# --- offers ----------------------------------------------------------------------------------------------------------
os.environ["PROV_JSON"] = "1"
rc, lines = berth.call("offers")
offers = [json.loads(x) for x in lines] if rc == 0 else []
ok(rc == 0 and offers, "berth lists offers", lines, berth.err)
ok(projects() == {**REGIONS, "MOS": "ffff", "cn-north-4_test": "eeee"}, "the client reads the projects")


def pages(ask, marker_of):
    """Until a page has nothing."""
    out, marker = [], None
    while True:
        page = ask(marker)
        if not page:
            return out
        out += page
        marker = marker_of(page[-1])


def sold(status, az, zone, otherwise):
    word = dict(re.findall(r"([^,(\s]+)\((\w+)\)", az or "")).get(zone, status) or otherwise
    return {"sellout": "no", "abandon": None}.get(word, "yes")


def ask_prices(flavors, region, period):
    """{id: price}, asked as berth asks: halves of what was refused."""
    def product(i, f):
        common = dict(id=str(i), cloud_service_type="hws.service.type.ec2", resource_type="hws.resource.type.vm",
                      resource_spec=f.id + ".linux", region=region, subscription_num=1)
        return bss.PeriodProductInfo(period_type=period[0], period_num=period[1], **common) if period else \
            bss.DemandProductInfo(usage_factor="Duration", usage_value=1, usage_measure_id=4, **common)
    out, at, n = {}, 0, min(50, len(flavors))
    while at < len(flavors):
        infos = [product(i, flavors[i]) for i in range(at, at + n)]
        try:
            if period:
                r = BSS.list_rate_on_period_detail(bss.ListRateOnPeriodDetailRequest(bss.RateOnPeriodReq(REGIONS[region], infos)))
                out.update({p.id: p.official_website_amount for p in r.official_website_rating_result.product_rating_results})
                for group in r.optional_discount_rating_results:
                    out.update({p.id: p.amount for p in group.product_rating_results if group.best_offer})
            else:
                r = BSS.list_on_demand_resource_ratings(bss.ListOnDemandResourceRatingsRequest(
                    bss.RateOnDemandReq(project_id=REGIONS[region], product_infos=infos)))
                out.update({p.id: p.amount for p in r.product_rating_results})
            currency.add(r.currency)
        except ServiceResponseException:
            if n > 1:
                n //= 2
                continue
        at += n
        n = min(50, len(flavors) - at)
    return out


want, currency = [], set()
for r, c in ECS.items():
    zones = [z.availability_zone_id for z in c.list_server_az_info(ecs.ListServerAzInfoRequest()).availability_zones]
    all_flavors = pages(lambda m: c.list_flavors(ecs.ListFlavorsRequest(limit=1000, marker=m)).flavors, lambda f: f.id)
    policies = pages(lambda m: c.list_flavor_sell_policies(ecs.ListFlavorSellPoliciesRequest(
        sell_mode="spot", limit=1000, marker=m)).sell_policies, lambda p: p.id)
    room = {(p.flavor_id, p.availability_zone_id): "yes" if p.sell_status == "available" else "no" for p in policies}
    cards = [f for f in all_flavors if f.id.split(".")[0] in CARDS]
    for months, period in ((0, None), (1, (2, 1)), (12, (3, 1)), (36, (3, 3))):
        paid = ask_prices(cards, r, period)
        for i, f in enumerate(cards):
            family, specs = f.id.split(".")[0], f.os_extra_specs
            price = None if paid.get(str(i)) is None else round(float(paid[str(i)]), 6)
            for z in zones:
                row = (r, z, f.id, int(f.id.rsplit(".")[-1]), float(f.vcpus), f.ram / 1024)
                here = sold(specs.condoperationstatus, specs.condoperationaz, z, "normal")
                spot = room.get((f.id, z), sold(specs.condspotoperationstatus, specs.condspotoperationaz, z, "abandon"))
                if here and months == 0 and specs.condoperationcharge != "period":
                    want.append(row + (here, "on_demand", 0, 0.0, price))
                if here and months > 0 and price is not None and specs.condoperationcharge != "demand":
                    want.append(row + (here, "reserved", months, price, 0.0))
                if spot and months == 0:
                    want.append(row + (spot, "spot", 0, 0.0, row[3] * 0.25 if family == "pi2" else None))
got = [(o["region"], o["zone"], o["instance_type"], o["count"], o["vcpus"], o["memory_gib"], o["available"], o["purchase"],
        o["term_months"], float(o["upfront"]), None if o["price"] is None else float(o["price"])) for o in offers]
key = (lambda x: json.dumps(x))
ok(sorted(got, key=key) == sorted(want, key=key), f"{len(want)} offers: places, counts, room, terms and prices as the client reads them",
   [x for x in got if x not in want][:5], [x for x in want if x not in got][:5])
ok(currency == {"CNY"} and all(o["currency"] == ("USD" if o["purchase"] == "spot" and o["price"] else "CNY") for o in offers),
   "in the currency that the answers say; spot in that of berth.yaml")
names = {o["instance_type"].split(".")[0]: o["accelerator"] for o in offers}
ok(all(names[f] == n for f, n in NAMES.items()) and names["g1"] == "M60-1Q", "each card by its name, Ascend too", names)
same("offers")

# --- quota -----------------------------------------------------------------------------------------------------------
rc, lines = berth.call("quota")
projects()
want = []
for r, c in ECS.items():
    a = c.show_server_limits(ecs.ShowServerLimitsRequest()).absolute
    want += [f"{r}|{name}|{unit}|{most}|{used}" for name, unit, most, used in (
        ("maxTotalInstances", "machine", a.max_total_instances, a.total_instances_used),
        ("maxTotalCores", "vcpu", a.max_total_cores, a.total_cores_used),
        ("maxTotalSpotInstances", "machine", a.max_total_spot_instances, a.total_spot_instances_used)) if most not in (None, -1)]
ok(rc == 0 and lines == want, "quotas as the client reads them", lines, want)
same("quota")

# --- machines --------------------------------------------------------------------------------------------------------
STATE = {"ACTIVE": "ready", "MIGRATING": "ready", "BUILD": "pending", "HARD_REBOOT": "pending", "ERROR": "failed", "SHUTOFF": "failed",
         "SUSPENDED": "failed", "SOFT_DELETED": "ending", "DELETED": "gone"}


def read(m, region):
    state = "ending" if m.os_ext_st_stask_state == "deleting" else STATE[m.status]
    tags = dict(t.split("=", 1) for t in m.tags) or dict(zip(("berth-installation", "berth-token"), m.name.split("-", 2)[1:]))
    public = [a.addr for a in m.addresses["net-1"] if a.os_ext_ip_stype == "floating"] or [m.addresses["net-1"][0].addr]
    words = (m.fault or {}).get("message") or m.status
    return {"ref": f"{region}/{m.id}", "token": tags["berth-token"], "installation": tags["berth-installation"], "state": state,
            "instance_type": m.flavor.id, "region": region, "zone": m.os_ext_a_zavailability_zone, "address": public[0],
            "created": calendar.timegm(time.strptime(m.created, "%Y-%m-%dT%H:%M:%SZ")), "detail": words,
            "why": "" if state != "failed" else "no_capacity" if m.fault else "failed",
            "purchase": "spot" if m.metadata["charging_mode"] == "2" else "on_demand"}


def fields(line, like):
    m = json.loads(line)
    return {k: m[k] for k in like}


rc, lines = berth.call("list")
projects()
want = []
for r, c in ECS.items():
    at, page, total = 0, 1, 1
    while at < total:
        a = c.list_servers_details(ecs.ListServersDetailsRequest(limit=100, offset=page, name="berth-inst-"))
        want += [read(m, r) for m in a.servers]
        at, page, total = at + len(a.servers), page + 1, a.count
got = [fields(x, want[0]) for x in lines] if rc == 0 else []
ok(got == want and len(want) > 100, f"{len(want)} machines of ours as the client reads them",
   next(({"berth": a, "client": b} for a, b in zip(got, want) if a != b), lines[:3]), berth.err)
same("list, page by page")

north = ECS["cn-north-4"]
one = next(m for m in FLEET["cn-north-4"] if m.name.startswith("berth-inst-") and m.status == "ACTIVE")
show = (lambda: north.show_server(ecs.ShowServerRequest(one.id)).server)
rc, lines = berth.call("status", "cn-north-4/" + one.id)
projects()
ok(rc == 0 and fields(lines[0], want[0]) == read(show(), "cn-north-4"), "status of one", lines)
same("status")
rc, lines = berth.call("status", "cn-north-4/nobody")
ok("error not_found" in lines[0], "one that is gone", lines)
server.clear()
rc, lines = berth.call("destroy", "cn-north-4/" + one.id)
projects()
show()		# whose it is, before it is ended
north.delete_servers(ecs.DeleteServersRequest(ecs.DeleteServersRequestBody(
    delete_publicip=True, delete_volume=True, servers=[ecs.ServerId(one.id)])))
ok(rc == 0 and json.loads(lines[0])["state"] == "ending", "its end", lines)
same("end")
del os.environ["PROV_JSON"]


def launch_body(purchase):
    extend = dict(charging_mode="postPaid", region_id="cn-north-4")
    if purchase == "spot":
        extend.update(market_type="spot", spot_price="12.5")
    return ecs.PrePaidServer(
        name="berth-inst-tok-9", availability_zone="cn-north-4b", flavor_ref="pi2.8large.2", image_ref="img-1", vpcid="vpc-n",
        nics=[ecs.PrePaidServerNic(subnet_id="sub-n")], security_groups=[ecs.PrePaidServerSecurityGroup("sg-1")],
        root_volume=ecs.PrePaidServerRootVolume(volumetype="GPSSD", size=100), count=1, publicip=ecs.PrePaidServerPublicip(
            eip=ecs.PrePaidServerEip(iptype="5_bgp", bandwidth=ecs.PrePaidServerEipBandwidth(
                size=10, sharetype="PER", chargemode="traffic")), delete_on_termination=True),
        extendparam=ecs.PrePaidServerExtendParam(**extend), key_name="ours", user_data="IyEvYmluL3NoCg==", server_tags=[
            ecs.PrePaidServerTag("berth-installation", "inst"), ecs.PrePaidServerTag("berth-token", "tok-9")])


def launch(purchase):
    return north.create_servers(ecs.CreateServersRequest(x_client_token="tok-9",
                                                         body=ecs.CreateServersRequestBody(server=launch_body(purchase))))


for purchase in ("on_demand", "spot"):
    os.environ["PROV_USER_DATA"] = "#!/bin/sh\n"
    rc, lines = berth.call("launch", "tok-9", "cn-north-4", "cn-north-4b", "pi2.8large.2", purchase)
    del os.environ["PROV_USER_DATA"]
    projects()
    ids = launch(purchase).server_ids
    ok(rc == 0 and machine(lines[0])["ref"] == "cn-north-4/" + ids[0], f"a machine, {purchase}", lines)
    same(f"create, {purchase}")
rc, lines = berth.call("check")
asked = server.of("berth")[-1].body
projects()
north.create_servers(ecs.CreateServersRequest(body=build(ecs, "CreateServersRequestBody", asked)))
ok(rc == 0 and lines == ["ecs:cloudServers:createServers|ok|"] and asked["dry_run"] is True, "doctor asks by a dry run", lines, asked)
same("dry run")

# A machine that is not there: its job says why, is on its way, or that it was.
def parts(*codes):
    return [ecs.SubJob(status="FAIL", job_id=f"part-{i}", error_code=c, fail_reason=f"the words for {c}") for i, c in enumerate(codes)]


os.environ["PROV_THEN_STATUS"] = "1"
for job, state, why in (
        (ecs.ShowJobResponse(job_id="job-1", status="RUNNING", entities=ecs.JobEntities(sub_jobs_total=1, sub_jobs=[])), "pending", "ok"),
        (ecs.ShowJobResponse(job_id="job-1", status="FAIL", error_code="Ecs.0319", fail_reason="Capacity is not enough"), "failed", "no_capacity"),
        (ecs.ShowJobResponse(job_id="job-1", status="FAIL", error_code="Ecs.0100", fail_reason="a part failed", entities=ecs.JobEntities(
            sub_jobs_total=2, sub_jobs=parts("Ecs.0031", "Ecs.0013"))), "failed", "quota")):
    rc, lines = berth.call("launch", "tok-9", "cn-north-4", "cn-north-4b", "pi2.8large.2", "on_demand")
    os.environ.pop("PROV_USER_DATA", None)
    projects()
    north.create_servers(ecs.CreateServersRequest(x_client_token="tok-9", body=build(ecs, "CreateServersRequestBody", next(
        c.body for c in server.of("berth") if c.method == "POST"))))
    try:
        north.show_server(ecs.ShowServerRequest("11111111-2222-4333-8444-555555555555"))
    except ServiceResponseException as e:
        ok(e.status_code == 404, "the machine is not there")
    theirs = north.show_job(ecs.ShowJobRequest("job-1"))
    m = machine(lines[0])
    ok(rc == 0 and m["state"] == state and m["why"] == why and theirs.status == job.status and
       m["detail"] in (theirs.fail_reason or theirs.status, "the words for Ecs.0013"), f"a job that is {theirs.status}: {state} {why}", lines)
    same(f"job, {theirs.status} {theirs.error_code}")
del os.environ["PROV_THEN_STATUS"]

# --- refusals --------------------------------------------------------------------------------------------------------
for status, code, text, word in ((400, "Ecs.0319", "Check capacity: Capacity is not enough.", "no_capacity"),
                                 (400, "Ecs.0001", "The number of ECSs is beyond the quota limit.", "quota"),
                                 (403, "Ecs.0003", "You do not have permission.", "auth"),
                                 (400, "Ecs.0031", "Image [x] does not exist.", "permanent")):
    body = {"error": {"code": code, "message": text}}
    refuse_with["/cloudservers"] = status, body
    rc, lines = berth.call("launch", "tok-9", "cn-north-4", "cn-north-4b", "pi2.8large.2", "on_demand")
    refuse_with["/cloudservers"] = status, body
    try:
        launch("on_demand")
        theirs = None
    except ServiceResponseException as e:
        theirs = e.error_code
    ok(lines[0].startswith(f"error {word} ") and code in lines[0] and theirs == code, f"{code} is {word}", lines, theirs)
server.clear()
os.environ["PROV_NOW"] = str(int(time.time()) - 1200)
rc, lines = berth.call("quota")
del os.environ["PROV_NOW"]
ok(rc == 0, "a clock 20 minutes off is corrected once", lines, berth.err)
ok(verified["berth"] > 20 and verified["client"] > 20, f"the client's signer verified {verified['berth']} signatures of berth's")
ok(not faults, "no request, berth's or the client's, is against the client's classes", "\n".join(faults[:20]))
done()
