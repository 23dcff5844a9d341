"""Tencent Cloud: berth beside tencentcloud-sdk-python-cvm.

The server verifies each signature, berth's and the client's, with the client's own signer, checks each body against the
client's request class, and answers with objects that its model classes build.
"""
import json
import os
import random
import time
import types
import warnings

from tencentcloud.common import credential
from tencentcloud.common.abstract_client import AbstractClient
from tencentcloud.common.exception.tencent_cloud_sdk_exception import TencentCloudSDKException
from tencentcloud.common.profile.client_profile import ClientProfile
from tencentcloud.common.profile.http_profile import HttpProfile
from tencentcloud.cvm.v20170312 import cvm_client, models

from witness import Berth, Server, done, machine, ok, own_folder

SEED = int(os.environ.get("WITNESS_SEED", "20261130"))
ID, SECRET, TOKEN = "AKIDwitness0000000000", "s3cr+t /=", "tok/en+=="
REGIONS = ["ap-guangzhou", "eu-frankfurt"]
PLAIN = {"Content-Type": "application/json"}		# the client looks for refusals under this type alone
rng = random.Random(SEED)
faults = []
refuse_with = {}		# action: code of the next answer
verified = {"berth": 0, "client": 0}


def make(cls, **fields):
    m = getattr(models, cls)()
    for k, v in fields.items():
        assert hasattr(m, k), f"{cls} has no {k}"
        setattr(m, k, v)
    return m


# --- a cloud out of the client's classes -----------------------------------------------------------------------------
FAMILIES = {"GN7": "NVIDIA T4", "GN10Xp": "NVIDIA Tesla V100", "PNV4": "NVIDIA A10", "GT4": "", "S5": None}
TYPES = [(f"{family}.{n}XLARGE{n * 8}", family, n, gpus)
         for family in FAMILIES for n, gpus in ((2, 0.25), (4, 1), (10, 2), (20, 8))]
CHARGES = ["POSTPAID_BY_HOUR", "SPOTPAID", "PREPAID"]


def type_configs(region):
    return [make("InstanceTypeConfig", Zone=f"{region}-{z}", InstanceType=name, InstanceFamily=family, CPU=n * 4, Memory=n * 8,
                 GPU=0 if FAMILIES[family] is None else max(1, int(gpus)), GpuCount=0 if FAMILIES[family] is None else gpus,
                 GpuType=FAMILIES[family], FPGA=0)
            for z in (3, 6) for name, family, n, gpus in TYPES]


def price(charge):
    base = rng.randrange(100, 90000) / 100
    if charge == "PREPAID":
        return make("ItemPrice", OriginalPrice=base * 500, DiscountPrice=round(base * 450, 2), Discount=90.0,
                    OriginalPriceOneYear=base * 5000, DiscountPriceOneYear=rng.choice([None, round(base * 4000, 2)]),
                    OriginalPriceThreeYear=rng.choice([None, base * 12000]))
    return make("ItemPrice", UnitPrice=base, ChargeUnit=rng.choice(["HOUR"] * 9 + ["GB"]), Discount=80.0,
                UnitPriceDiscount=rng.choice([None, round(base * 0.8, 2)]), UnitPriceDiscountSecondStep=round(base * 0.6, 2),
                UnitPriceDiscountThirdStep=round(base * 0.4, 2))


def quota_items(region, charge):
    return [make("InstanceTypeQuotaItem", Zone=f"{region}-{z}", InstanceType=name, InstanceChargeType=charge, InstanceFamily=family,
                 Cpu=n * 4, Memory=n * 8, Gpu=0 if FAMILIES[family] is None else max(1, int(gpus)),
                 GpuCount=0 if FAMILIES[family] is None else gpus, Fpga=0, TypeName="x",
                 Status=rng.choice(["SELL", "SELL", "SOLD_OUT"]), Price=price(charge),
                 StatusCategory=rng.choice(["EnoughStock", "NormalStock", "UnderStock", "WithoutStock"]))
            for z in (3, 6) for name, family, n, gpus in TYPES]


CONFIGS = {r: type_configs(r) for r in REGIONS}
ITEMS = {(r, c): quota_items(r, c) for r in REGIONS for c in CHARGES}
STATES = ["PENDING", "LAUNCH_FAILED", "RUNNING", "STOPPED", "STARTING", "STOPPING", "REBOOTING", "SHUTDOWN", "TERMINATING"]


