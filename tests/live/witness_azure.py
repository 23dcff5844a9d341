"""Azure: berth beside azure-mgmt-compute and azure-identity.

The server checks the body of each machine, berth's and the client's, against the client's model classes, and answers
with objects that those classes build.
"""
import datetime
import enum
import itertools
import json
import os
import random
import re
import types
import typing

from azure.core.exceptions import HttpResponseError
from azure.identity import ClientSecretCredential, ManagedIdentityCredential
from azure.mgmt.compute import ComputeManagementClient, models
from azure.mgmt.compute._utils.model_base import SdkJSONEncoder
from azure.mgmt.compute.models import _models

from witness import Berth, Server, compare, done, machine, ok, own_folder

SEED = int(os.environ.get("WITNESS_SEED", "20261130"))
SUB, GROUP, TENANT, CLIENT, SECRET = "00000000-0000-4000-8000-000000000001", "rg-1", "00000000-0000-4000-8000-00000000000a", "app-1", "s3cr+t /="
API = "2024-07-01"
rng = random.Random(SEED)
faults = []


def hints(cls):
    scope = dict(vars(_models), _models=models, datetime=datetime, Union=typing.Union, Optional=typing.Optional, Any=typing.Any,
                 Literal=typing.Literal)
    out = {}
    for base in reversed(cls.__mro__):
        for attr, text in getattr(base, "__annotations__", {}).items():
            if attr[0] != "_":
                out[attr] = eval(text, scope) if isinstance(text, str) else text
    return out


def check(v, want, where):
    """What of a JSON value the class (or annotation) does not know. Forward references are resolved as the module has them."""
    origin = typing.get_origin(want)
    if isinstance(want, typing.ForwardRef):
        want = eval(want.__forward_arg__, dict(vars(_models), _models=models))
    if isinstance(want, str):
        want = eval(want, dict(vars(_models), _models=models, Union=typing.Union))
        origin = typing.get_origin(want)
    if origin in (typing.Union, types.UnionType):
        every = [check(v, w, where) for w in typing.get_args(want) if w is not type(None)]
        return min(every, key=len)
    if want is typing.Any:
        return []
    if origin is list:
        if not isinstance(v, list):
            return [f"{where} is no list"]
        return [f for i, x in enumerate(v) for f in check(x, typing.get_args(want)[0], f"{where}[{i}]")]
    if origin is dict:
        return [] if isinstance(v, dict) and all(isinstance(x, str) for x in v.values()) else [f"{where} is no map of strings"]
    if origin is typing.Literal:
        return [] if v in typing.get_args(want) else [f"{where}: {v!r} is not literal"]
    if isinstance(want, type) and issubclass(want, enum.Enum):
        return [] if v in [e.value for e in want] else [f"{where}: {v!r} is no {want.__name__}", "and no known value"]
    if want in (str, int, bool, float):
        fine = isinstance(v, want) and not (want is int and isinstance(v, bool)) or (want is float and isinstance(v, int))
        return [] if fine else [f"{where}: {v!r} is no {want.__name__}"]
    if hasattr(want, "__mro__") and hasattr(want, "_build_xml_field_plan") or hasattr(want, "as_dict"):
        return check_model(v, want, where)
    return []


def check_model(v, cls, where):
    if not isinstance(v, dict):
        return [f"{where} is no {cls.__name__}"]
    known = {}
    cls()			# the class learns its fields when it is first made
    for attr, want in hints(cls).items():
        field = cls._attr_to_rest_field.get(attr)
        if field is not None:
            known[field._rest_name] = (want, field._visibility)
    out = []
    for k, x in v.items():
        if k not in known:
            out.append(f"{where}.{k} is no field of {cls.__name__}")
        elif known[k][1] == ["read"]:
            out.append(f"{where}.{k} is the server's to set")
        else:
            out += check(x, known[k][0], f"{where}.{k}")
    return out


def as_json(model):
    return json.loads(json.dumps(model, cls=SdkJSONEncoder, exclude_readonly=False))


