"""Azure beside azure-mgmt-network, azure-mgmt-authorization and azure-mgmt-resourcegraph: addresses, permissions, eviction rates.

The server answers with objects that the clients' models build; virtual machines and sizes are those of witness_azure.py.
"""
import fnmatch
import json
import os
import random
import time

from azure.core.credentials import AccessToken
from azure.mgmt.authorization import AuthorizationManagementClient
from azure.mgmt.authorization.models import Permission
from azure.mgmt.network import NetworkManagementClient, models as net
from azure.mgmt.network._utils.model_base import SdkJSONEncoder
from azure.mgmt.resourcegraph import ResourceGraphClient
from azure.mgmt.resourcegraph.models import QueryRequest, QueryRequestOptions, QueryResponse

from witness import Berth, Server, compare, done, ok, own_folder

SUB, GROUP, TENANT = "00000000-0000-4000-8000-000000000001", "rg-1", "00000000-0000-4000-8000-00000000000a"
HERE = f"/subscriptions/{SUB}/resourceGroups/{GROUP}/providers/"
NETWORK, PERMISSIONS, GRAPH = "2024-05-01", "2022-04-01", "2021-03-01"
ACTIONS = ["Microsoft.Compute/virtualMachines/" + x for x in ("read", "write", "delete")] + \
    [f"Microsoft.Network/{x}/{y}" for x in ("networkInterfaces", "publicIPAddresses") for y in ("read", "write")]
rng = random.Random(int(os.environ.get("WITNESS_SEED", "20261130")))
faults = []


def as_json(model):
    return json.loads(json.dumps(model, cls=SdkJSONEncoder, exclude_readonly=False))


# --- what there is ---------------------------------------------------------------------------------------------------
def machine_id(i):
    return f"{HERE}Microsoft.Compute/virtualMachines/berth-inst-t{i}"


VMS = [{"id": machine_id(i), "name": f"berth-inst-t{i}", "location": "eastus", "tags": {"berth-installation": "inst", "berth-token": f"t{i}"},
        "properties": {"provisioningState": "Succeeded", "hardwareProfile": {"vmSize": "Standard_NC4as_T4_v3"},
                       "instanceView": {"statuses": [{"code": "PowerState/running"}]}}} for i in range(40)]
PUBLIC, CARDS = [], []
for i in range(40):
    own = f"{HERE}Microsoft.Network/publicIPAddresses/p{i}"
    address = net.PublicIPAddress(location="eastus", properties=net.PublicIPAddressPropertiesFormat(
        public_ip_allocation_method="Static", ip_address=f"192.0.2.{i}" if i % 5 else None))		# some are not given yet
    PUBLIC.append(dict(as_json(address), id=own, name=f"p{i}", type="Microsoft.Network/publicIPAddresses"))
    inner = net.NetworkInterfaceIPConfigurationPropertiesFormat(
        private_ip_address=f"10.0.0.{i}", primary=True, public_ip_address=net.PublicIPAddress(
            id=rng.choice([str, str.upper, str.lower])(own)) if i % 3 else None)
    card = net.NetworkInterface(location="eastus", properties=net.NetworkInterfacePropertiesFormat(
        ip_configurations=[net.NetworkInterfaceIPConfiguration(name="c", properties=inner)], primary=True))
    made = as_json(card)
    if i % 7:		# the others belong to no machine
        made["properties"]["virtualMachine"] = as_json(net.SubResource(id=rng.choice([str, str.upper])(machine_id(i))))
    CARDS.append(dict(made, id=f"{HERE}Microsoft.Network/networkInterfaces/n{i}", name=f"n{i}"))
SIZES = ["Standard_NC4as_T4_v3", "Standard_NC6s_v3", "Standard_ND96isr_H100_v5", "Standard_NC24ads_A100_v4"]
SKUS = [{"name": s, "resourceType": "virtualMachines", "locations": ["eastus"], "locationInfo": [{"location": "eastus", "zones": ["1"]}],
         "capabilities": [{"name": k, "value": v} for k, v in (("vCPUs", "4"), ("MemoryGB", "28"), ("GPUs", "1"), ("LowPriorityCapable", "True"))],
         "restrictions": []} for s in SIZES]
