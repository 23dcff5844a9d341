"""AWS Service Quotas for tests/cli/quotas.sh: 48 vCPUs of P instances in every region but those in the file of the first argument.

Prints its port. Ends with stdin.
"""
import http.server
import json
import sys
import threading

QUOTA = {"QuotaCode": "L-417A185B", "QuotaName": "Running On-Demand P instances", "Value": 48}


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *args):
        pass

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        region = self.headers.get("Authorization", "").split("Credential=")[1].split("/")[2]
        with open(sys.argv[1], encoding="ascii") as f:
            shut = region in f.read().split()
        body = json.dumps({"__type": "AccessDeniedException", "Message": "not here"} if shut else {"Quotas": [QUOTA]}).encode()
        self.send_response(400 if shut else 200)
        self.send_header("Content-Type", "application/x-amz-json-1.1")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


SERVER = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=SERVER.serve_forever, daemon=True).start()
print(SERVER.server_port, flush=True)
sys.stdin.read()