def instance(region, i):
    return make("Instance", InstanceId=f"ins-{region[:2]}{i:04d}", InstanceType=rng.choice(TYPES)[0],
                Placement=make("Placement", Zone=f"{region}-{rng.choice((3, 6))}", ProjectId=0), InstanceName=f"m {i} \u00e9\u4e91",
                InstanceChargeType=rng.choice(["SPOTPAID", "POSTPAID_BY_HOUR"]), InstanceState=rng.choice(STATES),
                CreatedTime=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(1795000000 + rng.randrange(10 ** 6))),
                PublicIpAddresses=rng.choice([None, [], [f"192.0.2.{i % 250}"]]), PrivateIpAddresses=[f"10.0.0.{i % 250}"],
                LatestOperationErrorMsg=rng.choice([None, "", "ResourceInsufficient.SpecifiedInstanceType"]),
                Tags=[make("Tag", Key="team", Value="x"), make("Tag", Key="berth-installation", Value=rng.choice(["inst"] * 4 + ["other"])),
                      make("Tag", Key="berth-token", Value=f"tok-{i}")], GPUInfo=make("GPUInfo", GPUCount=0.5, GPUType="T4"))


FLEET = {r: [instance(r, i) for i in range(n)] for r, n in zip(REGIONS, (230, 3))}
QUOTAS = {r: make("AccountQuotaOverview", Region=r, AccountQuota=make(
    "AccountQuota", PostPaidQuotaSet=[make("PostPaidQuota", Zone=f"{r}-{z}", TotalQuota=rng.randrange(900), UsedQuota=rng.randrange(9),
                                           RemainingQuota=1) for z in (3, 6)],
    SpotPaidQuotaSet=[make("SpotPaidQuota", Zone=f"{r}-3", TotalQuota=rng.randrange(900), UsedQuota=0, RemainingQuota=1)]))
    for r in REGIONS}


def tags_of(m):
    return {t.Key: t.Value for t in m.Tags}


def describe_instances(region, body):
    if "InstanceIds" in body:
        found = [m for m in FLEET[region] if m.InstanceId in body["InstanceIds"]]
    else:
        wanted = {f["Name"]: f["Values"] for f in body.get("Filters", [])}
        found = [m for m in FLEET[region] if all(tags_of(m).get(n[4:]) in v for n, v in wanted.items() if n.startswith("tag:"))]
    at, n = body.get("Offset", 0), body.get("Limit", 20)
    return make("DescribeInstancesResponse", TotalCount=len(found), InstanceSet=found[at:at + n], RequestId="r")


def answer(action, region, body):
    if action == "DescribeInstanceTypeConfigs":
        return make("DescribeInstanceTypeConfigsResponse", InstanceTypeConfigSet=CONFIGS[region], RequestId="r")
    if action == "DescribeZoneInstanceConfigInfos":
        charge = body["Filters"][0]["Values"][0]
        return make("DescribeZoneInstanceConfigInfosResponse", InstanceTypeQuotaSet=ITEMS[region, charge], RequestId="r")
    if action == "DescribeAccountQuota":
        return make("DescribeAccountQuotaResponse", AppId=1, AccountQuotaOverview=QUOTAS[region], RequestId="r")
    if action == "DescribeInstances":
        return describe_instances(region, body)
    if action == "RunInstances":
        return make("RunInstancesResponse", InstanceIdSet=None if body.get("DryRun") else ["ins-new00001"], RequestId="r")
    return make("TerminateInstancesResponse", RequestId="r")


def verify(call):
    """The client's own signer over what came."""
    h = call.headers
    date = time.strftime("%Y-%m-%d", time.gmtime(int(h["X-TC-Timestamp"])))
    req = types.SimpleNamespace(uri=call.path, data=call.raw.decode(), method=call.method, header=h)
    want = AbstractClient._get_tc3_signature(None, None, req, date, "cvm", SECRET)
    return h["Authorization"] == (f"TC3-HMAC-SHA256 Credential={ID}/{date}/cvm/tc3_request, "
                                  f"SignedHeaders=content-type;host, Signature={want}")


def body_faults(action, body):
    """What the request class does not know of a body: it is lost on the way through."""
    m = getattr(models, action + "Request")()
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        m._deserialize(body)
    out = [str(w.message) for w in seen]
    return out + ([] if m._serialize() == body else [f"{json.dumps(body)} comes back as {m.to_json_string()}"])