METERS = [{"currencyCode": "USD", "tierMinimumUnits": 0.0, "retailPrice": 1.5, "unitPrice": 1.5, "armRegionName": "eastus", "type": "Consumption",
           "location": "US East", "effectiveStartDate": "2026-01-01T00:00:00Z", "meterName": s[9:].replace("_", " ") + suffix, "unitOfMeasure": "1 Hour",
           "productName": "Virtual Machines Series", "skuName": s[9:].replace("_", " ") + suffix, "serviceName": "Virtual Machines",
           "isPrimaryMeterRegion": True, "armSkuName": s} for s in SIZES for suffix in ("", " Spot")]
RATES = [{"size": s.lower(), "location": "eastus", "rate": r} for s, r in zip(SIZES, ("0-5", "15-20", "20+", "of tomorrow"))]
MIDDLE = {"0-5": 2.5, "5-10": 7.5, "10-15": 12.5, "15-20": 17.5}
granted = []


def page(call, rows, size):
    at = int(call.arg("$skiptoken") or 0)
    out = {"value": rows[at:at + size]}
    if at + size < len(rows):
        out["nextLink"] = f"{server.base}{call.path}?" + "&".join(f"{k}={v}" for k, v in call.query if k != "$skiptoken") + f"&$skiptoken={at + size}"
    return 200, out, {}


def app(call):
    if call.path == f"/{TENANT}/oauth2/v2.0/token":
        return 200, {"token_type": "Bearer", "expires_in": 3599, "access_token": "ey.witness"}, {}
    if call.path == "/api/retail/prices":
        return 200, {"BillingCurrency": "USD", "Items": METERS, "NextPageLink": None, "Count": len(METERS)}, {}
    if call.headers.get("Authorization") != "Bearer ey.witness":
        return 401, {"error": {"code": "InvalidAuthenticationToken", "message": "no"}}, {}
    if call.path == "/providers/Microsoft.ResourceGraph/resources":
        asked = QueryRequest.deserialize(call.body)
        if asked.serialize() != call.body:
            faults.append(f"{call.who}: the model keeps {asked.serialize()} of {call.body}")
        at = int(asked.options.skip_token or 0)
        answer = QueryResponse(total_records=len(RATES), count=2, data=RATES[at:at + 2], result_truncated="false",
                               skip_token=str(at + 2) if at + 2 < len(RATES) else None)
        return 200, answer.serialize(), {}
    if call.path == f"/subscriptions/{SUB}/providers/Microsoft.Compute/skus":
        return 200, {"value": SKUS}, {}
    if call.path == HERE + "Microsoft.Network/publicIPAddresses":
        return page(call, PUBLIC, 15)
    if call.path == HERE + "Microsoft.Network/networkInterfaces":
        return page(call, CARDS, 15)
    if call.path == HERE + "Microsoft.Compute/virtualMachines":
        return 200, {"value": VMS}, {}
    call.path = call.path.replace("/resourcegroups/", "/resourceGroups/")		# this client's way; ARM takes either case
    if call.path == HERE + "Microsoft.Authorization/permissions":
        return 200, {"value": [p.serialize() for p in granted]}, {}
    faults.append(f"{call.who}: {call.method} {call.path}")
    return 404, {"error": {"code": "NotFound", "message": "no such path"}}, {}


class Key:
    def get_token(self, *scopes, **kw):
        return AccessToken("ey.witness", int(time.time()) + 3600)


folder = own_folder()
server = Server(folder, app)
with open(os.path.join(folder, "secret"), "w") as f:
    f.write("s3cr+t\n")
berth = Berth(server, folder, {"name": "z", "provider": "azure", "locations": ["eastus"], "subscription": SUB, "resource_group": GROUP,
                               "tenant": TENANT, "client_id": "app-1", "client_secret": "file:" + os.path.join(folder, "secret"),
                               "endpoint": server.base, "login_endpoint": server.base, "prices_endpoint": server.base,
                               "ca_file": server.cert, "timeout": "20s"})
server.who = "client"
more = {"base_url": server.base, "connection_verify": server.cert, "retry_total": 0, "credential_scopes": [server.base + "/.default"]}
network, graph = NetworkManagementClient(Key(), SUB, **more), ResourceGraphClient(Key(), **more)
rights = AuthorizationManagementClient(Key(), SUB, api_version=PERMISSIONS, **more)