def vm_of(name, size, location, tags, provisioning, power, priority, zone, error):
    statuses = [models.InstanceViewStatus(code=f"ProvisioningState/{provisioning.lower()}" + (f"/{error}" if error else ""),
                                          level="Info", message="text" if error else None)]
    if power:
        statuses.append(models.InstanceViewStatus(code=f"PowerState/{power}", level="Info"))
    m = models.VirtualMachine(location=location, tags=tags, zones=[zone] if zone else None, properties=models.VirtualMachineProperties(
        hardware_profile=models.HardwareProfile(vm_size=size), priority=priority,
        os_profile=models.OSProfile(computer_name=name, admin_username="berth"),
        storage_profile=models.StorageProfile(os_disk=models.OSDisk(create_option="FromImage", disk_size_gb=128))))
    out = as_json(m)
    out.update(name=name, id=f"/subscriptions/{SUB}/resourceGroups/{GROUP}/providers/Microsoft.Compute/virtualMachines/{name}",
               type="Microsoft.Compute/virtualMachines")
    out["properties"].update(provisioningState=provisioning, timeCreated="2026-11-29T01:02:03.4567891+00:00",
                             instanceView=as_json(models.VirtualMachineInstanceView(statuses=statuses)))
    return out


def all_vms():
    out = []
    powers = ["", "starting", "running", "stopping", "stopped", "deallocating", "deallocated"]
    for i, (provisioning, power, priority) in enumerate(itertools.product(
            ["Creating", "Updating", "Succeeded", "Failed", "Deleting"], powers, [None, "Regular", "Spot", "Low"])):
        error = rng.choice(["AllocationFailed", "ZonalAllocationFailed", "OperationNotAllowed", ""]) if provisioning == "Failed" else ""
        out.append(vm_of(f"berth-inst-t{i}", rng.choice(["Standard_NC24ads_A100_v4", "Standard_ND96isr_H100_v5"]), "eastus",
                         {"berth-installation": rng.choice(["inst", "inst", "other"]), "berth-token": f"t{i}"}, provisioning, power,
                         priority, rng.choice(["", "1", "3"]), error))
    return out


VMS = all_vms()
SKUS = []
for size, cpus, gib, gpus, spot, limits in (
        ("Standard_NC24ads_A100_v4", 24, 220, 1, "True", []), ("Standard_ND96isr_H100_v5", 96, 1900, 8, "False", []),
        ("Standard_NC4as_T4_v3", 4, 28, 1, "True", ["Location"]), ("Standard_NC64as_T4_v3", 64, 440, 4, "True", ["Zone"]),
        ("Standard_D4s_v5", 4, 16, 0, "True", [])):
    sku = models.ResourceSku()
    sku.update({"resourceType": "virtualMachines", "name": size, "family": "f", "locations": ["eastus"], "capabilities": [
        {"name": n, "value": str(v)} for n, v in (("vCPUs", cpus), ("MemoryGB", gib), ("GPUs", gpus), ("LowPriorityCapable", spot))],
        "restrictions": [{"type": t, "values": ["eastus"], "reasonCode": "NotAvailableForSubscription"} for t in limits]})
    SKUS.append(as_json(sku))
USAGES = []
for n, (name, used, limit) in enumerate((("cores", 10, 350), ("lowPriorityCores", 4, 100), ("StandardNCADSA100v4Family", 24, 96),
                                         ("Standard NCASv3_T4 Family", 0, 64), ("standardDSv5Family", 1, 2))):
    usage = models.Usage(current_value=used, limit=limit, name=models.UsageName(value=name, localized_value=name))
    USAGES.append(as_json(usage))


def meter(size, price, kind="Consumption", **more):
    words = size.replace("Standard_", "").replace("_", " ")
    return {"currencyCode": "USD", "tierMinimumUnits": 0.0, "retailPrice": price, "unitPrice": price, "armRegionName": "eastus",
            "location": "US East", "effectiveStartDate": "2026-01-01T00:00:00Z", "meterName": words + more.pop("suffix", ""),
            "productName": "Virtual Machines Series" + more.pop("product", ""), "skuName": words, "serviceName": "Virtual Machines",
            "unitOfMeasure": "1 Hour", "type": kind, "isPrimaryMeterRegion": True, "armSkuName": size, **more}