def error(code):
    return 200, {"Response": {"Error": {"Code": code, "Message": f"the words for {code}"}, "RequestId": "r"}}, PLAIN


def app(call):
    action, region = call.headers.get("X-TC-Action"), call.headers.get("X-TC-Region")
    if call.method != "POST" or call.path != "/" or call.headers.get("X-TC-Version") != "2017-03-12" or region not in REGIONS:
        faults.append(f"{call.who}: {call.method} {call.path} {action} {region}")
        return error("InvalidParameter")
    if abs(time.time() - int(call.headers["X-TC-Timestamp"])) > 300:
        return error("AuthFailure.SignatureExpire")
    if not verify(call) or call.headers.get("X-TC-Token") != TOKEN:
        faults.append(f"{call.who}: the signature of {action} is wrong")
        return error("AuthFailure.SignatureFailure")
    verified[call.who] += 1
    wrong = body_faults(action, call.body)
    faults.extend(f"{call.who}: {action}: {w}" for w in wrong)
    if wrong:
        return error("InvalidParameter")
    if action in refuse_with:
        return error(refuse_with.pop(action))
    return 200, {"Response": answer(action, region, call.body)._serialize(allow_none=True)}, PLAIN


folder = own_folder()
server = Server(folder, app)
for name, text in (("id", ID), ("secret", SECRET), ("token", TOKEN)):
    with open(os.path.join(folder, name), "w") as f:
        f.write(text + "\n")
section = {"name": "t", "provider": "tencent", "secret_id": "file:" + os.path.join(folder, "id"),
           "secret_key": "file:" + os.path.join(folder, "secret"), "session_token": "file:" + os.path.join(folder, "token"),
           "regions": REGIONS, "currency": "CNY", "image": "img-1", "vpc": "vpc-1", "security_groups": ["sg-1", "sg-2"],
           "subnets": ["ap-guangzhou-3=subnet-3", "ap-guangzhou-6=subnet-6", "eu-frankfurt-3=subnet-f"], "ssh_keys": "skey-1",
           "spot_max_price": "12.5", "endpoint": server.base, "ca_file": server.cert, "timeout": "20s"}
berth = Berth(server, folder, section)
server.who = "client"


def client(region):
    http = HttpProfile(endpoint=server.base.removeprefix("https://"), certification=server.cert, reqTimeout=20)
    profile = ClientProfile(httpProfile=http, language="en-US")
    profile.disable_region_breaker = True
    return cvm_client.CvmClient(credential.Credential(ID, SECRET, TOKEN), region, profile)


CLIENTS = {r: client(r) for r in REGIONS}


def ask(region, action, body):
    """The same call by the client, from the class of its request."""
    request = getattr(models, action + "Request")()
    request._deserialize(body)
    return getattr(CLIENTS[region], action)(request)


def seen(call):
    head = {k: call.headers.get(k) for k in ("X-TC-Action", "X-TC-Version", "X-TC-Region", "X-TC-Language", "X-TC-Token", "Host",
                                             "Content-Type")}
    return {"method": call.method, "path": call.path, "query": call.query, "body": call.body, **head,
            "authorization": call.headers["Authorization"].split("Signature=")[0]}


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
want = []
for r in REGIONS:
    cards = {t.InstanceType: t for t in ask(r, "DescribeInstanceTypeConfigs", {}).InstanceTypeConfigSet}
    for charge in CHARGES:
        for q in ask(r, "DescribeZoneInstanceConfigInfos",
                     {"Filters": [{"Name": "instance-charge-type", "Values": [charge]}]}).InstanceTypeQuotaSet:
            if not q.GpuCount:
                continue
            room = "no" if q.Status == "SOLD_OUT" or q.StatusCategory == "WithoutStock" else "yes"
            row = (r, q.Zone, q.InstanceType, max(1, int(q.GpuCount)), float(q.Cpu), float(q.Memory), room)
            p = q.Price
            first = (lambda *v: next(x for x in v if x is not None))
            if charge != "PREPAID":
                hour = first(p.UnitPriceDiscount, p.UnitPrice)
                want.append(row + ("spot" if charge == "SPOTPAID" else "on_demand", 0, 0.0,
                                   round(hour, 6) if p.ChargeUnit == "HOUR" else None))
                continue
            for months, paid, listed in ((1, p.DiscountPrice, p.OriginalPrice), (12, p.DiscountPriceOneYear, p.OriginalPriceOneYear),
                                         (36, p.DiscountPriceThreeYear, p.OriginalPriceThreeYear)):
                if paid is not None or listed is not None:
                    want.append(row + ("reserved", months, round(first(paid, listed), 6), 0.0))