# --- addresses -------------------------------------------------------------------------------------------------------
os.environ["PROV_JSON"] = "1"
rc, lines = berth.call("list")
given = {p.id.lower(): p.properties.ip_address for p in network.public_ip_addresses.list(GROUP, api_version=NETWORK)}
want = {}
for card in network.network_interfaces.list(GROUP, api_version=NETWORK):
    config = card.properties.ip_configurations[0].properties
    if card.properties.virtual_machine is not None:
        public = given.get(config.public_ip_address.id.lower()) if config.public_ip_address is not None else None
        want[card.properties.virtual_machine.id.rsplit("/", 1)[1].lower()] = public or config.private_ip_address
for path in ("publicIPAddresses", "networkInterfaces"):
    for last in (False, True):
        compare(server, f"{path}, {'last' if last else 'first'} page", "GET", path, last=last)
got = {m["ref"]: m["address"] for m in map(json.loads, lines)} if rc == 0 else {}
ok(got == {v["name"]: want.get(v["name"], "") for v in VMS} and len(set(got.values())) > 30, "each machine's address is the one that the client sees",
   {k: (x, want.get(k)) for k, x in got.items() if x != want.get(k, "")}, lines[:1])
server.clear()

# --- eviction rates --------------------------------------------------------------------------------------------------
rc, lines = berth.call("offers")
asked = server.of("berth", "POST", "ResourceGraph")
text = asked[0].body["query"]
ok("skuspotevictionrate" in text and "'eastus'" in text, "the table of eviction rates is asked about the account's regions", text)
rates, token = {}, None
while True:
    options = QueryRequestOptions(result_format="objectArray", skip_token=token)
    options.allow_partial_scopes = None		# the client says even what is so by itself
    r = graph.resources(QueryRequest(subscriptions=[SUB], query=text, options=options), api_version=GRAPH)
    rates.update({x["size"]: x["rate"] for x in r.data})
    token = r.skip_token
    if not token:
        break
for last in (False, True):
    compare(server, f"eviction rates, {'last' if last else 'first'} page", "POST", "ResourceGraph", last=last)
got = {(o["instance_type"].lower(), o["purchase"]): o["interruption_rate"] for o in map(json.loads, lines)} if rc == 0 else {}
per_hour = {s: got.get((s, "spot")) for s in rates}
known = [s for s in rates if rates[s] in MIDDLE]
ok(len(rates) == 4 and all(per_hour[s] is not None for s in known) and per_hour["standard_nc24ads_a100_v4"] is None and
   per_hour["standard_nc4as_t4_v3"] < per_hour["standard_nc6s_v3"] < per_hour["standard_nd96isr_h100_v5"],
   "spot offers have the rates that the client reads, in their order; what is no rate is unknown", per_hour, rates)
ok(all(v is None for (s, purchase), v in got.items() if purchase != "spot") and len(got) == 8, "and offers on demand have none", str(got))
del os.environ["PROV_JSON"]
server.clear()

# --- permissions -----------------------------------------------------------------------------------------------------
PATTERNS = ["*", "*/read", "Microsoft.Compute/*", "Microsoft.Compute/virtualMachines/*", "microsoft.compute/virtualmachines/DELETE",
            "Microsoft.Network/*/write", "Microsoft.Network/networkInterfaces/*", "Microsoft.Network/publicIPAddresses/read"] + ACTIONS
bad = []
for n in range(40):
    granted[:] = [Permission(actions=rng.sample(PATTERNS, rng.randrange(0, 5)), not_actions=rng.sample(PATTERNS, rng.randrange(0, 3)),
                             data_actions=["*"], not_data_actions=[]) for _ in range(rng.randrange(0, 4))]
    rc, lines = berth.call("check")
    held = list(rights.permissions.list_for_resource_group(GROUP))

    def allows(p, action):
        match = lambda patterns: any(fnmatch.fnmatchcase(action.lower(), x.lower()) for x in patterns or [])
        return match(p.actions) and not match(p.not_actions)

    missing = [a for a in ACTIONS if not any(allows(p, a) for p in held)]
    line = next((x for x in lines if "permissions in the resource group" in x), "")
    told = [x.strip() for x in line.split("missing:", 1)[1].split(",")] if "missing:" in line else []
    whole = told == missing or (len(line) > 150 and told[:-1] == missing[:len(told) - 1])		# the line may be cut
    if not whole or ("|ok|" in line) != (not missing):
        bad.append((line, missing))
compare(server, "permissions", "GET", "/permissions")
ok(not bad, "40 sets of permissions: what is missing is what the client's own entries do not allow", *map(str, bad[:3]))
ok(not faults, "no request is against the models", "\n".join(map(str, faults)))
done()