METERS = [m for size, usd in (("Standard_NC24ads_A100_v4", 3.673), ("Standard_ND96isr_H100_v5", 98.32), ("Standard_NC4as_T4_v3", 0.526),
                              ("Standard_NC64as_T4_v3", 4.352), ("Standard_NC6s_v3", 3.06), ("Standard_D4s_v5", 0.19))
          for m in (meter(size, usd), meter(size, round(usd / 4, 6), suffix=" Spot"), meter(size, round(usd * 1.3, 6), product=" Windows"),
                    meter(size, round(usd / 5, 6), suffix=" Low Priority"))]


def pages(call, rows, size, link):
    skip = int(call.arg("$skiptoken") or call.arg("$skip") or 0)
    out = {"value": rows[skip:skip + size]}
    if skip + size < len(rows):
        out["nextLink"] = link(skip + size)
    return out


def arm(call):
    base = f"/subscriptions/{SUB}/resourceGroups/{GROUP}/providers/"
    here = lambda n: f"{server.base}{call.path}?" + "&".join(f"{k}={v}" for k, v in call.query if not k.startswith("$skip")) + f"&$skiptoken={n}"
    if call.path == "/providers/Microsoft.ResourceGraph/resources":
        return 200, {"totalRecords": 0, "count": 0, "data": [], "resultTruncated": "false"}, {}
    if call.path == f"/subscriptions/{SUB}/providers/Microsoft.Compute/skus":
        return 200, pages(call, SKUS, 3, here), {}
    if call.path == f"/subscriptions/{SUB}/providers/Microsoft.Compute/locations/eastus/usages":
        return 200, pages(call, USAGES, 2, here), {}
    if call.path in (base + "Microsoft.Network/publicIPAddresses", base + "Microsoft.Network/networkInterfaces"):
        return 200, {"value": [] if "public" in call.path else [{"properties": {
            "virtualMachine": {"id": v["id"].upper()}, "ipConfigurations": [{"properties": {"privateIPAddress": f"10.0.{i // 250}.{i % 250}"}}]}}
            for i, v in enumerate(VMS)]}, {}
    if call.path == base + "Microsoft.Compute/virtualMachines":
        return 200, pages(call, VMS, 50, here), {}
    m = re.fullmatch(re.escape(base) + r"Microsoft\.Compute/virtualMachines/([^/]+)", call.path)
    if m is None:
        faults.append(f"{call.who}: {call.method} {call.path}")
        return 404, {"error": {"code": "NotFound", "message": "no such path"}}, {}
    vm = next((v for v in VMS if v["name"] == m.group(1)), None)
    if call.method == "PUT":
        wrong = check_model(call.body, models.VirtualMachine, "$")
        faults.extend(f"{call.who}: {w}" for w in wrong)
        if wrong:
            return 400, {"error": {"code": "InvalidRequestContent", "message": "; ".join(wrong)}}, {}
        answer = as_json(models.VirtualMachine(call.body))
        answer.update(name=m.group(1), id=call.path)
        answer["properties"]["provisioningState"] = "Creating"
        return 201, answer, {}
    if vm is None:
        return (204, None, {}) if call.method == "DELETE" else (404, {"error": {"code": "ResourceNotFound", "message": "no"}}, {})
    return (202, None, {}) if call.method == "DELETE" else (200, vm, {})


