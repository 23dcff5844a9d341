"""refresh_server.py PORTS LATENCY_S TYPES: clouds in Lambda's shape that answer late; for bench/refresh-many.

Prints the ports on one line and serves until stdin closes.
"""
import http.server
import json
import sys
import threading
import time

LATENCY, TYPES = float(sys.argv[2]), int(sys.argv[3])
BODY = json.dumps({"data": {f"gpu_1x_{i}": {
    "instance_type": {"name": f"gpu_1x_{i}", "description": "1x H100 (80 GB)", "gpu_description": "H100 (80 GB)",
                      "price_cents_per_hour": 200 + i, "specs": {"vcpus": 26, "memory_gib": 200, "storage_gib": 1, "gpus": 1}},
    "regions_with_capacity_available": [{"name": "us-1", "description": "x"}]} for i in range(TYPES)}}).encode()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def do_GET(self):
        time.sleep(LATENCY)
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(BODY)))
        self.end_headers()
        self.wfile.write(BODY)


def serve():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_port


print(*[serve() for _ in range(int(sys.argv[1]))], flush=True)
sys.stdin.read()