got = [(o["region"], o["zone"], o["instance_type"], o["count"], o["vcpus"], o["memory_gib"], o["available"], o["purchase"],
        o["term_months"], float(o["upfront"]), None if o["price"] is None else float(o["price"])) for o in offers]
key = (lambda x: json.dumps(x))
ok(sorted(got, key=key) == sorted(want, key=key), f"{len(want)} offers: places, counts, room, terms and prices as the client reads them",
   [x for x in got if x not in want][:5], [x for x in want if x not in got][:5])
ok(all(o["currency"] == "CNY" for o in offers), "in the account's currency")
names = {o["instance_type"]: o["accelerator"] for o in offers}
ok(names.get("GN7.2XLARGE16") == "T4-4Q" and names.get("GN7.4XLARGE32") == "T4" and names.get("GT4.20XLARGE160") == "A100-SXM4-40GB" and
   names.get("PNV4.2XLARGE16") == "A10-6Q", "parts and whole cards by name", names)
same("offers")

# --- quota -----------------------------------------------------------------------------------------------------------
rc, lines = berth.call("quota")
want = []
for r in REGIONS:
    q = ask(r, "DescribeAccountQuota", {"Filters": [{"Name": "quota-type", "Values": ["PostPaidQuotaSet", "SpotPaidQuotaSet"]}]})
    q = q.AccountQuotaOverview.AccountQuota
    want += [f"{r}|PostPaidQuotaSet {x.Zone}|machine|{x.TotalQuota}|{x.UsedQuota}" for x in q.PostPaidQuotaSet]
    want += [f"{r}|SpotPaidQuotaSet {x.Zone}|vcpu|{x.TotalQuota}|{x.UsedQuota}" for x in q.SpotPaidQuotaSet]
ok(rc == 0 and lines == want, "quotas as the client reads them", lines, want)
same("quota")

# --- machines --------------------------------------------------------------------------------------------------------
STATE = {"PENDING": "pending", "STARTING": "pending", "REBOOTING": "pending", "RUNNING": "ready", "LAUNCH_FAILED": "failed",
         "STOPPED": "failed", "STOPPING": "ending", "SHUTDOWN": "ending", "TERMINATING": "ending"}


def read(m, region):
    why = "" if STATE[m.InstanceState] != "failed" else "no_capacity" if m.LatestOperationErrorMsg else "failed"
    return {"ref": f"{region}/{m.InstanceId}", "token": tags_of(m)["berth-token"], "installation": tags_of(m)["berth-installation"],
            "state": STATE[m.InstanceState], "instance_type": m.InstanceType, "region": region, "zone": m.Placement.Zone,
            "address": (m.PublicIpAddresses or m.PrivateIpAddresses)[0], "created": calendar(m.CreatedTime), "why": why,
            "purchase": "spot" if m.InstanceChargeType == "SPOTPAID" else "on_demand",
            "detail": m.LatestOperationErrorMsg or m.InstanceState}


def calendar(text):
    import calendar as c
    return c.timegm(time.strptime(text, "%Y-%m-%dT%H:%M:%SZ"))


def fields(line, like):
    m = json.loads(line)
    return {k: m[k] for k in like}


rc, lines = berth.call("list")
want = []
for r in REGIONS:
    at, total = 0, 1
    while at < total:
        page = ask(r, "DescribeInstances", {"Filters": [{"Name": "tag:berth-installation", "Values": ["inst"]}], "Offset": at, "Limit": 100})
        want += [read(m, r) for m in page.InstanceSet]
        at, total = at + len(page.InstanceSet), page.TotalCount
got = [fields(x, want[0]) for x in lines] if rc == 0 else []
ok(got == want and len(want) > 100, f"{len(want)} machines of ours as the client reads them",
   next(({"berth": a, "client": b} for a, b in zip(got, want) if a != b), lines[:3]), berth.err)
same("list, page by page")