def app(call):
    if call.path.endswith("/.well-known/openid-configuration"):
        return 200, {"issuer": f"{server.base}/{TENANT}/v2.0", "token_endpoint": f"{server.base}/{TENANT}/oauth2/v2.0/token",
                     "authorization_endpoint": f"{server.base}/{TENANT}/oauth2/v2.0/authorize"}, {}
    if call.path == f"/{TENANT}/oauth2/v2.0/token":
        fine = call.body.get("client_id") == CLIENT and call.body.get("client_secret") == SECRET
        return (200, {"token_type": "Bearer", "expires_in": 3599, "ext_expires_in": 3599, "access_token": "ey.witness"}, {}) if fine else \
            (401, {"error": "invalid_client", "error_description": "AADSTS7000215: wrong"}, {})
    if call.path == "/api/retail/prices":
        if call.headers.get("Authorization"):
            faults.append("a token on its way to the price list")
        skip = int(call.arg("$skip") or 0)
        more = f"{server.base}{call.path}?$skip={skip + 7}" if skip + 7 < len(METERS) else None
        return 200, {"BillingCurrency": "USD", "Items": METERS[skip:skip + 7], "NextPageLink": more, "Count": 7}, {}
    if call.headers.get("Authorization") != "Bearer ey.witness":
        return 401, {"error": {"code": "InvalidAuthenticationToken", "message": "no"}}, {}
    return arm(call)


folder = own_folder()
server = Server(folder, app)
with open(os.path.join(folder, "secret"), "w") as f:
    f.write(SECRET + "\n")
SUBNET, KEY = f"/subscriptions/{SUB}/resourceGroups/net/providers/Microsoft.Network/virtualNetworks/v/subnets/s", "ssh-ed25519 AAAA me"
account = {"name": "z", "provider": "azure", "locations": ["eastus"], "subscription": SUB, "resource_group": GROUP, "tenant": TENANT,
           "client_id": CLIENT, "client_secret": "file:" + os.path.join(folder, "secret"), "image": "pub:off:sku:latest", "ssh_key": KEY,
           "subnet": SUBNET, "endpoint": server.base, "login_endpoint": server.base, "prices_endpoint": server.base,
           "ca_file": server.cert, "timeout": "20s"}
berth = Berth(server, folder, account)
server.who = "client"
credential = ClientSecretCredential(TENANT, CLIENT, SECRET, authority=server.base, disable_instance_discovery=True,
                                    connection_verify=server.cert)
client = ComputeManagementClient(credential, SUB, base_url=server.base, credential_scopes=[server.base + "/.default"],
                                 connection_verify=server.cert, retry_total=0)

# --- sizes and quotas -----------------------------------------------------------------------------------------------
rc, lines = berth.call("offers")
ok(rc == 0, "berth lists offers", "\n".join(lines[:5]), berth.err)
skus = list(client.resource_skus.list(filter="location eq 'eastus'"))
for last in (False, True):
    compare(server, f"sizes, {'last' if last else 'first'} page", "GET", "Microsoft.Compute/skus", last=last)
price = {}
for m in METERS:
    if "Windows" not in m["productName"] and "Low Priority" not in m["meterName"]:
        price[m["armSkuName"], "spot" if m["meterName"].endswith(" Spot") else "on_demand"] = m["retailPrice"]
want = set()
for s in skus:
    have = {c.name: c.value for c in s.capabilities}
    if int(have["GPUs"]) == 0:
        continue
    barred = any(r.type == "Location" for r in s.restrictions or [])
    for word in ("on_demand", "spot"):
        if word == "on_demand" or have["LowPriorityCapable"] == "True":
            want.add((s.name, int(have["GPUs"]), word, f"{price[s.name, word]:.4f}", "no" if barred else "unknown", float(have["vCPUs"]),
                      float(have["MemoryGB"])))
have = set()
for line in lines:
    f = line.split()
    n = next(i for i, w in enumerate(f) if re.fullmatch(r"x\d+", w))
    have.add((f[2], int(f[n][1:]), f[n + 1], f[n + 2], f[n + 3], float(f[n + 4]), float(f[n + 5])))
plain = {h for h in have if float(h[3]) in {round(p, 4) for p in price.values()}}
with_windows = len({w[0] for w in want})
ok(plain == want and len(have) == len(want) + with_windows, f"{len(want)} offers of what the client sees in the region, and Windows apart",
   {"only berth": sorted(map(str, plain - want)), "only client": sorted(map(str, want - plain)), "all": len(have)})
rc, lines = berth.call("quota")
usages = list(client.usage.list("eastus", api_version=API))
for last in (False, True):
    compare(server, f"usages, {'last' if last else 'first'} page", "GET", "/usages", last=last)
want = {(u.name.value, float(u.limit), float(u.current_value)) for u in usages if "DSv5" not in u.name.value}
have = {(f[1], float(f[3]), float(f[4])) for f in (line.split("|") for line in lines)}
ok(rc == 0 and have == want, f"{len(want)} quotas as the client reads them", sorted(map(str, have ^ want)))

# --- machines -------------------------------------------------------------------------------------------------------
server.clear()
rc, lines = berth.call("list")
vms = list(client.virtual_machines.list(GROUP, expand="instanceView", api_version=API))
for last in (False, True):
    compare(server, f"machines, {'last' if last else 'first'} page", "GET", "Microsoft.Compute/virtualMachines", last=last)
WHY = {"AllocationFailed": "no_capacity", "ZonalAllocationFailed": "no_capacity"}
want, have = {}, {machine(line)["ref"]: machine(line) for line in lines}
for i, v in enumerate(vms):
    if (v.tags or {}).get("berth-installation") != "inst":
        continue
    codes = [s.code for s in v.properties.instance_view.statuses]
    power = next((c.split("/")[1] for c in codes if c.startswith("PowerState/")), "")
    provisioning = v.properties.provisioning_state
    spot = v.properties.priority in ("Spot", "Low")
    state = "ending" if provisioning == "Deleting" else "failed" if provisioning == "Failed" else \
        {"running": "pending" if provisioning == "Creating" else "ready", "": "pending", "starting": "pending"}.get(power, "failed")
    want[v.name] = {"token": v.tags["berth-token"], "state": state, "zone": (v.zones or ["-"])[0], "type": v.properties.hardware_profile.vm_size,
                    "purchase": "spot" if spot else "on_demand", "address": f"10.0.{i // 250}.{i % 250}",
                    "preempted": state == "failed" and spot and power.startswith("dealloc")}
    failed = next((c.split("/")[2] for c in codes if c.count("/") == 2), "")
    if failed in WHY:
        want[v.name]["why"] = WHY[failed]
got = {ref: {k: m[k] for k in want[ref]} for ref, m in have.items() if ref in want}
ok(rc == 0 and got == want and len(have) == len(want), f"{len(want)} machines in every pair of states, as the client reads them",
   {k: [got.get(k), want[k]] for k in want if got.get(k) != want[k]})

# --- one machine's life ---------------------------------------------------------------------------------------------
token = "0123456789abcdef0123456789abcdef"
name = f"berth-inst-{token}"
for size, purchase in (("Standard_NC24ads_A100_v4", "spot"), ("Standard_ND96isr_H100_v5", "on_demand")):
    server.clear()
    rc, lines = berth.call("create", token, "-", size, purchase)
    ok(rc == 0 and lines and machine(lines[0])["ref"] == name and machine(lines[0])["state"] == "pending", f"berth makes a {size}", lines,
       berth.err)
    spot = {"priority": "Spot", "eviction_policy": "Delete", "billing_profile": models.BillingProfile(max_price=-1)} if purchase == "spot" else {}
    body = models.VirtualMachine(
        location="eastus", tags={"berth-installation": "inst", "berth-token": token}, properties=models.VirtualMachineProperties(
            hardware_profile=models.HardwareProfile(vm_size=size),
            storage_profile=models.StorageProfile(
                image_reference=models.ImageReference(publisher="pub", offer="off", sku="sku", version="latest"),
                os_disk=models.OSDisk(create_option="FromImage", delete_option="Delete", disk_size_gb=128,
                                      managed_disk=models.ManagedDiskParameters(storage_account_type="Premium_LRS"))),
            os_profile=models.OSProfile(computer_name=name, admin_username="berth", linux_configuration=models.LinuxConfiguration(
                disable_password_authentication=True, ssh=models.SshConfiguration(public_keys=[
                    models.SshPublicKey(path="/home/berth/.ssh/authorized_keys", key_data=KEY)]))),
            network_profile=models.NetworkProfile(network_api_version="2022-11-01", network_interface_configurations=[
                models.VirtualMachineNetworkInterfaceConfiguration(
                    name="berth", properties=models.VirtualMachineNetworkInterfaceConfigurationProperties(
                        primary=True, delete_option="Delete", ip_configurations=[models.VirtualMachineNetworkInterfaceIPConfiguration(
                            name="berth", properties=models.VirtualMachineNetworkInterfaceIPConfigurationProperties(
                                subnet=models.SubResource(id=SUBNET),
                                public_ip_address_configuration=models.VirtualMachinePublicIPAddressConfiguration(
                                    name="berth", sku=models.PublicIPAddressSku(name="Standard"),
                                    properties=models.VirtualMachinePublicIPAddressConfigurationProperties(
                                        delete_option="Delete", public_ip_allocation_method="Static"))))]))]), **spot))
    client.virtual_machines.begin_create_or_update(GROUP, name, body, api_version=API, polling=False)
    compare(server, f"create of {size}", "PUT", "/virtualMachines/")