one = next(m for m in FLEET["eu-frankfurt"] if tags_of(m)["berth-installation"] == "inst")
rc, lines = berth.call("status", "eu-frankfurt/" + one.InstanceId)
m = ask("eu-frankfurt", "DescribeInstances", {"InstanceIds": [one.InstanceId]}).InstanceSet[0]
ok(rc == 0 and fields(lines[0], want[0]) == read(m, "eu-frankfurt"), "status of one", lines)
same("status")
rc, lines = berth.call("status", "eu-frankfurt/ins-nobody")
ok("error not_found" in lines[0], "one that is gone", lines)
server.clear()
rc, lines = berth.call("destroy", "eu-frankfurt/" + one.InstanceId)
ask("eu-frankfurt", "DescribeInstances", {"InstanceIds": [one.InstanceId]})		# whose it is, before it is ended
ask("eu-frankfurt", "TerminateInstances", {"InstanceIds": [one.InstanceId]})
ok(rc == 0 and json.loads(lines[0])["state"] == "ending", "its end", lines)
same("end")
del os.environ["PROV_JSON"]

for purchase in ("on_demand", "spot"):
    os.environ["PROV_USER_DATA"] = "#!/bin/sh\n"
    rc, lines = berth.call("launch", "tok-9", "ap-guangzhou", "ap-guangzhou-6", "GN7.4XLARGE32", purchase)
    del os.environ["PROV_USER_DATA"]
    body = {"InstanceChargeType": "SPOTPAID" if purchase == "spot" else "POSTPAID_BY_HOUR", "Placement": {"Zone": "ap-guangzhou-6"},
            "InstanceType": "GN7.4XLARGE32", "ImageId": "img-1", "SystemDisk": {"DiskType": "CLOUD_PREMIUM", "DiskSize": 100},
            "VirtualPrivateCloud": {"VpcId": "vpc-1", "SubnetId": "subnet-6"}, "InstanceCount": 1, "SecurityGroupIds": ["sg-1", "sg-2"],
            "InternetAccessible": {"InternetChargeType": "TRAFFIC_POSTPAID_BY_HOUR", "InternetMaxBandwidthOut": 10, "PublicIpAssigned": True},
            "InstanceName": "berth-inst-tok-9", "LoginSettings": {"KeyIds": ["skey-1"]}, "ClientToken": "tok-9",
            "TagSpecification": [{"ResourceType": "instance", "Tags": [{"Key": "berth-installation", "Value": "inst"},
                                                                       {"Key": "berth-token", "Value": "tok-9"}]}],
            "UserData": "IyEvYmluL3NoCg=="}
    if purchase == "spot":
        body["InstanceMarketOptions"] = {"MarketType": "spot", "SpotOptions": {"MaxPrice": "12.5", "SpotInstanceType": "one-time"}}
    ids = ask("ap-guangzhou", "RunInstances", body).InstanceIdSet
    ok(rc == 0 and machine(lines[0])["ref"] == "ap-guangzhou/" + ids[0], f"a machine, {purchase}", lines)
    same(f"create, {purchase}")
rc, lines = berth.call("check")
asked = server.of("berth")[0].body
ask("ap-guangzhou", "RunInstances", asked)
ok(rc == 0 and lines == ["cvm:RunInstances|ok|"] and asked["DryRun"] is True, "doctor asks by a dry run", lines, asked)
same("dry run")

# --- refusals --------------------------------------------------------------------------------------------------------
for code, word in (("ResourceInsufficient.SpecifiedInstanceType", "no_capacity"), ("LimitExceeded.UserSpotQuota", "quota"),
                   ("UnauthorizedOperation.PermissionDenied", "auth"), ("InvalidParameterValue.InsufficientPrice", "no_capacity")):
    refuse_with["RunInstances"] = code
    rc, lines = berth.call("launch", "tok-9", "ap-guangzhou", "ap-guangzhou-6", "GN7.4XLARGE32", "on_demand")
    refuse_with["RunInstances"] = code
    try:
        ask("ap-guangzhou", "RunInstances", body)
        theirs = None
    except TencentCloudSDKException as e:
        theirs = e.get_code()
    ok(lines[0].startswith(f"error {word} ") and code in lines[0] and theirs == code, f"{code} within a 200 is {word}", lines, theirs)
server.clear()
os.environ["PROV_NOW"] = str(int(time.time()) - 1200)
rc, lines = berth.call("quota")
del os.environ["PROV_NOW"]
ok(rc == 0 and len(server.of("berth")) == 1 + len(REGIONS), "a clock 20 minutes off is corrected once", lines)
ok(verified["berth"] > 20 and verified["client"] > 20, f"the client's signer verified {verified['berth']} signatures of berth's")
ok(not faults, "no request, berth's or the client's, is against the client's classes", "\n".join(faults))
done()