server.clear()
one = next(v for v in VMS if v["properties"]["provisioningState"] == "Succeeded" and "PowerState/running" in str(v))
rc, lines = berth.call("status", one["name"])
client.virtual_machines.get(GROUP, one["name"], expand="instanceView", api_version=API)
ok(rc == 0 and lines and machine(lines[0])["state"] == "ready", "status of one", lines)
compare(server, "get", "GET", "/virtualMachines/")
rc, lines = berth.call("destroy", one["name"])
client.virtual_machines.begin_delete(GROUP, one["name"], force_deletion=True, api_version=API, polling=False)
ok(rc == 0 and lines and machine(lines[0])["state"] == "ending", "its end", lines)
compare(server, "delete", "DELETE", "/virtualMachines/")
rc, lines = berth.call("destroy", "berth-inst-none")
ok(rc == 0 and lines and machine(lines[0])["state"] == "gone", "what is not there is gone", lines)
rc, lines = berth.call("status", "berth-inst-none")
try:
    client.virtual_machines.get(GROUP, "berth-inst-none", api_version=API)
    code = ""
except HttpResponseError as e:
    code = e.error.code
ok(code == "ResourceNotFound" and lines and lines[0].startswith("error not_found"), "and not found by either", lines, code)

# --- tokens ---------------------------------------------------------------------------------------------------------
server.clear()
berth.call("quota")
ClientSecretCredential(TENANT, CLIENT, SECRET, authority=server.base, disable_instance_discovery=True,
                       connection_verify=server.cert).get_token(server.base + "/.default")
ours, theirs = (server.of(w, "POST", "/oauth2/v2.0/token")[0] for w in ("berth", "client"))
ok(ours.path == theirs.path and ours.kind == theirs.kind, "token: where")
ok(all(theirs.body.get(k) == v for k, v in ours.body.items()), "token: each field of the form", {"berth": ours.body, "client": theirs.body})


def imds(call):
    return 200, {"access_token": "ey.witness", "expires_in": "86399", "expires_on": str(2**31), "token_type": "Bearer",
                 "resource": call.arg("resource")}, {}


local = Server(folder, imds, tls=False)
os.environ["AZURE_POD_IDENTITY_AUTHORITY_HOST"] = local.base
for given in (None, "uami-1"):
    local.clear()
    for drop in ("tenant", "client_secret", "client_id"):
        account.pop(drop, None)
    managed = Berth(server, folder, dict(account, imds_endpoint=local.base, **({"client_id": given} if given else {})))
    local.who = "berth"
    rc, lines = managed.call("quota")
    ok(rc == 0 and len(lines) == 4, "managed identity: berth gets in", lines, managed.err)
    local.who = "client"
    ManagedIdentityCredential(**({"client_id": given} if given else {})).get_token(server.base + "/.default")
    a, b = (next(c for c in local.of(w) if c.headers.get("Metadata")) for w in ("berth", "client"))
    ok(a.seen() == b.seen() and a.headers["Metadata"] == b.headers["Metadata"], f"managed identity{' by client id' if given else ''}",
       {"berth": a.seen(), "client": b.seen()})
ok(not faults, "no machine, berth's or the client's, is against the model", "\n".join(map(str, faults)))
done()
